//! The messages of formatting itself.

use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::limits::SOURCE_BYTES;
use relayc_base::text::{count, thousands};

/// The formatted text would not be the same program.
pub(crate) fn would_change(place: Span) -> Diagnostic {
    Diagnostic::new(codes::E0901, "formatting would change the program")
        .at(place, "from here on")
        .note("this is a bug in relayc, not in your program; the file is as it was")
        .help("please report it with the file; `relayc --version` names the version")
}

/// The formatted text would be longer than a source text may be.
pub(crate) fn too_large(place: Span) -> Diagnostic {
    Diagnostic::new(codes::E0801, format!("the formatted text would have more than {} bytes", thousands(SOURCE_BYTES.get())))
        .at(place, "in this file")
        .note("the file is as it was")
        .help(SOURCE_BYTES.help())
}

/// Text of an older TVM; `n` places are not as today.
pub(crate) fn old_text(first: Span, today: &str, n: usize) -> Diagnostic {
    let report = Diagnostic::new(codes::E0105, "text of an older TVM is not formatted as it is");
    let report = report.at(first, "not written so any more").note(format!("today one writes `{today}`"));
    let report = if n > 1 { report.note(format!("and {}", count(n - 1, "more place"))) } else { report };
    report.help("`relayc fmt --upgrade` writes it as today's first")
}

/// Text that reading skips would be lost.
pub(crate) fn skipped_text(place: Span) -> Diagnostic {
    Diagnostic::new(codes::E0105, "formatting would lose text that is no Relay")
        .at(place, "skipped when it is read")
        .help("take it out of the file, or make it a comment")
}
