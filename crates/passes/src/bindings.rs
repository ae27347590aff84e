//! Bindings whose annotation differs from the type of their value: a pass must not replace such a `let` by its value.
//!
//! `let %wide: Tensor[(?), float32] = %c` has the wider type where types of values must agree: in the branches of an `if`, in a
//! cell, in a list. `let %exact: Tensor[(3), float32] = %x` promises a size, and relations rely on it. The result type of an
//! operator depends on the values, so a wider annotation adds nothing to a variable that only operators use.

use relayc_ir::types::{Ty, Types};
use relayc_ir::{ExprId, ExprKind, Module, VarId};
use rustc_hash::FxHashSet;

/// The facts about all bindings of a module.
pub(crate) struct Bindings {
    /// Variables with a use other than as an operand of an operator.
    flowing: FxHashSet<VarId>,
    /// Whether no types of values must agree: the module has only operators, tuples and bindings.
    is_dataflow: bool,
}

impl Bindings {
    /// `order` lists the expressions below the roots of a typed module.
    pub(crate) fn of(module: &Module, order: &[ExprId]) -> Bindings {
        let mut bindings = Bindings { flowing: FxHashSet::default(), is_dataflow: true };
        let mut children = Vec::new();
        for &expr in order {
            let is_op_call = module.called_op(expr).is_some();
            bindings.is_dataflow &= match module.exprs[expr].kind {
                ExprKind::Call { .. } => is_op_call,
                ExprKind::Tuple(_) | ExprKind::Proj { .. } | ExprKind::Let { .. } => true,
                ExprKind::Const(_) | ExprKind::Var(_) | ExprKind::Op(_) => true,
                _ => false,
            };
            if is_op_call {
                continue;
            }
            children.clear();
            module.children(expr, &mut children);
            bindings.flowing.extend(children.iter().filter_map(|&child| match module.exprs[child].kind {
                ExprKind::Var(var) => Some(var),
                _ => None,
            }));
        }
        bindings
    }

    /// Whether a value may replace every use of the variable bound to it.
    pub(crate) fn may_go(&self, module: &Module, var: VarId, value: ExprId) -> bool {
        let Some(ty) = module.vars[var].checked_ty.or(module.vars[var].ty) else { return true };
        let found = module.ty(value);
        let only_wider = || !module.types.has_open(found) && (self.is_dataflow || !self.flowing.contains(&var));
        say_the_same(&module.types, ty, found) || only_wider()
    }
}

/// Whether two types of one value are equal, or both have no dynamic dimension.
pub(crate) fn say_the_same(types: &Types, a: Ty, b: Ty) -> bool {
    a == b || (!types.has_open(a) && !types.has_open(b))
}

/// An expression with its declared type: bound to a variable of that type, if its own type differs.
pub(crate) fn declared(module: &mut Module, expr: ExprId, ty: Option<Ty>) -> ExprId {
    match ty.filter(|&ty| !say_the_same(&module.types, ty, module.ty(expr))) {
        Some(ty) => module.annotated("result", expr, ty),
        None => expr,
    }
}
