//! Shows the difference between an expectation and the output: a unified diff.

use similar::TextDiff;

/// The name of a diff's new side.
pub(crate) const NEW: &str = "what relayc says";

/// The changes from `old`, the content of the file `name`, to `new`.
pub(crate) fn unified(name: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(3).header(name, NEW).to_string()
}
