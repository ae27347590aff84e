//! The size of a network: its parameters, and the products its operators add up.

use super::Param;
use crate::ir::{ExprId, ExprKind, Module};
use crate::ops::{Shapes, table};
use crate::types::dims_of;

/// The elements of all weights.
pub fn n_parameters(params: &[Param]) -> u128 {
    params.iter().map(|param| Shapes::elements(&param.shape)).sum()
}

/// The multiply-accumulates of one run of a module whose types are known, each call counted once; `None` where a shape
/// that matters is not known before the run.
pub fn macs(module: &Module) -> Option<u128> {
    let calls = module.post_order(&module.roots());
    calls.into_iter().map(|call| call_macs(module, call)).sum()
}

fn call_macs(module: &Module, call: ExprId) -> Option<u128> {
    let Some(count) = module.called_op(call).and_then(|op| table().def(op).macs) else { return Some(0) };
    let ExprKind::Call { args, attrs, .. } = module.exprs[call].kind else { return Some(0) };
    let shape = |expr: ExprId| match module.types.as_tensor(module.ty(expr)) {
        Some((shape, _)) => dims_of(shape),
        None => Some(vec![]),
    };
    let args: Vec<Vec<i64>> = module.items(args).iter().map(|arg| shape(arg.expr)).collect::<Option<_>>()?;
    let attrs = attrs.map_or(&[][..], |attrs| &module.attrs[attrs].values);
    Some(count(&Shapes { attrs, args: &args, out: &shape(call)? }))
}
