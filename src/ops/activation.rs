//! Activations: one value in, one value out, shape and dtype unchanged.

use super::attrs::attrs;
use super::eval::{EvalCx, EvalResult};
use super::rel::{self, Fault, RelCx, RelResult};
use super::{Fuse, OpDef};
use crate::ir::attrs::Arg;
use crate::tensor::float_max;

attrs! {
    "relay.attrs.LeakyReluAttrs" =>
    pub struct LeakyReluAttrs {
        /// The slope below zero.
        pub alpha: f64 = 0.25, min 0.0;
    }
}

/// `max(x, 0)`; NaN stays NaN.
pub const RELU: OpDef = OpDef {
    name: "nn.relu",
    doc: "`max(x, 0)` of each element; NaN stays NaN. Shape and dtype are those of `data` (`src/relay/op/nn/nn.cc`).",
    args: &[Arg::tensor("data")],
    rel: rel::identity,
    eval: relu_eval,
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

fn relu_eval(cx: &EvalCx) -> EvalResult {
    cx.map(|x| float_max(x, 0.0), |x| x.max(0))
}

/// `x` where `x > 0`, else `alpha * x`.
pub const LEAKY_RELU: OpDef = OpDef {
    name: "nn.leaky_relu",
    doc: "`x` where `x > 0`, else `alpha * x`. Shape and dtype are those of `data` (`src/relay/op/nn/nn.cc`).",
    args: &[Arg::tensor("data")],
    attrs: Some(LeakyReluAttrs::SCHEMA),
    rules: &["C1: dtype(data) is a float", "C2: alpha >= 0"],
    rel: leaky_relu_rel,
    eval: leaky_relu_eval,
    fuse: Some(Fuse::ElemWise),
    ..OpDef::BASE
};

fn leaky_relu_rel(cx: &mut RelCx) -> RelResult {
    let attrs = LeakyReluAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    cx.require("C2", attrs.alpha >= 0.0, || Fault::attr("alpha", format!("expected at least 0, found {}", attrs.alpha)))?;
    cx.set_out(data.dims(), data.dtype)?;
    rel::require_float(cx, "C1", &data)
}

fn leaky_relu_eval(cx: &EvalCx) -> EvalResult {
    let alpha = LeakyReluAttrs::read(cx.attrs).alpha;
    let float = move |x: f64| if x > 0.0 { x } else { x * alpha };
    Ok(cx.tensor(0).map_with(&float, &|x| x).into())
}

pub const FAMILY: &[OpDef] = &[RELU, LEAKY_RELU];
