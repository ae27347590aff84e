//! The loops of a function.

use crate::build::typed;
use crate::rewrite::with_children;
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
    /// The functions in the order of their starts, each behind what it captures.
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

/// The body of a function in which variables stand for what the function around it computes, and their values. Without variables each
/// call would compute these again. `own` are the function itself and its parameters.
pub(super) fn captured(module: &mut Module, body: ExprId, own: &[VarId]) -> (ExprId, Vec<(VarId, ExprId)>) {
    let mut bindings = vec![];
    // What depends on the parameters, made anew; what depends on any variable; what is bound.
    let mut inside: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    let mut varies: FxHashSet<ExprId> = FxHashSet::default();
    let mut bound: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    let mut children = vec![];
    for expr in module.post_order(&[body]) {
        children.clear();
        module.children(expr, &mut children);
        let var = match module.exprs[expr].kind {
            ExprKind::Var(var) => Some(var),
            _ => None,
        };
        if var.is_some() || children.iter().any(|child| varies.contains(child)) {
            varies.insert(expr);
        }
        if !var.is_some_and(|var| own.contains(&var)) && !children.iter().any(|child| inside.contains_key(child)) {
            continue;
        }
        for child in &mut children {
            *child = match inside.get(child) {
                Some(&now) => now,
                None if matches!(module.exprs[*child].kind, ExprKind::Var(_)) || !varies.contains(child) => *child,
                None => *bound.entry(*child).or_insert_with(|| {
                    let (span, ty) = (module.exprs[*child].span, module.ty(*child));
                    let var = module.var("captured", Some(ty), span);
                    bindings.push((var, *child));
                    typed(module, span, ExprKind::Var(var), ty)
                }),
            };
        }
        inside.insert(expr, with_children(module, expr, &children));
    }
    (inside.get(&body).copied().unwrap_or(body), bindings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::args;
    use relayc_base::Span;
    use relayc_ir::types::DType;
    use relayc_ops::call::call;
    use relayc_ops::declarations::{ADD, MULTIPLY, NEGATIVE};

    /// `(-%x + 1) * %p + -%x`, of which `-%x + 1` and `-%x` are computed before calls.
    #[test]
    fn what_is_captured_is_computed_once() {
        let mut module = Module::default();
        let ty = module.types.tensor_of(&[2], DType::F32);
        let [x, p] = ["x", "p"].map(|name| {
            let var = module.var(name, Some(ty), Span::NONE);
            (var, typed(&mut module, Span::NONE, ExprKind::Var(var), ty))
        });
        let one = relayc_ops::call::constant(&mut module, Span::NONE, relayc_ir::tensor::Tensor::from_vec(&[1], vec![1f32]));
        let mut of = |def, args: &[ExprId]| call(&mut module, Span::NONE, def, args, vec![]);
        let before = of(&NEGATIVE, &[x.1]);
        let sum = of(&ADD, &[before, one]);
        let product = of(&MULTIPLY, &[sum, p.1]);
        let body = of(&ADD, &[product, before]);
        let (body, bindings) = captured(&mut module, body, &[p.0]);
        assert_eq!(bindings.iter().map(|&(_, value)| value).collect::<Vec<_>>(), [sum, before]);
        let vars: Vec<ExprKind> = args(&module, body).into_iter().map(|arg| module.exprs[arg].kind).collect();
        assert!(matches!(vars[..], [ExprKind::Call { .. }, ExprKind::Var(var)] if var == bindings[1].0));
    }
}
