//! Gives each elementwise user of a widening cast a cast of its own: TVM's `CanonicalizeCast`
//! (`src/relay/transforms/canonicalize_cast.cc`).
//!
//! Fusion then puts each cast into the group of its user, and the groups exchange the narrow tensor. The rewrite is sound because a copy
//! of a cast has the value of the cast.
//!
//! ```text
//! %0 = cast(%x, dtype="float32");  (exp(%0), log(%0))
//! →
//! %0 = cast(%x, dtype="float32");  %1 = cast(%x, dtype="float32");  (exp(%0), log(%1))
//! ```

use super::build::{args, dtype, typed};
use super::rewrite::with_children;
use super::{Pass, PassCx};
use relayc_base::Idx;
use relayc_ir::{ExprId, Module};
use relayc_ops::Fuse;
use relayc_ops::declarations::CAST;
use rustc_hash::FxHashSet;

pub(crate) const PASS: Pass = Pass {
    name: "canonicalize-cast",
    doc: "Copies a cast to a wider type for each elementwise operator that uses it, so that fused groups exchange the narrow tensor.",
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

enum Step {
    Visit(ExprId),
    /// An operand, by its number, of an elementwise call has been visited.
    Used(ExprId, usize),
}

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let mut visited = vec![false; module.exprs.len()];
    let mut used: FxHashSet<ExprId> = FxHashSet::default();
    let mut any = false;
    let mut steps: Vec<Step> = module.roots().into_iter().rev().map(Step::Visit).collect();
    let mut children = Vec::new();
    while let Some(step) = steps.pop() {
        let expr = match step {
            Step::Used(call, at) => {
                let operand = args(module, call)[at];
                if widens(module, cx, operand) && !used.insert(operand) {
                    copy_operand(module, call, at);
                    any = true;
                }
                continue;
            }
            Step::Visit(expr) => expr,
        };
        if visited.get(expr.index()).is_none_or(|&visited| visited) {
            continue;
        }
        visited[expr.index()] = true;
        let is_elementwise = cx.called(module, expr).is_some_and(|def| def.fuse.is_some_and(|fuse| fuse <= Fuse::Broadcast));
        children.clear();
        module.children(expr, &mut children);
        for (at, &child) in children.iter().enumerate().rev() {
            steps.extend(at.checked_sub(1).filter(|_| is_elementwise).map(|at| Step::Used(expr, at)));
            steps.push(Step::Visit(child));
        }
    }
    any
}

/// Whether an expression is a cast to more bits.
fn widens(module: &Module, cx: &PassCx, expr: ExprId) -> bool {
    let bits = |expr: ExprId| dtype(module, expr).map(|dtype| dtype.bits);
    let from = args(module, expr).first().copied().filter(|_| cx.calls(module, expr, &CAST));
    from.is_some_and(|from| bits(from) < bits(expr))
}

fn copy_operand(module: &mut Module, call: ExprId, at: usize) {
    let mut children = Vec::new();
    module.children(call, &mut children);
    let operand = children[1 + at];
    let (node, ty) = (module.exprs[operand], module.ty(operand));
    children[1 + at] = typed(module, node.span, node.kind, ty);
    let changed = with_children(module, call, &children);
    module.exprs[call].kind = module.exprs[changed].kind;
}
