//! A list of bindings that a pass builds in the order of evaluation: TVM's `LetList` (`src/relay/transforms/let_list.h`).

use super::build::{bind, set_ty, typed};
use relayc_base::Span;
use relayc_ir::types::Ty;
use relayc_ir::{ExprId, ExprKind, Module, VarId};

#[derive(Default)]
pub(crate) struct LetList {
    pub(crate) bindings: Vec<(VarId, ExprId)>,
}

impl LetList {
    /// Binds a value; returns a mention of its variable.
    pub(crate) fn push(&mut self, module: &mut Module, value: ExprId) -> ExprId {
        let span = module.exprs[value].span;
        let var = module.var("x", None, span);
        self.push_as(module, var, value)
    }

    /// Binds a value to a variable; returns a mention of it.
    pub(crate) fn push_as(&mut self, module: &mut Module, var: VarId, value: ExprId) -> ExprId {
        self.bindings.push((var, value));
        let span = module.exprs[value].span;
        let ty = module.vars[var].ty.unwrap_or(module.ty(value));
        let mention = module.expr(span, ExprKind::Var(var));
        if ty != Ty::ERROR {
            set_ty(module, mention, ty);
        }
        mention
    }

    /// The bindings around a body.
    pub(crate) fn around(self, module: &mut Module, body: ExprId) -> ExprId {
        let (span, ty) = (module.exprs[body].span, module.ty(body));
        bind(module, span, ty, self.bindings.into_iter(), body)
    }
}

/// A mention of a variable, with the type that is known of it.
pub(crate) fn mention(module: &mut Module, span: Span, var: VarId) -> ExprId {
    match module.vars[var].checked_ty.or(module.vars[var].ty) {
        Some(ty) => typed(module, span, ExprKind::Var(var), ty),
        None => module.expr(span, ExprKind::Var(var)),
    }
}
