//! Exports quantized operators to ONNX.
//!
//! ONNX's `QuantizeLinear` rounds halves to even and gives an unspecified number for NaN; `qnn.quantize` rounds halves away from
//! zero, and NaN is its greatest number. It is exported all the same: engines recognize a quantized network by this operator, and
//! exact halves are as good either way. The other operators are written in arithmetic on integers (`onnx_integers.rs`).

use super::onnx_integers::{
    add_onnx, batch_matmul_onnx, by_floats_onnx, concatenate_onnx, dense_onnx, hardswish_onnx, known, leaky_relu_onnx, mul_onnx,
    requantize_onnx, softmax_onnx,
};
use super::{
    ADD, DEQUANTIZE, LEAKY_RELU, MUL, QNN_BATCH_MATMUL, QNN_CONCATENATE, QNN_CONV2D, QNN_CONV2D_TRANSPOSE, QNN_DENSE, QUANTIZE,
    QuantizeAttrs, REQUANTIZE, SOFTMAX, SUBTRACT, unary,
};
use crate::conv::{conv_onnx, transpose_onnx};
use crate::prelude::*;
use crate::window::HW;

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (DEQUANTIZE.name, Onnx::Nodes(dequantize_onnx)),
    (QUANTIZE.name, Onnx::Nodes(quantize_onnx)),
    (REQUANTIZE.name, Onnx::Nodes(requantize_onnx)),
    (ADD.name, Onnx::Nodes(|cx| add_onnx(cx, ["Add", "Sub"]))),
    (SUBTRACT.name, Onnx::Nodes(|cx| add_onnx(cx, ["Sub", "Add"]))),
    (MUL.name, Onnx::Nodes(mul_onnx)),
    (QNN_CONCATENATE.name, Onnx::Nodes(concatenate_onnx)),
    (QNN_DENSE.name, Onnx::Nodes(dense_onnx)),
    (QNN_BATCH_MATMUL.name, Onnx::Nodes(batch_matmul_onnx)),
    (QNN_CONV2D.name, Onnx::Nodes(|cx| conv_onnx(cx, HW, Some([known(cx, 2)?, known(cx, 3)?])))),
    (QNN_CONV2D_TRANSPOSE.name, Onnx::Nodes(|cx| transpose_onnx(cx, HW, Some([known(cx, 2)?, known(cx, 3)?])))),
    (SOFTMAX.name, Onnx::Nodes(softmax_onnx)),
    (LEAKY_RELU.name, Onnx::Nodes(leaky_relu_onnx)),
    (unary::ABS.name, Onnx::Nodes(|cx| by_floats_onnx(cx, |cx, x| cx.node("Abs", &[x]).one()))),
    (unary::ERF.name, Onnx::Nodes(|cx| by_floats_onnx(cx, |cx, x| cx.node("Erf", &[x]).one()))),
    (unary::EXP.name, Onnx::Nodes(|cx| by_floats_onnx(cx, |cx, x| cx.node("Exp", &[x]).one()))),
    (unary::LOG.name, Onnx::Nodes(|cx| by_floats_onnx(cx, |cx, x| cx.node("Log", &[x]).one()))),
    (unary::RSQRT.name, Onnx::Nodes(|cx| by_floats_onnx(cx, rsqrt_onnx))),
    (unary::SIGMOID.name, Onnx::Nodes(|cx| by_floats_onnx(cx, |cx, x| cx.node("Sigmoid", &[x]).one()))),
    (unary::SQRT.name, Onnx::Nodes(|cx| by_floats_onnx(cx, |cx, x| cx.node("Sqrt", &[x]).one()))),
    (unary::TANH.name, Onnx::Nodes(|cx| by_floats_onnx(cx, |cx, x| cx.node("Tanh", &[x]).one()))),
    (unary::HARDSWISH.name, Onnx::Nodes(|cx| by_floats_onnx(cx, hardswish_onnx))),
];

fn rsqrt_onnx(cx: &mut OnnxCx, x: ValueId) -> ValueId {
    let root = cx.node("Sqrt", &[x]).one();
    cx.node("Reciprocal", &[root]).one()
}

fn quantize_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let dtype = cx.out_dtype();
    conversion(cx, "QuantizeLinear", dtype, cx.dtype(cx.tensor(0)))
}

fn dequantize_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let dtype = cx.dtype(cx.tensor(0));
    conversion(cx, "DequantizeLinear", dtype, cx.out_dtype())
}

/// A conversion between integers of a dtype and floats.
fn conversion(cx: &mut OnnxCx, kind: &'static str, dtype: DType, float: DType) -> OnnxResult {
    let (attrs, data, scale) = (QuantizeAttrs::read(cx.attrs), cx.tensor(0), cx.tensor(1));
    if ![DType::I8, DType::U8].contains(&dtype) || float != DType::F32 {
        return Err(format!("`{dtype}` and `{float}`, where ONNX has 8 bits and float32"));
    }
    let zero_point = zero_point(cx, dtype, scale)?;
    let node = cx.node(kind, &[data, scale, zero_point]);
    // A single scale has no axis, and a scalar none to name.
    Ok(node.int("axis", attrs.axis).one().into())
}

/// The zero point, which has the dtype of the integers and the shape of the scale in ONNX, so it must be known that it fits.
fn zero_point(cx: &mut OnnxCx, dtype: DType, scale: ValueId) -> Result<ValueId, String> {
    let of = cx.tensor(2);
    let wide = cx.known(of).ok_or("a zero point that is not known to be one of the data's numbers")?;
    let narrow = wide.cast(dtype).filter(|narrow| narrow.to_ints() == wide.to_ints());
    let narrow = narrow.ok_or("a zero point that is none of the data's numbers")?;
    let shape: Vec<usize> = cx.shape(scale)?.into_iter().map(|dim| dim as usize).collect();
    let shaped = match narrow.rank() == shape.len() {
        true => Some(narrow),
        false => narrow.broadcast_to(&shape),
    };
    Ok(cx.constant("zero_point", shaped.ok_or("several zero points for one scale")?))
}
