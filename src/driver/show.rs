//! What is known of a program, as text: its canonical form, the types of its expressions.

use super::Program;
use crate::base::Span;
use crate::ir::print;
pub use crate::ir::print::Options;
use crate::ops;

/// The canonical text; with the inferred types as comments and with the metadata section, if wanted.
pub fn print(program: &Program, options: Options) -> String {
    print::print(&program.module, ops::table(), options)
}

/// The types of what stands exactly at a place, expressions and bound variables, each once and sorted.
pub fn types_at(program: &Program, span: Span) -> Vec<String> {
    let module = &program.module;
    let exprs = module.exprs.iter_ids().filter(|(_, expr)| expr.span == span).map(|(id, _)| module.ty(id));
    let vars = module.vars.iter().filter(|var| var.span == span).filter_map(|var| var.checked_ty.or(var.ty));
    let mut types: Vec<String> = exprs.chain(vars).map(|ty| module.types.text(ty)).collect();
    types.sort_unstable();
    types.dedup();
    types
}
