//! Diagnostics for programs that ONNX cannot express.

use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::thousands;
use relayc_weights::errors;
pub(super) use relayc_weights::errors::Refused;

/// Reports everything that is refused, at once.
pub(crate) fn refused(refused: &Refused) -> Diagnostic {
    errors::refused("ONNX", refused)
        .help("write these parts with other operators, or export a function without them: `--entry NAME`")
}

/// Nested function calls exceed the limit of steps.
pub(crate) fn too_many_steps(limit: u64) -> Diagnostic {
    let message =
        format!("the program takes more than {} steps, since functions are written out where they are called", thousands(limit));
    Diagnostic::new(codes::E0805, message).help("export a function that is called less often: `--entry NAME`")
}

/// The model exceeds 2 GiB, the limit of protocol buffers.
pub(crate) fn too_large(bytes: usize, limit: usize) -> Diagnostic {
    let [bytes, limit] = [bytes, limit].map(|n| thousands(u64::try_from(n).unwrap_or(u64::MAX)));
    Diagnostic::new(codes::E0804, format!("the model has {bytes} bytes, a file of ONNX has at most {limit}"))
        .help("leave the weights out: without `--params` they are inputs of the model")
}
