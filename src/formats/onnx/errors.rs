//! The words for programs that ONNX cannot say.

use crate::base::Span;
use crate::base::text::{count, thousands};
use crate::diag::{Diagnostic, codes};
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

/// What ONNX cannot say: the operator or construct and the reason, with how often and the first place.
pub type Refused = IndexMap<(String, String), (usize, Span), FxBuildHasher>;

/// More places than this help nobody; all are in the notes.
const MAX_LABELS: usize = 8;

/// Everything that is refused, at once.
pub fn refused(refused: &Refused) -> Diagnostic {
    let message = format!("ONNX cannot say {} of the program", count(refused.len(), "part"));
    let mut diagnostic = Diagnostic::new(codes::E0708, message);
    let mut places = refused.iter().filter(|(_, (_, span))| !span.is_none()).take(MAX_LABELS);
    if let Some(((what, _), (_, span))) = places.next() {
        diagnostic = diagnostic.at(*span, what.clone());
    }
    for ((what, _), (_, span)) in places {
        diagnostic = diagnostic.also(*span, what.clone());
    }
    for ((what, reason), (times, _)) in refused {
        diagnostic = diagnostic.note(format!("{what}, {}: {reason}", count(*times, "time")));
    }
    diagnostic.help("write these parts with other operators, or export a function without them: `--entry NAME`")
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
