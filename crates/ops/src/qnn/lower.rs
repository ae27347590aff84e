//! Lowers conversions of quantized tensors to bodies, with the same steps as their evaluation.

use super::rel::from_end;
use super::{BroadcastAttrs, LeakyReluAttrs, QuantizeAttrs, RequantizeAttrs};
use crate::conv::{Conv2dAttrs, conv_product};
use crate::dense::dense_product;
use crate::lower;
use crate::matmul::batch_matmul_product;
use crate::prelude::*;
use crate::softmax::SoftmaxAttrs;
use crate::window::HW;
use relayc_ir::kernel::{FixedPoint, Instr, Lines, Requantize, Routine};

pub(super) const QUANTIZE: Lower = Lower::Along(|call, _| axis(call, QuantizeAttrs::read(call.attrs).axis), quantize_scalar);
pub(super) const DEQUANTIZE: Lower = Lower::Along(|call, _| axis(call, QuantizeAttrs::read(call.attrs).axis), dequantize_scalar);
pub(super) const REQUANTIZE: Lower =
    Lower::AlongOr(|call, _| axis(call, RequantizeAttrs::read(call.attrs).axis), requantize_scalar, requantize_routine);

pub(super) const DENSE_PRODUCT: Lower = Lower::Shifted(|_| Some(0), dense_product);
pub(super) const BATCH_PRODUCT: Lower = Lower::Shifted(|_| None, batch_matmul_product);
pub(super) const CONV2D_PRODUCT: Lower = Lower::Shifted(output_channels, |call| conv_product(call, HW));
pub(super) const ADD: Lower = Lower::Along(pair_axis, |s| pair_scalar(s, BinaryOp::Add, BinaryOp::Sub));
pub(super) const SUBTRACT: Lower = Lower::Along(pair_axis, |s| pair_scalar(s, BinaryOp::Sub, BinaryOp::Add));
pub(super) const MUL: Lower = Lower::Along(pair_axis, mul_scalar);
pub(super) const LEAKY_RELU: Lower = Lower::Scalar(leaky_relu_scalar);

/// A function of floats, between a conversion from integers and one back.
pub(super) fn by_floats(s: &mut Scalar, function: &OpDef) -> Option<Val> {
    let Some(Lower::Scalar(rule)) = function.lower else { return None };
    let floats = [vec![lower::Tensor { shape: s.call.out().shape.clone(), dtype: DType::F32 }]];
    let call = Call { attrs: &[], args: s.call.args, outs: &floats[0] };
    let x = dequantize_scalar(&mut Scalar { call: &call, body: s.body, args: s.args })?;
    let call = Call { attrs: &[], args: &floats, outs: &floats[0] };
    let y = rule(&mut Scalar { call: &call, body: s.body, args: &[x] })?;
    quantize_scalar(&mut Scalar { call: s.call, body: s.body, args: &[y, s.args[3], s.args[4]] })
}

/// With the numbers of both scales, from which multiplier and shift are made.
fn leaky_relu_scalar(s: &mut Scalar) -> Option<Val> {
    let alpha = LeakyReluAttrs::read(s.call.attrs).alpha;
    let out_scale = number(s, 3).filter(|&scale| scale != 0.0)?;
    let by = FixedPoint::of(number(s, 1)? / out_scale)?;
    let (part, rest) = (FixedPoint::of(alpha)?, FixedPoint::of(1.0 - alpha)?);
    let x = lower::converted(s.body, s.args[0], s.lane(0)?, ScalarType::I32);
    let shifted = s.body.bin(BinaryOp::Sub, x, s.args[2]);
    let scaled = by.lowered(s.body, shifted);
    let y = s.body.bin(BinaryOp::Add, scaled, s.args[4]);
    let (share, offset) = (part.lowered(s.body, y), rest.lowered(s.body, s.args[4]));
    let below = s.body.bin(BinaryOp::Add, share, offset);
    let is_below = s.body.cmp(Cmp::Lt, x, s.args[2]);
    let result = s.body.select(is_below, below, y);
    limited(s, result)
}

/// The axis of a convolution's weight that output channels lie on, if there is one for all of them.
fn output_channels(call: &Call) -> Option<usize> {
    let attrs = Conv2dAttrs::read(call.attrs);
    attrs.kernel_layout.chars().position(|letter| letter == 'O').filter(|_| attrs.groups == 1)
}

/// The sum or the difference of both operands in the output's scale, its zero point made to count once.
fn pair_scalar(s: &mut Scalar, join: BinaryOp, once: BinaryOp) -> Option<Val> {
    let out_scale = number(s, 6).filter(|&scale| scale != 0.0)?;
    let operand = |s: &mut Scalar, arg: usize| {
        let by = FixedPoint::of(number(s, 2 + 2 * arg)? / out_scale)?;
        let x = lower::converted(s.body, s.args[arg], s.lane(arg)?, ScalarType::I32);
        let x = s.body.bin(BinaryOp::Sub, x, s.args[3 + 2 * arg]);
        let scaled = by.lowered(s.body, x);
        Some(s.body.bin(BinaryOp::Add, scaled, s.args[7]))
    };
    let (x, y) = (operand(s, 0)?, operand(s, 1)?);
    let joined = s.body.bin(join, x, y);
    let result = s.body.bin(once, joined, s.args[7]);
    limited(s, result)
}

/// The product of the differences from the zero points, with the product of the scales.
fn mul_scalar(s: &mut Scalar) -> Option<Val> {
    let out_scale = number(s, 6).filter(|&scale| scale != 0.0)?;
    let scale = f64::from(number(s, 2)? as f32 * number(s, 4)? as f32);
    let by = FixedPoint::of(scale / out_scale)?;
    let mut operand = |arg: usize| {
        let x = lower::converted(s.body, s.args[arg], s.lane(arg)?, ScalarType::I32);
        Some(s.body.bin(BinaryOp::Sub, x, s.args[3 + 2 * arg]))
    };
    let (x, y) = (operand(0)?, operand(1)?);
    let product = s.body.bin(BinaryOp::Mul, x, y);
    let scaled = by.lowered(s.body, product);
    let result = s.body.bin(BinaryOp::Add, scaled, s.args[7]);
    limited(s, result)
}

/// An I32 within the range of the result's dtype, as such.
fn limited(s: &mut Scalar, value: Val) -> Option<Val> {
    let out = s.call.out().dtype;
    let (least, greatest) = range(out)?;
    if out == DType::I32 {
        return Some(value);
    }
    let (least, greatest) = (s.body.i32(least), s.body.i32(greatest));
    let limited = s.body.bin(BinaryOp::Min, value, greatest);
    let limited = s.body.bin(BinaryOp::Max, limited, least);
    Some(s.body.un(UnaryOp::To(lower::lane(out)?), limited))
}

/// The axis of scales and zero points.
fn axis(call: &Call, axis: i64) -> Option<usize> {
    call.axis(axis, call.arg(0).shape.len())
}

/// The axis of the result that the scale or the zero point of one of a pair runs along.
fn pair_axis(call: &Call, arg: usize) -> Option<usize> {
    let attrs = BroadcastAttrs::read(call.attrs);
    let (of, axis) = match arg {
        2 | 3 => (0, attrs.lhs_axis),
        4 | 5 => (1, attrs.rhs_axis),
        _ => return None,
    };
    let from_end = from_end(axis, call.arg(of).shape.len());
    call.out().shape.len().checked_sub(usize::try_from(from_end).ok()?)
}

/// The range of a quantized dtype, as floats of F32 or as integers.
fn range(dtype: DType) -> Option<(i32, i32)> {
    let (bits, signed) = lower::lane(dtype)?.int_bits()?;
    match (bits, signed) {
        (8 | 16, true) => Some((-1 << (bits - 1), (1 << (bits - 1)) - 1)),
        (8 | 16, false) => Some((0, (1 << bits) - 1)),
        (32, true) => Some((i32::MIN, i32::MAX)),
        _ => None,
    }
}

fn quantize_scalar(s: &mut Scalar) -> Option<Val> {
    let out = s.call.out().dtype;
    let (least, greatest) = range(out)?;
    let quotient = match number(s, 1) {
        Some(1.0) => s.args[0],
        _ => s.body.bin(BinaryOp::Div, s.args[0], s.args[1]),
    };
    if let Some(zero) = integer(s, 2).filter(|_| out.bits < 32) {
        return quantize_by_number(s, quotient, zero, (least, greatest));
    }
    let (rounded, zero) = (s.body.un(UnaryOp::Round, quotient), s.body.un(UnaryOp::ToFloat, s.args[2]));
    let y = s.body.bin(BinaryOp::Add, rounded, zero);
    let (least, greatest) = (s.body.f32(least as f32), s.body.f32(greatest as f32));
    // NaN is the greatest number.
    let below = s.body.cmp(Cmp::Lt, y, greatest);
    let y = s.body.select(below, y, greatest);
    let y = s.body.bin(BinaryOp::Max, y, least);
    Some(s.body.un(UnaryOp::To(lower::lane(out)?), y))
}

/// With a zero point that is a number of the program: limits come first, so that the integer is in a register as soon as there is one.
fn quantize_by_number(s: &mut Scalar, quotient: Val, zero: i32, (least, greatest): (i32, i32)) -> Option<Val> {
    let limit = |end: i32| i64::from(end) - i64::from(zero);
    let (low, high) = (limit(least), limit(greatest));
    // Floats that are these integers.
    (low.abs().max(high.abs()) < 1 << 24).then_some(())?;
    let (low_end, high_end) = (s.body.f32(low as f32), s.body.f32(high as f32));
    // The second operand, where the first is NaN, which is the greatest number.
    let y = s.body.bin(BinaryOp::MinSecond, quotient, high_end);
    let y = s.body.bin(BinaryOp::MaxSecond, y, low_end);
    let y = if low >= 0 {
        // As `round` does, without a sign.
        let half = s.body.f32(0.5f32.next_down());
        s.body.bin(BinaryOp::Add, y, half)
    } else {
        s.body.un(UnaryOp::Round, y)
    };
    let mut whole = s.body.un(UnaryOp::TruncToInt, y);
    if zero != 0 {
        let zero = s.body.i32(zero);
        whole = s.body.bin(BinaryOp::Add, whole, zero);
    }
    Some(s.body.un(UnaryOp::To(lower::lane(s.call.out().dtype)?), whole))
}

/// The integer that an operand is, an I32 of the program.
fn integer(s: &Scalar, arg: usize) -> Option<i32> {
    match s.body.instrs[s.args[arg].0 as usize] {
        Instr::Const(bits, ScalarType::I32) => Some(bits as u32 as i32),
        _ => None,
    }
}

fn dequantize_scalar(s: &mut Scalar) -> Option<Val> {
    let x = lower::converted(s.body, s.args[0], s.lane(0)?, ScalarType::I32);
    let shifted = s.body.bin(BinaryOp::Sub, x, s.args[2]);
    let float = s.body.un(UnaryOp::ToFloat, shifted);
    let product = s.body.bin(BinaryOp::Mul, float, s.args[1]);
    if s.call.out().dtype == DType::F32 {
        return Some(product);
    }
    let greatest = half::f16::MAX.to_f32();
    let (most, least) = (s.body.f32(greatest), s.body.f32(-greatest));
    let finite = s.body.bin(BinaryOp::Min, product, most);
    let finite = s.body.bin(BinaryOp::Max, finite, least);
    Some(s.body.un(UnaryOp::To(lower::lane(s.call.out().dtype)?), finite))
}

/// With integers only where both scales are numbers of the program, from which multiplier and shift are made.
fn requantize_scalar(s: &mut Scalar) -> Option<Val> {
    let attrs = RequantizeAttrs::read(s.call.attrs);
    let to_nearest = attrs.rounding == "TONEAREST";
    let out_scale = number(s, 3).filter(|&scale| scale != 0.0)?;
    let result = match attrs.compute_dtype.as_str() {
        "float32" => in_floats(s, ScalarType::F32, to_nearest),
        "float64" => in_floats(s, ScalarType::F64, to_nearest),
        _ => {
            let by = FixedPoint::of(number(s, 1)? / out_scale)?;
            let x = lower::converted(s.body, s.args[0], s.lane(0)?, ScalarType::I32);
            let x = s.body.bin(BinaryOp::Sub, x, s.args[2]);
            let scaled = if to_nearest { by.lowered_rounded(s.body, x, true) } else { by.lowered(s.body, x) };
            s.body.bin(BinaryOp::Add, scaled, s.args[4])
        }
    };
    limited(s, result)
}

/// With integers, for scales that are several.
fn requantize_routine(call: &Call) -> Option<Routine> {
    let attrs = RequantizeAttrs::read(call.attrs);
    let (data, scales, zeros, out) = (call.arg(0), call.arg(1), call.arg(2), call.out());
    let in_floats = ["float32", "float64"].contains(&attrs.compute_dtype.as_str());
    let axis = axis(call, attrs.axis)?;
    let count = |tensor: &lower::Tensor| tensor.shape.iter().product::<u64>();
    let fits = |n: u64| n == 1 || n == data.shape[axis];
    let (n_scales, n_zeros) = (count(scales), count(zeros));
    (!in_floats && !scales.shape.is_empty() && fits(n_scales) && fits(n_zeros) && !data.shape.contains(&0)).then_some(())?;
    let (least, greatest) = range(out.dtype)?;
    // One of each is for all elements, which are the only position of any axis.
    let one = Lines { outer: 1, length: 1, inner: count(data) };
    Some(Routine::Requantize(Requantize {
        lines: if n_scales == 1 && n_zeros == 1 { one } else { Lines::along(&data.shape, axis) },
        n_scales,
        n_zeros,
        from: data.dtype,
        to: out.dtype,
        least,
        greatest,
        to_nearest: attrs.rounding == "TONEAREST",
    }))
}

pub(super) const SOFTMAX: Lower = Lower::Routine(|call| {
    let data = call.arg(0);
    let axis = axis(call, SoftmaxAttrs::read(call.attrs).axis)?;
    Some(Routine::QuantizedSoftmax(Lines::along(&data.shape, axis)))
});

/// The number that an operand is, an F32 of the program.
fn number(s: &Scalar, arg: usize) -> Option<f64> {
    match s.body.instrs[s.args[arg].0 as usize] {
        Instr::Const(bits, ScalarType::F32) => Some(f32::from_bits(bits as u32).into()),
        _ => None,
    }
}

/// `(data - zero) * (scale / out scale) + out zero`, rounded to an I32; the quotient of the scales is taken in F64.
fn in_floats(s: &mut Scalar, lane: ScalarType, to_nearest: bool) -> Val {
    let of = |s: &mut Scalar, val: Val, from: ScalarType, to: ScalarType| lower::converted(s.body, val, from, to);
    let (scale, out_scale) =
        (of(s, s.args[1], ScalarType::F32, ScalarType::F64), of(s, s.args[3], ScalarType::F32, ScalarType::F64));
    let quotient = s.body.bin(BinaryOp::Div, scale, out_scale);
    let factor = of(s, quotient, ScalarType::F64, lane);
    let from = s.lane(0).unwrap_or(ScalarType::I32);
    let (x, zero, out_zero) =
        (of(s, s.args[0], from, lane), of(s, s.args[2], ScalarType::I32, lane), of(s, s.args[4], ScalarType::I32, lane));
    let shifted = s.body.bin(BinaryOp::Sub, x, zero);
    let scaled = s.body.bin(BinaryOp::Mul, shifted, factor);
    let y = s.body.bin(BinaryOp::Add, scaled, out_zero);
    let whole = if to_nearest {
        s.body.un(UnaryOp::Round, y)
    } else {
        let half = match lane {
            ScalarType::F64 => s.body.push(Instr::Const(0.5f64.to_bits(), lane)),
            _ => s.body.f32(0.5),
        };
        let sum = s.body.bin(BinaryOp::Add, y, half);
        s.body.un(UnaryOp::Floor, sum)
    };
    s.body.un(UnaryOp::To(ScalarType::I32), whole)
}
