//! Each part of a path is opened in the folder before it, which stays open: nothing can be put in its place meanwhile.

use super::{LINK, NO_FOLDER, Refused};
use std::ffi::CString;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Opens the file that the parts of a path lead to.
pub(super) fn open(folder: &Path, parts: &[&str]) -> Result<File, Refused> {
    let mut at = File::open(folder)?;
    for (index, part) in parts.iter().enumerate() {
        let last = index + 1 == parts.len();
        at = open_in(&at, part, !last).map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => Refused::Because(LINK),
            Some(libc::ENOTDIR) if !last => Refused::Because(NO_FOLDER),
            _ => Refused::Failed(error),
        })?;
    }
    let metadata = at.metadata()?;
    if metadata.is_file() && metadata.nlink() != 1 {
        return Err(Refused::Because("it has more than one name"));
    }
    Ok(at)
}

/// Opens one part of a path, which must not be a link. It does not block on a pipe.
pub(crate) fn open_in(folder: &File, part: &str, is_folder: bool) -> std::io::Result<File> {
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
