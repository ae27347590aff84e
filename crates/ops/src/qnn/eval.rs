//! Evaluates quantized operators.

use super::numbers::{Numbers, limited, range};
use super::rel::from_end;
use super::requantize::{Output, to_dtype, to_int32};
use super::{BroadcastAttrs, LeakyReluAttrs, QuantizeAttrs, SimulatedAxisAttrs, SoftmaxAttrs};
use crate::conv::{CONV2D, CONV2D_TRANSPOSE, Conv2dAttrs, Conv2dTransposeAttrs};
use crate::dense::DENSE;
use crate::eval::{ArgValue, OutTy};
use crate::fixed_point::int32s;
use crate::join::CONCATENATE;
use crate::matmul::BATCH_MATMUL;
use crate::pool::AVG_POOL2D;
use crate::prelude::*;
use relayc_ir::kernel::FixedPoint;
use relayc_ir::tensor::{float_max, float_min};

pub(super) fn quantize_eval(cx: &EvalCx) -> EvalResult {
    let attrs = QuantizeAttrs::read(cx.attrs);
    Ok(quantize(cx.tensor(0), cx.tensor(1), cx.tensor(2), attrs.axis, cx.out_dtype())?.into())
}

/// The nearest number of a range; NaN goes to its end, as in TVM (`include/tvm/topi/elemwise.h`, `clip`).
fn within(x: f64, least: f64, greatest: f64) -> f64 {
    if x < greatest { x.max(least) } else { greatest }
}

/// Every step in float32.
fn quantize(data: &Tensor, scales: &Tensor, zero_points: &Tensor, axis: i64, dtype: DType) -> Result<Tensor, Trap> {
    let scale = Numbers::along(scales.len(), data.shape(), axis)?;
    let zero_point = Numbers::along(zero_points.len(), data.shape(), axis)?;
    let (scales, zero_points) = (scales.to_f64s(), zero_points.to_f64s());
    let (least, greatest) = range(dtype);
    let element = |(i, x): (usize, f64)| {
        let y = (x as f32 / scales[scale.at(i)] as f32).round() + zero_points[zero_point.at(i)] as f32;
        within(y.into(), f64::from(least as f32), f64::from(greatest as f32))
    };
    let numbers = data.to_f64s().into_iter().enumerate().map(element).collect();
    Ok(Tensor::from_vec(data.shape(), numbers).cast(dtype).expect("a quantized dtype"))
}

pub(super) fn dequantize_eval(cx: &EvalCx) -> EvalResult {
    let attrs = QuantizeAttrs::read(cx.attrs);
    Ok(dequantize(cx.tensor(0), cx.tensor(1), cx.tensor(2), attrs.axis, cx.out_dtype())?.into())
}

fn dequantize(data: &Tensor, scales: &Tensor, zero_points: &Tensor, axis: i64, dtype: DType) -> Result<Tensor, Trap> {
    let scale = Numbers::along(scales.len(), data.shape(), axis)?;
    let shifted = shifted(data, zero_points, axis, DType::I32)?;
    let scales = scales.to_f64s();
    let element = |(i, x): (usize, i32)| x as f32 * scales[scale.at(i)] as f32;
    let product = Tensor::from_vec(data.shape(), int32s(&shifted).into_iter().enumerate().map(element).collect());
    if dtype == DType::F32 {
        return Ok(product);
    }
    let greatest = half::f16::MAX.to_f64();
    let finite = product.map(|x| float_max(float_min(x, greatest), -greatest), |x| x);
    Ok(finite.cast(dtype).expect("float16"))
}

/// `data - zero_points` in an integer dtype, wrapping.
fn shifted(data: &Tensor, zero_points: &Tensor, axis: i64, dtype: DType) -> Result<Tensor, Trap> {
    let zero_point = Numbers::along(zero_points.len(), data.shape(), axis)?;
    let zero_points = zero_points.to_ints();
    let element = |(i, x): (usize, i128)| (x - zero_points[zero_point.at(i)]) as i64;
    let numbers = data.to_ints().into_iter().enumerate().map(element).collect();
    Ok(Tensor::from_vec(data.shape(), numbers).cast(dtype).expect("an integer dtype"))
}

/// Another operator's evaluation with these operands, for a result of this call's shape and of a dtype.
fn evaluate(cx: &EvalCx, eval: Eval, args: &[ArgValue], dtype: DType) -> Result<Tensor, Trap> {
    let out = [OutTy { shape: cx.out_shape().to_vec(), dtype }];
    match eval(&EvalCx { args, out: &out, ..*cx })? {
        Outputs::One(tensor) => Ok(tensor),
        Outputs::Tuple(_) => Err(Trap::new(codes::E0506, "a tuple where a tensor was expected")),
    }
}

/// Applies a float function to the dequantized data, and quantizes the result.
pub(super) fn by_floats(cx: &EvalCx, function: Eval) -> EvalResult {
    let x = dequantize(cx.tensor(0), cx.tensor(1), cx.tensor(2), -1, DType::F32)?;
    let y = evaluate(cx, function, &[ArgValue::Tensor(x)], DType::F32)?;
    Ok(quantize(&y, cx.tensor(3), cx.tensor(4), -1, cx.out_dtype())?.into())
}

/// The int8, uint8 or int32 that a number stands for.
fn simulated_dtype(code: &Tensor) -> Option<DType> {
    match code.to_f64s().first() {
        Some(1.0) => Some(DType::I8),
        Some(2.0) => Some(DType::U8),
        Some(3.0) => Some(DType::I32),
        _ => None,
    }
}

/// `f(element, scale, zero point)`, whose numbers repeat along an axis. Computes in f64 where `data` is, else in f32.
fn simulated(cx: &EvalCx, axis: i64, f: impl Fn(f64, f64, f64, fn(f64) -> f64) -> f64) -> EvalResult {
    let (data, scales, zero_points) = (cx.tensor(0), cx.tensor(2).to_f64s(), cx.tensor(3).to_f64s());
    if !data.is_empty() && (scales.is_empty() || zero_points.is_empty()) {
        return Err(Trap::new(codes::E0501, "no scale or no zero point to take"));
    }
    let round: fn(f64) -> f64 = if data.dtype() == DType::F64 { |x| x } else { |x| f64::from(x as f32) };
    let axis = if axis < 0 { axis + data.rank() as i64 } else { axis };
    let (dim, inner) = match usize::try_from(axis).ok().filter(|&axis| axis < data.rank()) {
        Some(axis) => (data.shape()[axis], data.shape()[axis + 1..].iter().product()),
        None => (1, 1),
    };
    let element = |(i, x): (usize, f64)| {
        let at = i / inner % dim;
        f(x, scales[at % scales.len()], zero_points[at % zero_points.len()], round)
    };
    let numbers = data.to_f64s().into_iter().enumerate().map(element).collect();
    Ok(Tensor::from_vec(data.shape(), numbers).cast(data.dtype()).expect("a float dtype").into())
}

pub(super) fn simulated_quantize_eval(cx: &EvalCx) -> EvalResult {
    let Some(dtype) = simulated_dtype(cx.tensor(1)) else { return Ok(cx.tensor(0).clone().into()) };
    let (least, greatest) = range(dtype);
    simulated(cx, SimulatedAxisAttrs::read(cx.attrs).axis, |x, scale, zero_point, round| {
        let y = round(round(x / scale).round() + round(zero_point));
        within(y, round(least.into()), round(greatest.into()))
    })
}

pub(super) fn simulated_dequantize_eval(cx: &EvalCx) -> EvalResult {
    if simulated_dtype(cx.tensor(1)).is_none() {
        return Ok(cx.tensor(0).clone().into());
    }
    let axis = QuantizeAttrs::read(cx.attrs).axis;
    simulated(cx, axis, |x, scale, zero_point, round| round(round(x - round(zero_point)) * scale))
}

fn no_broadcast() -> Trap {
    Trap::new(codes::E0506, "operands whose shapes do not broadcast")
}

/// One of a pair in the output's scale and zero point, as int32.
fn pair_operand(cx: &EvalCx, arg: usize, axis: i64, output: Output) -> Result<Tensor, Trap> {
    let (data, scales, zero_points) = (cx.tensor(arg), cx.tensor(2 + 2 * arg), cx.tensor(3 + 2 * arg));
    to_int32(data, scales, zero_points, -from_end(axis, data.rank()), output)
}

pub(super) fn add_eval(cx: &EvalCx) -> EvalResult {
    pair(cx, |x, y| x + y, |sum, zero_point| sum - zero_point)
}

pub(super) fn subtract_eval(cx: &EvalCx) -> EvalResult {
    pair(cx, |x, y| x - y, |difference, zero_point| difference + zero_point)
}

/// Both operands joined, and the output's zero point made to count once.
fn pair(cx: &EvalCx, join: fn(i128, i128) -> i128, once: fn(i128, i128) -> i128) -> EvalResult {
    let (attrs, output) = (BroadcastAttrs::read(cx.attrs), Output::of(cx, 6));
    let (lhs, rhs) = (pair_operand(cx, 0, attrs.lhs_axis, output)?, pair_operand(cx, 1, attrs.rhs_axis, output)?);
    let joined = lhs.zip(&rhs, |x, _| x, join).ok_or_else(no_broadcast)?;
    let result = joined.zip(cx.tensor(7), |x, _| x, once).ok_or_else(no_broadcast)?;
    Ok(limited(result, cx.out_dtype()).into())
}

pub(super) fn mul_eval(cx: &EvalCx) -> EvalResult {
    let attrs = BroadcastAttrs::read(cx.attrs);
    let (lhs, rhs) = (cx.tensor(0), cx.tensor(1));
    let (left, right) = (from_end(attrs.lhs_axis, lhs.rank()), from_end(attrs.rhs_axis, rhs.rank()));
    let x = shifted(lhs, cx.tensor(3), -left, DType::I32)?;
    let y = shifted(rhs, cx.tensor(5), -right, DType::I32)?;
    let product = x.zip(&y, |x, _| x, |x, y| x * y).ok_or_else(no_broadcast)?;
    let axis = -if cx.tensor(2).rank() > 0 { left } else { right };
    // Scalars broadcast, and so do scales along an axis of 1.
    let scales = cx.tensor(2).zip(cx.tensor(4), |x, y| x * y, |x, _| x).ok_or_else(no_broadcast)?;
    Ok(to_dtype(&product, &scales, &Tensor::scalar(0i32), axis, Output::of(cx, 6), cx.out_dtype())?.into())
}

pub(super) fn concatenate_eval(cx: &EvalCx) -> EvalResult {
    let output = Output::of(cx, 3);
    let operands = cx.tuple(0).iter().zip(cx.tuple(1).iter().zip(cx.tuple(2)));
    let tensors: Result<Vec<Tensor>, Trap> =
        operands.map(|(data, (scale, zero_point))| to_dtype(data, scale, zero_point, -1, output, data.dtype())).collect();
    (CONCATENATE.eval)(&EvalCx { args: &[ArgValue::Tuple(tensors?)], ..*cx })
}

/// An operator on two operands without their zero points, which are operands 2 and 3. Those of the second run along an axis.
fn shifted_product(cx: &EvalCx, eval: Eval, axis: i64) -> EvalResult {
    let dtype = cx.out_dtype();
    let lhs = shifted(cx.tensor(0), cx.tensor(2), -1, dtype)?;
    let rhs = shifted(cx.tensor(1), cx.tensor(3), axis, dtype)?;
    eval(&EvalCx { args: &[ArgValue::Tensor(lhs), ArgValue::Tensor(rhs)], ..*cx })
}

pub(super) fn dense_eval(cx: &EvalCx) -> EvalResult {
    shifted_product(cx, DENSE.eval, 0)
}

pub(super) fn batch_matmul_eval(cx: &EvalCx) -> EvalResult {
    shifted_product(cx, BATCH_MATMUL.eval, -1)
}

pub(super) fn conv2d_eval(cx: &EvalCx) -> EvalResult {
    let weight = shifted_weight(cx, &Conv2dAttrs::read(cx.attrs).kernel_layout, cx.out_dtype())?;
    let data = shifted(cx.tensor(0), cx.tensor(2), -1, cx.out_dtype())?;
    (CONV2D.eval)(&EvalCx { args: &[ArgValue::Tensor(data), ArgValue::Tensor(weight)], ..*cx })
}

pub(super) fn conv2d_transpose_eval(cx: &EvalCx) -> EvalResult {
    let weight = shifted_weight(cx, &Conv2dTransposeAttrs::read(cx.attrs).kernel_layout, DType::I16)?;
    let data = shifted(cx.tensor(0), cx.tensor(2), -1, DType::I16)?;
    (CONV2D_TRANSPOSE.eval)(&EvalCx { args: &[ArgValue::Tensor(data), ArgValue::Tensor(weight)], ..*cx })
}

/// The weight of a convolution without its zero points, one for all or one for each output channel. Those of a depthwise weight
/// lie on the axes `O` and `I`.
fn shifted_weight(cx: &EvalCx, layout: &str, dtype: DType) -> Result<Tensor, Trap> {
    let (weight, zero_points) = (cx.tensor(1), cx.tensor(3));
    if zero_points.len() == 1 {
        return shifted(weight, zero_points, -1, dtype);
    }
    let no_channels = || Trap::new(codes::E0506, format!("zero points for the channels of a weight in the layout {layout:?}"));
    let layout = Layout::parse(layout).and_then(|layout| layout.of("OIHW")).map_err(|_| no_channels())?;
    let plain = layout.unpack("OIHW", weight);
    let [outputs, inputs, height, width] = plain.shape()[..] else { return Err(no_channels()) };
    let channels =
        if zero_points.len() == outputs { [outputs, inputs * height * width] } else { [outputs * inputs, height * width] };
    let rows = plain.reshape(&channels).expect("as many elements");
    let rows = shifted(&rows, zero_points, 0, dtype)?;
    Ok(layout.pack("OIHW", &rows.reshape(&[outputs, inputs, height, width]).expect("as many elements")))
}

pub(super) fn avg_pool2d_eval(cx: &EvalCx) -> EvalResult {
    let data = to_int32(cx.tensor(0), cx.tensor(1), cx.tensor(2), -1, Output::of(cx, 3))?;
    let mean = evaluate(cx, AVG_POOL2D.eval, &[ArgValue::Tensor(data)], DType::I32)?;
    Ok(limited(mean, cx.out_dtype()).into())
}

pub(super) fn leaky_relu_eval(cx: &EvalCx) -> EvalResult {
    let alpha = LeakyReluAttrs::read(cx.attrs).alpha;
    let data = cx.tensor(0);
    let (zero_point, output) = (cx.tensor(2).to_ints()[0], Output::of(cx, 3));
    let parts = FixedPoint::of(alpha).zip(FixedPoint::of(1.0 - alpha));
    let (part, rest) = parts.ok_or_else(|| Trap::new(codes::E0506, format!("an alpha of {alpha}")))?;
    let requantized = int32s(&to_int32(data, cx.tensor(1), cx.tensor(2), -1, output)?);
    let offset = rest.times(output.zero_point);
    let element = |(x, y): (i128, i32)| if x < zero_point { part.times(y).wrapping_add(offset) } else { y };
    let elements = data.to_ints().into_iter().zip(requantized).map(element).collect();
    Ok(limited(Tensor::from_vec(data.shape(), elements), cx.out_dtype()).into())
}

pub(super) fn softmax_eval(cx: &EvalCx) -> EvalResult {
    let data = cx.tensor(0);
    let axis = SoftmaxAttrs::read(cx.attrs).axis.rem_euclid(data.rank().max(1) as i64) as usize;
    let one = softmax_one(cx.tensor(1).to_f64s()[0]);
    let one = one.ok_or_else(|| Trap::new(codes::E0506, "an input scale that is not at most 1"))?;
    let x = int32s(&shifted(data, cx.tensor(2), -1, DType::I32)?);
    let (n, inner) = (data.shape()[axis], data.shape()[axis + 1..].iter().product::<usize>());
    let mut shares = vec![0; x.len()];
    for lane in 0..x.len().checked_div(n).unwrap_or(0) {
        let at = |i: usize| (lane / inner * n + i) * inner + lane % inner;
        let row: Vec<i32> = (0..n).map(|i| x[at(i)]).collect();
        shares_of(&row, one)?.into_iter().enumerate().for_each(|(i, share)| shares[at(i)] = share);
    }
    let shares = Tensor::from_vec(data.shape(), shares);
    let (scale, zero_point) = (Tensor::scalar(1.0f32 / 128.0), Tensor::scalar(0i32));
    Ok(to_dtype(&shares, &scale, &zero_point, 0, Output::of(cx, 3), DType::I8)?.into())
}

/// The number that stands for 1 in a scale; `None` where that is not at most 1. Float to integer saturates.
pub(super) fn softmax_one(scale: f64) -> Option<i32> {
    let scale = scale as f32;
    (scale <= 1.0).then(|| (1.0 / scale).round() as i32)
}

/// The softmax, in 128ths, of numbers in units of `1 / one`.
fn shares_of(row: &[i32], one: i32) -> Result<Vec<i32>, Trap> {
    let no_quotient = || Trap::new(codes::E0502, "integer division by zero: the powers add up to 0");
    let largest = row.iter().copied().max().unwrap_or(0);
    let minus_one = one.wrapping_neg();
    // x * log2(e) is about x + x / 2 - x / 16. Its whole part is the power of two, the rest is taken as a straight line.
    let mut logarithms = Vec::with_capacity(row.len());
    for x in row {
        let x = x.wrapping_sub(largest);
        let x = x.wrapping_add(x >> 1).wrapping_sub(x >> 4);
        let whole = if minus_one == 0 { Err(no_quotient()) } else { Ok(x.wrapping_div(minus_one).clamp(0, 20)) }?;
        logarithms.push((whole, x.wrapping_sub(whole.wrapping_mul(minus_one))));
    }
    let most = logarithms.iter().map(|&(whole, _)| whole).max().unwrap_or(0);
    let power = |&(whole, rest): &(i32, i32)| (rest >> 1).wrapping_add(one) << (most - whole);
    let powers: Vec<i32> = logarithms.iter().map(power).collect();
    let sum = powers.iter().copied().fold(0, i32::wrapping_add);
    let part = if sum == 0 { Err(no_quotient()) } else { Ok((1i32 << 30).wrapping_div(sum)) }?;
    Ok(powers.into_iter().map(|power| part.wrapping_mul(power) >> 23).collect())
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;
    use crate::trial::call;
    use relayc_ir::attrs::AttrValue;

    fn bytes(values: &[i8]) -> Tensor {
        Tensor::from_vec(&[values.len()], values.to_vec())
    }

    #[test]
    fn numbers_of_elements() {
        let along = Numbers::along(3, &[2, 3, 4], 1).expect("an axis of 3");
        assert_eq!([0, 3, 4, 11, 12, 23].map(|i| along.at(i)), [0, 0, 1, 2, 0, 2]);
        assert_eq!(Numbers::along(3, &[2, 3], 0).expect_err("an axis of 2").code, codes::E0506);
        assert_eq!(Numbers::along(1, &[], -1).expect("one for all").at(0), 0);
        assert!(Numbers::along(0, &[0], i64::MIN).is_err());
    }

    #[test]
    fn there_and_back() {
        let to = |dtype| AttrValue::DType(Some(dtype));
        let (scale, zero) = (Tensor::scalar(0.5f32), Tensor::scalar(-3i32));
        let real = Tensor::from_vec(&[6], vec![0.0f32, 0.25, -0.25, 1000.0, f32::NAN, f32::NEG_INFINITY]);
        let quantized = call(&QUANTIZE).attr("out_dtype", to(DType::I8)).eval(&[&real, &scale, &zero]).expect("no trap");
        assert_eq!(quantized[0].to_vec::<i8>(), Some(vec![-3, -2, -4, 127, 127, -128]));
        let back = call(&DEQUANTIZE).attr("out_dtype", to(DType::F32)).values(&[&quantized[0], &scale, &zero]);
        assert_eq!(back, [0.0, 0.5, -0.5, 65.0, 65.0, -62.5]);
        let wide = Tensor::from_vec(&[1], vec![f32::MAX]);
        let most = call(&QUANTIZE).attr("out_dtype", to(DType::I32)).values(&[&wide, &scale, &zero]);
        assert_eq!(most, [f64::from(i32::MAX)]);
        let half = call(&DEQUANTIZE).attr("out_dtype", to(DType::F16));
        assert_eq!(half.values(&[&Tensor::from_vec(&[1], vec![i32::MIN]), &scale, &Tensor::scalar(0i32)]), [-65504.0]);
    }

    #[test]
    fn softmax_never_panics() {
        for scale in [1.0, 0.1, 1e-9, 0.0, -0.5, -1e-9, f32::NEG_INFINITY, 2.0, f32::NAN] {
            let numbers = [Tensor::scalar(scale), Tensor::scalar(0i32), Tensor::scalar(1.0f32 / 256.0), Tensor::scalar(-128i32)];
            for data in [bytes(&[-128, 0, 127]), bytes(&[5]), bytes(&[])] {
                let _ = call(&SOFTMAX).eval(&[&data, &numbers[0], &numbers[1], &numbers[2], &numbers[3]]);
            }
        }
        let equal = [Tensor::scalar(1.0f32), Tensor::scalar(0i32), Tensor::scalar(1.0f32 / 128.0), Tensor::scalar(0i32)];
        let halves = call(&SOFTMAX).values(&[&bytes(&[7, 7]), &equal[0], &equal[1], &equal[2], &equal[3]]);
        assert_eq!(halves, [64.0, 64.0]);
    }
}
