//! The form for Linux: the owner and the group are kept.

use std::fs::{File, Metadata};
use std::os::unix::fs::{MetadataExt, fchown};

/// Gives a file the owner and the group of the one that it replaces, as far as the system allows it.
pub(super) fn keep_owner(file: &File, old: &Metadata) {
    if file.metadata().is_ok_and(|new| (new.uid(), new.gid()) != (old.uid(), old.gid())) {
        // Only root may give a file away; others may still keep its group.
        let _ = fchown(file, Some(old.uid()), Some(old.gid())).or_else(|_| fchown(file, None, Some(old.gid())));
    }
}
