//! Inverses of the circular functions. Each computes with `|x|`; outside of its domain the result is NaN.

use super::builder::BodyBuilder;
use relayc_ir::kernel::{Cmp, UnaryOp, Val};
use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// `(atan y - y) / y³` by powers of `y²` for `|y| ≤ √2 - 1`, error 2^-30 of atan y.
const ATAN: [f32; 5] = [-0.333_333_16, 0.199_985_27, -0.142_443_45, 0.105_987_28, -0.060_887_355];
/// `(asin y - y) / y³` likewise for `|y| ≤ ½`, error 2^-27.
const ASIN: [f32; 5] = [0.166_667_52, 0.074_953_064, 0.045_469_772, 0.024_180_776, 0.042_166_404];

/// tan(π/8) and tan(3π/8): between them, angles are counted from π/4.
const EIGHTH: f32 = 0.414_213_57;
const THREE_EIGHTHS: f32 = 2.414_213_7;

/// Angles minus their nearest floats.
const PI_LOW: f32 = -8.742_278e-8;
const HALF_PI_LOW: f32 = PI_LOW / 2.0;
const QUARTER_PI_LOW: f32 = PI_LOW / 4.0;

/// `atan x = a + atan y`, with `y = x` for `a = 0`, `(x-1)/(x+1)` for `a = π/4`, `-1/x` for `a = π/2`.
pub(crate) fn atan(make: &mut BodyBuilder, x: Val) -> Val {
    let size = make.abs(x);
    let [zero, one, minus] = [0.0, 1.0, -1.0].map(|value| make.f32(value));
    let (first, second) = (make.f32(EIGHTH), make.f32(THREE_EIGHTHS));
    let (is_middle, is_large) = (make.cmp(Cmp::Gt, size, first), make.cmp(Cmp::Gt, size, second));
    let of_three = |make: &mut BodyBuilder, near: Val, middle: Val, large: Val| {
        let others = make.select(is_middle, middle, near);
        make.select(is_large, large, others)
    };
    let (above, under) = (make.sub(size, one), make.add(size, one));
    let (above, under) = (of_three(make, size, above, minus), of_three(make, one, under, size));
    let (quarter, half) = (make.f32(FRAC_PI_4), make.f32(FRAC_PI_2));
    let (quarter_low, half_low) = (make.f32(QUARTER_PI_LOW), make.f32(HALF_PI_LOW));
    let (base, base_low) = (of_three(make, zero, quarter, half), of_three(make, zero, quarter_low, half_low));
    let y = make.div(above, under);
    let square = make.mul(y, y);
    let cube = make.mul(square, y);
    let rest = make.polynomial(square, &ATAN);
    let tail = make.fma(cube, rest, base_low);
    let tail = make.add(y, tail);
    let angle = make.add(base, tail);
    make.with_sign(angle, x)
}

/// The parts of `asin` and `acos`.
struct Arc {
    /// Whether `|x|` is below ½.
    is_near: Val,
    /// `asin |x|` if it is, else `asin √((1-|x|)/2)`, half of what is missing to π/2: the greater part and the rest.
    main: Val,
    rest: Val,
}

fn arc(make: &mut BodyBuilder, x: Val) -> Arc {
    let (size, half, one) = (make.abs(x), make.f32(0.5), make.f32(1.0));
    let is_near = make.cmp(Cmp::Lt, size, half);
    let missing = make.sub(one, size);
    let missing = make.mul(missing, half);
    let root = make.un(UnaryOp::Sqrt, missing);
    let square = make.mul(size, size);
    let (y, square) = (make.select(is_near, size, root), make.select(is_near, square, missing));
    let cube = make.mul(square, y);
    let rest = make.polynomial(square, &ASIN);
    Arc { is_near, main: y, rest: make.mul(cube, rest) }
}

pub(crate) fn asin(make: &mut BodyBuilder, x: Val) -> Val {
    let Arc { is_near, main, rest } = arc(make, x);
    let (half_pi, half_pi_low, minus_two) = (make.f32(FRAC_PI_2), make.f32(HALF_PI_LOW), make.f32(-2.0));
    let near = make.add(main, rest);
    let tail = make.fma(minus_two, rest, half_pi_low);
    let tail = make.fma(minus_two, main, tail);
    let far = make.add(half_pi, tail);
    let angle = make.select(is_near, near, far);
    make.with_sign(angle, x)
}

/// `π/2 - asin x` near zero, else `2·asin √((1-|x|)/2)`, for negative numbers what is missing of it to π.
pub(crate) fn acos(make: &mut BodyBuilder, x: Val) -> Val {
    let Arc { is_near, main, rest } = arc(make, x);
    let [zero, minus_two, half_pi, half_pi_low, pi, pi_low] =
        [0.0, -2.0, FRAC_PI_2, HALF_PI_LOW, PI, PI_LOW].map(|value| make.f32(value));
    let (signed, signed_rest) = (make.with_sign(main, x), make.with_sign(rest, x));
    let tail = make.sub(half_pi_low, signed_rest);
    let tail = make.sub(tail, signed);
    let near = make.add(half_pi, tail);
    let sum = make.add(main, rest);
    let above = make.add(sum, sum);
    let tail = make.fma(minus_two, sum, pi_low);
    let below = make.add(pi, tail);
    let is_below = make.cmp(Cmp::Lt, x, zero);
    let far = make.select(is_below, below, above);
    make.select(is_near, near, far)
}
