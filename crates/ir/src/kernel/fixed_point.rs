//! Fixed-point multiplication of integers by a number, itself represented by an integer and a shift.
//!
//! A multiplier `m` and a shift `s` represent `m / 2^31 * 2^s`. The arithmetic follows TVM step by step, so results are equal to
//! the bit (`src/target/intrin_rule.cc`, `python/tvm/topi/math.py`). Products are computed in wrapping int64, rounded half up,
//! and truncated to int32. Where TVM refuses a shift because the value vanishes, the result is 0.

use super::{BinaryOp, Body, Cmp, Instr, ScalarType, UnaryOp, Val};

/// The number `multiplier / 2^31 * 2^shift`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedPoint {
    pub multiplier: i32,
    pub shift: i32,
}

impl FixedPoint {
    /// The fixed-point number nearest to `number`. The multiplier is at least 2^30 unless the number is 0. `None` if `number` is
    /// not finite (`GetFixedPointMultiplierShift` of `src/relay/qnn/utils.cc`).
    pub fn of(number: f64) -> Option<FixedPoint> {
        if !number.is_finite() {
            return None;
        }
        let (significand, exponent) = significand_and_exponent(number);
        match (significand * 2f64.powi(31)).round() as i64 {
            // Rounded up to 1, which is 0.5 with the next exponent.
            0x8000_0000 => Some(FixedPoint { multiplier: 1 << 30, shift: exponent + 1 }),
            multiplier => Some(FixedPoint { multiplier: multiplier as i32, shift: exponent }),
        }
    }

    /// Multiplies `x` by the number, rounding halves up, in TVM's steps for a number known at compile time.
    pub fn times(self, x: i32) -> i32 {
        if self.multiplier != 1 << 30 {
            let (left, right) = self.shifts();
            return multiply_shift(x, self.multiplier, left, right);
        }
        match i64::from(self.shift) - 1 {
            left @ 0.. => u32::try_from(left).ok().and_then(|left| x.checked_shl(left)).unwrap_or(0),
            right @ -31.. => x.wrapping_add(1 << (-right - 1)) >> -right,
            _ => 0,
        }
    }

    /// As [`FixedPoint::times`], in TVM's steps for one of several numbers.
    pub fn times_of_several(self, x: i32) -> i32 {
        let (left, right) = self.shifts();
        multiply_shift(x, self.multiplier, left, right)
    }

    /// Multiplies `x` by the number, rounding halves away from zero (`FixedPointMultiplyToNearest` of `src/relay/qnn/utils.cc`).
    pub fn times_to_nearest(self, x: i32) -> i32 {
        let (left, right) = self.shifts();
        let product = shl(x.into(), left).wrapping_mul(self.multiplier.into());
        let half_up = i64::from(product >= 0);
        rounded(right, |by| product.wrapping_add((1i64 << (by - 1)) - 1 + half_up) >> by)
    }

    /// Appends [`FixedPoint::times`] of an I32 value to a body.
    pub fn lowered(self, body: &mut Body, x: Val) -> Val {
        if self.multiplier != 1 << 30 {
            return self.lowered_rounded(body, x, false);
        }
        match i64::from(self.shift) - 1 {
            left @ 0..32 => {
                let by = body.i32(left as i32);
                body.bin(BinaryOp::Shl, x, by)
            }
            right @ -31..0 => {
                let (half, by) = (body.i32(1 << (-right - 1)), body.i32(-right as i32));
                let sum = body.bin(BinaryOp::Add, x, half);
                body.bin(BinaryOp::ShrSigned, sum, by)
            }
            _ => body.i32(0),
        }
    }

    /// Appends the 64-bit product to a body. Halves are rounded up, or away from zero as in [`FixedPoint::times_to_nearest`].
    pub fn lowered_rounded(self, body: &mut Body, x: Val, to_nearest: bool) -> Val {
        let quad = |body: &mut Body, value: i64| body.push(Instr::Const(value as u64, ScalarType::I64));
        let (left, right) = self.shifts();
        let by = match right.saturating_add(31) {
            by @ 1..64 if left < 64 => by,
            _ => return body.i32(0),
        };
        let wide = body.un(UnaryOp::To(ScalarType::I64), x);
        let (up, multiplier, down) = (quad(body, left), quad(body, self.multiplier.into()), quad(body, by));
        let shifted = body.bin(BinaryOp::Shl, wide, up);
        let product = body.bin(BinaryOp::Mul, shifted, multiplier);
        let half = 1i64 << (by - 1);
        let mut half_up = quad(body, half);
        if to_nearest {
            let (zero, less) = (quad(body, 0), quad(body, half.wrapping_sub(1)));
            let below = body.cmp(Cmp::Lt, product, zero);
            half_up = body.select(below, less, half_up);
        }
        let sum = body.bin(BinaryOp::Add, product, half_up);
        let result = body.bin(BinaryOp::ShrSigned, sum, down);
        body.un(UnaryOp::To(ScalarType::I32), result)
    }

    /// The left shift and the right shift; one of them is 0.
    fn shifts(self) -> (i64, i64) {
        let shift = i64::from(self.shift);
        (shift.max(0), (-shift).max(0))
    }
}

/// `x * 2^left * multiplier / 2^(31 + right)`, with halves rounded up.
pub fn multiply_shift(x: i32, multiplier: i32, left: i64, right: i64) -> i32 {
    let product = shl(x.into(), left).wrapping_mul(multiplier.into());
    rounded(right, |by| product.wrapping_add(1i64 << (by - 1)) >> by)
}

/// `f(31 + right)` cut to int32; 0 where so wide a shift leaves nothing.
fn rounded(right: i64, f: impl Fn(i64) -> i64) -> i32 {
    match right.saturating_add(31) {
        by @ 1..64 => f(by) as i32,
        _ => 0,
    }
}

/// `x * 2^by`, 0 from 64 on.
fn shl(x: i64, by: i64) -> i64 {
    u32::try_from(by).ok().and_then(|by| x.checked_shl(by)).unwrap_or(0)
}

/// `(f, e)` with `x == f * 2^e` and `0.5 <= |f| < 1`, or zeros: C's `frexp`.
fn significand_and_exponent(x: f64) -> (f64, i32) {
    const BIAS: i32 = 1022;
    if x == 0.0 {
        return (0.0, 0);
    }
    // A subnormal has no exponent of its own.
    let (x, scaled) = if x.is_normal() { (x, 0) } else { (x * 2f64.powi(54), -54) };
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32;
    let significand = f64::from_bits((x.to_bits() & !(0x7ff << 52)) | ((BIAS as u64) << 52));
    (significand, exponent - BIAS + scaled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x * number` rounded, by exact arithmetic on the parts.
    fn exact(by: FixedPoint, x: i32) -> f64 {
        f64::from(x) * (f64::from(by.multiplier) * 2f64.powi(by.shift - 31))
    }

    #[test]
    fn numbers_as_multiplier_and_shift() {
        let of = |number| FixedPoint::of(number).expect("finite");
        assert_eq!(of(0.25), FixedPoint { multiplier: 1 << 30, shift: -1 });
        assert_eq!(of(1.0), FixedPoint { multiplier: 1 << 30, shift: 1 });
        assert_eq!(of(-3.0), FixedPoint { multiplier: -3 << 29, shift: 2 });
        assert_eq!(of(0.0), FixedPoint { multiplier: 0, shift: 0 });
        assert_eq!(of(1.0 - 2f64.powi(-40)), FixedPoint { multiplier: 1 << 30, shift: 1 });
        assert_eq!(of(f64::from_bits(1)), FixedPoint { multiplier: 1 << 30, shift: -1073 });
        assert_eq!(FixedPoint::of(f64::NAN), None);
        assert_eq!(FixedPoint::of(f64::INFINITY), None);
    }

    #[test]
    fn products_round_as_they_say() {
        for number in [0.25, 0.1, 1.0, 1.7, 200.0, 0.003, -0.5, -0.3] {
            let by = FixedPoint::of(number).expect("finite");
            for x in -1000..1000 {
                let product = exact(by, x);
                assert_eq!(f64::from(by.times(x)), (product + 0.5).floor(), "{x} * {number}");
                assert_eq!(by.times_of_several(x), by.times(x), "{x} * {number}");
                assert_eq!(f64::from(by.times_to_nearest(x)), product.round(), "{x} * {number}");
            }
        }
        let half = FixedPoint { multiplier: 1 << 30, shift: 0 };
        assert_eq!([-3, -1, 1, 3].map(|x| half.times(x)), [-1, 0, 1, 2]);
        assert_eq!([-3, -1, 1, 3].map(|x| half.times_to_nearest(x)), [-2, -1, 1, 2]);
        // In int32, the half that is added wraps; in int64 it does not.
        assert_eq!((half.times(i32::MAX), half.times_of_several(i32::MAX)), (-(1 << 30), 1 << 30));
    }

    #[test]
    fn any_shift_has_a_result() {
        for shift in [i32::MIN, -1000, -64, -33, -32, -31, 0, 31, 32, 64, i32::MAX] {
            for multiplier in [i32::MIN, -1, 0, 1, 1 << 30, i32::MAX] {
                let by = FixedPoint { multiplier, shift };
                for x in [i32::MIN, -1, 0, 1, i32::MAX] {
                    let all = [by.times(x), by.times_of_several(x), by.times_to_nearest(x)];
                    assert!(shift > -64 || all == [0; 3], "{by:?} {x}");
                }
            }
        }
    }
}
