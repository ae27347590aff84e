//! Exports quantized operators to ONNX.
//!
//! ONNX's `QuantizeLinear` rounds halves to even, the operators here round them away from zero. So only dequantization is
//! exported.

use super::{DEQUANTIZE, QuantizeAttrs};
use crate::prelude::*;

pub(crate) const ONNX: &[(&str, Onnx)] = &[(DEQUANTIZE.name, Onnx::Nodes(dequantize_onnx))];

/// The zero point has the dtype of the data in ONNX, so it must be known that it fits.
fn dequantize_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (attrs, data, scale, zero_point) = (QuantizeAttrs::read(cx.attrs), cx.tensor(0), cx.tensor(1), cx.tensor(2));
    let dtype = cx.dtype(data);
    if ![DType::I8, DType::U8].contains(&dtype) || cx.out_dtype() != DType::F32 {
        return Err(format!("`{dtype}` as `{}`, where ONNX takes 8 bits to float32", cx.out_dtype()));
    }
    if cx.rank(scale) != cx.rank(zero_point) {
        return Err("one number and several as scale and zero point".into());
    }
    let narrow = cx.known(zero_point).and_then(|wide| {
        let narrow = wide.cast(dtype)?;
        (narrow.to_ints() == wide.to_ints()).then_some(narrow)
    });
    let zero_point = cx.constant("zero_point", narrow.ok_or("a zero point that is not known to be one of the data's numbers")?);
    let node = cx.node("DequantizeLinear", &[data, scale, zero_point]);
    // A single scale has no axis, and a scalar none to name.
    Ok(node.int("axis", attrs.axis).one().into())
}
