//! Which expressions have no effect: one that nobody needs may go, and one that is needed may be computed elsewhere.
//!
//! Without effects are operators, constructors, tuples, and what is made of them. Cells have some, and so has the call of a
//! function, which may write to a cell or not end. A trap is none: what nobody needs may trap or not, as in TVM.

use crate::base::Idx;
use crate::ir::{ExprId, ExprKind, Module};

/// Whether an expression may be computed elsewhere, more often or not at all, by its number.
pub fn pure(module: &Module, order: &[ExprId]) -> Vec<bool> {
    holds(module, order, |_, expr| own_pure(module, expr))
}

fn own_pure(module: &Module, expr: ExprId) -> bool {
    match module.exprs[expr].kind {
        ExprKind::RefNew(_) | ExprKind::RefRead(_) => false,
        ExprKind::Call { .. } => module.called_op(expr).is_some() || module.called_ctor(expr).is_some(),
        _ => true,
    }
}

/// What [`pure`] says, kept while a pass makes expressions of others.
pub struct Pure {
    known: Vec<bool>,
}

impl Pure {
    pub fn of(module: &Module, order: &[ExprId]) -> Pure {
        Pure { known: pure(module, order) }
    }

    /// Learns what has been made since. New expressions are made of those before them, so each is looked at once.
    pub fn learn(&mut self, module: &Module) {
        for at in self.known.len()..module.exprs.len() {
            let expr = ExprId::from_usize(at);
            let pure = holds_of(module, &self.known, expr, &mut Vec::new()) && own_pure(module, expr);
            self.known.push(pure);
        }
    }

    /// Whether an expression may be computed elsewhere or not at all; no for one that was made and not learnt of.
    pub fn is(&self, expr: ExprId) -> bool {
        self.known.get(expr.index()).is_some_and(|&pure| pure)
    }

    pub fn are(&self, exprs: &[ExprId]) -> bool {
        exprs.iter().all(|&expr| self.is(expr))
    }
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
        known[expr.index()] = holds_of(module, &known, expr, &mut children)
            && (matches!(module.exprs[expr].kind, ExprKind::Fn(_)) || own(&known, expr));
    }
    known
}

/// Whether what holds of the parts can hold of an expression.
fn holds_of(module: &Module, known: &[bool], expr: ExprId, children: &mut Vec<ExprId>) -> bool {
    match module.exprs[expr].kind {
        ExprKind::Error | ExprKind::RefWrite { .. } => return false,
        // A match that is not total may end the run, which is no value to leave out.
        ExprKind::Match { total, .. } if !total => return false,
        // Making a function computes nothing of its body.
        ExprKind::Fn(_) => return true,
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
        | ExprKind::Match { .. }
        | ExprKind::RefNew(_)
        | ExprKind::RefRead(_) => {}
    }
    children.clear();
    module.children(expr, children);
    children.iter().all(|child| known.get(child.index()).is_some_and(|&known| known))
}
