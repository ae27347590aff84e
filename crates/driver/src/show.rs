//! Prints a program: its canonical text, and the types of its expressions.

use super::Program;
use relayc_base::Span;
pub use relayc_ir::print::Options;
use relayc_ir::{Module, print};
use relayc_ops as ops;

/// The canonical text, optionally with the inferred types as comments and the metadata section.
pub fn print(program: &Program, options: Options) -> String {
    print::print(&program.module, ops::table(), options)
}

/// Whether the program names sizes: what relayc writes of it for people and for itself has the names then.
pub fn names_sizes(module: &Module) -> bool {
    module.types.symbols.has_named()
}

/// How to print a program for others to run: with types and metadata, floats exactly, and sizes by the names that it has for them.
pub fn complete(module: &Module) -> Options {
    Options { types: true, meta: true, exact: true, dim_names: names_sizes(module) }
}

/// The types of the expressions and bound variables exactly at a place, each once and sorted.
pub fn types_at(program: &Program, span: Span) -> Vec<String> {
    let module = &program.module;
    let exprs = module.exprs.iter_ids().filter(|(_, expr)| expr.span == span).map(|(id, _)| module.ty(id));
    let vars = module.vars.iter().filter(|var| var.span == span).filter_map(|var| var.checked_ty.or(var.ty));
    let mut types: Vec<String> = exprs.chain(vars).map(|ty| module.types.text(ty)).collect();
    types.sort_unstable();
    types.dedup();
    types
}
