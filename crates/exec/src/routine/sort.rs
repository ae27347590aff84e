//! Sorts as the runtime's, which artifacts run too.

use super::{Bytes, RoutineContext, number};
use relayc_ir::kernel::Sort;
use relayc_ir::types::DType;
use relayc_runtime::sort;

/// The sort of a kernel.
pub(crate) fn of_kernel(kernel: &Sort) -> sort::Sort {
    let Sort { lines, dtype, take, descending, positions, .. } = *kernel;
    sort::Sort {
        n_lines: lines.count() as usize,
        length: lines.length as usize,
        inner: lines.inner as usize,
        take: take as usize,
        descending,
        element: number(dtype),
        position: number(positions.unwrap_or(DType::I32)),
    }
}

pub(super) fn run(kernel: &Sort, args: &[Bytes], means: &RoutineContext) {
    let sort = of_kernel(kernel);
    let (elements, taken) = (sort.n_lines * sort.length, sort.n_lines * sort.take);
    let values = kernel.values.then(|| args[1].holding(taken * sort.element.0));
    let positions = kernel.positions.map(|_| args[1 + usize::from(kernel.values)].holding(taken * sort.position.0));
    let start = |bytes: Option<Bytes>| bytes.map_or(std::ptr::null_mut(), |bytes| bytes.start);
    let (data, values, positions) = (args[0].holding(elements * sort.element.0), values, positions);
    means.lines(kernel.lines.count(), &|line, scratch| {
        // SAFETY: the tensors have room for all lines, and the scratch memory of this task for the keys of one.
        unsafe { sort.line(line, start(Some(data)), start(values), start(positions), scratch) };
    });
}
