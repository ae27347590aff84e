//! Requantizes integers of many scales to one: multiplies each by a quotient of scales, one for each position of an axis.

use super::{Bytes, Outside, RoutineContext};
use relayc_codegen::pool::part;
use relayc_ir::kernel::{FixedPoint, Requantize};
use relayc_ir::tensor::{Element, with_dtype};

/// The computation at one position of the axis.
#[derive(Clone, Copy)]
struct At {
    zero: i32,
    by: FixedPoint,
}

/// Bytes for each thread: the computations of all positions, if positions alternate with one element each.
pub(super) fn scratch_bytes(work: &Requantize) -> u64 {
    if work.lines.inner == 1 && work.lines.outer > 1 { work.lines.length * size_of::<At>() as u64 } else { 0 }
}

/// Runs the routine. Errors: scales without a quotient.
pub(super) fn run(work: &Requantize, args: &[Bytes], means: &RoutineContext) -> Result<(), Outside> {
    let [_, scales, zeros, out_scale, ..] = args else { return Err(Outside) };
    let out_scale = f64::from(out_scale.get::<f32>(0));
    let n_scales = work.n_scales as usize;
    let quotient = |at: usize| f64::from(scales.get::<f32>(at)) / out_scale;
    if out_scale == 0.0 || (0..n_scales).any(|at| !quotient(at).is_finite()) {
        return Err(Outside);
    }
    let at = |position: usize| At {
        zero: zeros.get(position.min(work.n_zeros as usize - 1)),
        by: FixedPoint::of(quotient(position.min(n_scales - 1))).expect("every quotient is finite"),
    };
    let n_known = scratch_bytes(work) as usize / size_of::<At>();
    means.pool.run(means.shares, &|_, shares| {
        for share in shares {
            let table: &mut [At] = match n_known {
                0 => &mut [],
                // SAFETY: the scratch memory of this share has room for as many, at a multiple of a cache line.
                _ => unsafe { std::slice::from_raw_parts_mut((means.scratch)(share).cast(), n_known) },
            };
            table.iter_mut().enumerate().for_each(|(position, to)| *to = at(position));
            let at = |position: usize| table.get(position).copied().unwrap_or_else(|| at(position));
            let known = with_dtype!(work.to, |T| some::<T>(work, args, &at, share, means.shares));
            debug_assert!(known.is_some(), "the plan has tensors of these dtypes");
        }
    });
    Ok(())
}

/// Computes the elements of one task.
fn some<T: Element>(work: &Requantize, args: &[Bytes], of: &dyn Fn(usize) -> At, share: usize, shares: usize) {
    let (length, inner) = (work.lines.length as usize, work.lines.inner as usize);
    let out_zero: i32 = args[4].get(0);
    let n = (work.lines.count() * work.lines.length) as usize;
    let elements = part(n, share, shares);
    let mut at = elements.start;
    while at < elements.end {
        let At { zero, by } = of(at / inner % length);
        let end = elements.end.min((at / inner + 1) * inner);
        for i in at..end {
            let x = (args[0].int(work.from, i) as i32).wrapping_sub(zero);
            let scaled = if work.to_nearest { by.times_to_nearest(x) } else { by.times_of_several(x) };
            let y = i128::from(scaled.wrapping_add(out_zero));
            args[5].put(i, T::from_int(y.clamp(work.least.into(), work.greatest.into())));
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_ir::kernel::Lines;
    use relayc_ir::types::DType;

    #[test]
    fn only_positions_that_come_again_are_kept() {
        let bytes = |shape: &[u64], axis: usize| {
            let (lines, n) = (Lines::along(shape, axis), shape[axis]);
            let (from, to, least, greatest) = (DType::I32, DType::I8, -128, 127);
            scratch_bytes(&Requantize { lines, n_scales: n, n_zeros: n, from, to, least, greatest, to_nearest: false })
        };
        assert_eq!(bytes(&[2, 16, 12, 12], 1), 0);
        assert_eq!(bytes(&[5000], 0), 0);
        assert_eq!(bytes(&[2, 12, 12, 16], 3), 16 * size_of::<At>() as u64);
    }
}
