//! Extracts the example of an operator's page from its golden: the first function, with the tests' commands on it.
//!
//! `build.rs` uses this file too, so it uses nothing of the crate.

/// The first function of a golden, with the surrounding lines up to the next empty one.
pub(crate) fn first(golden: &str) -> &str {
    let start = golden.find("\ndef @").map_or(0, |at| at + 1);
    let rest = &golden[start..];
    rest[..rest.find("\n\n").map_or(rest.len(), |at| at + 1)].trim_end()
}
