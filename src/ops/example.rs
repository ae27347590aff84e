//! The example of an operator's page: the first function of its golden, with what the tests run of it.
//!
//! `build.rs` uses this file too, so it uses nothing of the crate.

/// The first function of a golden, with the lines about it up to the next empty one.
pub fn first(golden: &str) -> &str {
    let start = golden.find("\ndef @").map_or(0, |at| at + 1);
    let rest = &golden[start..];
    rest[..rest.find("\n\n").map_or(rest.len(), |at| at + 1)].trim_end()
}
