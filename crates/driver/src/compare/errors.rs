//! The messages for sides that cannot be compared: E0722.

use relayc_base::diag::{Diagnostic, codes};
use relayc_weights::Kind;

/// A file without tensors beside one with.
pub(crate) fn no_tensors(name: &str) -> Diagnostic {
    Diagnostic::new(codes::E0722, format!("`{name}` holds no tensors to compare"))
        .note(format!("tensors are read from {} files", Kind::extensions()))
        .help("two programs are compared with each other")
}

/// One tensor beside several.
pub(crate) fn no_partner(name: &str, file: &str, n: usize) -> Diagnostic {
    Diagnostic::new(codes::E0722, format!("`{name}` is one tensor, `{file}` has {n} with names"))
        .help(format!("name its partner: {file}:NAME"))
}
