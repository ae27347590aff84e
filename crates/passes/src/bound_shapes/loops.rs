//! The loops of a function.

use crate::unroll_loops::Loop;
use relayc_ir::{ExprId, ExprKind, Module, VarId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The loops of a function.
#[derive(Default)]
pub(super) struct Loops {
    /// By the calls that start them: the variable and the loop.
    pub(super) starts: FxHashMap<ExprId, (VarId, Rc<Loop>)>,
    pub(super) vars: FxHashSet<VarId>,
    /// What turns compute, and their functions.
    inside: FxHashSet<ExprId>,
    /// The functions, in the order of their starts.
    pub(super) made: Vec<(VarId, ExprId)>,
}

impl Loops {
    /// `None` if there are functions that are no such loops.
    pub(super) fn of(module: &Module, order: &[ExprId], lets: &FxHashMap<VarId, ExprId>) -> Option<Loops> {
        let mut loops = Loops::default();
        for &expr in order {
            if let (ExprKind::Let { var, value, .. }, Some(found)) = (module.exprs[expr].kind, Loop::of(module, order, expr)) {
                loops.inside.insert(value);
                loops.inside.extend(changing(module, &found, var, lets));
                loops.vars.insert(var);
                loops.starts.insert(found.start, (var, Rc::new(found)));
            }
        }
        let is_other = |&expr: &ExprId| match module.exprs[expr].kind {
            ExprKind::Fn(_) | ExprKind::Global(_) => !loops.inside.contains(&expr),
            _ => false,
        };
        (!order.iter().any(is_other)).then_some(loops)
    }

    /// Whether a turn of a loop computes an expression.
    pub(super) fn contain(&self, expr: ExprId) -> bool {
        self.inside.contains(&expr)
    }

    /// Whether an expression is the condition of a loop, with the turn and the end as branches.
    pub(super) fn is_branch(&self, module: &Module, expr: ExprId) -> bool {
        self.starts.values().any(|(_, of)| module.funcs[of.func].body == expr)
    }

    /// Whether a call starts a loop.
    pub(super) fn start_at(&self, call: ExprId) -> bool {
        self.starts.contains_key(&call)
    }
}

/// The expressions that a function computes from its parameters or itself.
fn changing(module: &Module, of: &Loop, var: VarId, lets: &FxHashMap<VarId, ExprId>) -> FxHashSet<ExprId> {
    let func = &module.funcs[of.func];
    let mut found = FxHashSet::default();
    let mut children = vec![];
    for expr in module.post_order(&[func.body]) {
        children.clear();
        module.children(expr, &mut children);
        let is_own =
            |own: VarId| own == var || func.params.contains(&own) || lets.get(&own).is_some_and(|value| found.contains(value));
        let changes = match module.exprs[expr].kind {
            ExprKind::Var(own) => is_own(own),
            _ => children.iter().any(|child| found.contains(child)),
        };
        if changes || expr == func.body {
            found.insert(expr);
        }
    }
    found
}
