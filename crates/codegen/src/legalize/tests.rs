//! Compares every function with f64: all exponents with sampled mantissas, and values where behaviour changes.

pub(crate) mod evaluate;

use super::legalize;
use evaluate::evaluate;
use relayc_ir::kernel::{BinaryOp, Body, Instr, ScalarType, UnaryOp, Val};

const N: usize = 64;

/// Critical inputs: limits of formats, of ranges, of whole numbers.
const SPECIAL: [f32; 40] = [
    0.0,
    f32::from_bits(1),
    f32::from_bits(2),
    f32::from_bits(0x7f_ffff),
    f32::MIN_POSITIVE,
    1e-30,
    1e-10,
    0.25,
    0.499_999_97,
    0.5,
    0.75,
    0.9,
    0.999_999_94,
    1.0,
    1.000_000_1,
    1.5,
    2.0,
    2.5,
    3.0,
    3.93,
    7.0,
    9.02,
    10.0,
    17.3,
    87.33655,
    88.72284,
    103.97208,
    104.0,
    127.0,
    128.0,
    149.0,
    150.0,
    8_388_607.5,
    8_388_608.0,
    16_777_215.0,
    16_777_216.0,
    2_147_483_648.0,
    1e30,
    f32::MAX,
    f32::INFINITY,
];

/// The special values of both signs, NaN, and `n` mantissas at every exponent of both signs.
fn samples(n: u32) -> Vec<u32> {
    let mut samples: Vec<u32> = SPECIAL.iter().flat_map(|x| [x.to_bits(), (-x).to_bits()]).collect();
    samples.extend([f32::NAN.to_bits(), 0xffc0_0001, 0x7f80_0001]);
    let mut state = 0x9e37_79b9u32;
    for top in 0..512u32 {
        for _ in 0..n {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            samples.push(top << 23 | state >> 9);
        }
    }
    samples
}

/// Distance of `got` from `want` in units of the last place of `want`; NaN matches NaN, and an exact zero keeps its sign.
fn distance(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if rounded.is_nan() || got.is_nan() {
        return if rounded.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == rounded {
        let wrong_zero = want == 0.0 && got.is_sign_negative() != want.is_sign_negative();
        return match () {
            () if wrong_zero => f64::INFINITY,
            () if got.is_infinite() => 0.0,
            () => (f64::from(got) - want).abs() / last_place(want),
        };
    }
    let got = if got.is_infinite() { 2f64.powi(128).copysign(got.into()) } else { got.into() };
    (got - want).abs() / last_place(want)
}

fn last_place(x: f64) -> f64 {
    let size = x.abs().clamp(f32::MIN_POSITIVE.into(), f32::MAX.into());
    f64::from_bits(size.to_bits() & 0x7ff << 52) * 2f64.powi(-23)
}

fn run(op: impl Fn(&mut Body) -> Val, inputs: &[Vec<u32>], scale: bool) -> Vec<f32> {
    let mut body = Body::new();
    let result = op(&mut body);
    let (body, results) = legalize(&body, &vec![ScalarType::F32; inputs.len()], &[result], scale);
    let mut out = Vec::new();
    for at in (0..inputs[0].len()).step_by(N) {
        let reads: Vec<([u32; N], ScalarType)> = inputs
            .iter()
            .map(|input| (std::array::from_fn(|i| input.get(at + i).copied().unwrap_or(0)), ScalarType::F32))
            .collect();
        let values = evaluate(&body, &reads, (&[], &[]), 0.0);
        out.extend(values[results[0].0 as usize].map(f32::from_bits));
    }
    out.truncate(inputs[0].len());
    out
}

fn check_unary(op: UnaryOp, reference: fn(f64) -> f64, bound: f64, n: u32) {
    let input = samples(n);
    for scale in [true, false] {
        let out = run(
            |body| {
                let x = body.read(0);
                body.un(op, x)
            },
            std::slice::from_ref(&input),
            scale,
        );
        for (&x, &got) in input.iter().zip(&out) {
            let x = f32::from_bits(x);
            let want = reference(x.into());
            let off = distance(got, want);
            assert!(off <= bound, "{op:?}({x:e}) is {got:e}, not {want:e}: {off} units, with scale {scale}");
        }
    }
}

fn check_binary(op: BinaryOp, reference: fn(f64, f64) -> f64, bound: f64, inputs: &[Vec<u32>; 2]) {
    for scale in [true, false] {
        let out = run(
            |body| {
                let (x, y) = (body.read(0), body.read(1));
                body.bin(op, x, y)
            },
            inputs,
            scale,
        );
        for ((&x, &y), &got) in inputs[0].iter().zip(&inputs[1]).zip(&out) {
            let (x, y) = (f32::from_bits(x), f32::from_bits(y));
            let want = reference(x.into(), y.into());
            let off = distance(got, want);
            assert!(off <= bound, "{op:?}({x:e}, {y:e}) is {got:e}, not {want:e}: {off} units, with scale {scale}");
        }
    }
}

/// All pairs of special values, and sampled pairs.
fn pairs(n: u32) -> [Vec<u32>; 2] {
    let special = &samples(0);
    let both = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y)));
    let mut shifted = samples(n);
    let len = shifted.len();
    let straight = shifted.clone();
    // Far exponents meet near ones, and each is also near its partner.
    shifted.rotate_left(len / 3 + 7);
    let near: Vec<u32> = straight.iter().map(|x| x ^ x.rotate_left(13) & 0x03ff_ffff).collect();
    let random = straight.iter().copied().zip(shifted).chain(straight.iter().copied().zip(near));
    both.chain(random).unzip::<u32, u32, Vec<u32>, Vec<u32>>().into()
}

/// erf as the operator's evaluation computes it.
fn erf(x: f64) -> f64 {
    if x.is_nan() || x.abs() >= 6.0 {
        return if x.is_nan() { x } else { x.signum() };
    }
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

#[test]
fn exponentials() {
    check_unary(UnaryOp::Exp, f64::exp, 1.0, 100);
    check_unary(UnaryOp::Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 2.0, 100);
}

#[test]
fn logarithms() {
    check_unary(UnaryOp::Log, f64::ln, 1.0, 60);
    check_unary(UnaryOp::Log2, f64::log2, 1.0, 60);
    check_unary(UnaryOp::Log10, f64::log10, 1.0, 60);
    check_unary(UnaryOp::Rsqrt, |x| 1.0 / x.sqrt(), 1.5, 100);
}

#[test]
fn saturating_functions() {
    check_unary(UnaryOp::Tanh, f64::tanh, 3.0, 100);
    check_unary(UnaryOp::Erf, erf, 3.0, 50);
}

#[test]
fn circular_functions() {
    check_unary(UnaryOp::Sin, f64::sin, 1.5, 60);
    check_unary(UnaryOp::Cos, f64::cos, 1.5, 60);
    check_unary(UnaryOp::Tan, f64::tan, 3.0, 60);
}

#[test]
fn inverse_circular_functions() {
    check_unary(UnaryOp::Asin, f64::asin, 3.0, 100);
    check_unary(UnaryOp::Acos, f64::acos, 3.0, 100);
    check_unary(UnaryOp::Atan, f64::atan, 3.0, 100);
}

#[test]
fn hyperbolic_functions() {
    check_unary(UnaryOp::Sinh, f64::sinh, 3.0, 100);
    check_unary(UnaryOp::Cosh, f64::cosh, 3.0, 100);
    check_unary(UnaryOp::Asinh, f64::asinh, 3.0, 100);
    check_unary(UnaryOp::Acosh, f64::acosh, 3.0, 100);
    check_unary(UnaryOp::Atanh, f64::atanh, 3.0, 100);
}

#[test]
fn powers() {
    check_binary(BinaryOp::Pow, f64::powf, 4.0, &pairs(20));
    // Where the result is neither zero nor infinite, close to 1 and far from it.
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 24)
    };
    for _ in 0..20_000 {
        let base = 2f64.powf(280.0 * next() - 149.0) as f32;
        let result = 2f64.powf(300.0 * next() - 150.0).ln();
        x.push(base.to_bits());
        y.push(((result / f64::from(base).ln()) as f32).to_bits());
    }
    check_binary(BinaryOp::Pow, f64::powf, 4.0, &[x, y]);
}

#[test]
fn remainders_are_exact() {
    check_binary(BinaryOp::Mod, |x, y| x % y, 0.0, &pairs(10));
    check_binary(BinaryOp::FloorDiv, |x, y| if (x / y).abs() < 2f64.powi(53) { (x / y).floor() } else { x / y }, 1.0, &pairs(30));
    // Exact remainders where f64 has exact quotients.
    let [x, y] = pairs(10);
    let exact = |&(x, y): &(u32, u32)| {
        let (x, y) = (f64::from(f32::from_bits(x)), f64::from(f32::from_bits(y)));
        (x / y).is_nan() || (x / y).abs() <= 2f64.powi(28)
    };
    let (x, y): (Vec<u32>, Vec<u32>) = x.into_iter().zip(y).filter(exact).unzip();
    check_binary(BinaryOp::FloorMod, |x, y| x - (x / y).floor() * y, 0.5, &[x, y]);
}

#[test]
fn the_greater_and_the_lesser() {
    // NaN wins, and -0 is less than +0.
    let greater = |x: f64, y: f64| match () {
        () if x.is_nan() || y.is_nan() => f64::NAN,
        () if x == y => {
            if x.is_sign_negative() {
                y
            } else {
                x
            }
        }
        () => x.max(y),
    };
    let lesser = |x: f64, y: f64| match () {
        () if x.is_nan() || y.is_nan() => f64::NAN,
        () if x == y => {
            if x.is_sign_negative() {
                x
            } else {
                y
            }
        }
        () => x.min(y),
    };
    check_binary(BinaryOp::Max, greater, 0.0, &pairs(10));
    check_binary(BinaryOp::Min, lesser, 0.0, &pairs(10));
    // One side a constant.
    let input = samples(2);
    for constant in [0.0f32, -0.0, 1.5, -3.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        for (op, reference) in [(BinaryOp::Max, greater as fn(f64, f64) -> f64), (BinaryOp::Min, lesser)] {
            for first in [true, false] {
                let build = |body: &mut Body| {
                    let (x, c) = (body.read(0), body.f32(constant));
                    if first { body.bin(op, c, x) } else { body.bin(op, x, c) }
                };
                for (&x, got) in input.iter().zip(run(build, std::slice::from_ref(&input), true)) {
                    let x = f32::from_bits(x);
                    let want = reference(x.into(), constant.into());
                    assert!(distance(got, want) == 0.0, "{op:?}({x:e}, {constant:e}) is {got:e}, not {want:e}");
                }
            }
        }
    }
}

#[test]
fn roundings_and_signs() {
    check_unary(UnaryOp::Round, f64::round, 0.0, 100);
    check_unary(UnaryOp::Sign, |x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)), 0.0, 10);
    let input = samples(20);
    let out = run(
        |body| {
            let x = body.read(0);
            body.un(UnaryOp::SaturateToInt, x)
        },
        std::slice::from_ref(&input),
        true,
    );
    for (x, got) in input.iter().zip(out) {
        assert_eq!(got.to_bits() as i32, f32::from_bits(*x) as i32, "{:e}", f32::from_bits(*x));
    }
}

#[test]
fn only_what_is_needed_stays_and_it_is_primitive() {
    let mut body = Body::new();
    let x = body.read(0);
    let unused = body.un(UnaryOp::Sin, x);
    let used = body.un(UnaryOp::Exp, x);
    body.bin(BinaryOp::Add, unused, used);
    let (with_scale, results) = legalize(&body, &[ScalarType::F32], &[used], true);
    assert_eq!(results, [Val(with_scale.instrs.len() as u32 - 1)]);
    assert!(with_scale.instrs.len() < 30);
    let (without, _) = legalize(&body, &[ScalarType::F32], &[used], false);
    assert!(without.instrs.iter().all(|instr| !matches!(instr, Instr::Binary(BinaryOp::Scale, ..))));
}
