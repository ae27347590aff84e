//! Integers of many scales to those of one: each times a quotient of scales, which is a multiplier of 31 bits and a shift, one for
//! each position of an axis.
//!
//! The numbers are those of TVM's `GetFixedPointMultiplierShift` (`src/relay/qnn/utils.cc`) and of its steps for several of
//! them: the product in 64 bits, halves rounded up or away from zero.

use super::{Bytes, Means, Outside};
use crate::jit::pool::part;
use crate::kernel::Requantize;
use crate::tensor::{Element, with_dtype};

/// What is done at a position of the axis.
#[derive(Clone, Copy)]
struct At {
    zero: i32,
    multiplier: i32,
    /// How far the difference is shifted to the left before, and the product to the right after: 0 where nothing is left.
    left: u32,
    right: u32,
}

/// Bytes that each thread needs.
pub(super) fn scratch_bytes(work: &Requantize) -> u64 {
    work.lines.length * size_of::<At>() as u64
}

/// Errors: scales that have no quotient.
pub(super) fn run(work: &Requantize, args: &[Bytes], means: &Means) -> Result<(), Outside> {
    let [_, scales, zeros, out_scale, ..] = args else { return Err(Outside) };
    let out_scale = f64::from(out_scale.get::<f32>(0));
    let n_scales = work.n_scales as usize;
    let quotient = |at: usize| f64::from(scales.get::<f32>(at)) / out_scale;
    if out_scale == 0.0 || (0..n_scales).any(|at| !quotient(at).is_finite()) {
        return Err(Outside);
    }
    let at = |position: usize| {
        let (multiplier, shift) = fixed_point(quotient(position.min(n_scales - 1)));
        At {
            zero: zeros.get(position.min(work.n_zeros as usize - 1)),
            multiplier,
            left: shift.max(0).unsigned_abs(),
            right: Some(31 + (-i64::from(shift)).max(0)).filter(|by| *by < 64).map_or(0, |by| by as u32),
        }
    };
    let length = work.lines.length as usize;
    means.pool.run(means.shares, &|_, shares| {
        for share in shares {
            // SAFETY: the scratch memory of this share has room for as many, at a multiple of a cache line.
            let table = unsafe { std::slice::from_raw_parts_mut((means.scratch)(share).cast::<At>(), length) };
            table.iter_mut().enumerate().for_each(|(position, to)| *to = at(position));
            let known =
                with_dtype!(work.from, |F| with_dtype!(work.to, |T| some::<F, T>(work, args, table, share, means.shares)));
            debug_assert!(known.flatten().is_some(), "the plan has tensors of these dtypes");
        }
    });
    Ok(())
}

/// The elements of a share.
fn some<F: Element, T: Element>(work: &Requantize, args: &[Bytes], table: &[At], share: usize, shares: usize) {
    let (length, inner) = (work.lines.length as usize, work.lines.inner as usize);
    let out_zero: i32 = args[4].get(0);
    let n = (work.lines.count() * work.lines.length) as usize;
    let elements = part(n, share, shares);
    let mut at = elements.start;
    while at < elements.end {
        let here = table[at / inner % length];
        let end = elements.end.min((at / inner + 1) * inner);
        for i in at..end {
            let x = (args[0].get::<F>(i).to_int() as i32).wrapping_sub(here.zero);
            let y = i128::from(scaled(x, here, work.to_nearest).wrapping_add(out_zero));
            args[5].put(i, T::from_int(y.clamp(work.least.into(), work.greatest.into())));
        }
        at = end;
    }
}

fn scaled(x: i32, by: At, to_nearest: bool) -> i32 {
    let product = i64::from(x).checked_shl(by.left).unwrap_or(0).wrapping_mul(by.multiplier.into());
    if by.right == 0 {
        return 0;
    }
    let half = 1i64 << (by.right - 1);
    let half = if to_nearest && product < 0 { half - 1 } else { half };
    (product.wrapping_add(half) >> by.right) as i32
}

/// The multiplier and the shift nearest to a number: `multiplier / 2^31 * 2^shift`, the multiplier at least 2^30 in size unless
/// the number is 0.
fn fixed_point(number: f64) -> (i32, i32) {
    if number == 0.0 {
        return (0, 0);
    }
    // A subnormal has no exponent of its own.
    let (x, lower) = if number.is_normal() { (number, 0) } else { (number * 2f64.powi(54), 54) };
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1022;
    let significand = f64::from_bits(x.to_bits() & !(0x7ff << 52) | 1022 << 52);
    match (significand * 2f64.powi(31)).round() as i64 {
        // Rounded up to 1, which is a half with the next exponent.
        0x8000_0000 => (1 << 30, exponent - lower + 1),
        multiplier => (multiplier as i32, exponent - lower),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_multipliers_and_shifts() {
        assert_eq!(fixed_point(0.0), (0, 0));
        assert_eq!(fixed_point(1.0), (1 << 30, 1));
        assert_eq!(fixed_point(0.75), (3 << 29, 0));
        assert_eq!(fixed_point(-0.25), (-1 << 30, -1));
        assert_eq!(fixed_point(1.0 - 1e-12), (1 << 30, 1), "rounded up to the next power");
        let (multiplier, shift) = fixed_point(5e-324);
        assert_eq!((multiplier, shift), (1 << 30, -1073));
    }

    #[test]
    fn halves_are_rounded_up_or_away_from_zero() {
        let half = At { zero: 0, multiplier: 1 << 30, left: 0, right: 31 };
        assert_eq!([-3, -1, 1, 3].map(|x| scaled(x, half, false)), [-1, 0, 1, 2]);
        assert_eq!([-3, -1, 1, 3].map(|x| scaled(x, half, true)), [-2, -1, 1, 2]);
        assert_eq!(scaled(7, At { left: 64, ..half }, false), 0);
        assert_eq!(scaled(7, At { right: 0, ..half }, false), 0);
    }
}
