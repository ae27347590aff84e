//! Shows the difference between an expectation and the output: a unified diff.

/// The name of a diff's new side.
pub(crate) const NEW: &str = "what relayc says";

/// The changes from `old`, the content of the file `name`, to `new`.
pub(crate) fn unified(name: &str, old: &str, new: &str) -> String {
    relayc_base::diff::unified((name, old), (NEW, new))
}
