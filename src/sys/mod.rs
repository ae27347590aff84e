//! The operating system: reading files within a limit, writing files that are complete or untouched, standard output,
//! how much memory there is.
//!
//! A file is written to a temporary beside it, flushed to the disk, then renamed over the old one (reliability 9); several
//! files of one call are all on the disk before the first is renamed. Devices, pipes and everything under `/dev` and `/proc`
//! are written to directly. Deliberately not here: what the bytes mean.

mod bytes;
mod child;
mod confined;
mod errors;
mod memory;
mod write;

pub use bytes::{Number, bytes_of, bytes_of_mut};
pub use child::{Ended, interrupted, note_interrupts, run};
pub use confined::read_inside;
pub use memory::{cores, default_memory_limit, give_back_code, give_back_free_memory, give_back_pages, own_process, peak_memory};
pub use write::{Content, replaces_none, write_all, write_atomic};

use crate::diag::{Code, Diagnostic, codes};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// How large a file may be, and the code that says it is larger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    pub bytes: u64,
    pub code: Code,
}

/// A source text: 64 MiB.
pub const SOURCE_LIMIT: Limit = Limit { bytes: 64 << 20, code: codes::E0801 };

/// Weights, arrays and pictures: 32 GiB.
pub const DATA_LIMIT: Limit = Limit { bytes: 32 << 30, code: codes::E0804 };

/// A model of another format: 2 GiB, the most that a protocol buffer has.
pub const MODEL_LIMIT: Limit = Limit { bytes: 2 << 30, code: codes::E0804 };

/// What is no regular file states no size before it is read, and may never end: 1 GiB.
const PIPE_LIMIT: u64 = 1 << 30;

/// A file that is open, nothing of it read.
pub struct Opened {
    path: PathBuf,
    file: std::fs::File,
    /// How many bytes it has, if it is a regular file that says so.
    pub len: Option<u64>,
    limit: Limit,
}

/// Opens a file to read. Errors: as [`read_file`].
pub fn open_file(path: &Path, limit: Limit) -> Result<Opened, Diagnostic> {
    let failed = |error: std::io::Error| errors::unreadable(path, &error);
    let file = std::fs::File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(errors::unreadable(path, &ErrorKind::IsADirectory.into()));
    }
    let bytes = if metadata.is_file() { limit.bytes } else { limit.bytes.min(PIPE_LIMIT) };
    if metadata.len() > bytes {
        return Err(errors::too_large(path, limit.code, Some(metadata.len()), bytes));
    }
    // Files of the kernel say that they are empty.
    let len = Some(metadata.len()).filter(|&len| metadata.is_file() && len > 0);
    Ok(Opened { path: path.to_owned(), file, len, limit: Limit { bytes, ..limit } })
}

impl Opened {
    /// Fills `out` with the bytes from `at` on, wherever reading has come to otherwise.
    pub fn read_at(&self, at: u64, out: &mut [u8]) -> std::io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, out, at)
    }

    /// The first bytes, up to `N`, of a regular file; none of what cannot be read again.
    pub fn start<const N: usize>(&self) -> Result<Vec<u8>, Diagnostic> {
        let mut bytes = vec![0; usize::try_from(self.len.unwrap_or(0)).unwrap_or(N).min(N)];
        self.read_at(0, &mut bytes).map_err(|error| self.failed(&error))?;
        Ok(bytes)
    }

    /// The file itself, to be mapped.
    pub fn file(&self) -> &std::fs::File {
        &self.file
    }

    /// E0701 with the reason.
    pub fn failed(&self, error: &std::io::Error) -> Diagnostic {
        errors::unreadable(&self.path, error)
    }

    /// The bytes of all of it.
    pub fn whole(self) -> Result<Vec<u8>, Diagnostic> {
        let max = self.limit.bytes;
        let mut bytes = Vec::new();
        // One byte more, so that reading to the end does not grow the buffer only to find the end.
        let capacity = usize::try_from(self.len.unwrap_or(0) + 1).unwrap_or(usize::MAX);
        bytes.try_reserve_exact(capacity).map_err(|_| self.failed(&ErrorKind::OutOfMemory.into()))?;
        // A file may grow while it is read.
        (&self.file).take(max + 1).read_to_end(&mut bytes).map_err(|error| self.failed(&error))?;
        if bytes.len() as u64 > max {
            return Err(errors::too_large(&self.path, self.limit.code, None, max));
        }
        Ok(bytes)
    }
}

/// The bytes of a file. Errors: E0701 with the reason, the limit's code where the file is larger.
pub fn read_file(path: &Path, limit: Limit) -> Result<Vec<u8>, Diagnostic> {
    open_file(path, limit)?.whole()
}

/// Writes text to standard output. A reader that has gone away ends it quietly; any other failure is E0702.
pub fn stdout(text: &str) -> Result<(), Diagnostic> {
    stdout_bytes(text.as_bytes())
}

/// As [`stdout`], for bytes.
pub fn stdout_bytes(bytes: &[u8]) -> Result<(), Diagnostic> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(errors::unwritable("standard output", &error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        std::fs::write(&path, b"hello").expect("written");
        assert_eq!(read_file(&path, Limit { bytes: 5, ..SOURCE_LIMIT }), Ok(b"hello".to_vec()));
        assert_eq!(read_file(Path::new("/dev/null"), DATA_LIMIT), Ok(vec![]));
    }

    #[test]
    fn what_cannot_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = |path: &Path| read_file(path, SOURCE_LIMIT).expect_err("unreadable");
        let missing = error(&folder.path().join("x"));
        assert_eq!(missing.code, codes::E0701);
        assert!(missing.message.contains("no such file"), "{}", missing.message);
        assert!(error(folder.path()).message.contains("is a directory"));
        assert_eq!(error(Path::new("a\0b")).code, codes::E0701);
    }

    #[test]
    fn a_limit_has_its_own_code() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        std::fs::write(&path, b"hello").expect("written");
        assert_eq!(read_file(&path, Limit { bytes: 4, ..SOURCE_LIMIT }).expect_err("too long").code, codes::E0801);
        assert_eq!(
            read_file(Path::new("/dev/zero"), Limit { bytes: 100, ..DATA_LIMIT }).expect_err("endless").code,
            codes::E0804
        );
    }
}
