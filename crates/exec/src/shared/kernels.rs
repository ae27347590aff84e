//! Code that the programs of one network share: most kernels of a decoder's step do not depend on how much came before.
//!
//! What is shared is known by its kernel, with all extents and strides, by what its weights are, and by the strategies that were
//! asked for. A kernel stays for a few programs after the last one that used it; its code stays as long as any of them. Absent:
//! packed weights ([`super::weights`]).

use crate::launch::{Launch, Wish};
use relayc_codegen::contraction::Weights;
use relayc_codegen::memory::Code;
use relayc_codegen::recent::Recent;
use relayc_ir::kernel::{Kernel, Reason};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the code of a kernel depends on besides the kernel.
type How = (Weights, Vec<Wish>);

type Kernels = Recent<Arc<Kernel>, Vec<(How, SharedKernel)>>;

/// The kernels of a network's latest programs.
#[derive(Default)]
pub(crate) struct SharedKernels {
    kernels: Mutex<Kernels>,
}

/// A kernel whose code another program has.
#[derive(Clone, Debug)]
pub(crate) struct SharedKernel {
    /// Its packed weights are those of the program that has the code.
    pub(crate) launch: Launch,
    pub(crate) reason: Arc<Reason>,
    pub(crate) code: Code,
}

impl SharedKernels {
    /// The code of a kernel, if a program has it.
    pub(crate) fn find(&self, kernel: &Kernel, weights: Weights, wishes: &[Wish]) -> Option<SharedKernel> {
        let mut kernels = self.lock();
        let known = kernels.get(kernel)?;
        known.iter().find(|(how, _)| how.0 == weights && how.1 == wishes).map(|(_, shared)| shared.clone())
    }

    /// Adds the kernels that a program has emitted.
    pub(crate) fn add(&self, emitted: impl Iterator<Item = (Arc<Kernel>, How, SharedKernel)>) {
        let mut kernels = self.lock();
        for (kernel, how, shared) in emitted {
            match kernels.get(&*kernel) {
                Some(known) => known.push((how, shared)),
                None => kernels.insert(kernel, vec![(how, shared)]),
            }
        }
        kernels.end();
    }

    fn lock(&self) -> MutexGuard<'_, Kernels> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
