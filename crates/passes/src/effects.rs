//! Finds expressions without effects. If unused, such an expression can be removed; if used, it can be computed elsewhere.
//!
//! Operators, constructors, tuples, and expressions made of these have no effects. Cells have effects, and so do calls of
//! functions, which may write to a cell or not return. As in TVM, a trap is no effect: an unused value may or may not trap.
//!
//! Making a function computes nothing of its body, and so has no effects. But where the body captures a shared expression with effects,
//! this is computed when the function is made, if it was not before: without the function it would come later, or never.

use super::copy::Copy;
use super::regions::Regions;
use relayc_base::Idx;
use relayc_ir::{ExprId, ExprKind, Module};
use rustc_hash::FxHashSet;

/// For each expression, by its number: whether it may be computed elsewhere, more often or not at all.
pub(crate) fn pure(module: &Module, order: &[ExprId]) -> Vec<bool> {
    holds(module, order, &capturing(module, order), |_, expr| own_pure(module, expr))
}

/// What captures shared expressions ([`Regions::capturing`]), in a program with effects.
fn capturing(module: &Module, order: &[ExprId]) -> FxHashSet<ExprId> {
    let writes = |expr: ExprId| matches!(module.exprs[expr].kind, ExprKind::RefWrite { .. });
    if order.iter().all(|&expr| own_pure(module, expr) && !writes(expr)) {
        return FxHashSet::default();
    }
    Regions::of(module, order).capturing(module, order)
}

fn own_pure(module: &Module, expr: ExprId) -> bool {
    match module.exprs[expr].kind {
        ExprKind::RefNew(_) | ExprKind::RefRead(_) => false,
        ExprKind::Call { .. } => module.called_op(expr).is_some() || module.called_ctor(expr).is_some(),
        _ => true,
    }
}

/// The answers of [`pure`], kept up to date while a pass creates expressions.
pub(crate) struct Pure {
    known: Vec<bool>,
    capturing: FxHashSet<ExprId>,
}

impl Pure {
    pub(crate) fn of(module: &Module, order: &[ExprId]) -> Pure {
        let capturing = capturing(module, order);
        Pure { known: holds(module, order, &capturing, |_, expr| own_pure(module, expr)), capturing }
    }

    /// Processes the expressions created since the last call. Operands precede their users, so each is visited once.
    pub(crate) fn learn(&mut self, module: &Module) {
        for at in self.known.len()..module.exprs.len() {
            let expr = ExprId::from_usize(at);
            let pure = holds_of(module, &self.known, &self.capturing, expr, &mut Vec::new()) && own_pure(module, expr);
            self.known.push(pure);
        }
    }

    /// Processes expressions whose operands are others now, or of which some are calls of functions without effects.
    pub(crate) fn learn_again(&mut self, module: &Module, order: &[ExprId], calls_pure: impl Fn(ExprId) -> bool) {
        self.known.resize(module.exprs.len(), false);
        let mut children = Vec::new();
        for &expr in order {
            let pure = holds_of(module, &self.known, &self.capturing, expr, &mut children);
            self.known[expr.index()] = pure && (own_pure(module, expr) || calls_pure(expr));
        }
    }

    /// Says of the function literals of a copy, before they are processed, whether they capture shared expressions: as in the original,
    /// or all of them, because such expressions are now in the place of variables.
    pub(crate) fn copied(&mut self, module: &Module, order: &[ExprId], copy: &Copy, captures: bool) {
        let literals = order.iter().filter(|&&expr| matches!(module.exprs[expr].kind, ExprKind::Fn(_)));
        let captures = literals.filter(|&expr| captures || self.capturing.contains(expr));
        let captures: Vec<ExprId> = captures.map(|&expr| copy.expr(expr)).collect();
        self.capturing.extend(captures);
    }

    /// Whether an expression may be computed elsewhere or not at all; false for an expression not yet processed by
    /// [`Pure::learn`].
    pub(crate) fn is(&self, expr: ExprId) -> bool {
        self.known.get(expr.index()).is_some_and(|&pure| pure)
    }

    /// Whether one branch may be taken out of an `if` or a `match`, and the others left out. What they share with the program around them
    /// and has effects is computed before, whichever is taken.
    pub(crate) fn may_choose(&self, expr: ExprId) -> bool {
        self.is(expr) || !self.capturing.contains(&expr)
    }

    pub(crate) fn are(&self, exprs: &[ExprId]) -> bool {
        exprs.iter().all(|&expr| self.is(expr))
    }
}

/// For each expression, by its number: whether it may be left out if its value is unused. This includes creating a cell that
/// nothing else sees, and calling a function literal that does nothing else.
pub(crate) fn droppable(module: &Module, order: &[ExprId]) -> Vec<bool> {
    holds(module, order, &capturing(module, order), |droppable, expr| match module.exprs[expr].kind {
        ExprKind::Call { callee, .. } => match module.exprs[callee].kind {
            ExprKind::Op(_) | ExprKind::Ctor(_) => true,
            ExprKind::Fn(func) => droppable[module.funcs[func].body.index()],
            _ => false,
        },
        _ => true,
    })
}

/// For each expression: whether a property holds, which requires it of the operands and of `own`. `own` sees the earlier results.
fn holds(module: &Module, order: &[ExprId], capturing: &FxHashSet<ExprId>, own: impl Fn(&[bool], ExprId) -> bool) -> Vec<bool> {
    let mut known = vec![false; module.exprs.len()];
    let mut children = Vec::new();
    for &expr in order {
        known[expr.index()] = holds_of(module, &known, capturing, expr, &mut children)
            && (matches!(module.exprs[expr].kind, ExprKind::Fn(_)) || own(&known, expr));
    }
    known
}

/// Whether what holds of the parts can hold of an expression.
fn holds_of(module: &Module, known: &[bool], capturing: &FxHashSet<ExprId>, expr: ExprId, children: &mut Vec<ExprId>) -> bool {
    match module.exprs[expr].kind {
        ExprKind::Error | ExprKind::RefWrite { .. } => return false,
        // A match that is not total may end the run, which is no value to leave out.
        ExprKind::Match { total, .. } if !total => return false,
        ExprKind::Fn(_) if !capturing.contains(&expr) => return true,
        ExprKind::Fn(_) => {}
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
