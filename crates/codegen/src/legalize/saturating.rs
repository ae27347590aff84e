//! Odd functions with limits ±1: the hyperbolic tangent and the error function. Both compute with `|x|` and apply the sign
//! last.

use super::builder::BodyBuilder;
use super::logarithm::LN_2_LOW;
use relayc_ir::kernel::{BinaryOp, Cmp, Val};
use std::f32::consts::{LN_2, LOG2_E};

/// tanh rounds to 1 from here on.
const TANH_ONE: f32 = 9.1;

/// Coefficients of `(e^r - 1 - r) / r²` on `|r| ≤ ln 2 / 2`, for a relative error of 2^-26 in `e^r - 1`.
const EXP_LESS_1: [f32; 5] = [0.499_999_97, 0.166_665_46, 0.041_667_44, 0.008_366_258, 0.001_387_03];

/// Where the two approximations of erf meet, and from where it rounds to 1.
const ERF_MIDDLE: f32 = 0.9;
const ERF_ONE: f32 = 3.93;

/// `erf x / x - 1` by powers of `x²`, error 2^-26.
const ERF_NEAR: [f32; 6] = [0.128_379_15, -0.376_125_1, 0.112_82, -0.026_773_658, 0.005_003_959_4, -6.047_814_4e-4];
/// `log₂(1 - erf x)`; its error contributes at most 2^-25 to erf.
const ERF_FAR: [f32; 6] = [-0.002_619_886_8, -1.616_425_2, -0.938_360_2, -0.131_782_71, 0.022_592_518, -0.001_821_180_7];
/// `-2^f` on `|f| ≤ ½`, relative error 2^-23; a fifth of it reaches erf.
#[expect(clippy::approx_constant, reason = "a fitted coefficient is not ln 2")]
const MINUS_EXP2: [f32; 6] = [-1.0, -0.693_147, -0.240_222_47, -0.055_507_116, -0.009_671_301, -0.001_326_927_4];

/// `u/(u+2)` with `u = e^(2x) - 1 = 2^n·(e^r - 1) + (2^n - 1)`. Near zero `u` is as exact as `e^r - 1`.
///
/// Far from zero the formula is `1 - 2/(u+2)`, where the error of `u` no longer matters.
pub(crate) fn tanh(make: &mut BodyBuilder, x: Val) -> Val {
    let (end, one, two) = (make.f32(TANH_ONE), make.f32(1.0), make.f32(2.0));
    let (high, low) = (make.f32(-LN_2), make.f32(-LN_2_LOW));
    let size = make.abs(x);
    let size = make.bin(BinaryOp::MinSecond, end, size);
    let n = make.nearest(size, 2.0 * LOG2_E);
    let double = make.add(size, size);
    let r = make.fma(n.float, high, double);
    let r = make.fma(n.float, low, r);
    let square = make.mul(r, r);
    let q = make.polynomial(r, &EXP_LESS_1);
    let less_one = make.fma(square, q, r);
    let power = make.power_of_two(n);
    let whole = make.sub(power, one);
    let u = make.fma(power, less_one, whole);
    let under = make.add(u, two);
    let is_far = make.cmp(Cmp::Gt, u, two);
    let above = make.select(is_far, two, u);
    let quotient = make.div(above, under);
    let complement = make.sub(one, quotient);
    let size = make.select(is_far, complement, quotient);
    make.with_sign(size, x)
}

/// `x + x·w(x²)` below [`ERF_MIDDLE`], `1 - 2^z(x)` above, where the power is small and so is its error.
pub(crate) fn erf(make: &mut BodyBuilder, x: Val) -> Val {
    let (middle, end, one) = (make.f32(ERF_MIDDLE), make.f32(ERF_ONE), make.f32(1.0));
    let size = make.abs(x);
    let square = make.mul(size, size);
    let near = make.polynomial(square, &ERF_NEAR);
    let near = make.fma(size, near, size);
    let limited = make.bin(BinaryOp::MinSecond, end, size);
    let z = make.polynomial(limited, &ERF_FAR);
    let n = make.nearest(z, 1.0);
    let f = make.sub(z, n.float);
    let minus = make.polynomial(f, &MINUS_EXP2);
    let whole = make.power_of_two(n);
    let far = make.fma(minus, whole, one);
    let is_near = make.cmp(Cmp::Lt, size, middle);
    let size = make.select(is_near, near, far);
    make.with_sign(size, x)
}
