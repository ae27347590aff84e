//! A file inside a folder that is named by somebody who is not trusted: it is reached from the folder step by step, no link is
//! followed, and it must be a regular file of one name.

use super::errors;
use crate::diag::Diagnostic;
use std::ffi::CString;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// `length` bytes from `offset` on, of the file that the parts of a path lead to. Errors: E0717 with the reason.
pub fn read_inside(folder: &Path, parts: &[&str], offset: u64, length: u64) -> Result<Vec<u8>, Diagnostic> {
    let shown = parts.join("/");
    let failed = |error: Error| errors::unreadable_inside(folder, &shown, &error);
    let refused = |why: &str| errors::not_inside(folder, &shown, why);
    let is_name = |part: &&str| !part.is_empty() && ![".", ".."].contains(part) && !part.contains(['/', '\0']);
    if parts.is_empty() || !parts.iter().all(is_name) {
        return Err(refused("it is no path inside the folder"));
    }
    let mut at = File::open(folder).map_err(failed)?;
    for (index, part) in parts.iter().enumerate() {
        let last = index + 1 == parts.len();
        at = open_in(&at, part, !last).map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => refused("a part of the path is a link"),
            Some(libc::ENOTDIR) if !last => refused("a part of the path is a link, or no folder"),
            _ => failed(error),
        })?;
    }
    let metadata = at.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(refused("it is no regular file"));
    }
    if metadata.nlink() != 1 {
        return Err(refused("it has more than one name"));
    }
    if offset > metadata.len() || length > metadata.len() - offset {
        return Err(refused(&format!("it has {} bytes, wanted are {length} from byte {offset} on", metadata.len())));
    }
    let mut bytes = Vec::new();
    let n = usize::try_from(length).map_err(|_| failed(ErrorKind::OutOfMemory.into()))?;
    bytes.try_reserve_exact(n).map_err(|_| failed(ErrorKind::OutOfMemory.into()))?;
    bytes.resize(n, 0);
    // A file that has become shorter since is an error of its own.
    at.read_exact_at(&mut bytes, offset).map_err(failed)?;
    Ok(bytes)
}

/// Opens one part of a path, which must not be a link. A pipe is not waited for.
fn open_in(folder: &File, part: &str, is_folder: bool) -> std::io::Result<File> {
    let name = CString::new(part).map_err(|_| Error::from(ErrorKind::InvalidInput))?;
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let flags = if is_folder { flags | libc::O_DIRECTORY } else { flags };
    // SAFETY: the folder is open and the name ends in a zero; both live until the call returns.
    let descriptor = unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags) };
    if descriptor < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the system has just given out the descriptor, and nobody else has it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

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
    fn what_leads_elsewhere_is_refused() {
        let (folder, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another"));
        let path = folder.path();
        fs::write(other.path().join("w"), b"secret").expect("written");
        fs::write(path.join("w"), b"x").expect("written");
        symlink(other.path().join("w"), path.join("link")).expect("linked");
        symlink(other.path(), path.join("folder")).expect("linked");
        fs::hard_link(other.path().join("w"), path.join("hard")).expect("linked");
        assert!(words(path, &["link"]).contains("link"));
        assert!(words(path, &["folder", "w"]).contains("link"));
        assert!(words(path, &["hard"]).contains("more than one name"));
        assert!(words(path, &["..", "w"]).contains("no path inside"));
        assert!(words(path, &[]).contains("no path inside"));
        assert!(words(path, &["w", "x"]).contains("no folder"));
        assert!(words(path, &["none"]).contains("no such file"));
        fs::create_dir(path.join("sub")).expect("created");
        assert!(words(path, &["sub"]).contains("no regular file"));
        assert!(read_inside(path, &["w"], 0, 1).is_ok());
    }
}
