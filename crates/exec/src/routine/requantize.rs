//! Requantizes as the runtime, which artifacts run too.

use super::{Bytes, Outside, RoutineContext};
use relayc_codegen::pool::part;
use relayc_ir::kernel::Requantize;
use relayc_ir::types::DTypeCode;
use relayc_runtime::requantize;

/// The requantization of a kernel.
pub(crate) fn of_kernel(work: &Requantize) -> requantize::Requantize {
    requantize::Requantize {
        n: (work.lines.count() * work.lines.length) as usize,
        length: work.lines.length as usize,
        inner: work.lines.inner as usize,
        n_scales: work.n_scales as usize,
        n_zeros: work.n_zeros as usize,
        from: (work.from.bytes() as usize, work.from.code == DTypeCode::Int),
        to: work.to.bytes() as usize,
        least: work.least,
        greatest: work.greatest,
        to_nearest: work.to_nearest,
    }
}

/// Runs the routine. Errors: scales without a quotient.
pub(super) fn run(kernel: &Requantize, args: &[Bytes], means: &RoutineContext) -> Result<(), Outside> {
    let &[data, scales, zeros, out_scale, out_zero, result] = args else { return Err(Outside) };
    let work = of_kernel(kernel);
    let operands = [
        data.holding(work.n * work.from.0),
        scales.holding(work.n_scales * 4),
        zeros.holding(work.n_zeros * 4),
        out_scale.holding(4),
        out_zero.holding(4),
        result.holding(work.n * work.to),
    ];
    // SAFETY: the operands have so many bytes.
    unsafe { work.check(&operands.map(|bytes| bytes.start)) }.map_err(|_| Outside)?;
    means.pool.run(means.shares, &|_, shares| {
        for share in shares {
            let elements = part(work.n, share, means.shares);
            // SAFETY: as above; elements and scratch memory are this share's own.
            unsafe { work.elements(elements, &operands.map(|bytes| bytes.start), (means.scratch)(share)) };
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use relayc_base::random::SplitMix64;
    use relayc_ir::kernel::FixedPoint;
    use relayc_runtime::requantize::{fixed_point, scaled};

    #[test]
    fn the_runtime_computes_what_operators_do() {
        let mut random = SplitMix64::new(1, "scales");
        for _ in 0..20_000 {
            let (number, x) = (f64::from_bits(random.next_u64()), random.next_u64() as i32);
            let Some(by) = FixedPoint::of(number) else { continue };
            assert_eq!(fixed_point(number), (by.multiplier, by.shift), "{number}");
            // Shifts as they are.
            let by = FixedPoint { shift: by.shift % 40, ..by };
            let found = [false, true].map(|to_nearest| scaled(x, by.multiplier, by.shift, to_nearest));
            assert_eq!(found, [by.times_of_several(x), by.times_to_nearest(x)], "{x} by {by:?}");
        }
    }
}
