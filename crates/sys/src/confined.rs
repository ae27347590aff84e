//! Reads a file inside a folder by a path from an untrusted source. The path is followed step by step from the folder, links are
//! refused, and the file must be a regular one. With the feature `linux` it must have a single name, and changes of the folder
//! during the call cannot lead elsewhere.

#[cfg(feature = "linux")]
mod linux;
#[cfg(not(feature = "linux"))]
mod plain;

#[cfg(feature = "linux")]
pub(super) use linux::open_in;

#[cfg(feature = "linux")]
use linux as system;
#[cfg(not(feature = "linux"))]
use plain as system;

use super::errors;
use relayc_base::diag::Diagnostic;
use std::io::{Error, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// Why a file is not opened.
enum Refused {
    /// In words.
    Because(&'static str),
    Failed(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Failed(error)
    }
}

const LINK: &str = "a part of the path is a link";
const NO_FOLDER: &str = "a part of the path is a link, or no folder";
const NOT_REGULAR: &str = "it is no regular file";

/// Reads `length` bytes from `offset` of the file at a path given by its parts. Errors: E0717 with the reason.
pub fn read_inside(folder: &Path, parts: &[&str], offset: u64, length: u64) -> Result<Vec<u8>, Diagnostic> {
    let shown = parts.join("/");
    let failed = |error: Error| errors::unreadable_inside(folder, &shown, &error);
    let refused = |why: &str| errors::not_inside(folder, &shown, why);
    let is_name = |part: &&str| !part.is_empty() && ![".", ".."].contains(part) && !part.contains(['/', '\0']);
    if parts.is_empty() || !parts.iter().all(is_name) {
        return Err(refused("it is no path inside the folder"));
    }
    let mut file = system::open(folder, parts).map_err(|why| match why {
        Refused::Because(why) => refused(why),
        Refused::Failed(error) => failed(error),
    })?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(refused(NOT_REGULAR));
    }
    if offset > metadata.len() || length > metadata.len() - offset {
        return Err(refused(&format!("it has {} bytes, wanted are {length} from byte {offset} on", metadata.len())));
    }
    let mut bytes = Vec::new();
    let n = usize::try_from(length).map_err(|_| failed(ErrorKind::OutOfMemory.into()))?;
    bytes.try_reserve_exact(n).map_err(|_| failed(ErrorKind::OutOfMemory.into()))?;
    bytes.resize(n, 0);
    // A file that has become shorter since is an error of its own.
    file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut bytes)).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn words(folder: &Path, parts: &[&str]) -> String {
        read_inside(folder, parts, 0, 1).expect_err("it is not read").message
    }

    #[test]
    fn a_part_of_a_file_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("data")).expect("created");
        fs::write(folder.path().join("data/w"), b"0123456789").expect("written");
        assert_eq!(read_inside(folder.path(), &["data", "w"], 2, 3), Ok(b"234".to_vec()));
        assert_eq!(read_inside(folder.path(), &["data", "w"], 10, 0), Ok(vec![]));
        for (offset, length) in [(8, 3), (11, 0), (u64::MAX, 1), (0, u64::MAX)] {
            let refused = read_inside(folder.path(), &["data", "w"], offset, length).expect_err("too short");
            assert!(refused.message.contains("it has 10 bytes"), "{}", refused.message);
        }
    }

    #[test]
    fn what_is_no_file_inside_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        fs::write(path.join("w"), b"x").expect("written");
        assert!(words(path, &["..", "w"]).contains("no path inside"));
        assert!(words(path, &["a/w"]).contains("no path inside"));
        assert!(words(path, &[]).contains("no path inside"));
        assert!(words(path, &["w", "x"]).contains("no folder"));
        assert!(words(path, &["none"]).contains("no such file"));
        fs::create_dir(path.join("sub")).expect("created");
        assert!(words(path, &["sub"]).contains("no regular file"));
        assert!(read_inside(path, &["w"], 0, 1).is_ok());
    }

    /// Only where std makes links: the plain form itself asks for nothing but std's metadata.
    #[cfg(unix)]
    #[test]
    fn what_leads_elsewhere_is_refused() {
        use std::os::unix::fs::symlink;
        let (folder, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another"));
        let path = folder.path();
        fs::write(other.path().join("w"), b"secret").expect("written");
        symlink(other.path().join("w"), path.join("link")).expect("linked");
        symlink(other.path(), path.join("folder")).expect("linked");
        assert!(words(path, &["link"]).contains("link"));
        assert!(words(path, &["folder", "w"]).contains("link"));
    }

    #[cfg(feature = "linux")]
    #[test]
    fn a_file_of_two_names_is_refused() {
        let (folder, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another"));
        fs::write(other.path().join("w"), b"secret").expect("written");
        fs::hard_link(other.path().join("w"), folder.path().join("hard")).expect("linked");
        assert!(words(folder.path(), &["hard"]).contains("more than one name"));
    }
}
