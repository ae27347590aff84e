//! The digests of files: the SHA-256 of their content, computed once.
//!
//! To read and digest the weights of a network takes longer than to start it. So a digest is kept with the file's [`Identity`], and
//! holds as long as the system says that the file is the same. A file that was written a moment ago is not settled: another write in
//! the same tick of the clock would not show. Its digest is waited for where ticks are short, otherwise it is not kept.

use super::ignored;
use relayc_base::diag::Diagnostic;
use relayc_sys::{Identity, PrivateFolder};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The file of the digests: a line for each.
pub(super) const NAME: &str = "digests";

/// The most digests that are kept; the oldest go first.
const MOST: usize = 1024;

/// The most bytes that are read of them.
const MOST_BYTES: u64 = 1 << 20;

/// A longer tick is not waited for.
const SHORT: Duration = Duration::from_millis(50);

/// The digest of a file.
#[derive(Clone)]
pub(super) struct Known {
    pub(crate) digest: String,
    identity: Identity,
    /// Whether a write after it would show.
    is_settled: bool,
}

impl Known {
    /// Whether the file at a path is the same still.
    pub(super) fn is_current(&self, path: &Path) -> bool {
        self.is_settled && File::open(path).and_then(|file| Identity::of(&file)).is_ok_and(|now| now == self.identity)
    }
}

/// The kept digests.
#[derive(Default)]
pub(super) struct Digests {
    known: Vec<(Identity, String)>,
    has_new: bool,
}

impl Digests {
    /// Reads those of the cache; warns about a file that is not used.
    pub(super) fn read(folder: &PrivateFolder, warnings: &mut Vec<Diagnostic>) -> Digests {
        let read = folder.file(NAME).and_then(|file| match file {
            Some(file) => lines(&file).ok_or_else(|| "it is not as it was written".to_owned()),
            None => Ok(vec![]),
        });
        let known = read.unwrap_or_else(|why| {
            warnings.push(ignored(folder, NAME, &why));
            vec![]
        });
        Digests { known, has_new: false }
    }

    /// The digest of a file; `None` if it cannot be read, is not regular, or is written meanwhile.
    pub(super) fn of(&mut self, path: &Path) -> Option<Known> {
        let file = File::open(path).ok()?;
        let identity = Identity::of(&file).ok()?;
        if let Some((_, digest)) = self.known.iter().find(|(known, _)| *known == identity) {
            return Some(Known { digest: digest.clone(), identity, is_settled: true });
        }
        if !identity.is_settled(SystemTime::now()) {
            std::thread::sleep(SHORT);
        }
        let is_settled = identity.is_settled(SystemTime::now());
        let digest = of_file(&file)?;
        if Identity::of(&file).ok()? != identity {
            return None;
        }
        if is_settled {
            self.known.push((identity, digest.clone()));
            self.has_new = true;
        }
        Some(Known { digest, identity, is_settled })
    }

    /// Writes them, if there are new ones. Two processes at once lose those of one. Errors: the reason, in words.
    pub(super) fn write(&self, folder: &PrivateFolder) -> Result<(), String> {
        if !self.has_new {
            return Ok(());
        }
        let mut text = String::new();
        for (identity, digest) in &self.known[self.known.len().saturating_sub(MOST)..] {
            let Identity { device, inode, bytes, written, changed } = identity;
            let _ = writeln!(text, "{digest} {device} {inode} {bytes} {written} {changed}");
        }
        folder.write(NAME, text.as_bytes())
    }
}

/// The lines of a file of digests; `None` if one is not understood.
fn lines(file: &File) -> Option<Vec<(Identity, String)>> {
    let mut text = BufReader::new(file.take(MOST_BYTES));
    let (mut known, mut line) = (vec![], String::new());
    while text.read_line(&mut line).ok()? > 0 {
        let words: Vec<&str> = line.strip_suffix('\n')?.split(' ').collect();
        let &[digest, device, inode, bytes, written, changed] = words.as_slice() else { return None };
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let identity = Identity {
            device: device.parse().ok()?,
            inode: inode.parse().ok()?,
            bytes: bytes.parse().ok()?,
            written: written.parse().ok()?,
            changed: changed.parse().ok()?,
        };
        known.push((identity, is_digest.then(|| digest.to_owned())?));
        line.clear();
    }
    Some(known)
}

/// The digest of bytes, in hexadecimal digits.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// The digest of a file's content; `None` if it cannot be read.
fn of_file(mut file: &File) -> Option<String> {
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Some(format!("{:x}", sum.finalize())),
            Ok(n) => sum.update(&buffer[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}
