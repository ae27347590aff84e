//! Which expressions have no effect: one that nobody needs may go, and one that is needed may be computed elsewhere.
//!
//! Without effects are operators, constructors, tuples, and what is made of them. Cells have some, and so has the call of a
//! function, which may write to a cell or not end. A trap is none: what nobody needs may trap or not, as in TVM.

use crate::base::Idx;
use crate::ir::{ExprId, ExprKind, Module};

/// Whether an expression may be computed elsewhere, more often or not at all, by its number.
pub fn pure(module: &Module, order: &[ExprId]) -> Vec<bool> {
    holds(module, order, |_, expr| match module.exprs[expr].kind {
        ExprKind::RefNew(_) | ExprKind::RefRead(_) => false,
        ExprKind::Call { .. } => module.called_op(expr).is_some() || module.called_ctor(expr).is_some(),
        _ => true,
    })
}

/// Whether an expression whose value nobody needs may be left out, by its number. Making a cell that nobody sees may be, and
/// so may the call of a function literal that does nothing else.
pub fn droppable(module: &Module, order: &[ExprId]) -> Vec<bool> {
    holds(module, order, |droppable, expr| match module.exprs[expr].kind {
        ExprKind::Call { callee, .. } => match module.exprs[callee].kind {
            ExprKind::Op(_) | ExprKind::Ctor(_) => true,
            ExprKind::Fn(func) => droppable[module.funcs[func].body.index()],
            _ => false,
        },
        _ => true,
    })
}

/// What holds of an expression if it holds of its parts and `own` says so, which sees what is known of those before.
fn holds(module: &Module, order: &[ExprId], own: impl Fn(&[bool], ExprId) -> bool) -> Vec<bool> {
    let mut known = vec![false; module.exprs.len()];
    let mut children = Vec::new();
    for &expr in order {
        let possible = match module.exprs[expr].kind {
            ExprKind::Error | ExprKind::RefWrite { .. } => false,
            // A match that is not total may end the run, which is no value to leave out.
            ExprKind::Match { total, .. } => total,
            // Making a function computes nothing of its body.
            ExprKind::Fn(_) => {
                known[expr.index()] = true;
                continue;
            }
            ExprKind::Const(_)
            | ExprKind::Var(_)
            | ExprKind::Global(_)
            | ExprKind::Op(_)
            | ExprKind::Ctor(_)
            | ExprKind::Tuple(_)
            | ExprKind::Proj { .. }
            | ExprKind::Call { .. }
            | ExprKind::Let { .. }
            | ExprKind::If { .. }
            | ExprKind::RefNew(_)
            | ExprKind::RefRead(_) => true,
        };
        children.clear();
        module.children(expr, &mut children);
        let inside = children.iter().all(|child| known[child.index()]);
        known[expr.index()] = possible && inside && own(&known, expr);
    }
    known
}
