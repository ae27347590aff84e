//! Exponential, logistic function and powers.

use super::builder::{BodyBuilder, WholeNumber};
use super::logarithm::{self, LN_2_LOW};
use relayc_ir::kernel::{BinaryOp, Cmp, UnaryOp, Val};
use std::f32::consts::{LN_2, LOG2_E};

/// Coefficients of `e^r` on `|r| ≤ ln 2 / 2`, relative error 2^-28.
const EXP: [f32; 7] = [1.0, 1.0, 0.499_999_94, 0.166_665_21, 0.041_668_262, 0.008_368_674, 0.001_382_103_9];

/// `e^x` rounds to zero below the one, and `e^x/2` to infinity above the other.
const LOWEST: f32 = -104.0;
const HIGHEST: f32 = 90.0;

/// `e^x = 2^n·e^r` with `n` the whole number nearest to `x / ln 2`.
pub(crate) fn exp(make: &mut BodyBuilder, x: Val) -> Val {
    let (power, n) = exp_of_rest(make, x);
    make.scale(power, n)
}

/// `e^x/2`, also where only `e^x` is infinite.
pub(crate) fn half_exp(make: &mut BodyBuilder, x: Val) -> Val {
    let (power, n) = exp_of_rest(make, x);
    let half = make.f32(0.5);
    let power = make.mul(power, half);
    make.scale(power, n)
}

/// `e^r` and `n`. Clamping keeps `n` small and passes NaN through.
fn exp_of_rest(make: &mut BodyBuilder, x: Val) -> (Val, WholeNumber) {
    let (lowest, highest) = (make.f32(LOWEST), make.f32(HIGHEST));
    let x = make.bin(BinaryOp::MinSecond, highest, x);
    let x = make.bin(BinaryOp::MaxSecond, lowest, x);
    let (high, low) = (make.f32(-LN_2), make.f32(-LN_2_LOW));
    let n = make.nearest(x, LOG2_E);
    let r = make.fma(n.float, high, x);
    let r = make.fma(n.float, low, r);
    (make.polynomial(r, &EXP), n)
}

/// The logistic function rounds to 1 from here on.
const SIGMOID_ONE: f32 = 18.0;

/// `c/(c + c·e^-x)` with `c = 2^-64`, so that no power overflows or loses precision, however small the result.
///
/// `e^-x` is `2^n·e^-s` with `s = x + n·ln 2`. Few instructions in short chains: networks compute it for most of their elements.
pub(crate) fn sigmoid(make: &mut BodyBuilder, x: Val) -> Val {
    let (lowest, highest) = (make.f32(LOWEST), make.f32(SIGMOID_ONE));
    let x = make.bin(BinaryOp::MinSecond, highest, x);
    let x = make.bin(BinaryOp::MaxSecond, lowest, x);
    let (high, low) = (make.f32(LN_2), make.f32(LN_2_LOW));
    let n = make.nearest(x, -LOG2_E);
    let s = make.fma(n.float, high, x);
    let s = make.fma(n.float, low, s);
    let signed = |(at, c): (usize, &f32)| if at % 2 == 0 { *c } else { -c };
    let coefficients: Vec<f32> = EXP.iter().enumerate().map(signed).collect();
    let slope = make.even_and_odd(s, &coefficients[1..]);
    let first = make.f32(coefficients[0]);
    let power = make.fma(slope, s, first);
    let c = 2f32.powi(-64);
    let factor = make.times_power_of_two(c, n);
    let c = make.f32(c);
    let under = make.fma(power, factor, c);
    make.div(c, under)
}

/// `2^(y·log₂|x|)`, with logarithm and product in two floats each; then signs and the special cases of C's `pow`.
pub(crate) fn pow(make: &mut BodyBuilder, x: Val, y: Val) -> Val {
    let (zero, one) = (make.f32(0.0), make.f32(1.0));
    let size = make.abs(x);
    let (high, low) = logarithm::log2_twice(make, size);
    let exponent = make.mul(y, high);
    let minus = make.un(UnaryOp::Neg, exponent);
    let rest = make.fma(y, high, minus);
    let rest = make.fma(y, low, rest);
    // ±1 to an infinite power is 1.
    let is_one = make.cmp(Cmp::Eq, size, one);
    let exponent = make.select(is_one, zero, exponent);
    // Where the exponent is out of all bounds, its second half is infinite or NaN.
    let bound = make.f32(256.0);
    let exponent_size = make.abs(exponent);
    let bounded = make.cmp(Cmp::Lt, exponent_size, bound);
    let rest = make.select(bounded, rest, zero);
    let rest = make.select(is_one, zero, rest);
    let (most, least) = (make.f32(160.0), make.f32(-160.0));
    let exponent = make.bin(BinaryOp::MinSecond, most, exponent);
    let exponent = make.bin(BinaryOp::MaxSecond, least, exponent);
    let n = make.nearest(exponent, 1.0);
    let r = make.sub(exponent, n.float);
    let r = make.add(r, rest);
    let ln_2 = make.f32(LN_2);
    let r = make.mul(r, ln_2);
    let power = make.polynomial(r, &EXP);
    let power = make.scale(power, n);
    signed_power(make, x, y, power)
}

/// Adds the powers of negative numbers, and `x^0 = 1^y = 1` even for NaN.
fn signed_power(make: &mut BodyBuilder, x: Val, y: Val, power: Val) -> Val {
    let (zero, one, half) = (make.f32(0.0), make.f32(1.0), make.f32(0.5));
    let (infinite, nan, sign_bit) = (make.f32(f32::NEG_INFINITY), make.f32(f32::NAN), make.f32(-0.0));
    let whole = make.un(UnaryOp::Trunc, y);
    let is_whole = make.cmp(Cmp::Eq, whole, y);
    let half_y = make.mul(y, half);
    let half_whole = make.un(UnaryOp::Trunc, half_y);
    let half_differs = make.cmp(Cmp::Ne, half_whole, half_y);
    let odd = make.and(is_whole, half_differs);
    let sign = make.and(x, sign_bit);
    let sign = make.select(odd, sign, zero);
    let power = make.or(power, sign);
    // A negative number other than -0 and -inf, to a power that is not whole. NaN as the power is not whole either.
    let (below, above) = (make.cmp(Cmp::Lt, x, zero), make.cmp(Cmp::Gt, x, infinite));
    let negative = make.and(below, above);
    let with_nan = make.select(is_whole, power, nan);
    let power = make.select(negative, with_nan, power);
    let (x_is_one, y_is_zero) = (make.cmp(Cmp::Eq, x, one), make.cmp(Cmp::Eq, y, zero));
    let is_one = make.or(x_is_one, y_is_zero);
    make.select(is_one, one, power)
}
