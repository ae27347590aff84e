//! What the programs of one network share: it is compiled once for each size of its inputs.

pub(crate) mod kernels;
pub(crate) mod weights;

use crate::plan::GroupPlans;
use kernels::SharedKernels;
use relayc_codegen::asm::Fragments;
use relayc_ir::tensor::Tensor;
use std::sync::Arc;
use weights::SharedWeights;

/// Packed weights, plans of groups, kernels and fragments of code of a network, for programs of one target and with the same options.
pub struct Shared {
    pub groups: GroupPlans,
    pub(crate) weights: SharedWeights,
    pub(crate) kernels: SharedKernels,
    pub(crate) fragments: Arc<Fragments>,
}

impl Shared {
    /// For programs made from a network with these constants.
    pub fn of<'a>(constants: impl IntoIterator<Item = &'a Tensor>) -> Shared {
        let weights = SharedWeights::of(constants);
        Shared { groups: GroupPlans::default(), weights, kernels: SharedKernels::default(), fragments: Arc::default() }
    }

    /// Number of bytes of the packed weights.
    pub fn weight_bytes(&self) -> u64 {
        self.weights.bytes()
    }
}
