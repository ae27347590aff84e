//! What formatting has to say itself.

use crate::base::Span;
use crate::base::text::thousands;
use crate::diag::{Diagnostic, codes};

/// The formatted text would not be the same program.
pub fn would_change(place: Span) -> Diagnostic {
    Diagnostic::new(codes::E0901, "formatting would change the program")
        .at(place, "from here on")
        .note("this is a bug in relayc, not in your program; the file is as it was")
        .help("please report it with the file; `relayc --version` names the version")
}

/// The formatted text would be longer than a source text may be.
pub fn too_large(place: Span, max: usize) -> Diagnostic {
    Diagnostic::new(codes::E0801, format!("the formatted text would have more than {} bytes", thousands(max as u64)))
        .at(place, "in this file")
        .note("the file is as it was")
}
