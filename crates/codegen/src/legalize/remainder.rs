//! Floor division, and remainders, which are exact.

use super::builder::BodyBuilder;
use relayc_ir::kernel::{Cmp, UnaryOp, Val};

/// Bits that one step of the long division removes, and number of steps for the greatest quotient of two floats.
const PLACES: i32 = 23;
const STEPS: usize = 13;

/// `⌊x/y⌋`: if rounding the quotient reached the next whole number, the remainder has the wrong sign.
pub(crate) fn floor_div(make: &mut BodyBuilder, x: Val, y: Val) -> Val {
    let (zero, one, sign_bit) = (make.f32(0.0), make.f32(1.0), make.f32(-0.0));
    let quotient = make.div(x, y);
    let floor = make.un(UnaryOp::Floor, quotient);
    let minus = make.un(UnaryOp::Neg, floor);
    let rest = make.fma(minus, y, x);
    // The remainder has the sign of the divisor, or is zero.
    let sign = make.and(y, sign_bit);
    let rest = make.bin(relayc_ir::kernel::BinaryOp::Xor, rest, sign);
    let too_far = make.cmp(Cmp::Lt, rest, zero);
    let less = make.sub(floor, one);
    make.select(too_far, less, floor)
}

/// The remainder with the sign of `x`, by long division of the magnitudes: `r -= ⌊r/d⌋·d` for `d = y·2^(23k)`, `k` downwards.
///
/// Each step is exact, because its quotient has at most 24 bits.
pub(crate) fn modulo(make: &mut BodyBuilder, x: Val, y: Val) -> Val {
    let (zero, up) = (make.f32(0.0), make.f32(2f32.powi(PLACES)));
    let mut divisors = vec![make.abs(y)];
    for _ in 1..STEPS {
        let next = make.mul(divisors[divisors.len() - 1], up);
        divisors.push(next);
    }
    let mut r = make.abs(x);
    for &d in divisors.iter().rev() {
        let quotient = make.div(r, d);
        let whole = make.un(UnaryOp::Trunc, quotient);
        let minus = make.un(UnaryOp::Neg, whole);
        let rest = make.fma(minus, d, r);
        // The quotient may have been rounded up.
        let more = make.add(rest, d);
        let below = make.cmp(Cmp::Lt, rest, zero);
        let rest = make.select(below, more, rest);
        // Also right where the divisor has become infinite.
        let done = make.cmp(Cmp::Lt, r, d);
        r = make.select(done, r, rest);
    }
    make.with_sign(r, x)
}

/// The remainder with the sign of `y`; NaN for an infinite `y`, like `x - ⌊x/y⌋·y`.
pub(crate) fn floor_mod(make: &mut BodyBuilder, x: Val, y: Val) -> Val {
    let zero = make.f32(0.0);
    let r = modulo(make, x, y);
    let (r_below, y_below) = (make.cmp(Cmp::Lt, r, zero), make.cmp(Cmp::Lt, y, zero));
    let differ = make.bin(relayc_ir::kernel::BinaryOp::Xor, r_below, y_below);
    let nonzero = make.cmp(Cmp::Ne, r, zero);
    let correct = make.and(differ, nonzero);
    let added = make.select(correct, y, zero);
    let sum = make.add(r, added);
    // +0 for -0, and NaN for infinite `y`.
    let nothing = make.fma(y, zero, zero);
    make.add(sum, nothing)
}
