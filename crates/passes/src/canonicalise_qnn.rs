//! Writes operators on quantized tensors by others, as TVM's canonicalization does (`src/relay/qnn/op/concatenate.cc`, `avg_pool2d.cc`,
//! `convolution_transpose.cc`).
//!
//! They are defined by these, so both give the same integers, and those have kernels.
//!
//! ```text
//! qnn.concatenate((%a, %b), (%s, %t), (%y, %z), %u, %v)
//!     →    concatenate((qnn.requantize(%a, %s, %y, %u, %v), qnn.requantize(%b, %t, %z, %u, %v)))
//! ```

use super::PassCx;
use super::build::{args, dtype, project, shape, tuple};
use relayc_base::Span;
use relayc_ir::types::{DType, DTypeCode};
use relayc_ir::{AttrValue, ExprId, ExprKind, Module};
use relayc_ops::OpDef;
use relayc_ops::declarations::{
    AVG_POOL2D, CLIP, CONCATENATE, CONV2D_TRANSPOSE, QNN_AVG_POOL2D, QNN_CONCATENATE, QNN_CONV2D_TRANSPOSE, REQUANTIZE, RESHAPE,
    SUBTRACT,
};

/// What a call stands for.
pub(crate) fn composed(module: &mut Module, cx: &PassCx, call: ExprId) -> Option<ExprId> {
    if !cx.calls_any(module, call, &[&QNN_CONCATENATE, &QNN_AVG_POOL2D, &QNN_CONV2D_TRANSPOSE]) {
        return None;
    }
    let build = Build { cx, span: module.exprs[call].span };
    let attrs = module.call_attrs(call).to_vec();
    let operands = args(module, call);
    match (cx.called(module, call)?, &operands[..]) {
        (def, &[data, scales, zero_points, scale, zero_point]) if def.name == QNN_CONCATENATE.name => {
            let fields = [data, scales, zero_points].map(|of| fields(module, of));
            let [data, scales, zero_points] = fields;
            let mut parts = vec![];
            for ((data, from), at) in data?.into_iter().zip(scales?).zip(zero_points?) {
                let to = dtype(module, data)?;
                parts.push(build.requantized(module, &[data, from, at, scale, zero_point], to)?);
            }
            let parts = tuple(module, build.span, &parts);
            cx.typed_call(module, build.span, &CONCATENATE, &[parts], attrs)
        }
        (def, &[data, ..]) if def.name == QNN_AVG_POOL2D.name && operands.len() == 5 => {
            let to = dtype(module, data)?;
            let wide = build.requantized(module, &operands, DType::I32)?;
            let mean = cx.typed_call(module, build.span, &AVG_POOL2D, &[wide], attrs)?;
            let (low, high) = if to.code == DTypeCode::Int { (-128.0, 127.0) } else { (0.0, 255.0) };
            let bounds = [("a_min", AttrValue::float(low)), ("a_max", AttrValue::float(high))];
            let limited = build.call(module, &CLIP, &[mean], &bounds)?;
            cx.cast(module, build.span, limited, to)
        }
        (def, &[data, weight, data_zero, weight_zero, ..]) if def.name == QNN_CONV2D_TRANSPOSE.name => {
            // Zero points of channels lie along an axis that the layout of the weight decides.
            let is_scalar = shape(module, weight_zero)?.iter().product::<i64>() == 1;
            let data = build.shifted(module, data, data_zero)?;
            let weight = build.shifted(module, weight, weight_zero).filter(|_| is_scalar)?;
            cx.typed_call(module, build.span, &CONV2D_TRANSPOSE, &[data, weight], attrs)
        }
        _ => None,
    }
}

/// The fields of a tuple.
fn fields(module: &mut Module, expr: ExprId) -> Option<Vec<ExprId>> {
    if let ExprKind::Tuple(_) = module.exprs[expr].kind {
        return Some(args(module, expr));
    }
    let n = module.types.as_tuple(module.ty(expr))?.len();
    let span = module.exprs[expr].span;
    Some((0..n).map(|index| project(module, span, expr, index)).collect())
}

struct Build<'a> {
    cx: &'a PassCx<'a>,
    span: Span,
}

impl Build<'_> {
    fn call(&self, module: &mut Module, def: &OpDef, args: &[ExprId], attrs: &[(&str, AttrValue)]) -> Option<ExprId> {
        let attrs = def.attrs.map_or(vec![], |schema| schema.values(attrs));
        self.cx.typed_call(module, self.span, def, args, attrs)
    }

    /// Data at another scale and zero point, as integers of a dtype.
    fn requantized(&self, module: &mut Module, args: &[ExprId], to: DType) -> Option<ExprId> {
        self.call(module, &REQUANTIZE, args, &[("out_dtype", AttrValue::DType(Some(to)))])
    }

    /// Numbers without their zero point, which wrap as int16.
    fn shifted(&self, module: &mut Module, data: ExprId, zero_point: ExprId) -> Option<ExprId> {
        let wide = self.cx.cast(module, self.span, data, DType::I16)?;
        let zero = self.cx.cast(module, self.span, zero_point, DType::I16)?;
        let zero = self.call(module, &RESHAPE, &[zero], &[("newshape", AttrValue::ints(&[]))])?;
        self.call(module, &SUBTRACT, &[wide, zero], &[])
    }
}
