//! Each part of a path is looked at before the file is opened: it must be no link, and the file must lie in the folder.
//!
//! Who changes the folder between the look and the opening can lead elsewhere; a file's other names are not seen.

use super::{LINK, NO_FOLDER, NOT_REGULAR, Refused};
use std::fs::{self, File};
use std::path::{Component, Path};

/// Opens the file that the parts of a path lead to.
pub(super) fn open(folder: &Path, parts: &[&str]) -> Result<File, Refused> {
    let folder = fs::canonicalize(folder)?;
    let mut path = folder.clone();
    for (index, part) in parts.iter().enumerate() {
        // What is a name on one system is a path or a drive on another.
        if !Path::new(part).components().eq([Component::Normal(part.as_ref())]) {
            return Err(Refused::Because("it is no path inside the folder"));
        }
        path.push(part);
        let kind = fs::symlink_metadata(&path)?.file_type();
        let last = index + 1 == parts.len();
        match () {
            () if kind.is_symlink() && last => return Err(Refused::Because(LINK)),
            () if !last && !kind.is_dir() => return Err(Refused::Because(NO_FOLDER)),
            // A pipe would be waited for.
            () if last && !kind.is_file() => return Err(Refused::Because(NOT_REGULAR)),
            () => {}
        }
    }
    // A way out of the folder that no metadata shows.
    if !fs::canonicalize(&path)?.starts_with(&folder) {
        return Err(Refused::Because(LINK));
    }
    Ok(File::open(path)?)
}
