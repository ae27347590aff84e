//! Scatters as the runtime's, which artifacts run too.

use super::{Bytes, Outside, number};
use relayc_ir::kernel::{MAX_RANK, Scatter, ScatterReduction, ScatterTarget};
use relayc_runtime::scatter::{self, join};

const _: () = assert!(MAX_RANK == scatter::MAX_RANK);

/// The scatter of a kernel.
pub(crate) fn of_kernel(kernel: &Scatter) -> scatter::Scatter<'_> {
    scatter::Scatter {
        element: number(kernel.dtype),
        index: number(kernel.index),
        join: match kernel.join {
            ScatterReduction::Replace => join::REPLACE,
            ScatterReduction::Add => join::ADD,
            ScatterReduction::Multiply => join::MULTIPLY,
            ScatterReduction::Least => join::LEAST,
            ScatterReduction::Greatest => join::GREATEST,
            ScatterReduction::Mean => join::MEAN,
        },
        along: match kernel.to {
            ScatterTarget::Along(axis) => Some(axis),
            ScatterTarget::Places => None,
        },
        data: &kernel.data,
        indices: &kernel.indices,
        updates: &kernel.updates,
    }
}

/// Runs the routine. Errors: an index out of range; nothing is written then.
pub(super) fn run(kernel: &Scatter, args: &[Bytes]) -> Result<(), Outside> {
    let &[data, indices, updates, result] = args else { return Err(Outside) };
    let work = of_kernel(kernel);
    let bytes = |shape: &[u64], width: usize| shape.iter().product::<u64>() as usize * width;
    let [element, index] = [work.element.0, work.index.0];
    let operands = [
        data.holding(bytes(work.data, element)),
        indices.holding(bytes(work.indices, index)),
        updates.holding(bytes(work.updates, element)),
        result.holding(bytes(work.data, element)),
    ];
    // SAFETY: the operands have so many bytes, and one thread runs this.
    unsafe { work.run(&operands.map(|bytes| bytes.start)) }.map_err(|_| Outside)
}
