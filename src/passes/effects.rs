//! Which expressions have no effect, so that one that nobody needs may go, and one that is needed may be computed elsewhere.
//!
//! Without effects are operators, constructors, tuples, and what is made of them. Cells have some, and so has the call of a
//! function, which may write to a cell or not end. A trap is none: what nobody needs may trap or not, as in TVM.

use crate::base::Idx;
use crate::ir::{ExprId, ExprKind, Module};

/// Whether computing an expression has no effect, by its number.
pub fn pure(module: &Module, order: &[ExprId]) -> Vec<bool> {
    let mut pure = vec![false; module.exprs.len()];
    let mut children = Vec::new();
    for &expr in order {
        let own = match module.exprs[expr].kind {
            ExprKind::Error | ExprKind::RefNew(_) | ExprKind::RefRead(_) | ExprKind::RefWrite { .. } => false,
            // A match that is not total may end the run, which is no value to leave out.
            ExprKind::Match { total, .. } => total,
            ExprKind::Call { .. } => module.called_op(expr).is_some() || module.called_ctor(expr).is_some(),
            // Making a function computes nothing of its body.
            ExprKind::Fn(_) => {
                pure[expr.index()] = true;
                continue;
            }
            ExprKind::Const(_)
            | ExprKind::Var(_)
            | ExprKind::Global(_)
            | ExprKind::Op(_)
            | ExprKind::Ctor(_)
            | ExprKind::Tuple(_)
            | ExprKind::Proj { .. }
            | ExprKind::Let { .. }
            | ExprKind::If { .. } => true,
        };
        children.clear();
        module.children(expr, &mut children);
        pure[expr.index()] = own && children.iter().all(|child| pure[child.index()]);
    }
    pure
}
