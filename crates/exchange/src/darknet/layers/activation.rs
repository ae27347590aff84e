//! Activation functions, and layers that are only one of them (`src/activations.h` of Darknet).

use super::super::cx::{Cx, Image, Layer, Result, unknown_word};
use super::{Kind, kind};
use crate::onnx::import::build::Val;
use relayc_ir::attrs::AttrValue;

pub(super) const FAMILY: &[Kind] = &[
    kind(&["activation"], |cx| {
        let val = activated(cx, cx.input.val, "linear")?;
        Ok(Layer { val, ..cx.input })
    }),
    kind(&["logistic"], |cx| {
        let val = cx.call("sigmoid", &[cx.input.val], &[])?;
        Ok(Layer { val, ..cx.input })
    }),
];

const NAMES: &[&str] = &[
    "logistic", "loggy", "relu", "elu", "selu", "relie", "ramp", "linear", "tanh", "plse", "leaky", "stair", "hardtan", "lhtan",
    "relu6", "swish", "mish",
];

/// Applies the function that `activation` names.
pub(super) fn activated(cx: &mut Cx, x: Val, default: &str) -> Result<Val> {
    let option = cx.word("activation");
    match apply(cx, x, option.map_or(default, |option| option.value.as_str()))? {
        Some(val) => Ok(val),
        // Darknet takes `relu` then, with a warning.
        None => Err(option.map_or_else(|| super::wrong(default), |option| unknown_word(option, "an activation", NAMES))),
    }
}

/// The layer of an image that has passed its activation.
pub(super) fn image(cx: &mut Cx, val: Val, image: Image) -> Result {
    let val = activated(cx, val, "logistic")?;
    Ok(Layer::of(val, image))
}

/// A function by its name.
fn apply(cx: &mut Cx, x: Val, name: &str) -> Result<Option<Val>> {
    Ok(Some(match name {
        "linear" => x,
        "logistic" => cx.call("sigmoid", &[x], &[])?,
        "relu" => cx.call("nn.relu", &[x], &[])?,
        "tanh" => cx.call("tanh", &[x], &[])?,
        "leaky" => leaky(cx, x, 0.1)?,
        "relie" => leaky(cx, x, 0.01)?,
        "elu" => elu(cx, x, 1.0)?,
        "selu" => {
            let elu = elu(cx, x, 1.6732)?;
            cx.with("multiply", elu, 1.0507)?
        }
        "loggy" => {
            let logistic = cx.call("sigmoid", &[x], &[])?;
            let doubled = cx.with("multiply", logistic, 2.0)?;
            cx.with("subtract", doubled, 1.0)?
        }
        "ramp" => {
            let (relu, slope) = (cx.call("nn.relu", &[x], &[])?, cx.with("multiply", x, 0.1)?);
            cx.call("add", &[relu, slope], &[])?
        }
        "hardtan" => clip(cx, x, -1.0, 1.0)?,
        "relu6" => clip(cx, x, 0.0, 6.0)?,
        // Slope 1 between 0 and 1, and 0.001 outside.
        "lhtan" => bent(cx, x, [0.0, 1.0], [1.0, 0.0], 0.001)?,
        // Slope 1/8 between -4 and 4, and 0.01 outside, where it jumps by nothing.
        "plse" => bent(cx, x, [-4.0, 4.0], [0.125, 0.5], 0.01)?,
        "stair" => stair(cx, x)?,
        "swish" => {
            let logistic = cx.call("sigmoid", &[x], &[])?;
            cx.call("multiply", &[x, logistic], &[])?
        }
        "mish" => mish(cx, x)?,
        _ => return Ok(None),
    }))
}

fn clip(cx: &mut Cx, x: Val, min: f64, max: f64) -> Result<Val> {
    cx.call("clip", &[x], &[("a_min", AttrValue::float(min)), ("a_max", AttrValue::float(max))])
}

fn leaky(cx: &mut Cx, x: Val, slope: f64) -> Result<Val> {
    cx.call("nn.leaky_relu", &[x], &[("alpha", AttrValue::float(slope))])
}

/// `x` above 0, `alpha * (exp(x) - 1)` below, in the form of TVM's importers: `-alpha * relu(1 - exp(x)) + relu(x)`.
fn elu(cx: &mut Cx, x: Val, alpha: f64) -> Result<Val> {
    let exp = cx.call("exp", &[x], &[])?;
    let one = cx.scalar(1.0)?;
    let below = cx.call("subtract", &[one, exp], &[])?;
    let below = cx.call("nn.relu", &[below], &[])?;
    let below = cx.with("multiply", below, -alpha)?;
    let above = cx.call("nn.relu", &[x], &[])?;
    cx.call("add", &[below, above], &[])
}

/// `a * x + b` between two bounds, continued with another slope: with `y` the `x` inside of the bounds,
/// `a * y + b + slope * (x - y)`.
fn bent(cx: &mut Cx, x: Val, bounds: [f64; 2], [a, b]: [f64; 2], slope: f64) -> Result<Val> {
    let inside = clip(cx, x, bounds[0], bounds[1])?;
    let outside = cx.call("subtract", &[x, inside], &[])?;
    let outside = cx.with("multiply", outside, slope)?;
    let line = cx.with("multiply", inside, a)?;
    let line = cx.with("add", line, b)?;
    cx.call("add", &[line, outside], &[])
}

/// `floor(x / 2)`, and from each odd number on a slope up to the next step.
fn stair(cx: &mut Cx, x: Val) -> Result<Val> {
    let half = cx.with("multiply", x, 0.5)?;
    let step = cx.call("floor", &[half], &[])?;
    let twice = cx.with("multiply", step, 2.0)?;
    // The distance from the even number below, less 1: the slope.
    let above = cx.call("subtract", &[x, twice], &[])?;
    let above = cx.with("subtract", above, 1.0)?;
    let slope = cx.call("nn.relu", &[above], &[])?;
    cx.call("add", &[step, slope], &[])
}

/// `x * tanh(ln(1 + exp(x)))`. With `e = exp(min(x, 20))` and `n = e * (e + 2)` this is `x * n / (n + 2)`, which never overflows;
/// from 20 on it is `x` to the last digit.
fn mish(cx: &mut Cx, x: Val) -> Result<Val> {
    let most = cx.scalar(20.0)?;
    let bounded = cx.call("minimum", &[x, most], &[])?;
    let e = cx.call("exp", &[bounded], &[])?;
    let more = cx.with("add", e, 2.0)?;
    let n = cx.call("multiply", &[e, more], &[])?;
    let below = cx.with("add", n, 2.0)?;
    let ratio = cx.call("divide", &[n, below], &[])?;
    cx.call("multiply", &[x, ratio], &[])
}
