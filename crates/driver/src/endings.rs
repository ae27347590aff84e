//! What the ending of a name says of a file to write: its format. A file is never written in a format that its name denies.

use super::tensors::Format;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::join_words;
use std::path::Path;

/// The format of a file of named tensors. A name without an ending, such as that of a device, says none: it gets the other one, if
/// there is one. Errors: E0721.
pub fn of_tensors(path: &Path, otherwise: Option<Format>) -> Result<Format, Diagnostic> {
    let otherwise = otherwise.filter(|_| path.extension().is_none());
    let format = Format::of_name(&path.display().to_string()).or(otherwise);
    format.ok_or_else(|| unknown(path, "named tensors", &tensors(&[])))
}

/// Checks that a file of one possible format has its ending, or none. Errors: E0721, which calls the content `what`.
pub fn only(path: &Path, what: &str, ending: &str) -> Result<(), Diagnostic> {
    let denied = path.extension().is_some_and(|extension| !extension.eq_ignore_ascii_case(ending));
    if denied { Err(unknown(path, what, &[format!(".{ending}")])) } else { Ok(()) }
}

/// The endings of files of named tensors, after others.
pub(crate) fn tensors(others: &[&str]) -> Vec<String> {
    others.iter().map(|&other| other.to_owned()).chain(Format::extensions()).collect()
}

/// E0721: a name with none of these endings.
pub fn unknown(path: &Path, what: &str, endings: &[String]) -> Diagnostic {
    let endings: Vec<String> = endings.iter().map(|ending| format!("`{ending}`")).collect();
    Diagnostic::new(codes::E0721, format!("the name `{}` says no format of {what}", path.display()))
        .help(format!("end it in {}", join_words(&endings, "or")))
}
