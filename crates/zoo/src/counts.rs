//! Measures the size of a network: its parameters, and its multiply-accumulates.

use super::Param;
use relayc_ir::types::dims_of;
use relayc_ir::{ExprId, ExprKind, Module};
use relayc_ops::{Shapes, table};

/// The number of elements of all weights.
pub fn n_parameters(params: &[Param]) -> u128 {
    params.iter().map(|param| Shapes::elements(&param.shape)).sum()
}

/// The multiply-accumulates of one run of a typed module, each call counted once; `None` if a shape that matters is known only at
/// run time.
pub fn macs(module: &Module) -> Option<u128> {
    let calls = module.post_order(&module.roots());
    calls.into_iter().map(|call| call_macs(module, call)).sum()
}

fn call_macs(module: &Module, call: ExprId) -> Option<u128> {
    let Some(count) = module.called_op(call).and_then(|op| table().def(op).macs) else { return Some(0) };
    let ExprKind::Call { args, .. } = module.exprs[call].kind else { return Some(0) };
    let shape = |expr: ExprId| match module.types.as_tensor(module.ty(expr)) {
        Some((shape, _)) => dims_of(shape),
        None => Some(vec![]),
    };
    let args: Vec<Vec<i64>> = module.items(args).iter().map(|arg| shape(arg.expr)).collect::<Option<_>>()?;
    Some(count(&Shapes { attrs: module.call_attrs(call), args: &args, out: &shape(call)? }))
}
