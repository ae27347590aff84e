//! Evaluation order of a function's expressions, and aliases among them.

use super::not_compiled::NotCompiled;
use relayc_ir::{ExprId, ExprKind, Module, Seen, VarId};
use rustc_hash::FxHashMap;

/// The values that `let` binds to variables.
pub(crate) type Lets = FxHashMap<VarId, ExprId>;

/// The expressions in evaluation order, with each group as one, and the values of variables.
pub(crate) fn order(module: &Module, body: ExprId) -> Result<(Vec<ExprId>, Lets), NotCompiled> {
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

/// Whether a call of this callee is one step of the plan: an operator or a fused group.
fn is_group(module: &Module, callee: ExprId) -> bool {
    match module.exprs[callee].kind {
        ExprKind::Op(_) => true,
        ExprKind::Fn(func) => module.funcs[func].is_primitive(),
        _ => false,
    }
}

/// The body of a chain of bindings.
pub(crate) fn see_through_lets(module: &Module, mut expr: ExprId) -> ExprId {
    while let ExprKind::Let { body, .. } = module.exprs[expr].kind {
        expr = body;
    }
    expr
}

/// The expression that computes a value, behind bindings.
pub(crate) fn see_through(module: &Module, lets: &Lets, mut expr: ExprId) -> ExprId {
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

/// The expressions of a result's leaves, behind explicit tuples.
pub(crate) fn leaves(module: &Module, lets: &Lets, result: ExprId) -> Vec<ExprId> {
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
