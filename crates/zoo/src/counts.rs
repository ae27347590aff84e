//! Measures the size of a network: its parameters, and its multiply-accumulates.

use super::Param;
use relayc_ir::Module;
use relayc_ops::{Shapes, call};

/// The number of elements of all weights.
pub fn n_parameters(params: &[Param]) -> u128 {
    params.iter().map(|param| Shapes::elements(&param.shape)).sum()
}

/// The multiply-accumulates of one run of a typed module, each call counted once; `None` if a shape that matters is known only at
/// run time.
pub fn macs(module: &Module) -> Option<u128> {
    let calls = module.post_order(&module.roots());
    calls.into_iter().map(|expr| call::macs(module, expr)).sum()
}
