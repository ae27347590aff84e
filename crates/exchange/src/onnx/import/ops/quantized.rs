//! Converts quantized operators: `QuantizeLinear` and related ones.
//!
//! ONNX rounds halves to even; Relay's `qnn` operators round them away from zero or upwards. So operators that end in rounding
//! use Relay's plain operators. Contractions use `qnn.conv2d` where that is equivalent.

use super::super::formula::{call, call2};
use super::building_blocks::*;
use super::conv;
use super::{Converter, op};

/// A scale or zero point: a scalar stays, a vector is reshaped to broadcast along `axis` of a tensor of rank `rank`.
pub(super) fn along(cx: &mut Cx, value: Val, axis: usize, rank: usize) -> Result {
    match cx.rank(value)? {
        0 => Ok(value),
        1 if cx.dim(value, 0)? == 1 => cx.reshape(value, &[]),
        1 => {
            let n = cx.dim(value, 0)?;
            let shape: Vec<i64> =
                std::iter::once(n).chain(std::iter::repeat_n(1, rank.saturating_sub(axis).saturating_sub(1))).collect();
            cx.reshape(value, &shape)
        }
        _ => Ok(value),
    }
}

/// `round(x / scale) + zero_point`, clamped to the dtype.
pub(super) fn quantized(cx: &mut Cx, x: Val, scale: Val, zero_point: Option<Val>, dtype: DType) -> Result {
    let wide = if cx.dtype(x)? == DType::F64 { DType::F64 } else { DType::F32 };
    let (x, scale) = (cx.cast(x, wide)?, cx.cast(scale, wide)?);
    let quotient = cx.binary("divide", x, scale)?;
    settled(cx, quotient, zero_point, dtype)
}

/// Rounds a float, adds the zero point, and clamps the sum to the dtype.
pub(super) fn settled(cx: &mut Cx, x: Val, zero_point: Option<Val>, dtype: DType) -> Result {
    let wide = cx.dtype(x)?;
    // Behind 1.5 * 2^23, a float32 has no place for a fraction, so the sum is rounded, with halves to even. What is too large for
    // this stays too large for the dtype.
    let places = cx.scalar(wide, 1.5 * if wide == DType::F64 { 2f64.powi(52) } else { 2f64.powi(23) })?;
    let x = cx.binary("add", x, places)?;
    let mut x = cx.binary("subtract", x, places)?;
    if let Some(zero_point) = zero_point {
        let zero_point = cx.cast(zero_point, wide)?;
        x = cx.binary("add", x, zero_point)?;
    }
    let (least, greatest) = match (dtype.code, dtype.bits) {
        (DTypeCode::Int, 8) => (-128.0, 127.0),
        (DTypeCode::UInt, 8) => (0.0, 255.0),
        (DTypeCode::Int, 16) => (-32768.0, 32767.0),
        (DTypeCode::UInt, 16) => (0.0, 65535.0),
        _ => return Err(refuse(format!("numbers quantized to `{dtype}`"))),
    };
    let limited = cx.call("clip", &[x], &[("a_min", AttrValue::float(least)), ("a_max", AttrValue::float(greatest))])?;
    cx.cast(limited, dtype)
}

/// Refuses unsupported attributes, and returns scale and zero point in shapes that broadcast with `x`.
fn scale_and_zero(cx: &mut Cx, x: Val) -> Result<(Val, Option<Val>)> {
    let (scale, zero_point) = (cx.input(1)?, cx.opt(2));
    let block = cx.int("block_size", 0)?;
    if block != 0 {
        return Ok((of_blocks(cx, x, scale, block)?, zero_point.map(|zero| of_blocks(cx, x, zero, block)).transpose()?));
    }
    let (rank, axis) = (cx.rank(x)?, cx.int("axis", 1)?);
    // One scale for all has no axis.
    let single = cx.rank(scale)? == 0 || (cx.rank(scale)? == 1 && cx.dim(scale, 0)? == 1);
    let axis = if single { 0 } else { cx.axis(axis, rank)? };
    let scale = along(cx, scale, axis, rank)?;
    let zero_point = zero_point.map(|zero_point| along(cx, zero_point, axis, rank)).transpose()?;
    Ok((scale, zero_point))
}

/// The numbers of blocks along the node's axis, each for all elements of its block; the last block may be shorter.
fn of_blocks(cx: &mut Cx, x: Val, numbers: Val, block: i64) -> Result {
    let rank = cx.rank(x)?;
    let axis = cx.axis_attr("axis", 1, rank)?;
    let length = cx.size(x, axis)?;
    let n_blocks = length.saturating_add(block.saturating_sub(1)).checked_div(block);
    let fits = block > 0 && cx.rank(numbers)? == rank && Some(cx.size(numbers, axis)?) == n_blocks;
    if !fits {
        return Err(Refusal::wrong(format!("scales that do not fit blocks of {block} of {length} elements")));
    }
    let all = cx.call("repeat", &[numbers], &[("repeats", AttrValue::int(block.min(length.max(1)))), ("axis", int(axis))])?;
    cx.slice(all, axis, 0, length)
}

/// The dtype in an attribute, if it is present and not 0.
fn named_dtype(cx: &mut Cx, name: &'static str) -> Result<Option<DType>> {
    match cx.int(name, 0)? {
        0 => Ok(None),
        code => Ok(Some(cx.dtype_of(code)?)),
    }
}

pub(super) fn quantize_linear(cx: &mut Cx) -> Results {
    let (x, zero_point) = (cx.input(0)?, cx.opt(2));
    // Of 8-bit floats only.
    cx.ignore("saturate");
    if named_dtype(cx, "precision")?.is_some_and(|dtype| dtype != DType::F32) {
        return Err(refuse("a division in another dtype than float32"));
    }
    let dtype = match (named_dtype(cx, "output_dtype")?, zero_point) {
        (named, Some(zero_point)) => {
            let dtype = cx.dtype(zero_point)?;
            if named.is_some_and(|named| named != dtype) {
                return Err(Refusal::wrong("`output_dtype` is not that of the zero point"));
            }
            dtype
        }
        (named, None) => named.unwrap_or(DType::U8),
    };
    let (scale, zero_point) = scale_and_zero(cx, x)?;
    one(quantized(cx, x, scale, zero_point, dtype)?)
}

/// `(x - zero_point) * scale`, in the scale's dtype.
pub(super) fn dequantized(cx: &mut Cx, x: Val, scale: Val, zero_point: Option<Val>) -> Result {
    let dtype = cx.dtype(scale)?;
    let mut wide = cx.cast(x, DType::I32)?;
    if let Some(zero_point) = zero_point {
        let zero_point = cx.cast(zero_point, DType::I32)?;
        wide = cx.binary("subtract", wide, zero_point)?;
    }
    let wide = cx.cast(wide, dtype)?;
    cx.binary("multiply", wide, scale)
}

pub(super) fn dequantize_linear(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let dtype = named_dtype(cx, "output_dtype")?;
    let (scale, zero_point) = scale_and_zero(cx, x)?;
    if dtype.is_some_and(|dtype| Ok(dtype) != cx.dtype(scale).map_err(drop)) {
        return Err(refuse("a result of another dtype than the scale's"));
    }
    one(dequantized(cx, x, scale, zero_point)?)
}

fn dynamic_quantize(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    Ok(dynamic_quantized(cx, x)?.into())
}

/// A tensor in uint8 by its own range, with scale and zero point.
pub(super) fn dynamic_quantized(cx: &mut Cx, x: Val) -> Result<[Val; 3]> {
    let (max, min) = (cx.call("max", &[x], &[])?, cx.call("min", &[x], &[])?);
    let (max, min) = (cx.b.formula(x, call2("maximum", max, 0.0))?, cx.b.formula(x, call2("minimum", min, 0.0))?);
    let scale = cx.b.formula(x, (max - min) / 255.0)?;
    let place = cx.b.formula(x, call("negative", min) / scale)?;
    let zero_point = settled(cx, place, None, DType::U8)?;
    let y = quantized(cx, x, scale, Some(zero_point), DType::U8)?;
    Ok([y, scale, zero_point])
}

/// Converts to int32 and subtracts the zero point, which may have one value for each row or column.
pub(super) fn centred(cx: &mut Cx, x: Val, zero_point: Option<Val>, axis: usize) -> Result {
    let wide = cx.cast(x, DType::I32)?;
    let Some(zero_point) = zero_point else { return Ok(wide) };
    let rank = cx.rank(x)?;
    let zero_point = along(cx, zero_point, axis, rank)?;
    let zero_point = cx.cast(zero_point, DType::I32)?;
    cx.binary("subtract", wide, zero_point)
}

/// The product of two matrices or batches of them, in int32.
pub(super) fn product(cx: &mut Cx, a: (Val, Option<Val>), b: (Val, Option<Val>)) -> Result {
    let rows = cx.rank(a.0)?.saturating_sub(2);
    let columns = cx.rank(b.0)?.saturating_sub(1);
    let a = centred(cx, a.0, a.1, rows)?;
    let b = centred(cx, b.0, b.1, columns)?;
    cx.matmul(a, b)
}

fn matmul_integer(cx: &mut Cx) -> Results {
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    one(product(cx, (a, cx.opt(2)), (b, cx.opt(3)))?)
}

fn qlinear_matmul(cx: &mut Cx) -> Results {
    let (a, a_scale, a_zero) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let (b, b_scale, b_zero) = (cx.input(3)?, cx.input(4)?, cx.input(5)?);
    let (y_scale, y_zero) = (cx.input(6)?, cx.input(7)?);
    let sums = product(cx, (a, Some(a_zero)), (b, Some(b_zero)))?;
    let rank = cx.rank(sums)?;
    let a_scale = along(cx, a_scale, rank.saturating_sub(2), rank)?;
    let b_scale = along(cx, b_scale, rank.saturating_sub(1), rank)?;
    one(rescaled(cx, sums, [a_scale, b_scale, y_scale], y_zero)?)
}

/// Rescales sums of products: multiplies by their scales and divides by that of the result.
fn rescaled(cx: &mut Cx, sums: Val, [a, b, y]: [Val; 3], zero_point: Val) -> Result {
    let dtype = cx.dtype(zero_point)?;
    let scale = cx.binary("multiply", a, b)?;
    let y = along(cx, y, 0, 1)?;
    let scale = cx.binary("divide", scale, y)?;
    let scale = cx.cast(scale, DType::F32)?;
    let sums = cx.cast(sums, DType::F32)?;
    let scaled = cx.binary("multiply", sums, scale)?;
    let zero_point = along(cx, zero_point, 0, 1)?;
    settled(cx, scaled, Some(zero_point), dtype)
}

/// An integer convolution in int32: zero points are subtracted from the operands, so that padding is 0.
fn convolution(cx: &mut Cx, x: (Val, Option<Val>), w: (Val, Option<Val>)) -> Result {
    let data = centred(cx, x.0, x.1, 1)?;
    let weight = centred(cx, w.0, w.1, 0)?;
    conv::convolve(cx, data, weight)
}

fn conv_integer(cx: &mut Cx) -> Results {
    let (x, w) = (cx.input(0)?, cx.input(1)?);
    one(convolution(cx, (x, cx.opt(2)), (w, cx.opt(3)))?)
}

fn qlinear_conv(cx: &mut Cx) -> Results {
    let (x, x_scale, x_zero) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let (w, w_scale, w_zero) = (cx.input(3)?, cx.input(4)?, cx.input(5)?);
    let (y_scale, y_zero) = (cx.input(6)?, cx.input(7)?);
    let mut sums = convolution(cx, (x, Some(x_zero)), (w, Some(w_zero)))?;
    if let Some(bias) = cx.opt(8) {
        sums = cx.call("nn.bias_add", &[sums, bias], &[("axis", AttrValue::int(1))])?;
    }
    let rank = cx.rank(sums)?;
    let x_scale = along(cx, x_scale, 1, rank)?;
    let w_scale = along(cx, w_scale, 1, rank)?;
    one(rescaled(cx, sums, [x_scale, w_scale, y_scale], y_zero)?)
}

pub(crate) const FAMILY: &[Converter] = &[
    op("QuantizeLinear", &[10, 13, 19, 21], quantize_linear).but("8-bit floats, 4-bit integers"),
    op("DequantizeLinear", &[10, 13, 19, 21], dequantize_linear).but("8-bit floats; 4-bit integers that are no weights"),
    op("DynamicQuantizeLinear", &[11], dynamic_quantize),
    op("QLinearMatMul", &[10, 21], qlinear_matmul),
    op("MatMulInteger", &[10], matmul_integer),
    op("QLinearConv", &[10], qlinear_conv),
    op("ConvInteger", &[10], conv_integer),
];
