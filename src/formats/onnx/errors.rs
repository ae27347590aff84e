//! The words for programs that ONNX cannot say.

use crate::base::text::thousands;
use crate::diag::{Diagnostic, codes};
use crate::formats::errors;
pub use crate::formats::errors::Refused;

/// Everything that is refused, at once.
pub fn refused(refused: &Refused) -> Diagnostic {
    errors::refused("ONNX", refused)
        .help("write these parts with other operators, or export a function without them: `--entry NAME`")
}

/// Functions that call functions make more steps than anybody waits for.
pub fn too_many_steps(limit: u64) -> Diagnostic {
    let message =
        format!("the program takes more than {} steps, since functions are written out where they are called", thousands(limit));
    Diagnostic::new(codes::E0805, message).help("export a function that is called less often: `--entry NAME`")
}

/// Protocol buffers hold no more than 2 GiB.
pub fn too_large(bytes: usize, limit: usize) -> Diagnostic {
    let [bytes, limit] = [bytes, limit].map(|n| thousands(u64::try_from(n).unwrap_or(u64::MAX)));
    Diagnostic::new(codes::E0804, format!("the model has {bytes} bytes, a file of ONNX has at most {limit}"))
        .help("leave the weights out: without `--params` they are inputs of the model")
}
