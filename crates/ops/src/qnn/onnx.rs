//! Exports quantized operators to ONNX.
//!
//! ONNX's `QuantizeLinear` rounds halves to even and gives an unspecified number for NaN; `qnn.quantize` rounds halves away from
//! zero, and NaN is its greatest number. It is exported all the same: engines recognize a quantized network by this operator, and
//! exact halves are as good either way.

use super::{DEQUANTIZE, QUANTIZE, QuantizeAttrs};
use crate::onnx::ValueId;
use crate::prelude::*;

pub(crate) const ONNX: &[(&str, Onnx)] =
    &[(DEQUANTIZE.name, Onnx::Nodes(dequantize_onnx)), (QUANTIZE.name, Onnx::Nodes(quantize_onnx))];

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
