//! Activations: element-wise functions of one operand that keep its shape and dtype.

use super::lower::constant;
use super::norm::channel_arg;
use crate::prelude::*;
use relayc_ir::tensor::{float_max, float_min};

attrs! {
    "relay.attrs.LeakyReluAttrs" =>
    pub(crate) struct LeakyReluAttrs {
        /// The slope below zero.
        pub(crate) alpha: f64 = 0.25, min 0.0;
    }

    "relay.attrs.PReluAttrs" =>
    pub struct PReluAttrs {
        /// The axis of the channels.
        pub axis: i64 = 1;
    }
}

pub const RELU: OpDef = OpDef {
    name: "nn.relu",
    work: Work::None,
    doc: "`max(x, 0)` of each element; NaN stays NaN. Shape and dtype are those of `data` (`src/relay/op/nn/nn.cc`).",
    args: &[Arg::tensor("data")],
    rel: rel::identity,
    eval: |cx| cx.map(|x| float_max(x, 0.0), |x| x.max(0)),
    fuse: Some(Fuse::ElemWise),
    lower: Some(Lower::Scalar(relu_scalar)),
    ..OpDef::BASE
};

fn relu_scalar(s: &mut Scalar) -> Option<Val> {
    (s.lane(0)? != ScalarType::Bool).then_some(())?;
    let zero = s.like(0, 0.0)?;
    Some(s.body.bin(BinaryOp::Max, s.args[0], zero))
}

pub const LEAKY_RELU: OpDef = OpDef {
    name: "nn.leaky_relu",
    work: Work::None,
    doc: "`x` where `x > 0`, else `alpha * x`, with `alpha` cut to an integer where `data` holds integers. Shape \
          and dtype are those of `data` (`include/tvm/topi/nn.h`).",
    args: &[Arg::tensor("data")],
    attrs: Some(LeakyReluAttrs::SCHEMA),
    rules: &["C1: alpha >= 0"],
    rel: leaky_relu_rel,
    eval: leaky_relu_eval,
    fuse: Some(Fuse::ElemWise),
    lower: Some(Lower::Scalar(leaky_relu_scalar)),
    ..OpDef::BASE
};

fn leaky_relu_rel(cx: &mut RelCx) -> RelResult {
    let attrs = LeakyReluAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    cx.require("C1", attrs.alpha >= 0.0, || Fault::attr("alpha", format!("expected at least 0, found {}", attrs.alpha)))?;
    cx.set_out(data.dims(), data.dtype)
}

fn leaky_relu_scalar(s: &mut Scalar) -> Option<Val> {
    let alpha = LeakyReluAttrs::read(s.call.attrs).alpha;
    let dtype = s.call.arg(0).dtype;
    (!dtype.is_bool()).then_some(())?;
    if dtype.is_float() {
        let alpha = s.like(0, alpha)?;
        return sloped(s, alpha);
    }
    // Cut to an integer, of which the low bits count.
    let alpha = constant(s.body, &Tensor::scalar(alpha as i64).cast(dtype)?)?;
    sloped(s, alpha)
}

/// `x` where `x > 0`, else `x * slope`.
fn sloped(s: &mut Scalar, slope: Val) -> Option<Val> {
    let zero = s.like(0, 0.0)?;
    let positive = s.body.cmp(Cmp::Gt, s.args[0], zero);
    let below = s.body.bin(BinaryOp::Mul, s.args[0], slope);
    Some(s.body.select(positive, s.args[0], below))
}

fn leaky_relu_eval(cx: &EvalCx) -> EvalResult {
    let alpha = LeakyReluAttrs::read(cx.attrs).alpha;
    // The factor is a number of the dtype, as a constant of the program would be.
    let rounded = Tensor::full(cx.tensor(0).dtype(), &[], alpha).map_or(alpha, |alpha| alpha.to_f64s()[0]);
    let float = |x: f64| if x > 0.0 { x } else { x * rounded };
    let int = |x: i128| if x > 0 { x } else { x.wrapping_mul(alpha as i128) };
    cx.map(float, int)
}

pub const PRELU: OpDef = OpDef {
    name: "nn.prelu",
    doc: "`x` where `x > 0`, else `alpha[i] * x` with `i` the index of `axis`. If the number of channels is `?`, a \
          single slope applies to all of them. Shape and dtype are those of `data` (`src/relay/op/nn/nn.cc`).",
    args: &[Arg::tensor("data"), Arg::tensor("alpha")],
    attrs: Some(PReluAttrs::SCHEMA),
    rules: &[
        "C1: 0 <= axis < rank(data)",
        "C2: alpha has the shape (data[axis],), or (1,) if data[axis] is known only at run time",
        "C3: dtype(alpha) == dtype(data)",
    ],
    rel: prelu_rel,
    eval: prelu_eval,
    fuse: Some(Fuse::Broadcast),
    lower: Some(Lower::Along(|call, _| call.axis(PReluAttrs::read(call.attrs).axis, call.arg(0).shape.len()), prelu_scalar)),
    ..OpDef::BASE
};

fn prelu_rel(cx: &mut RelCx) -> RelResult {
    let axis = PReluAttrs::read(cx.attrs).axis;
    let data = cx.tensor(0)?;
    cx.require("C1", axis >= 0, || Fault::attr("axis", format!("expected at least 0, found {axis}")))?;
    let axis = cx.axis("C1", "axis", axis, data.rank())?;
    match cx.known_tensor(1)? {
        // TVM accepts one slope for `?` channels; it applies to all of them.
        Some(alpha) if cx.at_run_time && alpha.rank() == 1 && alpha.shape[0].value() == Some(1) => {
            rel::require_same_dtype(cx, "C3", &data, &alpha)?;
        }
        _ => channel_arg(cx, ("C2", "C3"), &data, axis, (1, "alpha"))?,
    }
    cx.set_out(data.dims(), data.dtype)
}

fn prelu_scalar(s: &mut Scalar) -> Option<Val> {
    (s.lane(0)? != ScalarType::Bool).then_some(())?;
    sloped(s, s.args[1])
}

fn prelu_eval(cx: &EvalCx) -> EvalResult {
    let (data, alpha) = (cx.tensor(0), cx.tensor(1));
    let axis = PReluAttrs::read(cx.attrs).axis as usize;
    let mut shape = vec![1; data.rank() - axis];
    shape[0] = alpha.len();
    let alpha = alpha.reshape(&shape).expect("the relation required rank 1");
    let slopes = data.zip(&alpha, |x, a| if x > 0.0 { x } else { x * a }, |x, a| if x > 0 { x } else { x * a });
    Ok(slopes.expect("the relation required a slope for each channel").into())
}

pub(crate) const HARDSWISH: OpDef = OpDef {
    name: "hardswish",
    doc: "`x * min(max(x + 3, 0), 6) / 6` of each element. Shape and dtype are those of `data`. TVM uses the name only for an \
          operator that quantisation turns into `qnn.hardswish` (`python/tvm/relay/transform/fake_quantization_to_integer.py`), \
          whose meaning this operator has.",
    args: &[Arg::tensor("data")],
    rules: &["C1: dtype(data) is a float"],
    rel: rel::float_identity,
    eval: hardswish_eval,
    fuse: None,
    lower: Some(Lower::Scalar(hardswish_scalar)),
    ..OpDef::BASE
};

fn hardswish_scalar(s: &mut Scalar) -> Option<Val> {
    s.is_float()?;
    let (zero, three, six) = (s.like(0, 0.0)?, s.like(0, 3.0)?, s.like(0, 6.0)?);
    let shifted = s.body.bin(BinaryOp::Add, s.args[0], three);
    let capped = s.body.bin(BinaryOp::Min, shifted, six);
    let gate = s.body.bin(BinaryOp::Max, capped, zero);
    let product = s.body.bin(BinaryOp::Mul, s.args[0], gate);
    Some(s.body.bin(BinaryOp::Div, product, six))
}

/// Every step rounded to the operand's dtype, which decides the last bit of `qnn.hardswish`.
fn hardswish_eval(cx: &EvalCx) -> EvalResult {
    let x = cx.tensor(0);
    let gate = x.map(|x| x + 3.0, |x| x).map(|x| float_max(float_min(x, 6.0), 0.0), |x| x);
    let product = x.zip(&gate, |x, gate| x * gate, |x, _| x).expect("two tensors of one shape");
    Ok(product.map(|x| x / 6.0, |x| x).into())
}

pub(crate) const ONNX: &[(&str, Onnx)] = &[
    (RELU.name, Onnx::Node("Relu", DTypeClass::Signed)),
    (LEAKY_RELU.name, Onnx::Nodes(leaky_relu_onnx)),
    (PRELU.name, Onnx::Nodes(prelu_onnx)),
    (HARDSWISH.name, Onnx::Node("HardSwish", DTypeClass::Ieee)),
];

fn leaky_relu_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let (alpha, data) = (LeakyReluAttrs::read(cx.attrs).alpha, cx.tensor(0));
    DTypeClass::Floats.require(cx.out_dtype())?;
    if cx.out_dtype() == DType::F64 && alpha != f64::from(alpha as f32) {
        return Err(format!("a slope of {alpha}, of which ONNX keeps a float32"));
    }
    Ok(cx.node("LeakyRelu", &[data]).float("alpha", alpha).one().into())
}

fn prelu_onnx(cx: &mut OnnxCx) -> OnnxResult {
    let axis = PReluAttrs::read(cx.attrs).axis as usize;
    let data = cx.tensor(0);
    DTypeClass::Floats.require(cx.out_dtype())?;
    let slopes = cx.along(cx.tensor(1), axis, cx.rank(data))?;
    Ok(cx.node("PRelu", &[data, slopes]).one().into())
}

pub(crate) const FAMILY: &[OpDef] = &[RELU, LEAKY_RELU, PRELU, HARDSWISH];
