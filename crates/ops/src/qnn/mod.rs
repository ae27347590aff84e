//! Quantized operators: integers that represent `scale * (q - zero_point)`.
//!
//! An operator means what TVM's canonicalisation computes (`src/relay/qnn/op/`), step by step, so that results are equal to the
//! bit. Three steps differ: where TVM computes a quotient, a rounding or a function in float32, the result here is the nearest
//! one. Operands are in the order in which TVM reads them; for some operators, TVM registers names in another order.
//!
//! `rel` holds the types, `requantize` the change of scale that all share, `unary` the functions of one tensor, and `eval` the
//! rest.

mod eval;
mod lower;
mod numbers;
mod onnx;
mod onnx_integers;
mod rel;
mod requantize;
pub(crate) mod unary;

pub(crate) use onnx::ONNX;

use super::activation::LeakyReluAttrs;
use super::conv::{CONV2D, CONV2D_TRANSPOSE};
use super::dense::DENSE;
use super::join::CONCATENATE;
use super::matmul::BATCH_MATMUL;
use super::pool::AVG_POOL2D;
use super::softmax::SoftmaxAttrs;
use crate::prelude::*;

attrs! {
    "relay.attrs.QuantizeAttrs" =>
    pub struct QuantizeAttrs {
        /// The dtype of the result.
        pub(crate) out_dtype: Option<DType>;
        /// The axis along which scales and zero points run; a negative axis counts from the end.
        pub axis: i64 = -1;
    }

    "relay.attrs.RequantizeAttrs" =>
    pub(crate) struct RequantizeAttrs {
        /// The axis along which input scales and zero points run; a negative axis counts from the end.
        pub(crate) axis: i64 = -1;
        /// The rounding of halves: `UPWARD`, `TONEAREST` (away from zero), or `None`, which is `UPWARD`.
        pub(crate) rounding: String = "None";
        /// The type of the computation: `int64`, `float32`, `float64`, or `None`, which is `int64`.
        pub(crate) compute_dtype: String = "None";
        /// The dtype of the result.
        pub(crate) out_dtype: Option<DType> = None;
    }

    "relay.attrs.BroadcastAttrs" =>
    pub(crate) struct BroadcastAttrs {
        /// The axis of `lhs` along which its scales and zero points run; a negative axis counts from the end.
        pub(crate) lhs_axis: i64 = -1;
        /// The axis of `rhs` along which its scales and zero points run; a negative axis counts from the end.
        pub(crate) rhs_axis: i64 = -1;
    }

    // TVM has two types of this name: that of `qnn.simulated_quantize` and that of its quantizer's mark.
    "relay.attrs.SimulatedQuantizeAttrs" =>
    pub(crate) struct SimulatedAxisAttrs {
        /// The axis along which scales and zero points run; a negative axis counts from the end.
        pub(crate) axis: i64 = -1;
    }

    "relay.attrs.SimulatedQuantizeAttrs" =>
    pub(crate) struct SimulatedQuantizeAttrs {
        /// The kind of tensor: 1 an input, 2 a weight, 3 an activation.
        pub(crate) kind: i64;
        /// Whether the integers are signed.
        pub(crate) sign: bool = true;
        /// The rounding of numbers.
        pub(crate) rounding: String = "round";
    }

    "relay.attrs.DensePackAttrs" =>
    pub(crate) struct DensePackAttrs {
        /// The rows of the weight.
        pub(crate) units: Option<Dim>;
        /// The dtype of the result.
        pub(crate) out_dtype: Option<DType> = None;
        /// The axes of the weight.
        pub(crate) weight_layout: String = "NC";
    }
}

/// An operator's own rules behind those of the operator it is the quantized form of.
const fn rules<const N: usize>(first: &[&'static str], then: &[&'static str]) -> [&'static str; N] {
    assert!(N == first.len() + then.len());
    let (mut all, mut at) = ([""; N], 0);
    while at < N {
        all[at] = if at < first.len() { first[at] } else { then[at - first.len()] };
        at += 1;
    }
    all
}

pub const QUANTIZE: OpDef = OpDef {
    name: "qnn.quantize",
    doc: "`round(data / output_scale) + output_zero_point` in float32, halves away from zero, limited to the range of \
          `out_dtype` and converted to it; NaN becomes the greatest number, as in TVM. Scale and zero point are one for all \
          elements, or one for each position of `axis` (`src/relay/qnn/op/quantize.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("output_scale"), Arg::tensor("output_zero_point")],
    attrs: Some(QuantizeAttrs::SCHEMA),
    rules: &[
        "C1: dtype(data) is float32",
        "C2: out_dtype is int8, uint8, int16, uint16 or int32",
        "C3: axis is in -rank(data)…rank(data)-1",
        "C4: output_scale is float32 and output_zero_point int32: scalars, or vectors of data[axis] numbers",
    ],
    rel: rel::quantize_rel,
    eval: eval::quantize_eval,
    fuse: Some(Fuse::ElemWise),
    lower: Some(lower::QUANTIZE),
    ..OpDef::BASE
};

pub const DEQUANTIZE: OpDef = OpDef {
    name: "qnn.dequantize",
    doc: "`(data - input_zero_point) * input_scale`: the difference in wrapping int32, the product in float32, limited to the \
          finite numbers of `out_dtype`. Scale and zero point are one for all elements, or one for each position of `axis` \
          (`src/relay/qnn/op/dequantize.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("input_scale"), Arg::tensor("input_zero_point")],
    attrs: Some(&AttrSchema { type_key: "relay.attrs.DequantizeAttrs", ..*QuantizeAttrs::SCHEMA }),
    rules: &[
        "C1: dtype(data) is int8, uint8, int16, uint16 or int32",
        "C2: out_dtype is float16 or float32",
        "C3: axis is in -rank(data)…rank(data)-1, if scale or zero point have several numbers",
        "C4: input_scale is float32 and input_zero_point int32: scalars, or vectors of data[axis] numbers, or both of 1",
    ],
    rel: rel::dequantize_rel,
    eval: eval::dequantize_eval,
    fuse: Some(Fuse::ElemWise),
    lower: Some(lower::DEQUANTIZE),
    ..OpDef::BASE
};

pub const REQUANTIZE: OpDef = OpDef {
    name: "qnn.requantize",
    doc: "`round((data - input_zero_point) * input_scale / output_scale) + output_zero_point`, limited to the range of \
          `out_dtype`. `int64` multiplies by the quotient of the scales as `fixed_point_multiply` does and adds the zero point \
          after rounding; `float32` and `float64` multiply in that dtype and add it before. Input scale and zero point are one for \
          all elements, or one for each position of `axis` (`src/relay/qnn/op/requantize.cc`, `src/relay/qnn/utils.cc`; \
          `TONEAREST` of floats is `round`, as TVM has it from SSE4.1 on).",
    args: &[
        Arg::tensor("data"),
        Arg::tensor("input_scale"),
        Arg::tensor("input_zero_point"),
        Arg::tensor("output_scale"),
        Arg::tensor("output_zero_point"),
    ],
    attrs: Some(RequantizeAttrs::SCHEMA),
    rules: &[
        "C1: dtype(data) is int8, uint8, int16, int32 or int64",
        "C2: out_dtype is int8, uint8, int16 or int32",
        "C3: rounding is UPWARD, TONEAREST or None; compute_dtype is int64, float32, float64 or None",
        "C4: axis is in -rank(data)…rank(data)-1",
        "C5: input_scale is float32 and input_zero_point int32: scalars, or vectors of data[axis] numbers",
        "C6: output_scale is a float32 scalar, output_zero_point an int32 scalar",
    ],
    rel: rel::requantize_rel,
    eval: requantize::requantize_eval,
    fuse: Some(Fuse::ElemWise),
    lower: Some(lower::REQUANTIZE),
    ..OpDef::BASE
};

pub(crate) const SIMULATED_QUANTIZE: OpDef = OpDef {
    name: "qnn.simulated_quantize",
    doc: "`round(data / output_scale) + output_zero_point`, limited to the range of a dtype, as floats. `out_dtype` says which: 1 is \
          int8, 2 uint8, 3 int32, any other number leaves `data` as it is. The numbers of a scale or zero point that is a vector \
          repeat along `axis` (`src/relay/qnn/op/simulated_quantize.cc`, `python/tvm/topi/nn/qnn.py`). TVM's parser reads the \
          attributes of `relay.op.annotation.simulated_quantize` for it, but its calls have `axis`.",
    args: &[Arg::tensor("data"), Arg::tensor("out_dtype"), Arg::tensor("output_scale"), Arg::tensor("output_zero_point")],
    attrs: Some(SimulatedAxisAttrs::SCHEMA),
    rules: &[
        "C1: dtype(data) is a float",
        "C2: the operand that says the dtype is a scalar",
        "C3: scale and zero point are scalars or vectors",
        "C4: axis is in -rank(data)…rank(data)-1",
    ],
    rel: rel::simulated_quantize_rel,
    eval: eval::simulated_quantize_eval,
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

pub(crate) const SIMULATED_DEQUANTIZE: OpDef = OpDef {
    name: "qnn.simulated_dequantize",
    doc: "`(data - input_zero_point) * input_scale` of floats where `in_dtype` is 1, 2 or 3, `data` as it is otherwise. The \
          numbers of a scale or zero point that is a vector repeat along `axis`; `out_dtype` is ignored \
          (`src/relay/qnn/op/simulated_dequantize.cc`, `python/tvm/topi/nn/qnn.py`).",
    args: &[Arg::tensor("data"), Arg::tensor("in_dtype"), Arg::tensor("input_scale"), Arg::tensor("input_zero_point")],
    attrs: DEQUANTIZE.attrs,
    rel: rel::simulated_dequantize_rel,
    eval: eval::simulated_dequantize_eval,
    ..SIMULATED_QUANTIZE
};

// TVM's registration lists the two attributes among the arguments.
const PAIR: &[Arg] = &[
    Arg::tensor("lhs"),
    Arg::tensor("rhs"),
    Arg::tensor("lhs_scale"),
    Arg::tensor("lhs_zero_point"),
    Arg::tensor("rhs_scale"),
    Arg::tensor("rhs_zero_point"),
    Arg::tensor("output_scale"),
    Arg::tensor("output_zero_point"),
];

const PAIR_RULES: &[&str] = &[
    "C1: dtype(lhs) == dtype(rhs)",
    "C2: aligned right, dimensions of lhs and rhs are equal, or one of them is 1",
    "C3: dtype(lhs) is int8, uint8, int16, uint16 or int32",
    "C4: lhs_axis and rhs_axis are in -rank…rank-1 of their operand, if it has several axes",
    "C5: lhs_scale and rhs_scale are float32, lhs_zero_point and rhs_zero_point int32: scalars, or vectors along their axis",
    "C6: output_scale is a float32 scalar, output_zero_point an int32 scalar",
];

pub(crate) const ADD: OpDef = OpDef {
    name: "qnn.add",
    doc: "The sum of two quantized tensors, broadcast: both are requantized to the output's scale and zero point in int32 (as \
          `qnn.requantize` does by default) and added, the zero point is subtracted once, and the sum is limited to the range of the \
          dtype (`src/relay/qnn/op/add.cc`).",
    args: PAIR,
    attrs: Some(BroadcastAttrs::SCHEMA),
    rules: PAIR_RULES,
    rel: rel::pair_rel,
    eval: eval::add_eval,
    fuse: Some(Fuse::Broadcast),
    lower: Some(lower::ADD),
    ..OpDef::BASE
};

pub(crate) const SUBTRACT: OpDef = OpDef {
    name: "qnn.subtract",
    doc: "The difference of two quantized tensors, broadcast: both are requantized to the output's scale and zero point in int32 (as \
          `qnn.requantize` does by default) and subtracted, the zero point is added, and the difference is limited to the range of \
          the dtype (`src/relay/qnn/op/subtract.cc`).",
    eval: eval::subtract_eval,
    lower: Some(lower::SUBTRACT),
    ..ADD
};

pub(crate) const MUL: OpDef = OpDef {
    name: "qnn.mul",
    doc: "The product of two quantized tensors, broadcast: that of the differences from the zero points in int32, requantized (as \
          `qnn.requantize` does by default) from the product of the scales (`src/relay/qnn/op/mul.cc`).",
    rules: &rules::<7>(PAIR_RULES, &["C7: where both scales are vectors, lhs_axis and rhs_axis are one axis of the result"]),
    rel: rel::mul_rel,
    eval: eval::mul_eval,
    lower: Some(lower::MUL),
    ..ADD
};

pub const QNN_CONCATENATE: OpDef = OpDef {
    name: "qnn.concatenate",
    work: Work::LISTS,
    doc: "The tensors of the tuple, each requantized to the output's scale and zero point (as `qnn.requantize` does by default), \
          one after the other along `axis` (`src/relay/qnn/op/concatenate.cc`).",
    args: &[
        Arg::tensor("data"),
        Arg::tensor("input_scales"),
        Arg::tensor("input_zero_points"),
        Arg::tensor("output_scale"),
        Arg::tensor("output_zero_point"),
    ],
    rules: &rules::<8>(
        CONCATENATE.rules,
        &[
            "C6: the dtype of data is int8, uint8, int16, uint16 or int32",
            "C7: input_scales are float32 scalars, input_zero_points int32 scalars, one for each tensor",
            "C8: output_scale is a float32 scalar, output_zero_point an int32 scalar",
        ],
    ),
    rel: rel::concatenate_rel,
    eval: eval::concatenate_eval,
    lower: None,
    ..CONCATENATE
};

pub const QNN_DENSE: OpDef = OpDef {
    name: "qnn.dense",
    doc: "`nn.dense` of `data - input_zero_point` and `weight - weight_zero_point` in `out_dtype`; its scale is the product of \
          the scales, which are ignored. Operands: data, weight, their zero points, their scales (`src/relay/qnn/op/dense.cc`).",
    args: &[
        Arg::of("data", "quantized nD Tensor"),
        Arg::of("weight", "quantized 2D Tensor"),
        Arg::tensor("input_scale"),
        Arg::tensor("input_zero_point"),
        Arg::tensor("weight_scale"),
        Arg::tensor("weight_zero_point"),
    ],
    rules: &rules::<9>(
        DENSE.rules,
        &[
            "C6: dtype(data) is int8, uint8, int16 or uint16, dtype(weight) int8 or uint8",
            "C7: out_dtype is int32 or int64",
            "C8: the zero point of data is an int32 scalar, its scale a float32 scalar",
            "C9: the zero point of weight is int32, its scale float32: scalars, or vectors of weight[0] numbers",
        ],
    ),
    rel: rel::dense_rel,
    eval: eval::dense_eval,
    lower: Some(lower::DENSE_PRODUCT),
    ..DENSE
};

pub(crate) const QNN_BATCH_MATMUL: OpDef = OpDef {
    name: "qnn.batch_matmul",
    doc: "`nn.batch_matmul` of `x - x_zero_point` and `y - y_zero_point` in int32; its scale is the product of the scales, which \
          are ignored. Operands: x, y, their zero points, their scales (`src/relay/qnn/op/batch_matmul.cc`).",
    args: &[
        Arg::of("x", "quantized 2D Tensor"),
        Arg::of("y", "quantized 2D Tensor"),
        Arg::tensor("x_scale"),
        Arg::tensor("x_zero_point"),
        Arg::tensor("y_scale"),
        Arg::tensor("y_zero_point"),
    ],
    rules: &rules::<6>(
        BATCH_MATMUL.rules,
        &[
            "C4: dtype(x) and dtype(y) are int8 or uint8",
            "C5: out_dtype is int32",
            "C6: the zero points are int32 scalars, the scales float32 scalars",
        ],
    ),
    rel: rel::batch_matmul_rel,
    eval: eval::batch_matmul_eval,
    lower: Some(lower::BATCH_PRODUCT),
    ..BATCH_MATMUL
};

const WEIGHTED: &[Arg] = &[
    Arg::tensor("data"),
    Arg::tensor("weight"),
    Arg::tensor("input_scale"),
    Arg::tensor("input_zero_point"),
    Arg::tensor("weight_scale"),
    Arg::tensor("weight_zero_point"),
];

pub const QNN_CONV2D: OpDef = OpDef {
    name: "qnn.conv2d",
    doc: "`nn.conv2d` of `data - input_zero_point` and `weight - weight_zero_point` in `out_dtype`, so padding stands for 0; the \
          result's scale is the product of the scales, which are ignored. Operands: data, weight, their zero points, their \
          scales (`src/relay/qnn/op/convolution.cc`).",
    args: WEIGHTED,
    rules: &rules::<16>(
        CONV2D.rules,
        &[
            "C13: dtype(data) and dtype(weight) are int8, uint8 or int16",
            "C14: out_dtype is int16, int32 or int64",
            "C15: the zero point of data is an int32 scalar, its scale a float32 scalar",
            "C16: the zero point of weight is int32, its scale float32: scalars, or vectors of a number for each output channel",
        ],
    ),
    rel: rel::conv2d_rel,
    eval: eval::conv2d_eval,
    lower: Some(lower::CONV2D_PRODUCT),
    blocks: None,
    ..CONV2D
};

pub const QNN_CONV2D_TRANSPOSE: OpDef = OpDef {
    name: "qnn.conv2d_transpose",
    doc: "`nn.conv2d_transpose` of `data - input_zero_point` and `weight - weight_zero_point`, both differences in wrapping \
          int16, in `out_dtype`; the result's scale is the product of the scales, which are ignored. Operands: data, weight, \
          their zero points, their scales (`src/relay/qnn/op/convolution_transpose.cc`, \
          `python/tvm/relay/qnn/op/legalizations.py`).",
    args: WEIGHTED,
    rules: &rules::<16>(
        CONV2D_TRANSPOSE.rules,
        &[
            "C13: dtype(data) is int8, uint8, int16 or uint16, dtype(weight) int8 or uint8",
            "C14: out_dtype is int16, int32 or int64",
            "C15: the zero point of data is int32, its scale float32: scalars, or vectors of 1",
            "C16: the zero point of weight is int32, its scale float32: scalars, or vectors of weight.O numbers, of scales weight.I * \
             weight.O if groups > 1",
        ],
    ),
    rel: rel::conv2d_transpose_rel,
    eval: eval::conv2d_transpose_eval,
    lower: None,
    fuse: None,
    ..CONV2D_TRANSPOSE
};

/// Operand, input scale and zero point, output scale and zero point.
const fn unary_args(scale: &'static str, zero_point: &'static str) -> [Arg; 5] {
    [
        Arg::of("data", "Quantized Tensor"),
        Arg::tensor(scale),
        Arg::tensor(zero_point),
        Arg::tensor("output_scale"),
        Arg::tensor("output_zero_point"),
    ]
}

pub const QNN_AVG_POOL2D: OpDef = OpDef {
    name: "qnn.avg_pool2d",
    doc: "`nn.avg_pool2d` of `data` requantized to the output's scale and zero point in int32 (as `qnn.requantize` does by default), \
          limited to the range of the dtype. Padding that counts is the integer 0 (`src/relay/qnn/op/avg_pool2d.cc`).",
    args: &unary_args("input_scale", "input_zero_point"),
    rules: &rules::<7>(
        AVG_POOL2D.rules,
        &["C6: dtype(data) is int8 or uint8", "C7: the scales are float32 scalars, the zero points int32 scalars"],
    ),
    rel: rel::avg_pool2d_rel,
    eval: eval::avg_pool2d_eval,
    lower: None,
    ..AVG_POOL2D
};

pub(crate) const SOFTMAX: OpDef = OpDef {
    name: "qnn.softmax",
    doc: "`nn.softmax` in int32 arithmetic alone: powers of two for those of `e`, with straight lines between them, after \
          algorithm 1 of *I-ViT* (arXiv 2207.01405). The input scale is at most 1 (`src/relay/qnn/op/softmax.cc`).",
    args: &unary_args("scale", "zero_point"),
    attrs: Some(SoftmaxAttrs::SCHEMA),
    rules: &[
        "C1: dtype(data) is int8",
        "C2: the scales are float32 scalars, the zero points int32 scalars",
        "C3: -rank(data) <= axis < rank(data)",
    ],
    rel: rel::softmax_rel,
    eval: eval::softmax_eval,
    lower: Some(lower::SOFTMAX),
    fuse: None,
    ..OpDef::BASE
};

pub(crate) const LEAKY_RELU: OpDef = OpDef {
    name: "qnn.leaky_relu",
    doc: "`data` requantized to the output's scale and zero point in int32 (as `qnn.requantize` does by default); where it is below \
          the input zero point, `alpha` times that and `1 - alpha` times the output zero point, each as `fixed_point_multiply` has it \
          (`src/relay/qnn/op/leaky_relu.cc`).",
    args: &unary_args("input_scale", "input_zero_point"),
    attrs: Some(LeakyReluAttrs::SCHEMA),
    rules: &[
        "C1: dtype(data) is int8 or uint8",
        "C2: the scales are float32 scalars, the zero points int32 scalars",
        "C3: alpha >= 0",
    ],
    rel: rel::leaky_relu_rel,
    eval: eval::leaky_relu_eval,
    lower: Some(lower::LEAKY_RELU),
    fuse: None,
    ..OpDef::BASE
};

pub(crate) const CONTRIB_DENSE_PACK: OpDef = OpDef {
    name: "qnn.contrib_dense_pack",
    doc: "`qnn.dense` with a weight of four axes, as TVM lays it out for a machine (`src/relay/qnn/op/dense.cc`).",
    attrs: Some(DensePackAttrs::SCHEMA),
    rules: &[
        "C1: rank(data) == 2",
        "C2: rank(weight) == 4",
        "C3: out_dtype is the dtype of a tensor",
        "C4: weight[0] * weight[2] < 2^63",
    ],
    rel: rel::contrib_dense_pack_rel,
    eval: OpDef::BASE.eval,
    lower: None,
    internal: true,
    macs: None,
    ..QNN_DENSE
};

pub(crate) const ANNOTATION_SIMULATED_QUANTIZE: OpDef = OpDef {
    name: "relay.op.annotation.simulated_quantize",
    doc: "`data`, to be quantized in a domain of scale `dom_scale` between `clip_min` and `clip_max` \
          (`src/relay/quantize/quantize.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("dom_scale"), Arg::tensor("clip_min"), Arg::tensor("clip_max")],
    attrs: Some(SimulatedQuantizeAttrs::SCHEMA),
    rules: &["C1: rank(data) >= 1", "C2: dom_scale, clip_min and clip_max are float32 scalars"],
    rel: rel::annotation_simulated_quantize_rel,
    fuse: Some(Fuse::ElemWise),
    internal: true,
    ..OpDef::BASE
};

pub(crate) const FAMILY: &[OpDef] = &[
    QUANTIZE,
    DEQUANTIZE,
    REQUANTIZE,
    SIMULATED_QUANTIZE,
    SIMULATED_DEQUANTIZE,
    ADD,
    SUBTRACT,
    MUL,
    QNN_CONCATENATE,
    QNN_DENSE,
    QNN_BATCH_MATMUL,
    QNN_CONV2D,
    QNN_CONV2D_TRANSPOSE,
    QNN_AVG_POOL2D,
    SOFTMAX,
    LEAKY_RELU,
    unary::ABS,
    unary::ERF,
    unary::EXP,
    unary::LOG,
    unary::RSQRT,
    unary::SIGMOID,
    unary::SQRT,
    unary::TANH,
    unary::HARDSWISH,
    CONTRIB_DENSE_PACK,
    ANNOTATION_SIMULATED_QUANTIZE,
];
