//! Scans as the runtime's, which artifacts run too; 16-bit floats, which it does not have, are scanned here in float32.

use super::sort::number;
use super::{Bytes, RoutineContext};
use relayc_ir::kernel::Scan;
use relayc_ir::tensor::{Element, with_dtype};
use relayc_runtime::scan;

/// The scan of a kernel.
pub(crate) fn of_kernel(kernel: &Scan) -> scan::Scan {
    scan::Scan {
        n_lines: kernel.lines.count() as usize,
        length: kernel.lines.length as usize,
        inner: kernel.lines.inner as usize,
        product: kernel.product,
        exclusive: kernel.exclusive,
        from: number(kernel.from),
        to: number(kernel.to),
    }
}

/// Whether the runtime has the dtypes of a scan.
pub fn is_in_runtime(kernel: &Scan) -> bool {
    [kernel.from, kernel.to].into_iter().all(|dtype| !dtype.is_float() || dtype.bits >= 32)
}

pub(super) fn run(kernel: &Scan, args: &[Bytes], means: &RoutineContext) {
    if !is_in_runtime(kernel) {
        let known = with_dtype!(kernel.to, |T| means.lines(kernel.lines.count(), &|line, _| of_line::<T>(kernel, args, line)));
        debug_assert!(known.is_some(), "the plan has tensors of these dtypes");
        return;
    }
    let scan = of_kernel(kernel);
    let n = scan.n_lines * scan.length;
    let (data, result) = (args[0].holding(n * scan.from.0), args[1].holding(n * scan.to.0));
    means.lines(kernel.lines.count(), &|line, _| {
        let (data, result) = (data, result);
        // SAFETY: the tensors have room for all lines, and this is the only task of this one.
        unsafe { scan.line(line, data.start, result.start) };
    });
}

fn of_line<T: Element>(scan: &Scan, args: &[Bytes], line: usize) {
    let (n, inner) = (scan.lines.length as usize, scan.lines.inner as usize);
    let first = line / inner * n * inner + line % inner;
    let joined = |before: f32, x: f32| if scan.product { before * x } else { before + x };
    let mut before = scan.exclusive.then_some(if scan.product { 1.0 } else { 0.0 });
    for at in 0..n {
        let x = args[0].get::<T>(first + at * inner).to_f64() as f32;
        // Without one before it the first element is as it is: a sum with +0 would lose the sign of -0.
        let with = before.map_or(x, |before| joined(before, x));
        let result = if scan.exclusive { before.unwrap_or(x) } else { with };
        args[1].put::<T>(first + at * inner, T::from_f64(result.into()));
        before = Some(with);
    }
}
