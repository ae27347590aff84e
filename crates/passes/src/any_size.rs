//! Says whether the groups of an open program are those of all its sizes, so that no pass needs to run for each of them.
//!
//! That holds for a function of operators on tensors whose dimensions are numbers or computed from named sizes, if numbers give no
//! pass more to do. Operators with layouts, and so all with windows, are excluded, as are those that known shapes simplify. So are floats
//! that are computed from constants and sizes alone: once sizes are known they are constants, and the operators' own evaluation computes
//! them, which a kernel may differ from. Integers, and elements that are only moved, are the same either way.

use super::PassCx;
use super::build::{args, dtype};
use relayc_base::Idx;
use relayc_ir::types::Ty;
use relayc_ir::{ExprId, ExprKind, FuncId, Module};
use relayc_ops::Fuse;

/// Whether passes that ran before sizes were known leave this function nothing but fusion for any of its sizes.
pub fn is_ready_for_any_size(module: &Module, cx: &PassCx, func: FuncId) -> bool {
    // Whether a value depends on constants and sizes only.
    let mut fixed = vec![false; module.exprs.len()];
    module.post_order(&[module.funcs[func].body]).into_iter().all(|expr| {
        let (ready, is_fixed) = match module.exprs[expr].kind {
            ExprKind::Const(_) => (true, true),
            ExprKind::Var(_) => (true, false),
            // The callee of a call, which has no type.
            ExprKind::Op(_) => return true,
            ExprKind::Tuple(_) => (true, args(module, expr).iter().all(|field| fixed[field.index()])),
            ExprKind::Proj { tuple, .. } => (true, fixed[tuple.index()]),
            ExprKind::Call { .. } => {
                let is_fixed = args(module, expr).iter().all(|arg| fixed[arg.index()]);
                (is_ready(module, cx, expr, is_fixed), is_fixed)
            }
            _ => (false, false),
        };
        fixed[expr.index()] = is_fixed;
        ready && has_sizes(module, module.ty(expr))
    })
}

fn is_ready(module: &Module, cx: &PassCx, call: ExprId, is_fixed: bool) -> bool {
    let Some(def) = cx.called(module, call) else { return false };
    let by_layout = def.attrs.is_some_and(|attrs| attrs.fields.iter().any(|field| field.name.ends_with("layout")));
    let exact = || def.fuse == Some(Fuse::Injective) || dtype(module, call).is_some_and(|dtype| !dtype.is_float());
    !by_layout && !def.internal && !def.random && def.fixed.is_none() && (!is_fixed || exact())
}

/// Whether a type is tensors whose dimensions are all sized.
fn has_sizes(module: &Module, ty: Ty) -> bool {
    let fields = module.types.as_tuple(ty).unwrap_or(std::slice::from_ref(&ty));
    let sized = |&ty: &Ty| module.types.as_tensor(ty).is_some_and(|(dims, _)| dims.iter().all(|dim| dim.is_sized()));
    fields.iter().all(sized)
}
