//! How an expectation and what came are shown: a unified diff.

use similar::TextDiff;

/// What the new side of a diff is called.
pub const NEW: &str = "what relayc says";

/// The changes from `old`, the content of the file `name`, to `new`.
pub fn unified(name: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(3).header(name, NEW).to_string()
}
