//! Diagnostics for programs that cannot be built: every obstacle, with its place.

use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{count, join_words};
use relayc_driver::{Program, run};
use relayc_exec::plan::NotCompiled;
use relayc_ir::{ExprId, Module};
use rustc_hash::FxHashSet;

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
pub(crate) fn not_compiled(program: &Program, entry: &str, reason: NotCompiled) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(codes::E0603, format!("`@{entry}` cannot be built: {}", reason.text()));
    if reason == NotCompiled::UnknownShape {
        for (name, axis, setting) in open(program, entry) {
            diagnostic = diagnostic.help(format!("axis {axis} of `%{name}` is open: `--set {setting}=1`, or another size"));
        }
        diagnostic = diagnostic.note("an artifact has code for shapes that are known: `--sizes` names several");
    }
    diagnostic
}

/// A program with an expression that is not built. `module` is that of the expression.
pub(crate) fn obstacle(program: &Program, module: &Module, entry: &str, expr: ExprId, words: &str) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0603, format!("`@{entry}` cannot be built: {words}"));
    shown(program, diagnostic, vec![(module.exprs[expr].span, words.to_owned())])
        .help("`relayc run` interprets what is not compiled")
}

/// The dynamic dimensions of parameters, each with what sets it. A size that several have is said once.
fn open(program: &Program, entry: &str) -> Vec<(String, usize, String)> {
    let types = &program.module.types;
    let Ok(entry) = run::entry(&program.module, entry) else { return vec![] };
    let leaves = entry.slots.iter().filter_map(|slot| super::leaves::leaves(&slot.name, slot.ty, types).ok()).flatten();
    let axes =
        leaves.flat_map(|leaf| leaf.open_axes().map(|axis| (leaf.name.clone(), axis, leaf.settable(axis))).collect::<Vec<_>>());
    let mut said = FxHashSet::default();
    axes.filter(|(_, _, setting)| said.insert(setting.clone())).take(MOST).collect()
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
