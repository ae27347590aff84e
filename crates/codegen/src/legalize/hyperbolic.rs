//! Hyperbolic sine and cosine, and the inverses of the hyperbolic functions.

use super::builder::BodyBuilder;
use super::{exponential, logarithm};
use relayc_ir::kernel::{Cmp, UnaryOp, Val};

/// `(sinh x - x) / x³` by powers of `x²` for `|x| ≤ 1`, error 2^-31 of sinh x.
const SINH: [f32; 4] = [0.166_666_67, 0.008_333_31, 1.984_289_6e-4, 2.782_213_2e-6];

/// From here on, `1 + x²` rounds to `x²`.
const LARGE: f32 = 16_384.0;

/// `e^|x|/2` and `e^-|x|/2`.
fn halves(make: &mut BodyBuilder, x: Val) -> (Val, Val) {
    let (size, quarter) = (make.abs(x), make.f32(0.25));
    let up = exponential::half_exp(make, size);
    (up, make.div(quarter, up))
}

pub(crate) fn sinh(make: &mut BodyBuilder, x: Val) -> Val {
    let (size, one) = (make.abs(x), make.f32(1.0));
    let (up, down) = halves(make, x);
    let far = make.sub(up, down);
    let square = make.mul(size, size);
    let cube = make.mul(square, size);
    let rest = make.polynomial(square, &SINH);
    let near = make.fma(cube, rest, size);
    let is_near = make.cmp(Cmp::Lt, size, one);
    let size = make.select(is_near, near, far);
    make.with_sign(size, x)
}

pub(crate) fn cosh(make: &mut BodyBuilder, x: Val) -> Val {
    let (up, down) = halves(make, x);
    make.add(up, down)
}

/// `ln(1 + y)` with `y = x + x²/(1 + √(1+x²))`; for large `x`, it is `ln 2x`.
pub(crate) fn asinh(make: &mut BodyBuilder, x: Val) -> Val {
    let (size, one) = (make.abs(x), make.f32(1.0));
    let square = make.mul(size, size);
    let sum = make.add(square, one);
    let root = make.un(UnaryOp::Sqrt, sum);
    let under = make.add(root, one);
    let more = make.div(square, under);
    let y = make.add(size, more);
    let size = unless_large(make, size, y);
    make.with_sign(size, x)
}

/// `ln(1 + y)` with `y = t + √(t·(t+2))` and `t = x - 1`; for large `x`, it is `ln 2x`.
pub(crate) fn acosh(make: &mut BodyBuilder, x: Val) -> Val {
    let [one, two, nan] = [1.0, 2.0, f32::NAN].map(|value| make.f32(value));
    let t = make.sub(x, one);
    let sum = make.add(t, two);
    let square = make.mul(t, sum);
    let root = make.un(UnaryOp::Sqrt, square);
    let y = make.add(t, root);
    let result = unless_large(make, x, y);
    let is_inside = make.cmp(Cmp::Ge, x, one);
    make.select(is_inside, result, nan)
}

/// `½·ln(1 + y)` with `y = 2x/(1-x)`.
pub(crate) fn atanh(make: &mut BodyBuilder, x: Val) -> Val {
    let (size, one, half, zero) = (make.abs(x), make.f32(1.0), make.f32(0.5), make.f32(0.0));
    let (above, under) = (make.add(size, size), make.sub(one, size));
    let y = make.div(above, under);
    let (sum, low) = sum_with_one(make, y);
    let log = logarithm::log_of_sum(make, sum, low, zero);
    let size = make.mul(log, half);
    make.with_sign(size, x)
}

/// `ln 2x` for large `x`, else `ln(1 + y)`.
fn unless_large(make: &mut BodyBuilder, x: Val, y: Val) -> Val {
    let (large, one, zero) = (make.f32(LARGE), make.f32(1.0), make.f32(0.0));
    let is_large = make.cmp(Cmp::Ge, x, large);
    let (sum, low) = sum_with_one(make, y);
    let (sum, low) = (make.select(is_large, x, sum), make.select(is_large, zero, low));
    let doublings = make.select(is_large, one, zero);
    logarithm::log_of_sum(make, sum, low, doublings)
}

/// `1 + y` rounded, and its rounding error; none of an infinite sum.
fn sum_with_one(make: &mut BodyBuilder, y: Val) -> (Val, Val) {
    let (one, zero, infinite) = (make.f32(1.0), make.f32(0.0), make.f32(f32::INFINITY));
    let (sum, low) = make.two_sum(one, y);
    let is_finite = make.cmp(Cmp::Lt, sum, infinite);
    (sum, make.select(is_finite, low, zero))
}
