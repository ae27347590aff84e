//! Diagnostics for programs that cannot be built: every obstacle, with its place.

use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{count, join_words};
use relayc_driver::Program;
use relayc_exec::plan::NotCompiled;
use relayc_ir::{ExprId, Module};

/// Maximum number of places shown; notes count the others.
const MOST: usize = 20;

/// Operators without a kernel, by their calls: relayc computes them by their evaluation.
pub(crate) fn no_kernels(program: &Program, module: &Module, entry: &str, without: &[(&'static str, ExprId)]) -> Diagnostic {
    let mut names: Vec<String> = vec![];
    for (name, _) in without {
        let name = format!("`{name}`");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let have = if names.len() == 1 { "has no kernel" } else { "have no kernel" };
    let message = format!("`@{entry}` cannot be built: {} {have}", join_words(&names, "and"));
    let places = without.iter().map(|(name, call)| (module.exprs[*call].span, format!("`{name}` has no kernel")));
    shown(program, Diagnostic::new(codes::E0603, message), places.collect()).help("`relayc run` computes it itself")
}

/// A program that has an input which no artifact takes, or a tensor that no machine can hold.
pub(crate) fn not_compiled(entry: &str, reason: NotCompiled) -> Diagnostic {
    Diagnostic::new(codes::E0603, format!("`@{entry}` cannot be built: {}", reason.text()))
}

/// A program with an expression that is not built. `module` is that of the expression.
pub(crate) fn obstacle(program: &Program, module: &Module, entry: &str, expr: ExprId, words: &str) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0603, format!("`@{entry}` cannot be built: {words}"));
    shown(program, diagnostic, vec![(module.exprs[expr].span, words.to_owned())])
        .help("`relayc run` interprets what is not compiled")
}

/// Labels at places, in text order, each once; the message covers those without a place.
fn shown(program: &Program, diagnostic: Diagnostic, mut places: Vec<(Span, String)>) -> Diagnostic {
    places.retain(|(span, _)| !span.is_none() && program.sources.file(span.file).is_some());
    places.sort_by_key(|(span, _)| (span.start, span.end));
    places.dedup();
    let left = places.len().saturating_sub(MOST);
    let mut diagnostic = diagnostic;
    for (at, (span, words)) in places.into_iter().take(MOST).enumerate() {
        diagnostic = if at == 0 { diagnostic.at(span, words) } else { diagnostic.also(span, words) };
    }
    if left > 0 { diagnostic.note(format!("and {} more", count(left, "place"))) } else { diagnostic }
}
