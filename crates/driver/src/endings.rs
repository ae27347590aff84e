//! What the ending of a name says of a file to write: its format. A file is never written in a format that its name denies.

use super::tensors::Format;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::join_words;
use std::ffi::OsStr;
use std::path::Path;

/// The format of a file of named tensors. A name without an ending, such as that of a device, says none: it gets the other one, if
/// there is one. Errors: E0721.
pub fn of_tensors(path: &Path, otherwise: Option<Format>) -> Result<Format, Diagnostic> {
    let otherwise = otherwise.filter(|_| path.extension().is_none());
    let format = Format::of_name(&path.display().to_string()).or(otherwise);
    format.ok_or_else(|| unknown(path, "named tensors", &tensors(&[])))
}

/// Checks that a file has one of these endings, or none. Errors: E0721, which calls the content `what`.
pub fn one_of(path: &Path, what: &str, endings: &[&str]) -> Result<(), Diagnostic> {
    let is_one = |extension: &OsStr| endings.iter().any(|ending| extension.eq_ignore_ascii_case(ending));
    if path.extension().is_none_or(is_one) {
        return Ok(());
    }
    Err(unknown(path, what, &endings.iter().map(|ending| format!(".{ending}")).collect::<Vec<_>>()))
}

/// Checks that the name of a program's text is not that of another format that relayc reads or writes. Errors: E0721.
pub fn program(path: &Path) -> Result<(), Diagnostic> {
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy().to_ascii_lowercase()));
    match ending.filter(|ending| tensors(OTHERS).contains(ending)) {
        Some(_) => Err(unknown(path, "a program", &[".relay".to_owned()])),
        None => Ok(()),
    }
}

/// The endings of files that are neither programs nor named tensors.
const OTHERS: &[&str] = &[".npy", ".onnx", ".json", ".cfg", ".tar", ".so", ".o", ".h", ".png", ".svg", ".html", ".dot"];

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
