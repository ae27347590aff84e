//! Exports operators on quantized tensors to ONNX in the arithmetic that defines them, so results are equal to the bit: ONNX's own
//! operators on quantized tensors multiply by a float and round halves to even. Scales and zero points must be known.

use super::eval::softmax_one;
use super::numbers::range;
use super::rel::from_end;
use super::{BroadcastAttrs, LeakyReluAttrs, RequantizeAttrs, SoftmaxAttrs};
use crate::join::ConcatenateAttrs;
use crate::math::rounded_onnx;
use crate::matmul::BatchMatmulAttrs;
use crate::onnx::Product;
use crate::prelude::*;
use relayc_ir::kernel::FixedPoint;

/// The elements of an operand, a scale or a zero point.
pub(super) fn known(cx: &OnnxCx, arg: usize) -> Result<Tensor, String> {
    known_value(cx, cx.tensor(arg))
}

fn known_value(cx: &OnnxCx, value: ValueId) -> Result<Tensor, String> {
    cx.known(value).cloned().ok_or_else(|| "a scale or zero point that is not known before running".into())
}

/// A tensor with its scales and zero points, which run along an axis.
struct Quantized {
    data: ValueId,
    dtype: DType,
    rank: usize,
    scales: Tensor,
    zero_points: Tensor,
    axis: i64,
}

impl Quantized {
    /// The operand `data`, with its scales and zero points in operands `numbers` and the next.
    fn of(cx: &OnnxCx, data: usize, numbers: usize, axis: i64) -> Result<Quantized, String> {
        let value = cx.tensor(data);
        let (scales, zero_points) = (known(cx, numbers)?, known(cx, numbers + 1)?);
        Ok(Quantized { data: value, dtype: cx.dtype(value), rank: cx.rank(value), scales, zero_points, axis })
    }

    /// The shape in which `n` numbers broadcast with the tensor.
    fn shape(&self, n: usize) -> Result<Vec<usize>, String> {
        if n == 1 {
            return Ok(vec![]);
        }
        let rank = self.rank as i64;
        let axis = if self.axis < 0 { self.axis + rank } else { self.axis };
        let n_after = (0..rank).contains(&axis).then(|| rank - axis - 1).ok_or("several scales without an axis")?;
        Ok(std::iter::once(n).chain(std::iter::repeat_n(1, n_after as usize)).collect())
    }

    /// The integers without their zero points, in a dtype.
    fn shifted(&self, cx: &mut OnnxCx, to: DType) -> Result<ValueId, String> {
        let wide = cx.cast(self.data, self.dtype, to)?;
        if self.zero_points.to_ints().iter().all(|&point| point == 0) {
            return Ok(wide);
        }
        let points = self.zero_points.cast(to).and_then(|points| points.reshape(&self.shape(points.len()).ok()?));
        let points = cx.constant("zero_point", points.ok_or("zero points of another number than positions")?);
        Ok(cx.node("Sub", &[wide, points]).one())
    }

    /// In the output's scale and zero point, in int32.
    fn requantized(&self, cx: &mut OnnxCx, output: Output, to_nearest: bool) -> Result<ValueId, String> {
        let factor = |scale: &f64| FixedPoint::of(scale / f64::from(output.scale)).filter(|_| output.scale != 0.0);
        let factors: Option<Vec<FixedPoint>> = self.scales.to_f64s().iter().map(factor).collect();
        let factors = factors.ok_or("scales without a finite quotient")?;
        let how = match (to_nearest, self.scales.rank()) {
            (true, _) => Product::ToNearest,
            (false, 0) => Product::OfOne,
            (false, _) => Product::OfSeveral,
        };
        let data = self.shifted(cx, DType::I32)?;
        let scaled = cx.multiplied(data, &factors, &self.shape(factors.len())?, how)?;
        output.shifted(cx, scaled)
    }
}

/// The scale and the zero point of a result.
#[derive(Clone, Copy)]
struct Output {
    scale: f32,
    zero_point: i32,
}

impl Output {
    /// Operands `arg` and the next, which are scalars.
    fn of(cx: &OnnxCx, arg: usize) -> Result<Output, String> {
        let (scale, zero_point) = (known(cx, arg)?.to_f64s(), known(cx, arg + 1)?.to_ints());
        let (scale, zero_point) = scale.first().zip(zero_point.first()).ok_or("no scale or no zero point")?;
        Ok(Output { scale: *scale as f32, zero_point: *zero_point as i32 })
    }

    /// An int32 tensor with the zero point added.
    fn shifted(self, cx: &mut OnnxCx, x: ValueId) -> Result<ValueId, String> {
        joined(cx, "Add", x, self.zero_point)
    }
}

/// An int32 tensor and a number.
fn joined(cx: &mut OnnxCx, kind: &'static str, x: ValueId, number: i32) -> Result<ValueId, String> {
    if number == 0 {
        return Ok(x);
    }
    let number = cx.constant("zero_point", Tensor::scalar(number));
    Ok(cx.node(kind, &[x, number]).one())
}

/// A tensor limited to the range of a dtype and converted to it.
fn limited(cx: &mut OnnxCx, x: ValueId, from: DType, dtype: DType) -> Result<ValueId, String> {
    if from == dtype {
        return Ok(x);
    }
    let (least, greatest) = range(dtype);
    let (least, greatest) = (cx.scalar("min", from, least.into())?, cx.scalar("max", from, greatest.into())?);
    let within = cx.node("Clip", &[x, least, greatest]).one();
    cx.cast(within, from, dtype)
}

pub(super) fn requantize_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let attrs = RequantizeAttrs::read(cx.attrs);
    let (data, output, dtype) = (Quantized::of(cx, 0, 1, attrs.axis)?, Output::of(cx, 3)?, cx.out_dtype());
    let to_nearest = attrs.rounding == "TONEAREST";
    let float = match attrs.compute_dtype.as_str() {
        "float32" => DType::F32,
        "float64" => DType::F64,
        _ => {
            let wide = data.requantized(cx, output, to_nearest)?;
            return Ok(limited(cx, wide, DType::I32, dtype)?.into());
        }
    };
    if dtype == DType::I32 {
        return Err("floats limited to the range of int32".into());
    }
    let x = cx.cast(data.data, data.dtype, float)?;
    let numbers = |numbers: &Tensor, f: &dyn Fn(f64) -> f64| {
        let shaped = numbers.cast(DType::F64)?.map(f, |x| x).cast(float)?;
        shaped.reshape(&data.shape(numbers.len()).ok()?)
    };
    let points = numbers(&data.zero_points, &|point| point);
    let factors = numbers(&data.scales, &|scale| scale / f64::from(output.scale));
    let (points, factors) = points.zip(factors).ok_or("scales of another number than positions")?;
    if !factors.to_f64s().iter().all(|factor| factor.is_finite()) {
        return Err("scales without a finite quotient".into());
    }
    let (points, factors) = (cx.constant("zero_point", points), cx.constant("scale", factors));
    let difference = cx.node("Sub", &[x, points]).one();
    let product = cx.node("Mul", &[difference, factors]).one();
    let point = cx.scalar("zero_point", float, output.zero_point.into())?;
    let mut y = cx.node("Add", &[product, point]).one();
    if to_nearest {
        y = rounded_onnx(cx, y, float);
    } else {
        let half = cx.scalar("half", float, 0.5)?;
        let above = cx.node("Add", &[y, half]).one();
        y = cx.node("Floor", &[above]).one();
    }
    Ok(limited(cx, y, float, dtype)?.into())
}

/// A sum or a difference. The zero point that counts twice or not at all is taken away or added.
pub(super) fn add_onnx(cx: &mut OnnxCx, [join, once]: [&'static str; 2]) -> OnnxResult {
    let (attrs, output, dtype) = (BroadcastAttrs::read(cx.attrs), Output::of(cx, 6)?, cx.out_dtype());
    let mut operands = vec![];
    for (arg, axis) in [attrs.lhs_axis, attrs.rhs_axis].into_iter().enumerate() {
        let axis = -from_end(axis, cx.rank(cx.tensor(arg)));
        operands.push(Quantized::of(cx, arg, 2 + 2 * arg, axis)?.requantized(cx, output, false)?);
    }
    let both = cx.node(join, &operands).one();
    let result = joined(cx, once, both, output.zero_point)?;
    Ok(limited(cx, result, DType::I32, dtype)?.into())
}

pub(super) fn mul_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, output, dtype) = (BroadcastAttrs::read(cx.attrs), Output::of(cx, 6)?, cx.out_dtype());
    let [left, right] = [(0, attrs.lhs_axis), (1, attrs.rhs_axis)].map(|(arg, axis)| from_end(axis, cx.rank(cx.tensor(arg))));
    let (lhs, rhs) = (Quantized::of(cx, 0, 2, -left)?, Quantized::of(cx, 1, 4, -right)?);
    let operands = [lhs.shifted(cx, DType::I32)?, rhs.shifted(cx, DType::I32)?];
    let product = cx.node("Mul", &operands).one();
    let axis = -if lhs.scales.rank() > 0 { left } else { right };
    let scales = lhs.scales.zip(&rhs.scales, |x, y| x * y, |x, _| x).ok_or("scales that do not broadcast")?;
    let (rank, zero_points) = (cx.out[0].0.len(), Tensor::scalar(0i32));
    let product = Quantized { data: product, dtype: DType::I32, rank, scales, zero_points, axis };
    let result = product.requantized(cx, output, false)?;
    Ok(limited(cx, result, DType::I32, dtype)?.into())
}

pub(super) fn concatenate_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (axis, output, dtype) = (ConcatenateAttrs::read(cx.attrs).axis, Output::of(cx, 3)?, cx.out_dtype());
    let [data, scales, zero_points] = [0, 1, 2].map(|arg| cx.tuple(arg).to_vec());
    let mut parts = vec![];
    for ((data, scale), zero_point) in data.into_iter().zip(scales).zip(zero_points) {
        let (scales, zero_points) = (known_value(cx, scale)?, known_value(cx, zero_point)?);
        let part = Quantized { data, dtype: cx.dtype(data), rank: cx.rank(data), scales, zero_points, axis: -1 };
        let part = part.requantized(cx, output, false)?;
        parts.push(limited(cx, part, DType::I32, dtype)?);
    }
    Ok(cx.node("Concat", &parts).int("axis", axis).one().into())
}

/// A product of the first two operands without their zero points; those of the second run along an axis.
fn product(cx: &mut OnnxCx, axis: i64, transpose: [bool; 2]) -> OnnxResult {
    let out = cx.out_dtype();
    let operands = [Quantized { axis: -1, ..unscaled(cx, 0)? }, Quantized { axis, ..unscaled(cx, 1)? }];
    let bytes = |operand: &Quantized| {
        let own = operand.zero_points.cast(operand.dtype).filter(|own| own.to_ints() == operand.zero_points.to_ints());
        own.filter(|own| own.len() == 1 && operand.dtype.bits == 8)?.reshape(&[])
    };
    let own_points = bytes(&operands[0]).zip(bytes(&operands[1])).filter(|_| out == DType::I32);
    let mut inputs = vec![];
    for (operand, transpose) in operands.iter().zip(transpose) {
        let value = if own_points.is_some() { operand.data } else { operand.shifted(cx, out)? };
        let mut axes: Vec<usize> = (0..operand.rank).collect();
        if transpose {
            axes.swap(operand.rank - 1, operand.rank - 2);
        }
        inputs.push(cx.transposed(value, &axes));
    }
    let Some((x, y)) = own_points else { return Ok(cx.node("MatMul", &inputs).one().into()) };
    inputs.extend([cx.constant("zero_point", x), cx.constant("zero_point", y)]);
    Ok(cx.node("MatMulInteger", &inputs).one().into())
}

/// An operand of a product, the scales of which are ignored.
fn unscaled(cx: &OnnxCx, arg: usize) -> Result<Quantized, String> {
    let (data, zero_points) = (cx.tensor(arg), known(cx, 2 + arg)?);
    Ok(Quantized { data, dtype: cx.dtype(data), rank: cx.rank(data), scales: Tensor::scalar(1.0f32), zero_points, axis: -1 })
}

pub(super) fn dense_onnx(cx: &mut OnnxCx) -> OnnxResult {
    product(cx, 0, [false, true])
}

pub(super) fn batch_matmul_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let BatchMatmulAttrs { transpose_a, transpose_b, .. } = BatchMatmulAttrs::read(cx.attrs);
    product(cx, -1, [transpose_a, transpose_b])
}

/// A function of the dequantized data, quantized. NaN is the greatest number.
pub(super) fn by_floats_onnx(cx: &mut OnnxCx, function: fn(&mut OnnxCx, ValueId) -> ValueId) -> OnnxResult {
    let (data, output, dtype) = (Quantized::of(cx, 0, 1, -1)?, Output::of(cx, 3)?, cx.out_dtype());
    let float = DType::F32;
    let shifted = data.shifted(cx, DType::I32)?;
    let shifted = cx.cast(shifted, DType::I32, float)?;
    let scale = cx.constant("scale", data.scales.reshape(&[]).ok_or("several scales")?);
    let x = cx.node("Mul", &[shifted, scale]).one();
    let y = function(cx, x);
    let scale = cx.scalar("scale", float, output.scale.into())?;
    let quotient = cx.node("Div", &[y, scale]).one();
    let rounded = rounded_onnx(cx, quotient, float);
    let point = cx.scalar("zero_point", float, output.zero_point.into())?;
    let sum = cx.node("Add", &[rounded, point]).one();
    let (least, greatest) = range(dtype);
    let (least, greatest) = (cx.scalar("min", float, least.into())?, cx.scalar("max", float, greatest.into())?);
    let below = cx.node("Less", &[sum, greatest]).one();
    let at_least = cx.node("Max", &[sum, least]).one();
    let within = cx.node("Where", &[below, at_least, greatest]).one();
    Ok(cx.cast(within, float, dtype)?.into())
}

/// `x * min(max(x + 3, 0), 6) / 6`.
pub(super) fn hardswish_onnx(cx: &mut OnnxCx, x: ValueId) -> ValueId {
    let [three, zero, six] =
        [("three", 3.0f32), ("zero", 0.0), ("six", 6.0)].map(|(what, value)| cx.constant(what, Tensor::scalar(value)));
    let sum = cx.node("Add", &[x, three]).one();
    let part = cx.node("Clip", &[sum, zero, six]).one();
    let product = cx.node("Mul", &[x, part]).one();
    cx.node("Div", &[product, six]).one()
}

pub(super) fn leaky_relu_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let alpha = LeakyReluAttrs::read(cx.attrs).alpha;
    let (data, output, dtype) = (Quantized::of(cx, 0, 1, -1)?, Output::of(cx, 3)?, cx.out_dtype());
    let (part, rest) = FixedPoint::of(alpha).zip(FixedPoint::of(1.0 - alpha)).ok_or_else(|| format!("an alpha of {alpha}"))?;
    let requantized = data.requantized(cx, output, false)?;
    let small = cx.multiplied(requantized, &[part], &[], Product::OfOne)?;
    let small = joined(cx, "Add", small, rest.times(output.zero_point))?;
    let x = cx.cast(data.data, data.dtype, DType::I32)?;
    let point = cx.constant("zero_point", data.zero_points.reshape(&[]).ok_or("several zero points")?);
    let below = cx.node("Less", &[x, point]).one();
    let result = cx.node("Where", &[below, small, requantized]).one();
    Ok(limited(cx, result, DType::I32, dtype)?.into())
}

/// The steps of `softmax_eval`, each on all elements.
pub(super) fn softmax_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let axis = SoftmaxAttrs::read(cx.attrs).axis;
    let (data, output, dtype) = (Quantized::of(cx, 0, 1, -1)?, Output::of(cx, 3)?, cx.out_dtype());
    let dims = cx.axes(data.data);
    if dims[axis.rem_euclid(dims.len() as i64) as usize].value() == Some(0) {
        return Err("the shares of nothing".into());
    }
    let one = data.scales.to_f64s().first().and_then(|&scale| softmax_one(scale)).filter(|&one| one != 0);
    let one = one.ok_or("an input scale that is not at most 1")?;
    let down = |cx: &mut OnnxCx, x, by: i32| cx.moved_down(x, DType::I32, &Tensor::scalar(by));
    let number = |cx: &mut OnnxCx, what, value: i32| cx.constant(what, Tensor::scalar(value));
    let x = data.shifted(cx, DType::I32)?;
    let largest = cx.node("ReduceMax", &[x]).ints("axes", &[axis]).one();
    let x = cx.node("Sub", &[x, largest]).one();
    let (half, sixteenth) = (down(cx, x, 1)?, down(cx, x, 4)?);
    let more = cx.node("Add", &[x, half]).one();
    let x = cx.node("Sub", &[more, sixteenth]).one();
    let minus_one = number(cx, "minus_one", one.wrapping_neg());
    let (zero, most) = (number(cx, "zero", 0), number(cx, "most", MOST_PLACES));
    let whole = cx.node("Div", &[x, minus_one]).one();
    let whole = cx.node("Clip", &[whole, zero, most]).one();
    let part = cx.node("Mul", &[whole, minus_one]).one();
    let rest = cx.node("Sub", &[x, part]).one();
    let most = cx.node("ReduceMax", &[whole]).ints("axes", &[axis]).one();
    let places = cx.node("Sub", &[most, whole]).one();
    let powers = Tensor::from_vec(&[MOST_PLACES as usize + 1], (0..=MOST_PLACES).map(|by| 1i32 << by).collect());
    let powers = cx.constant("powers", powers);
    let power = cx.node("Gather", &[powers, places]).one();
    let (line, one) = (down(cx, rest, 1)?, number(cx, "one", one));
    let line = cx.node("Add", &[line, one]).one();
    let power = cx.node("Mul", &[line, power]).one();
    let axes = cx.ints("axes", &[axis]);
    let sum = cx.node("ReduceSum", &[power, axes]).one();
    let all = number(cx, "all", 1 << 30);
    let share = cx.node("Div", &[all, sum]).one();
    let product = cx.node("Mul", &[share, power]).one();
    let shares = down(cx, product, 23)?;
    let (scales, zero_points) = (Tensor::scalar(1.0f32 / 128.0), Tensor::scalar(0i32));
    let shares = Quantized { data: shares, dtype: DType::I32, scales, zero_points, ..data };
    let result = shares.requantized(cx, output, false)?;
    Ok(limited(cx, result, DType::I32, dtype)?.into())
}

/// The most places that a power of two is away from 1.
const MOST_PLACES: i32 = 20;
