//! Functions of one quantized tensor: dequantizes to floats, applies the function, and quantizes.

use super::{eval, lower, rel, unary_args};
use crate::prelude::*;
use crate::{activation, math};

/// A function of each element, by way of real numbers.
const fn unary(name: &'static str, doc: &'static str, eval: Eval, lower: LowerScalar) -> OpDef {
    OpDef {
        name,
        doc,
        args: UNARY_ARGS,
        rules: &["C1: dtype(data) is int8 or uint8", "C2: the scales are float32 scalars, the zero points int32 scalars"],
        rel: rel::unary_rel,
        eval,
        lower: Some(Lower::Scalar(lower)),
        fuse: None,
        ..OpDef::BASE
    }
}

const UNARY_ARGS: &[Arg] = &unary_args("scale", "zero_point");

pub(crate) const ABS: OpDef = unary(
    "qnn.abs",
    "`qnn.quantize` of `abs` of `qnn.dequantize` of each element (`src/relay/qnn/op/unary_elementwise_op.cc`).",
    |cx| eval::by_floats(cx, math::ABS.eval),
    |s| lower::by_floats(s, &math::ABS),
);

pub(crate) const ERF: OpDef = unary(
    "qnn.erf",
    "`qnn.quantize` of `erf` of `qnn.dequantize` of each element (`src/relay/qnn/op/unary_elementwise_op.cc`).",
    |cx| eval::by_floats(cx, math::ERF.eval),
    |s| lower::by_floats(s, &math::ERF),
);

pub(crate) const EXP: OpDef = unary(
    "qnn.exp",
    "`qnn.quantize` of `exp` of `qnn.dequantize` of each element (`src/relay/qnn/op/unary_elementwise_op.cc`).",
    |cx| eval::by_floats(cx, math::EXP.eval),
    |s| lower::by_floats(s, &math::EXP),
);

pub(crate) const LOG: OpDef = unary(
    "qnn.log",
    "`qnn.quantize` of `log` of `qnn.dequantize` of each element (`src/relay/qnn/op/unary_elementwise_op.cc`).",
    |cx| eval::by_floats(cx, math::LOG.eval),
    |s| lower::by_floats(s, &math::LOG),
);

pub(crate) const RSQRT: OpDef = unary(
    "qnn.rsqrt",
    "`qnn.quantize` of `rsqrt` of `qnn.dequantize` of each element (`src/relay/qnn/op/unary_elementwise_op.cc`).",
    |cx| eval::by_floats(cx, math::RSQRT.eval),
    |s| lower::by_floats(s, &math::RSQRT),
);

pub(crate) const SIGMOID: OpDef = unary(
    "qnn.sigmoid",
    "`qnn.quantize` of `sigmoid` of `qnn.dequantize` of each element (`src/relay/qnn/op/unary_elementwise_op.cc`).",
    |cx| eval::by_floats(cx, math::SIGMOID.eval),
    |s| lower::by_floats(s, &math::SIGMOID),
);

pub(crate) const SQRT: OpDef = unary(
    "qnn.sqrt",
    "`qnn.quantize` of `sqrt` of `qnn.dequantize` of each element (`src/relay/qnn/op/unary_elementwise_op.cc`).",
    |cx| eval::by_floats(cx, math::SQRT.eval),
    |s| lower::by_floats(s, &math::SQRT),
);

pub(crate) const TANH: OpDef = OpDef {
    fuse: Some(Fuse::ElemWise),
    ..unary(
        "qnn.tanh",
        "`qnn.quantize` of `tanh` of `qnn.dequantize` of each element (`src/relay/qnn/op/unary_elementwise_op.cc`).",
        |cx| eval::by_floats(cx, math::TANH.eval),
        |s| lower::by_floats(s, &math::TANH),
    )
};

pub(crate) const HARDSWISH: OpDef = unary(
    "qnn.hardswish",
    "`qnn.quantize` of `x * min(max(x + 3, 0), 6) / 6` in float32, where `x` is `qnn.dequantize` of the element \
     (`src/relay/qnn/op/unary_elementwise_op.cc`).",
    |cx| eval::by_floats(cx, activation::HARDSWISH.eval),
    |s| lower::by_floats(s, &activation::HARDSWISH),
);
