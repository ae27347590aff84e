//! Sine, cosine and tangent of any float, by Payne and Hanek's argument reduction ("Radian reduction for trigonometric functions",
//! 1983).
//!
//! `x·2/π` is computed modulo 4 with the bits of 2/π that matter for the exponent of `x`. Higher bits give multiples of 4;
//! lower bits do not affect the result. Products of 24 by 24 bits are kept exact in two floats.

use super::builder::BodyBuilder;
use relayc_ir::kernel::{BinaryOp, Cmp, UnaryOp, Val};
use std::f32::consts::{FRAC_PI_2, FRAC_PI_4};

/// 2/π = Σ word[j]·2^(-24(j+1)).
const TWO_OVER_PI: [u32; 9] = [0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c, 0x439041, 0xfe5163];

/// Number of leading words that the greatest floats skip, and number of words used.
const SKIPPED: usize = 4;
const WORDS: usize = 5;

/// π/2 minus its nearest float.
const HALF_PI_LOW: f32 = -4.371_139e-8;

/// Coefficients of `(sin r - r) / r³` in powers of `r²` on `|r| ≤ π/4`, error 2^-27 of sin r.
const SIN: [f32; 3] = [-0.166_666_55, 0.008_332_187, -1.951_790_6e-4];
/// `(cos r - 1) / r²` likewise, error 2^-33.
const COS: [f32; 4] = [-0.5, 0.041_666_646, -0.001_388_731, 2.443_232_7e-5];

/// `(tan r - r) / r³` likewise, error 2^-29.
const TAN: [f32; 7] = [0.333_333_5, 0.133_326_74, 0.054_059_17, 0.021_284_597, 0.010_832_135, 9.180_494e-5, 0.004_376_07];

/// `|x| = q·π/2 + r` with `|r| ≤ π/4`.
struct Reduced {
    /// The quadrant: the last two bits of `q` count.
    quadrant: Val,
    high: Val,
    low: Val,
}

pub(crate) fn sin(make: &mut BodyBuilder, x: Val) -> Val {
    let reduced = reduce(make, x);
    let bit = make.f32(-0.0);
    let sign = make.and(x, bit);
    let value = of_quadrant(make, &reduced, 0);
    make.bin(BinaryOp::Xor, value, sign)
}

pub(crate) fn cos(make: &mut BodyBuilder, x: Val) -> Val {
    let reduced = reduce(make, x);
    of_quadrant(make, &reduced, 1)
}

/// `tan r` for even quadrants, `-1/tan r` for odd ones.
pub(crate) fn tan(make: &mut BodyBuilder, x: Val) -> Val {
    let Reduced { quadrant, high, low } = reduce(make, x);
    let (square, one_float) = (make.mul(high, high), make.f32(1.0));
    let cube = make.mul(square, high);
    let t = make.polynomial(square, &TAN);
    let near = make.fma(cube, t, high);
    // The slope of the tangent carries the low half over.
    let slope = make.fma(near, near, one_float);
    let carried = make.mul(low, slope);
    let tail = make.fma(cube, t, carried);
    let tangent = make.add(high, tail);
    let (one, zero, minus) = (make.i32(1), make.i32(0), make.f32(-1.0));
    let odd = make.and(quadrant, one);
    let is_odd = make.cmp(Cmp::Ne, odd, zero);
    let turned = make.div(minus, tangent);
    let value = make.select(is_odd, turned, tangent);
    let bit = make.f32(-0.0);
    let sign = make.and(x, bit);
    make.bin(BinaryOp::Xor, value, sign)
}

/// `sin((q + ahead)·π/2 + r)`.
fn of_quadrant(make: &mut BodyBuilder, reduced: &Reduced, ahead: i32) -> Val {
    let (sine, cosine) = (sin_near(make, reduced), cos_near(make, reduced));
    let ahead = make.i32(ahead);
    let quadrant = make.add(reduced.quadrant, ahead);
    let (one, two, zero, place) = (make.i32(1), make.i32(2), make.i32(0), make.i32(30));
    let odd = make.and(quadrant, one);
    let is_odd = make.cmp(Cmp::Ne, odd, zero);
    let value = make.select(is_odd, cosine, sine);
    let second = make.and(quadrant, two);
    let sign = make.bin(BinaryOp::Shl, second, place);
    let sign = make.un(UnaryOp::FromBits, sign);
    make.bin(BinaryOp::Xor, value, sign)
}

fn sin_near(make: &mut BodyBuilder, reduced: &Reduced) -> Val {
    let r = reduced.high;
    let square = make.mul(r, r);
    let cube = make.mul(square, r);
    let s = make.polynomial(square, &SIN);
    let tail = make.fma(cube, s, reduced.low);
    make.add(r, tail)
}

fn cos_near(make: &mut BodyBuilder, reduced: &Reduced) -> Val {
    let r = reduced.high;
    let square = make.mul(r, r);
    let c = make.polynomial(square, &COS);
    let minus = make.un(UnaryOp::Neg, reduced.low);
    let one = make.f32(1.0);
    let tail = make.mul(minus, r);
    let tail = make.fma(square, c, tail);
    make.add(one, tail)
}

fn reduce(make: &mut BodyBuilder, x: Val) -> Reduced {
    let size = make.abs(x);
    let (words, first) = window(make, size);
    let (mut large, mut middle, mut small) = products(make, words, first);
    let mut sum = large.remove(0);
    for part in large {
        let (next, error) = make.two_sum(sum, part);
        sum = next;
        middle.push(error);
    }
    let q = make.un(UnaryOp::RoundEven, sum);
    let fraction = make.sub(sum, q);
    let mut rest = middle.remove(0);
    for part in middle {
        let (next, error) = make.two_sum(rest, part);
        rest = next;
        small.push(error);
    }
    let small = small.into_iter().reduce(|sum, part| make.add(sum, part)).expect("there are several");
    let (turn, rest) = make.two_sum(fraction, rest);
    let rest = make.add(rest, small);
    let (turn, rest) = make.fast_two_sum(turn, rest);
    // Quarter turns to radians.
    let (half_pi, half_pi_low) = (make.f32(FRAC_PI_2), make.f32(HALF_PI_LOW));
    let (high, low) = make.two_product(turn, half_pi);
    let low = make.fma(turn, half_pi_low, low);
    let low = make.fma(rest, half_pi, low);
    // What needs no reduction stays as it is, also where products would be subnormal.
    let (end, zero) = (make.f32(FRAC_PI_4), make.f32(0.0));
    let near = make.cmp(Cmp::Lt, size, end);
    let (high, low) = (make.select(near, size, high), make.select(near, zero, low));
    let quadrant = make.un(UnaryOp::NearestToInt, q);
    let none = make.i32(0);
    Reduced { quadrant: make.select(near, none, quadrant), high, low }
}

/// Products of `y` with words each 24 places below the previous one, modulo 4, as the terms of a sum.
///
/// The three lists hold terms that may exceed 1, terms of about 2^-22, and terms of about 2^-46.
fn products(make: &mut BodyBuilder, words: [Val; WORDS], mut y: Val) -> (Vec<Val>, Vec<Val>, Vec<Val>) {
    let down = make.f32(2f32.powi(-24));
    let mut parts = Vec::with_capacity(2 * WORDS);
    for word in words {
        let (high, low) = make.two_product(y, word);
        parts.extend([high, low]);
        y = make.mul(y, down);
    }
    // Of the last word only the upper half is seen.
    parts.pop();
    let (quarter, minus_four) = (make.f32(0.25), make.f32(-4.0));
    let modulo = |part: Val| {
        let quotient = make.mul(part, quarter);
        let quotient = make.un(UnaryOp::RoundEven, quotient);
        make.fma(quotient, minus_four, part)
    };
    // The first three reach from 2^49, 2^24 and 2^25 down; each other pair begins 24 places below the pair before.
    let large: Vec<Val> = parts[..3].iter().copied().map(modulo).chain(parts[3..5].iter().copied()).collect();
    (large, parts[5..7].to_vec(), parts[7..].to_vec())
}

/// The words of 2/π as floats below 1, from the first significant one on, and `size` scaled to match.
fn window(make: &mut BodyBuilder, size: Val) -> ([Val; WORDS], Val) {
    let word = |make: &mut BodyBuilder, at: usize| make.f32(TWO_OVER_PI[at] as f32 * 2f32.powi(-24));
    let mut words: [Val; WORDS] = std::array::from_fn(|i| word(make, i));
    let mut factor = make.f32(1.0);
    for skip in 1..=SKIPPED {
        // A product with a word that ends at 2^(-24·skip) is a multiple of 4.
        let limit = make.f32(2f32.powi(24 * skip as i32 + 25));
        let large = make.cmp(Cmp::Ge, size, limit);
        words = std::array::from_fn(|i| {
            let later = word(make, i + skip);
            make.select(large, later, words[i])
        });
        let smaller = make.f32(2f32.powi(-24 * skip as i32));
        factor = make.select(large, smaller, factor);
    }
    (words, make.mul(size, factor))
}
