//! Logarithms.

use super::builder::BodyBuilder;
use relayc_ir::kernel::{BinaryOp, Cmp, UnaryOp, Val};
use std::f32::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

/// `(ln(1+f) - f) / f²` for `1+f` from √½ to √2, so that `ln(1+f)` has relative error 2^-27.
const LOG: [f32; 9] =
    [-0.5, 0.333_333_3, -0.250_008_2, 0.200_012_42, -0.166_234_09, 0.142_015_8, -0.131_596_1, 0.127_622_17, -0.076_364_39];
/// `(log₂(1+f) - f·log₂e) / f²`, likewise.
const LOG2: [f32; 9] = [
    -0.721_347_33,
    0.480_898_2,
    -0.360_698_67,
    0.288_571_42,
    -0.239_567_35,
    0.204_486_58,
    -0.191_390_83,
    0.187_088_19,
    -0.110_255_89,
];
/// `(log₁₀(1+f) - f·log₁₀e) / f²`, likewise.
const LOG10: [f32; 9] = [
    -0.217_147_19,
    0.144_764_78,
    -0.108_580_89,
    0.086_868_71,
    -0.072_123_28,
    0.061_558_455,
    -0.057_558_26,
    0.056_287_546,
    -0.033_302_132,
];
/// `(log₂((1+s)/(1-s)) - 2s·log₂e) / s³` by powers of `s²`, relative error 2^-26.
const LOG2_ODD: [f32; 4] = [0.961_796_7, 0.577_074_17, 0.412_398_43, 0.325_536_58];

/// Numbers minus their nearest floats: ln 2, log₁₀ 2, log₂ e, log₁₀ e, 2·log₂ e.
pub(crate) const LN_2_LOW: f32 = -1.904_654_2e-9;
const LOG10_2_LOW: f32 = -1.432_098_9e-8;
const LOG2_E_LOW: f32 = 1.925_963e-8;
const LOG10_E_LOW: f32 = -1.010_305e-8;

/// The bits of √½ as [`split`]'s rounding yields them.
const ROOT_HALF: i32 = 0x3f35_04f3;

/// `(e, m)` with `x = m·2^e` and `m` from √½ to √2, for positive finite `x`.
fn split(make: &mut BodyBuilder, x: Val) -> (Val, Val) {
    let (normal, factor) = (make.f32(f32::MIN_POSITIVE), make.f32(2f32.powi(23)));
    let (zero, shift) = (make.f32(0.0), make.f32(-23.0));
    // Subnormals are made normal first.
    let subnormal = make.cmp(Cmp::Lt, x, normal);
    let larger = make.mul(x, factor);
    let x = make.select(subnormal, larger, x);
    let shift = make.select(subnormal, shift, zero);
    let (root, fraction, place) = (make.i32(ROOT_HALF), make.i32(0x7f_ffff), make.i32(23));
    let bits = make.un(UnaryOp::Bits, x);
    let above = make.sub(bits, root);
    let e = make.bin(BinaryOp::ShrSigned, above, place);
    let e = make.un(UnaryOp::ToFloat, e);
    let fraction = make.and(above, fraction);
    let m = make.add(fraction, root);
    (make.add(e, shift), make.un(UnaryOp::FromBits, m))
}

/// NaN for negative numbers and NaN, -inf for zeros, inf for inf, otherwise `result`.
fn with_limits(make: &mut BodyBuilder, x: Val, result: Val) -> Val {
    let (zero, infinite) = (make.f32(0.0), make.f32(f32::INFINITY));
    let (nan, minus) = (make.f32(f32::NAN), make.f32(f32::NEG_INFINITY));
    let finite = make.cmp(Cmp::Lt, x, infinite);
    let result = make.select(finite, result, x);
    let is_zero = make.cmp(Cmp::Eq, x, zero);
    let outside = make.select(is_zero, minus, nan);
    let positive = make.cmp(Cmp::Gt, x, zero);
    make.select(positive, result, outside)
}

pub(crate) fn log(make: &mut BodyBuilder, x: Val) -> Val {
    let (e, m) = split(make, x);
    let sum = log_of_parts(make, e, m, None);
    with_limits(make, x, sum)
}

/// `ln((x + low)·2^doublings)` for `low` below the last place of `x`.
pub(crate) fn log_of_sum(make: &mut BodyBuilder, x: Val, low: Val, doublings: Val) -> Val {
    let (e, m) = split(make, x);
    let e = make.add(e, doublings);
    let low = make.div(low, x);
    let sum = log_of_parts(make, e, m, Some(low));
    with_limits(make, x, sum)
}

/// `e·ln 2 + f + f²·w(f)` with `f = m - 1`; the low part of ln 2, and `low`, are added to the small terms.
fn log_of_parts(make: &mut BodyBuilder, e: Val, m: Val, low: Option<Val>) -> Val {
    let (one, high, ln_2_low) = (make.f32(1.0), make.f32(LN_2), make.f32(LN_2_LOW));
    let f = make.sub(m, one);
    let w = make.polynomial(f, &LOG);
    let square = make.mul(f, f);
    let tail = match low {
        Some(low) => make.fma(e, ln_2_low, low),
        None => make.mul(e, ln_2_low),
    };
    let tail = make.fma(square, w, tail);
    let sum = make.add(f, tail);
    make.fma(e, high, sum)
}

pub(crate) fn log2(make: &mut BodyBuilder, x: Val) -> Val {
    log_of_base(make, x, &LOG2, [1.0, 0.0], [LOG2_E, LOG2_E_LOW])
}

pub(crate) fn log10(make: &mut BodyBuilder, x: Val) -> Val {
    log_of_base(make, x, &LOG10, [LOG10_2, LOG10_2_LOW], [LOG10_E, LOG10_E_LOW])
}

/// `e·k + f·c + f²·w(f)`, where `k` and `c` are the logarithms of 2 and e, in two floats each.
fn log_of_base(make: &mut BodyBuilder, x: Val, w: &[f32], k: [f32; 2], c: [f32; 2]) -> Val {
    let (e, m) = split(make, x);
    let [one, k_high, k_low, c_high, c_low] = [1.0, k[0], k[1], c[0], c[1]].map(|value| make.f32(value));
    let f = make.sub(m, one);
    let w = make.polynomial(f, w);
    let square = make.mul(f, f);
    let tail = make.mul(f, c_low);
    let tail = make.fma(e, k_low, tail);
    let tail = make.fma(square, w, tail);
    let sum = make.fma(f, c_high, tail);
    let sum = make.fma(e, k_high, sum);
    with_limits(make, x, sum)
}

/// log₂ of a non-negative `x` as the sum of two floats, relative error about 2^-30; an infinite result is all in the first.
///
/// With `s = f/(2+f)` in two floats, `log₂(1+f) = 2s·log₂e + s³·q(s²)`. The second term is a hundredth of the first.
pub(crate) fn log2_twice(make: &mut BodyBuilder, x: Val) -> (Val, Val) {
    let (e, m) = split(make, x);
    let [zero, one, c_high, c_low] = [0.0, 1.0, 2.0 * LOG2_E, 2.0 * LOG2_E_LOW].map(|value| make.f32(value));
    let f = make.sub(m, one);
    let (under, under_low) = make.two_sum(m, one);
    let s = make.div(f, under);
    let minus = make.un(UnaryOp::Neg, s);
    let rest = make.fma(minus, under, f);
    let rest = make.fma(minus, under_low, rest);
    let s_low = make.div(rest, under);
    let (main, tail) = make.two_product(s, c_high);
    let tail = make.fma(s, c_low, tail);
    let tail = make.fma(s_low, c_high, tail);
    let square = make.mul(s, s);
    let q = make.polynomial(square, &LOG2_ODD);
    let cube = make.mul(square, s);
    let tail = make.fma(cube, q, tail);
    let (sum, error) = make.fast_two_sum(e, main);
    let tail = make.add(error, tail);
    let (high, low) = make.fast_two_sum(sum, tail);
    // Zero, inf and NaN.
    let (infinite, minus_infinite) = (make.f32(f32::INFINITY), make.f32(f32::NEG_INFINITY));
    let (finite, is_zero) = (make.cmp(Cmp::Lt, x, infinite), make.cmp(Cmp::Eq, x, zero));
    let high = make.select(finite, high, x);
    let low = make.select(finite, low, zero);
    (make.select(is_zero, minus_infinite, high), make.select(is_zero, zero, low))
}
