//! The messages for files that cannot be read or written.

use super::Limit;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::thousands;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// The operating system's reason, without its number.
pub fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file or folder".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::IsADirectory => "it is a directory".into(),
        ErrorKind::StorageFull => "no space left on the disk".into(),
        ErrorKind::OutOfMemory => "no memory to hold it".into(),
        _ => {
            let words = error.to_string();
            words.split(" (os error").next().unwrap_or(&words).to_lowercase()
        }
    }
}

/// E0701.
pub fn unreadable(path: &Path, error: &Error) -> Diagnostic {
    Diagnostic::new(codes::E0701, format!("cannot read `{}`: {}", path.display(), reason(error)))
}

/// E0701 for a second input that is to come from standard input.
pub(super) fn read_twice() -> Diagnostic {
    Diagnostic::new(codes::E0701, "cannot read standard input: it was read before").help("give `-` in the place of one file only")
}

/// E0702, for a path or `standard output`.
pub(super) fn unwritable(what: impl std::fmt::Display, error: &Error) -> Diagnostic {
    refused(what, &reason(error))
}

/// E0702 with a reason of relayc's own.
pub(super) fn refused(what: impl std::fmt::Display, reason: &str) -> Diagnostic {
    Diagnostic::new(codes::E0702, format!("cannot write `{what}`: {reason}"))
}

/// E0702 for an output that is also an input; `of` says what the input is read for.
pub(super) fn replaced(path: &Path, of: &str) -> Diagnostic {
    Diagnostic::new(codes::E0702, format!("`{}` is what {of}", path.display())).help("write to another file")
}

/// A file over its limit, with its size if known.
pub(super) fn too_large(path: &Path, size: Option<u64>, Limit { bytes, code, set_by }: Limit) -> Diagnostic {
    let size = size.map_or("more bytes than allowed".into(), |size| format!("{} bytes", thousands(size)));
    let report = Diagnostic::new(code, format!("`{}` has {size}, the limit is {}", path.display(), thousands(bytes)));
    match set_by.filter(|limit| limit.get() == bytes) {
        Some(limit) => report.help(limit.help()),
        None => report,
    }
}

/// E0717: a file that a model names, and why relayc does not read it.
pub(super) fn not_inside(folder: &Path, inside: &str, reason: &str) -> Diagnostic {
    let path = folder.join(inside);
    Diagnostic::new(codes::E0717, format!("`{}` is not read: {reason}", path.display()))
        .help("only regular files of the model's own folder are read, and of folders inside it")
}

/// E0717 with the system's reason.
pub(super) fn unreadable_inside(folder: &Path, inside: &str, error: &Error) -> Diagnostic {
    not_inside(folder, inside, &reason(error))
}
