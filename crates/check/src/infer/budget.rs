//! What the inference of a module may cost.

use relayc_base::limits::{INFERENCE_STEPS, TYPE_PARTS, TYPES};
use relayc_ir::Module;

/// The most that the inference of a module may take (reliability 2).
#[derive(Clone, Copy)]
pub(super) struct Budget {
    pub(super) steps: u64,
    pub(super) types: usize,
    pub(super) visits: u64,
}

impl Budget {
    pub(super) fn of(module: &Module) -> Budget {
        let n_exprs = module.exprs.len();
        Budget {
            steps: 64 * n_exprs as u64 + INFERENCE_STEPS.get(),
            types: module.types.n_types() + 16 * n_exprs + TYPES.count(),
            visits: 64 * n_exprs as u64 + TYPE_PARTS.get(),
        }
    }
}
