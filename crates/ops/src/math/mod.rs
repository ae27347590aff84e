//! Element-wise functions of one operand, which keep its shape.

mod onnx;

pub(crate) use onnx::{ONNX, rounded_onnx};

use crate::prelude::*;
use relayc_ir::kernel::Instr;
use relayc_ir::tensor::{float_max, float_min};

attrs! {
    "relay.attrs.ClipAttrs" =>
    pub struct ClipAttrs {
        /// The least value of the result.
        pub a_min: f64;
        /// The greatest value of the result.
        pub a_max: f64;
    }
}

/// A function of one operand that only floats have.
const fn float(name: &'static str, doc: &'static str, eval: Eval, lower: LowerScalar) -> OpDef {
    OpDef { rules: &["C1: dtype(data) is a float"], rel: rel::float_identity, ..OpDef::unary(name, doc, eval, lower) }
}

/// A property of each element, as bool.
const fn test(name: &'static str, doc: &'static str, eval: Eval, lower: LowerScalar) -> OpDef {
    OpDef { rel: test_rel, ..OpDef::unary(name, doc, eval, lower) }
}

fn test_rel(cx: &mut RelCx) -> RelResult {
    let data = cx.tensor(0)?;
    cx.set_out(data.dims(), DType::BOOL)
}

fn isnan_scalar(s: &mut Scalar) -> Option<Val> {
    if s.is_float().is_none() {
        return Some(always(s, false));
    }
    Some(s.body.cmp(Cmp::Ne, s.args[0], s.args[0]))
}

/// One Bool for every element.
fn always(s: &mut Scalar, holds: bool) -> Val {
    s.body.push(Instr::Const(if holds { u32::MAX.into() } else { 0 }, ScalarType::Bool))
}

/// How the magnitude compares with infinity; that of an integer is less.
fn magnitude(s: &mut Scalar, op: Cmp) -> Option<Val> {
    if s.is_float().is_none() {
        return Some(always(s, op == Cmp::Lt));
    }
    let magnitude = s.float(UnaryOp::Abs)?;
    let infinity = s.like(0, f64::INFINITY)?;
    Some(s.body.cmp(op, magnitude, infinity))
}

/// The evaluation of a function that only floats have.
fn floats(cx: &EvalCx, f: fn(f64) -> f64) -> EvalResult {
    cx.map(f, |x| x)
}

pub const SQRT: OpDef = float(
    "sqrt",
    "The square root; NaN below zero (`src/relay/op/tensor/unary.cc`).",
    |cx| cx.map(f64::sqrt, |x| x),
    |s| s.float(UnaryOp::Sqrt),
);

pub(crate) const RSQRT: OpDef = float(
    "rsqrt",
    "One divided by the square root (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, |x| 1.0 / x.sqrt()),
    |s| s.float(UnaryOp::Rsqrt),
);

pub const EXP: OpDef = float(
    "exp",
    "`e` to the power of `x` (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::exp),
    |s| s.float(UnaryOp::Exp),
);

pub const FAST_EXP: OpDef = float(
    "fast_exp",
    "`e` to the power of `x`. TVM approximates; here it is `exp` (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::exp),
    |s| s.float(UnaryOp::Exp),
);

pub const LOG: OpDef = float(
    "log",
    "The natural logarithm; NaN below zero (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::ln),
    |s| s.float(UnaryOp::Log),
);

pub(crate) const LOG2: OpDef = float(
    "log2",
    "The logarithm to base 2; NaN below zero (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::log2),
    |s| s.float(UnaryOp::Log2),
);

pub(crate) const LOG10: OpDef = float(
    "log10",
    "The logarithm to base 10; NaN below zero (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::log10),
    |s| s.float(UnaryOp::Log10),
);

pub const SIGMOID: OpDef = float(
    "sigmoid",
    "`1 / (1 + e^-x)` (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, sigmoid),
    |s| s.float(UnaryOp::Sigmoid),
);

/// Below zero without `e^-x`, which becomes infinite before the result is zero.
fn sigmoid(x: f64) -> f64 {
    let t = (-x.abs()).exp();
    if x < 0.0 { t / (1.0 + t) } else { 1.0 / (1.0 + t) }
}

pub const TANH: OpDef = float(
    "tanh",
    "The hyperbolic tangent (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::tanh),
    |s| s.float(UnaryOp::Tanh),
);

pub const FAST_TANH: OpDef = float(
    "fast_tanh",
    "The hyperbolic tangent. TVM approximates; here it is `tanh` (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::tanh),
    |s| s.float(UnaryOp::Tanh),
);

pub const SIN: OpDef =
    float("sin", "The sine, of radians (`src/relay/op/tensor/unary.cc`).", |cx| floats(cx, f64::sin), |s| s.float(UnaryOp::Sin));

pub const COS: OpDef = float(
    "cos",
    "The cosine, of radians (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::cos),
    |s| s.float(UnaryOp::Cos),
);

pub const TAN: OpDef = float(
    "tan",
    "The tangent, of radians (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::tan),
    |s| s.float(UnaryOp::Tan),
);

pub(crate) const ASIN: OpDef = float(
    "asin",
    "The inverse of the sine; NaN outside -1…1 (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::asin),
    |s| s.float(UnaryOp::Asin),
);

pub(crate) const ACOS: OpDef = float(
    "acos",
    "The inverse of the cosine; NaN outside -1…1 (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::acos),
    |s| s.float(UnaryOp::Acos),
);

pub(crate) const ATAN: OpDef = float(
    "atan",
    "The inverse of the tangent (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::atan),
    |s| s.float(UnaryOp::Atan),
);

pub(crate) const SINH: OpDef = float(
    "sinh",
    "The hyperbolic sine (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::sinh),
    |s| s.float(UnaryOp::Sinh),
);

pub(crate) const COSH: OpDef = float(
    "cosh",
    "The hyperbolic cosine (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::cosh),
    |s| s.float(UnaryOp::Cosh),
);

pub(crate) const ASINH: OpDef = float(
    "asinh",
    "The inverse of the hyperbolic sine (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, libm::asinh),
    |s| s.float(UnaryOp::Asinh),
);

pub(crate) const ACOSH: OpDef = float(
    "acosh",
    "The inverse of the hyperbolic cosine; NaN below 1 (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, acosh),
    |s| s.float(UnaryOp::Acosh),
);

/// The library's gives numbers below 1, too.
fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

pub(crate) const ATANH: OpDef = float(
    "atanh",
    "The inverse of the hyperbolic tangent; NaN outside -1…1 (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, libm::atanh),
    |s| s.float(UnaryOp::Atanh),
);

pub const ERF: OpDef = float(
    "erf",
    "The error function, `2/√π ∫₀ˣ e^-t² dt` (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, libm::erf),
    |s| s.float(UnaryOp::Erf),
);

pub const FAST_ERF: OpDef = float(
    "fast_erf",
    "The error function. TVM approximates; here it is `erf` (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, libm::erf),
    |s| s.float(UnaryOp::Erf),
);

pub const ABS: OpDef = OpDef::unary(
    "abs",
    "The absolute value; that of the least integer is itself (`src/relay/op/tensor/unary.cc`).",
    |cx| cx.map(f64::abs, i128::abs),
    |s| s.number(UnaryOp::Abs),
);

pub const NEGATIVE: OpDef = OpDef::unary(
    "negative",
    "`-x`; integers wrap (`src/relay/op/tensor/unary.cc`).",
    |cx| cx.map(|x| -x, |x| -x),
    |s| s.number(UnaryOp::Neg),
);

pub(crate) const SIGN: OpDef = OpDef::unary(
    "sign",
    "-1, 0 or 1 by the sign of `x`; 0 for NaN (`src/relay/op/tensor/unary.cc`).",
    |cx| cx.map(|x| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)), i128::signum),
    sign_scalar,
);

fn sign_scalar(s: &mut Scalar) -> Option<Val> {
    let lane = s.lane(0)?;
    if lane.is_float() || lane == ScalarType::Bool {
        return if lane == ScalarType::Bool { Some(s.args[0]) } else { s.float(UnaryOp::Sign) };
    }
    let (zero, one) = (s.like(0, 0.0)?, s.like(0, 1.0)?);
    let minus = s.body.bin(BinaryOp::Sub, zero, one);
    let (above, below) = (s.body.cmp(Cmp::Gt, s.args[0], zero), s.body.cmp(Cmp::Lt, s.args[0], zero));
    let down = s.body.select(below, minus, zero);
    Some(s.body.select(above, one, down))
}

pub const FLOOR: OpDef = OpDef::unary(
    "floor",
    "Rounds downwards; integers stay (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::floor),
    |s| s.rounded(UnaryOp::Floor),
);

pub const CEIL: OpDef = OpDef::unary(
    "ceil",
    "Rounds upwards; integers stay (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::ceil),
    |s| s.rounded(UnaryOp::Ceil),
);

pub(crate) const TRUNC: OpDef = OpDef::unary(
    "trunc",
    "Rounds towards zero; integers stay (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::trunc),
    |s| s.rounded(UnaryOp::Trunc),
);

pub const ROUND: OpDef = OpDef::unary(
    "round",
    "Rounds to the nearest integer, halves away from zero; integers stay (`src/relay/op/tensor/unary.cc`).",
    |cx| floats(cx, f64::round),
    |s| s.rounded(UnaryOp::Round),
);

pub(crate) const COPY: OpDef = OpDef::unary(
    "copy",
    "The operand, unchanged (`src/relay/op/tensor/unary.cc`).",
    |cx| Ok(cx.tensor(0).clone().into()),
    |s| Some(s.args[0]),
);

pub(crate) const ISNAN: OpDef = test(
    "isnan",
    "Whether each element is NaN, as bool; no integer is (`src/relay/op/tensor/unary.cc`).",
    |cx| Ok(cx.tensor(0).test(f64::is_nan, |_| false).into()),
    isnan_scalar,
);

pub(crate) const ISFINITE: OpDef = test(
    "isfinite",
    "Whether each element is finite, as bool; every integer is (`src/relay/op/tensor/unary.cc`).",
    |cx| Ok(cx.tensor(0).test(f64::is_finite, |_| true).into()),
    |s| magnitude(s, Cmp::Lt),
);

pub(crate) const ISINF: OpDef = test(
    "isinf",
    "Whether each element is infinite, as bool; no integer is (`src/relay/op/tensor/unary.cc`).",
    |cx| Ok(cx.tensor(0).test(f64::is_infinite, |_| false).into()),
    |s| magnitude(s, Cmp::Eq),
);

pub const CLIP: OpDef = OpDef {
    attrs: Some(ClipAttrs::SCHEMA),
    work: Work::LISTS,
    ..OpDef::unary(
        "clip",
        "`max(min(x, a_max), a_min)`, with the bounds converted to the operand's dtype as `cast` does; NaN stays NaN \
         (`src/relay/op/tensor/unary.cc`).",
        clip_eval,
        clip_scalar,
    )
};

fn clip_scalar(s: &mut Scalar) -> Option<Val> {
    (s.lane(0)? != ScalarType::Bool).then_some(())?;
    let attrs = ClipAttrs::read(s.call.attrs);
    let (min, max) = (s.like(0, attrs.a_min)?, s.like(0, attrs.a_max)?);
    let capped = s.body.bin(BinaryOp::Min, s.args[0], max);
    Some(s.body.bin(BinaryOp::Max, capped, min))
}

fn clip_eval(cx: &EvalCx) -> EvalResult {
    let (data, attrs) = (cx.tensor(0), ClipAttrs::read(cx.attrs));
    let bound = |value: f64| Tensor::full(data.dtype(), &[], value).expect("the operand's dtype");
    let below = data.zip(&bound(attrs.a_max), float_min, Ord::min).expect("a scalar broadcasts");
    Ok(below.zip(&bound(attrs.a_min), float_max, Ord::max).expect("a scalar broadcasts").into())
}

pub(crate) const FAMILY: &[OpDef] = &[
    SQRT, RSQRT, EXP, FAST_EXP, LOG, LOG2, LOG10, SIGMOID, TANH, FAST_TANH, SIN, COS, TAN, ASIN, ACOS, ATAN, SINH, COSH, ASINH,
    ACOSH, ATANH, ERF, FAST_ERF, ABS, NEGATIVE, SIGN, FLOOR, CEIL, TRUNC, ROUND, COPY, ISNAN, ISFINITE, ISINF, CLIP,
];

#[cfg(test)]
mod tests {
    use super::super::testing::{ANY, Attrs, eval, rel, t};
    use super::*;
    use relayc_ir::attrs::AttrValue;

    fn floats(name: &str, x: &[f32], attrs: Attrs) -> Vec<f32> {
        eval(name, &[Tensor::from_vec(&[x.len()], x.into())], attrs).expect("no trap").to_vec().expect("f32")
    }

    fn ints(name: &str, x: &[i8], attrs: Attrs) -> Vec<i8> {
        eval(name, &[Tensor::from_vec(&[x.len()], x.into())], attrs).expect("no trap").to_vec().expect("i8")
    }

    #[test]
    fn float_functions_need_floats() {
        assert_eq!(rel("exp", &[t(&[ANY, 2], DType::F16)], &[]), "Tensor[(?, 2), float16]");
        assert_eq!(rel("exp", &[t(&[2], DType::I32)], &[]), "E0305 C1");
        assert_eq!(rel("isnan", &[t(&[2], DType::I32)], &[]), "Tensor[(2), bool]");
    }

    #[test]
    fn values_at_the_corners() {
        assert_eq!(floats("sqrt", &[4.0, 0.0], &[]), [2.0, 0.0]);
        assert!(floats("log", &[-1.0, f32::NAN], &[]).iter().all(|x| x.is_nan()));
        assert_eq!(floats("log", &[0.0, 1.0], &[]), [f32::NEG_INFINITY, 0.0]);
        assert_eq!(floats("sigmoid", &[f32::NEG_INFINITY, 0.0, f32::INFINITY], &[]), [0.0, 0.5, 1.0]);
        assert_eq!(floats("tanh", &[f32::NEG_INFINITY, 0.0, f32::INFINITY], &[]), [-1.0, 0.0, 1.0]);
        assert_eq!(floats("round", &[0.5, -0.5, 1.5, 2.5], &[]), [1.0, -1.0, 2.0, 3.0]);
        assert_eq!(floats("sign", &[-2.0, -0.0, 3.0, f32::NAN], &[]), [-1.0, 0.0, 1.0, 0.0]);
        assert_eq!(ints("abs", &[-128, -1, 5], &[]), [-128, 1, 5]);
        assert_eq!(ints("negative", &[-128, -1, 5], &[]), [-128, 1, -5]);
        assert_eq!(ints("round", &[-128, 3], &[]), [-128, 3]);
    }

    #[test]
    fn clip_converts_its_bounds() {
        let bounds = |min, max| vec![("a_min", AttrValue::float(min)), ("a_max", AttrValue::float(max))];
        assert_eq!(ints("clip", &[-20, 5, 20], &bounds(-10.9, 10.9)), [-10, 5, 10]);
        assert_eq!(ints("clip", &[-128, 127], &bounds(-1000.0, 1000.0)), [-128, 127]);
        assert_eq!(ints("clip", &[1, 2, 3], &bounds(9.0, 0.0)), [9, 9, 9]);
        let clipped = floats("clip", &[f32::NAN, -3.0, 0.5], &bounds(-1.0, 1.0));
        assert!(clipped[0].is_nan());
        assert_eq!(clipped[1..], [-1.0, 0.5]);
    }
}
