//! Exports element-wise functions of one operand to ONNX.

use super::*;
use crate::arith::truncated_onnx;
use crate::prelude::*;

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (SQRT.name, Onnx::Node("Sqrt", DTypeClass::Floats)),
    (RSQRT.name, Onnx::Nodes(rsqrt_onnx)),
    (EXP.name, Onnx::Node("Exp", DTypeClass::Floats)),
    (FAST_EXP.name, Onnx::Node("Exp", DTypeClass::Floats)),
    (LOG.name, Onnx::Node("Log", DTypeClass::Floats)),
    (LOG2.name, Onnx::Nodes(|cx| log_onnx(cx, std::f64::consts::LOG2_E))),
    (LOG10.name, Onnx::Nodes(|cx| log_onnx(cx, std::f64::consts::LOG10_E))),
    (SIGMOID.name, Onnx::Node("Sigmoid", DTypeClass::Floats)),
    (TANH.name, Onnx::Node("Tanh", DTypeClass::Floats)),
    (FAST_TANH.name, Onnx::Node("Tanh", DTypeClass::Floats)),
    (SIN.name, Onnx::Node("Sin", DTypeClass::Ieee)),
    (COS.name, Onnx::Node("Cos", DTypeClass::Ieee)),
    (TAN.name, Onnx::Node("Tan", DTypeClass::Ieee)),
    (ASIN.name, Onnx::Node("Asin", DTypeClass::Ieee)),
    (ACOS.name, Onnx::Node("Acos", DTypeClass::Ieee)),
    (ATAN.name, Onnx::Node("Atan", DTypeClass::Ieee)),
    (SINH.name, Onnx::Node("Sinh", DTypeClass::Ieee)),
    (COSH.name, Onnx::Node("Cosh", DTypeClass::Ieee)),
    (ASINH.name, Onnx::Node("Asinh", DTypeClass::Ieee)),
    (ACOSH.name, Onnx::Node("Acosh", DTypeClass::Ieee)),
    (ATANH.name, Onnx::Node("Atanh", DTypeClass::Ieee)),
    (ERF.name, Onnx::Node("Erf", DTypeClass::Floats)),
    (FAST_ERF.name, Onnx::Node("Erf", DTypeClass::Floats)),
    (ABS.name, Onnx::Node("Abs", DTypeClass::Numbers)),
    (NEGATIVE.name, Onnx::Node("Neg", DTypeClass::Signed)),
    (SIGN.name, Onnx::Node("Sign", DTypeClass::Numbers)),
    (FLOOR.name, Onnx::Nodes(|cx| whole_onnx(cx, |cx, x| cx.node("Floor", &[x]).one()))),
    (CEIL.name, Onnx::Nodes(|cx| whole_onnx(cx, |cx, x| cx.node("Ceil", &[x]).one()))),
    (TRUNC.name, Onnx::Nodes(|cx| whole_onnx(cx, truncated_onnx))),
    (ROUND.name, Onnx::Nodes(round_onnx)),
    (COPY.name, Onnx::Node("Identity", DTypeClass::Any)),
    (ISNAN.name, Onnx::Node("IsNaN", DTypeClass::Floats)),
    (ISFINITE.name, Onnx::Nodes(isfinite_onnx)),
    (ISINF.name, Onnx::Nodes(isinf_onnx)),
    (CLIP.name, Onnx::Nodes(clip_onnx)),
];

fn rsqrt_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let root = cx.map("Sqrt");
    Ok(cx.node("Reciprocal", &[root]).one().into())
}

/// `log x = ln x * log e`.
fn log_onnx(cx: &mut OnnxCx, of_e: f64) -> OnnxResult {
    let (ln, of_e) = (cx.map("Log"), cx.scalar("log_e", cx.out_dtype(), of_e)?);
    Ok(cx.node("Mul", &[ln, of_e]).one().into())
}

/// A rounding, which integers need none of.
fn whole_onnx(cx: &mut OnnxCx, round: fn(&mut OnnxCx, ValueId) -> ValueId) -> OnnxResult {
    let data = cx.tensor(0);
    Ok(if cx.out_dtype().is_float() { round(cx, data) } else { cx.map("Identity") }.into())
}

fn round_onnx(cx: &mut OnnxCx) -> OnnxResult {
    whole_onnx(cx, |cx, x| rounded_onnx(cx, x, cx.out_dtype()))
}

/// ONNX rounds halves to even, Relay away from zero: `sign(x) * (floor(|x|) + 1, if |x| - floor(|x|) >= 0.5, else floor(|x|))`,
/// in which the difference is exact. A zero is itself: the sign of one says nothing of it. The dtype is a float.
pub(crate) fn rounded_onnx(cx: &mut OnnxCx, x: ValueId, dtype: DType) -> ValueId {
    let (sign, size) = (cx.node("Sign", &[x]).one(), cx.node("Abs", &[x]).one());
    let floor = cx.node("Floor", &[size]).one();
    let rest = cx.node("Sub", &[size, floor]).one();
    let number = |value: f64| Tensor::full(dtype, &[], value).expect("a float");
    let [zero, half, one] = [("zero", 0.0), ("half", 0.5), ("one", 1.0)].map(|(what, value)| cx.constant(what, number(value)));
    let up = cx.node("GreaterOrEqual", &[rest, half]).one();
    let above = cx.node("Add", &[floor, one]).one();
    let size = cx.node("Where", &[up, above, floor]).one();
    let (is_zero, rounded) = (cx.node("Equal", &[x, zero]).one(), cx.node("Mul", &[sign, size]).one());
    cx.node("Where", &[is_zero, x, rounded]).one()
}

/// ONNX asks float32 and float64 only.
fn isinf_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let data = cx.tensor(0);
    let dtype = cx.dtype(data);
    DTypeClass::Floats.require(dtype)?;
    let data = if dtype == DType::F64 { data } else { cx.cast(data, dtype, DType::F32)? };
    Ok(cx.node("IsInf", &[data]).one().into())
}

fn isfinite_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let infinite = isinf_onnx(cx)?.0[0];
    let nan = cx.map("IsNaN");
    let either = cx.node("Or", &[infinite, nan]).one();
    Ok(cx.node("Not", &[either]).one().into())
}

/// Bounds the wrong way round give the lower one here and the upper one in ONNX, so they are two steps.
fn clip_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, data, dtype) = (ClipAttrs::read(cx.attrs), cx.tensor(0), cx.out_dtype());
    DTypeClass::Numbers.require(dtype)?;
    let (low, high) = (cx.scalar("min", dtype, attrs.a_min)?, cx.scalar("max", dtype, attrs.a_max)?);
    if attrs.a_min <= attrs.a_max {
        return Ok(cx.node("Clip", &[data, low, high]).one().into());
    }
    let below = cx.node("Min", &[data, high]).one();
    Ok(cx.node("Max", &[below, low]).one().into())
}
