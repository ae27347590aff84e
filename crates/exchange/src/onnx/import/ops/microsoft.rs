//! Converts ONNX Runtime's own quantized operators, which its quantization tools write: domain `com.microsoft`.
//!
//! Each means what ONNX Runtime's kernels for x86-64 compute (`onnxruntime/contrib_ops/cpu/quantization`, `core/mlas/lib`): the
//! same scales, halves to even, and zero points on the side of the rounding where the kernel adds them. A scale and a zero point
//! are one for all elements, except those of a matrix of weights.

use super::super::formula::call2;
use super::building_blocks::*;
use super::pool::{averages, spatial_axes};
use super::quantized::{
    along, centred, dequantize_linear, dequantized, dynamic_quantized, product, quantize_linear, quantized, settled,
};
use super::reduce::along_axis;
use super::{Converter, op};

/// A quantized operand, or where a result is put: its dtype, its scale and its zero point.
struct Scaled {
    dtype: DType,
    scale: Val,
    zero_point: Option<Val>,
}

/// The scale at an index and the zero point behind it, both scalars. Without a zero point, it is 0 of a dtype.
fn scaled(cx: &mut Cx, index: usize, dtype: DType) -> Result<Scaled> {
    let scale = cx.input(index)?;
    let scale = cx.scalar_of(scale)?;
    let Some(zero_point) = cx.opt(index.saturating_add(1)) else { return Ok(Scaled { dtype, scale, zero_point: None }) };
    let dtype = cx.dtype(zero_point)?;
    Ok(Scaled { dtype, scale, zero_point: Some(cx.scalar_of(zero_point)?) })
}

/// A scale in float32 and a zero point as one, where it is a number that is added.
fn float_zero(cx: &mut Cx, of: &Scaled) -> Result {
    match of.zero_point {
        Some(zero_point) => cx.cast(zero_point, DType::F32),
        None => cx.scalar(DType::F32, 0.0),
    }
}

/// An operand, its scale and its zero point: three in a row.
fn operand(cx: &mut Cx, index: usize) -> Result<(Val, Scaled)> {
    let x = cx.input(index)?;
    let dtype = cx.dtype(x)?;
    Ok((x, scaled(cx, index.saturating_add(1), dtype)?))
}

/// An operand as floats.
fn floats(cx: &mut Cx, index: usize) -> Result<(Val, DType)> {
    let (x, of) = operand(cx, index)?;
    Ok((dequantized(cx, x, of.scale, of.zero_point)?, of.dtype))
}

/// `floats / scale + zero_point`, rounded and clamped.
fn rounded_last(cx: &mut Cx, floats: Val, to: &Scaled) -> Result {
    let quotient = cx.binary("divide", floats, to.scale)?;
    let zero_point = float_zero(cx, to)?;
    let sum = cx.binary("add", quotient, zero_point)?;
    settled(cx, sum, None, to.dtype)
}

/// `(a - a_zero) * a_scale + (b - b_zero) * b_scale`: all zero points are one number, to which the products are added.
fn qlinear_add(cx: &mut Cx) -> Results {
    let ((a, of_a), (b, of_b)) = (operand(cx, 0)?, operand(cx, 3)?);
    let to = scaled(cx, 6, of_a.dtype)?;
    let (zero_a, zero_b, zero) = (float_zero(cx, &of_a)?, float_zero(cx, &of_b)?, float_zero(cx, &to)?);
    let ratio_a = cx.binary("divide", of_a.scale, to.scale)?;
    let ratio_b = cx.binary("divide", of_b.scale, to.scale)?;
    let shift = cx.b.formula(zero, call2("multiply", ratio_a, zero_a) + call2("multiply", ratio_b, zero_b))?;
    let fixed = cx.binary("subtract", zero, shift)?;
    let (a, b) = (cx.cast(a, DType::F32)?, cx.cast(b, DType::F32)?);
    let (a, b) = (cx.binary("multiply", a, ratio_a)?, cx.binary("multiply", b, ratio_b)?);
    let sum = cx.binary("add", a, fixed)?;
    let sum = cx.binary("add", sum, b)?;
    one(settled(cx, sum, None, to.dtype)?)
}

fn qlinear_mul(cx: &mut Cx) -> Results {
    let ((a, of_a), (b, of_b)) = (operand(cx, 0)?, operand(cx, 3)?);
    let to = scaled(cx, 6, of_a.dtype)?;
    let (a, b) = (centred(cx, a, of_a.zero_point, 0)?, centred(cx, b, of_b.zero_point, 0)?);
    let scale = cx.binary("multiply", of_a.scale, of_b.scale)?;
    let scale = cx.binary("divide", scale, to.scale)?;
    let product = cx.binary("multiply", a, b)?;
    let product = cx.cast(product, DType::F32)?;
    let zero_point = float_zero(cx, &to)?;
    let sum = cx.b.formula(product, call2("multiply", product, scale) + zero_point)?;
    one(settled(cx, sum, None, to.dtype)?)
}

/// An operand in another scale.
fn requantized(cx: &mut Cx, index: usize, to: &Scaled) -> Result {
    let (x, of) = operand(cx, index)?;
    let same = |cx: &Cx, a: Val, b: Val| cx.known(a).is_some_and(|a| cx.known(b) == Some(a));
    let zeros_equal = match (of.zero_point, to.zero_point) {
        (Some(a), Some(b)) => same(cx, a, b),
        (a, b) => a.is_none() && b.is_none(),
    };
    if of.dtype == to.dtype && zeros_equal && same(cx, of.scale, to.scale) {
        return Ok(x);
    }
    let floats = dequantized(cx, x, of.scale, of.zero_point)?;
    quantized(cx, floats, to.scale, to.zero_point, to.dtype)
}

fn qlinear_concat(cx: &mut Cx) -> Results {
    let first = cx.input(2)?;
    let dtype = cx.dtype(first)?;
    let to = scaled(cx, 0, dtype)?;
    let parts: Vec<Val> = (2..cx.inputs.len()).step_by(3).map(|index| requantized(cx, index, &to)).collect::<Result<_>>()?;
    let axis = cx.required_int("axis")?;
    let rank = cx.rank(first)?;
    let axis = cx.axis(axis, rank)?;
    one(cx.concatenate(&parts, axis)?)
}

fn qlinear_where(cx: &mut Cx) -> Results {
    let then = cx.input(1)?;
    let dtype = cx.dtype(then)?;
    let to = scaled(cx, 7, dtype)?;
    let (then, other) = (requantized(cx, 1, &to)?, requantized(cx, 4, &to)?);
    let condition = cx.input(0)?;
    one(cx.select(condition, then, other)?)
}

/// A function of each element.
fn unary_of(cx: &mut Cx, function: impl FnOnce(&mut Cx, Val) -> Result) -> Results {
    let (x, dtype) = floats(cx, 0)?;
    let y = function(cx, x)?;
    let to = scaled(cx, 3, dtype)?;
    one(quantized(cx, y, to.scale, to.zero_point, to.dtype)?)
}

fn qlinear_leaky_relu(cx: &mut Cx) -> Results {
    let alpha = cx.float("alpha", 0.01)?;
    unary_of(cx, |cx, x| cx.call("nn.leaky_relu", &[x], &[("alpha", AttrValue::float(alpha))]))
}

/// Refuses channels behind the pixels.
fn channels_first(cx: &mut Cx) -> Result<()> {
    if cx.flag("channels_last", false)? { Err(refuse("`channels_last`")) } else { Ok(()) }
}

fn qlinear_average_pool(cx: &mut Cx) -> Results {
    channels_first(cx)?;
    let (x, dtype) = floats(cx, 0)?;
    let means = averages(cx, x)?;
    let to = scaled(cx, 3, dtype)?;
    one(rounded_last(cx, means, &to)?)
}

/// The sum of the integers, scaled once.
fn qlinear_global_average_pool(cx: &mut Cx) -> Results {
    channels_first(cx)?;
    let (x, of) = operand(cx, 0)?;
    let to = scaled(cx, 3, of.dtype)?;
    let axes = spatial_axes(cx.rank(x)?)?;
    let mut n = 1i64;
    for &axis in &axes {
        n = n.saturating_mul(cx.size(x, usize::try_from(axis).unwrap_or(usize::MAX))?);
    }
    let wide = centred(cx, x, of.zero_point, 0)?;
    let sums = cx.reduce("sum", wide, &axes, true)?;
    let sums = cx.cast(sums, DType::F32)?;
    let n = i32::try_from(n).map_err(|_| Refusal::wrong("a mean over more than 2^31 elements"))?;
    let n = cx.scalar(DType::F32, f64::from(n))?;
    let scale = cx.b.formula(n, of.scale / call2("multiply", to.scale, n))?;
    let means = cx.binary("multiply", sums, scale)?;
    one(settled(cx, means, to.zero_point, to.dtype)?)
}

/// Shares of the reciprocal of the result's scale, which is taken as a whole number.
fn qlinear_softmax(cx: &mut Cx) -> Results {
    let (x, of) = operand(cx, 0)?;
    let to = scaled(cx, 3, of.dtype)?;
    let opset = cx.required_int("opset")?;
    let wide = cx.cast(x, DType::F32)?;
    let floats = cx.binary("multiply", wide, of.scale)?;
    let shares = along_axis(cx, floats, opset, |cx, x, axis| cx.call("nn.softmax", &[x], &[("axis", AttrValue::int(axis))]))?;
    let whole = cx.b.formula(to.scale, 1.0 / to.scale)?;
    let whole = cx.unary("floor", whole)?;
    let parts = cx.binary("multiply", shares, whole)?;
    one(settled(cx, parts, to.zero_point, to.dtype)?)
}

/// The product of two matrices with a bias in int32, requantized, or as floats where no scale of the result is given.
fn qgemm(cx: &mut Cx) -> Results {
    let (alpha, flip_a, flip_b) = (cx.float("alpha", 1.0)?, cx.flag("transA", false)?, cx.flag("transB", false)?);
    let (mut a, mut b) = (cx.input(0)?, cx.input(3)?);
    if flip_a {
        a = cx.transpose(a, &[1, 0])?;
    }
    if flip_b {
        b = cx.transpose(b, &[1, 0])?;
    }
    let mut sums = product(cx, (a, cx.opt(2)), (b, cx.opt(5)))?;
    if let Some(bias) = cx.opt(6) {
        sums = cx.binary("add", sums, bias)?;
    }
    let sums = cx.cast(sums, DType::F32)?;
    let (a_scale, b_scale) = (cx.input(1)?, cx.input(4)?);
    let (a_scale, b_scale) = (cx.scalar_of(a_scale)?, along(cx, b_scale, 1, 2)?);
    let alpha = cx.scalar(DType::F32, alpha)?;
    let scale = cx.b.formula(alpha, call2("multiply", call2("multiply", alpha, a_scale), b_scale))?;
    if cx.opt(7).is_none() {
        return one(cx.binary("multiply", sums, scale)?);
    }
    let of_a = cx.dtype(a)?;
    let to = scaled(cx, 7, of_a)?;
    let scale = cx.binary("divide", scale, to.scale)?;
    let rescaled = cx.binary("multiply", sums, scale)?;
    one(settled(cx, rescaled, to.zero_point, to.dtype)?)
}

/// A product of integers as floats, and a bias.
pub(super) fn product_as_floats(cx: &mut Cx, sums: Val, a_scale: Val, b_scale: Val, bias: Option<Val>) -> Result {
    let rank = cx.rank(sums)?;
    let sums = cx.cast(sums, DType::F32)?;
    let (a_scale, b_scale) = (cx.scalar_of(a_scale)?, along(cx, b_scale, rank.saturating_sub(1), rank)?);
    let scale = cx.binary("multiply", a_scale, b_scale)?;
    let floats = cx.binary("multiply", sums, scale)?;
    match bias {
        Some(bias) => cx.binary("add", floats, bias),
        None => Ok(floats),
    }
}

fn matmul_integer_to_float(cx: &mut Cx) -> Results {
    let (a, b, a_scale, b_scale) = (cx.input(0)?, cx.input(1)?, cx.input(2)?, cx.input(3)?);
    let sums = product(cx, (a, cx.opt(4)), (b, cx.opt(5)))?;
    one(product_as_floats(cx, sums, a_scale, b_scale, cx.opt(6))?)
}

fn dynamic_quantize_matmul(cx: &mut Cx) -> Results {
    let a = cx.input(0)?;
    let [a, a_scale, a_zero] = dynamic_quantized(cx, a)?;
    let (b, b_scale) = (cx.input(1)?, cx.input(2)?);
    let sums = product(cx, (a, Some(a_zero)), (b, cx.opt(3)))?;
    one(product_as_floats(cx, sums, a_scale, b_scale, cx.opt(4))?)
}

const LAST: &str = "`channels_last`";

pub(crate) const FAMILY: &[Converter] = &[
    op("com.microsoft.DequantizeLinear", &[1], dequantize_linear).but("8-bit floats; 4-bit integers that are no weights"),
    op("com.microsoft.DynamicQuantizeMatMul", &[1], dynamic_quantize_matmul),
    op("com.microsoft.MatMulIntegerToFloat", &[1], matmul_integer_to_float).but("scales for the rows of the first operand"),
    op("com.microsoft.QGemm", &[1], qgemm),
    op("com.microsoft.QLinearAdd", &[1], qlinear_add),
    op("com.microsoft.QLinearAveragePool", &[1], qlinear_average_pool).but(LAST),
    op("com.microsoft.QLinearConcat", &[1], qlinear_concat),
    op("com.microsoft.QLinearGlobalAveragePool", &[1], qlinear_global_average_pool).but(LAST),
    op("com.microsoft.QLinearLeakyRelu", &[1], qlinear_leaky_relu),
    op("com.microsoft.QLinearMul", &[1], qlinear_mul),
    op("com.microsoft.QLinearSigmoid", &[1], |cx| unary_of(cx, |cx, x| cx.unary("sigmoid", x))),
    op("com.microsoft.QLinearSoftmax", &[1], qlinear_softmax),
    op("com.microsoft.QLinearWhere", &[1], qlinear_where),
    op("com.microsoft.QuantizeLinear", &[1], quantize_linear).but("8-bit floats, 4-bit integers"),
];
