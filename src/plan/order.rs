//! In what order the expressions of a function are computed, and which of them stand for others.

use super::region::NotCompiled;
use crate::ir::{ExprId, ExprKind, Module, Seen, VarId};
use rustc_hash::FxHashMap;

/// What variables are bound to by `let`.
pub type Lets = FxHashMap<VarId, ExprId>;

/// The expressions in the order of evaluation, groups as one, and what variables are bound to.
pub fn order(module: &Module, body: ExprId) -> Result<(Vec<ExprId>, Lets), NotCompiled> {
    let (mut order, mut lets) = (vec![], Lets::default());
    let mut seen = Seen::none(module);
    let mut stack = vec![(body, false)];
    while let Some((expr, done)) = stack.pop() {
        if done {
            order.push(expr);
            continue;
        }
        let kind = module.exprs[expr].kind;
        if !seen.insert(expr) {
            continue;
        }
        match kind {
            ExprKind::Let { var, value, body } => {
                lets.insert(var, value);
                stack.extend([(body, false), (value, false)]);
            }
            ExprKind::Const(_) | ExprKind::Var(_) => order.push(expr),
            ExprKind::Tuple(fields) => {
                stack.push((expr, true));
                stack.extend(module.items(fields).iter().rev().map(|field| (field.expr, false)));
            }
            ExprKind::Proj { tuple, .. } => stack.extend([(expr, true), (tuple, false)]),
            ExprKind::Call { callee, args, .. } if is_group(module, callee) => {
                stack.push((expr, true));
                stack.extend(module.items(args).iter().rev().map(|arg| (arg.expr, false)));
            }
            _ => return Err(NotCompiled::ControlFlow),
        }
    }
    Ok((order, lets))
}

/// Whether a call of this is one step for the plan: an operator or a fused group.
fn is_group(module: &Module, callee: ExprId) -> bool {
    match module.exprs[callee].kind {
        ExprKind::Op(_) => true,
        ExprKind::Fn(func) => module.funcs[func].is_primitive(),
        _ => false,
    }
}

/// The body of a chain of bindings.
pub fn see_through_lets(module: &Module, mut expr: ExprId) -> ExprId {
    while let ExprKind::Let { body, .. } = module.exprs[expr].kind {
        expr = body;
    }
    expr
}

/// The expression that computes a value.
pub fn see_through(module: &Module, lets: &Lets, mut expr: ExprId) -> ExprId {
    loop {
        match module.exprs[expr].kind {
            ExprKind::Let { body, .. } => expr = body,
            ExprKind::Var(var) => match lets.get(&var) {
                Some(&value) => expr = value,
                None => return expr,
            },
            _ => return expr,
        }
    }
}

/// The expressions of the leaves of a result, as far as tuples are written out.
pub fn leaves(module: &Module, lets: &Lets, result: ExprId) -> Vec<ExprId> {
    let (mut leaves, mut stack) = (vec![], vec![result]);
    while let Some(expr) = stack.pop() {
        let expr = see_through(module, lets, expr);
        match module.exprs[expr].kind {
            ExprKind::Tuple(fields) => stack.extend(module.items(fields).iter().rev().map(|field| field.expr)),
            _ => leaves.push(expr),
        }
    }
    leaves
}
