//! Parts of a program that are for other compilers: marked call by call, merged, and moved to functions of their own.
//!
//! `annotation.compiler_begin` stands where a value enters such a part, `annotation.compiler_end` where one leaves it. Both are their
//! operand, so the marks change no answer; nor does a function that computes what the part did.

pub(super) mod annotate_target;
mod annotated;
pub(super) mod merge_compiler_regions;
pub(super) mod partition_graph;

use super::PassCx;
use super::build::{args, str_attr};
use relayc_ir::{AttrValue, ExprId, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{COMPILER_BEGIN, COMPILER_END};

/// The name for what no other compiler takes.
const DEFAULT: &str = "default";

/// A mark around an expression.
fn marked(module: &mut Module, cx: &PassCx, expr: ExprId, def: &'static OpDef, compiler: &str) -> ExprId {
    let attrs = def.attrs.map_or(vec![], |schema| schema.values(&[("compiler", AttrValue::str(compiler))]));
    cx.call(module, module.exprs[expr].span, def, &[expr], attrs)
}

/// The operand and the compiler of a mark.
fn mark(module: &Module, cx: &PassCx, expr: ExprId, def: &OpDef) -> Option<(ExprId, String)> {
    let operand = *args(module, expr).first().filter(|_| cx.calls(module, expr, def))?;
    Some((operand, str_attr(cx, module, expr, "compiler")?.to_owned()))
}

fn begin(module: &Module, cx: &PassCx, expr: ExprId) -> Option<(ExprId, String)> {
    mark(module, cx, expr, &COMPILER_BEGIN)
}

fn end(module: &Module, cx: &PassCx, expr: ExprId) -> Option<(ExprId, String)> {
    mark(module, cx, expr, &COMPILER_END)
}
