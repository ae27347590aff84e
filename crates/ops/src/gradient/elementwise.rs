//! Gradients of functions of each element.

use super::{GradCx, Gradient};
use relayc_ir::types::DType;
use relayc_ir::{AttrValue, ExprId};

pub(super) const GRADIENTS: &[(&str, Gradient)] = &[
    ("log", log),
    ("log2", |cx| log_of_base(cx, 2.0)),
    ("log10", |cx| log_of_base(cx, 10.0)),
    ("tan", tan),
    ("cos", cos),
    ("cosh", |cx| times(cx, "sinh")),
    ("sin", |cx| times(cx, "cos")),
    ("sinh", |cx| times(cx, "cosh")),
    ("exp", |cx| times(cx, "exp")),
    ("acos", acos),
    ("acosh", |cx| over(cx, |cx, ones, square| root(cx, "subtract", square, ones))),
    ("asin", |cx| over(cx, |cx, ones, square| root(cx, "subtract", ones, square))),
    ("asinh", |cx| over(cx, |cx, ones, square| root(cx, "add", ones, square))),
    ("atan", |cx| over(cx, |cx, ones, square| cx.binary("add", ones, square))),
    ("atanh", |cx| over(cx, |cx, ones, square| cx.binary("subtract", ones, square))),
    ("sqrt", sqrt),
    ("sigmoid", sigmoid),
    ("tanh", tanh),
    ("nn.relu", relu),
    ("abs", abs),
    ("erf", erf),
    ("clip", clip),
    ("negative", |cx| Some(vec![cx.unary("negative", cx.grad)])),
    ("copy", |cx| Some(vec![cx.grad])),
    // TVM computes the operand again on the way back, which saves memory and changes no value.
    ("annotation.checkpoint", |cx| Some(vec![cx.grad])),
    ("add", add),
    ("subtract", subtract),
    ("multiply", multiply),
    ("divide", divide),
    ("where", where_),
    ("less_equal", zeros),
    ("not_equal", zeros),
    ("cast", |cx| Some(vec![cx.binary("cast_like", cx.grad, cx.args[0])])),
    ("cast_like", |cx| Some(vec![cx.binary("cast_like", cx.grad, cx.args[0]), cx.zeros_like(cx.args[1])])),
    ("nn.cross_entropy", cross_entropy),
    ("nn.cross_entropy_with_logits", cross_entropy_with_logits),
];

type Rule = Option<Vec<ExprId>>;

/// Zeros for every operand.
fn zeros(cx: &mut GradCx) -> Rule {
    Some(cx.args.iter().map(|&arg| cx.zeros_like(arg)).collect())
}

/// `g * f(x)`, for an operator `f`.
fn times(cx: &mut GradCx, derivative: &str) -> Rule {
    let derivative = cx.unary(derivative, cx.args[0]);
    Some(vec![cx.mul(cx.grad, derivative)])
}

fn log(cx: &mut GradCx) -> Rule {
    let ones = cx.ones_like(cx.args[0]);
    let scaled = cx.mul(cx.grad, ones);
    Some(vec![cx.div(scaled, cx.args[0])])
}

/// `g / (log(base) * x)`.
fn log_of_base(cx: &mut GradCx, base: f64) -> Rule {
    let x = cx.args[0];
    let ones = cx.ones_like(x);
    let base = cx.number(base, x)?;
    let scaled = cx.mul(cx.grad, ones);
    let log = cx.unary("log", base);
    let by = cx.mul(log, x);
    Some(vec![cx.div(scaled, by)])
}

/// `g / cos(x)^2`.
fn tan(cx: &mut GradCx) -> Rule {
    let (left, right) = (cx.unary("cos", cx.args[0]), cx.unary("cos", cx.args[0]));
    let by = cx.mul(left, right);
    Some(vec![cx.div(cx.grad, by)])
}

fn cos(cx: &mut GradCx) -> Rule {
    let ones = cx.ones_like(cx.args[0]);
    let minus = cx.unary("negative", ones);
    let sin = cx.unary("sin", cx.args[0]);
    let derivative = cx.mul(minus, sin);
    Some(vec![cx.mul(cx.grad, derivative)])
}

/// `-g / sqrt(1 - x^2)`.
fn acos(cx: &mut GradCx) -> Rule {
    let x = cx.args[0];
    let ones = cx.ones_like(x);
    let minus = cx.unary("negative", ones);
    let square = cx.mul(x, x);
    let root = root(cx, "subtract", ones, square);
    let derivative = cx.div(minus, root);
    Some(vec![cx.mul(cx.grad, derivative)])
}

/// `g / d(1, x^2)`.
fn over(cx: &mut GradCx, d: fn(&mut GradCx, ExprId, ExprId) -> ExprId) -> Rule {
    let x = cx.args[0];
    let ones = cx.ones_like(x);
    let scaled = cx.mul(cx.grad, ones);
    let square = cx.mul(x, x);
    let by = d(cx, ones, square);
    Some(vec![cx.div(scaled, by)])
}

/// The root of a sum or of a difference.
fn root(cx: &mut GradCx, of: &str, lhs: ExprId, rhs: ExprId) -> ExprId {
    let square = cx.binary(of, lhs, rhs);
    cx.unary("sqrt", square)
}

/// `g * 0.5 * x^-0.5`.
fn sqrt(cx: &mut GradCx) -> Rule {
    let half = cx.number(0.5, cx.args[0])?;
    let scaled = cx.mul(cx.grad, half);
    let minus = cx.unary("negative", half);
    let power = cx.binary("power", cx.args[0], minus);
    Some(vec![cx.mul(scaled, power)])
}

/// `g * y * (1 - y)`, for `y` the result.
fn sigmoid(cx: &mut GradCx) -> Rule {
    let scaled = cx.mul(cx.grad, cx.out);
    let ones = cx.ones_like(cx.out);
    let rest = cx.binary("subtract", ones, cx.out);
    Some(vec![cx.mul(scaled, rest)])
}

/// `g * (1 - y * y)`, for `y` the result.
fn tanh(cx: &mut GradCx) -> Rule {
    let ones = cx.ones_like(cx.out);
    let square = cx.mul(cx.out, cx.out);
    let rest = cx.binary("subtract", ones, square);
    Some(vec![cx.mul(cx.grad, rest)])
}

fn relu(cx: &mut GradCx) -> Rule {
    let x = cx.args[0];
    let (zeros, ones) = (cx.zeros_like(x), cx.ones_like(x));
    let below = cx.binary("less", x, zeros);
    let scaled = cx.mul(ones, cx.grad);
    Some(vec![cx.op("where", &[below, zeros, scaled], &[])])
}

fn abs(cx: &mut GradCx) -> Rule {
    let x = cx.args[0];
    let (zeros, ones) = (cx.zeros_like(x), cx.ones_like(x));
    let below = cx.binary("less", x, zeros);
    let minus = cx.unary("negative", ones);
    let (down, up) = (cx.mul(minus, cx.grad), cx.mul(ones, cx.grad));
    Some(vec![cx.op("where", &[below, down, up], &[])])
}

/// `2 / sqrt(π) * exp(-x * x) * g`.
fn erf(cx: &mut GradCx) -> Rule {
    let x = cx.args[0];
    let factor = cx.number(std::f64::consts::FRAC_2_SQRT_PI, x)?;
    let minus = cx.unary("negative", x);
    let square = cx.mul(minus, x);
    let bell = cx.unary("exp", square);
    let derivative = cx.mul(factor, bell);
    Some(vec![cx.mul(derivative, cx.grad)])
}

/// `g` within the bounds, which TVM cuts to integers here.
fn clip(cx: &mut GradCx) -> Rule {
    let x = cx.args[0];
    let bound = |cx: &GradCx, name: &str| match cx.attr(name) {
        AttrValue::Float { value, .. } => Some(value.trunc()),
        other => other.as_int().map(|value| value as f64),
    };
    let (low, high) = (bound(cx, "a_min")?, bound(cx, "a_max")?);
    let (low, high) = (cx.number(low, x)?, cx.number(high, x)?);
    let (low, high) = (cx.binary("broadcast_to_like", low, x), cx.binary("broadcast_to_like", high, x));
    let (zeros, ones) = (cx.zeros_like(x), cx.ones_like(x));
    let below = cx.binary("less", x, low);
    let above = cx.binary("less", high, x);
    let scaled = cx.mul(ones, cx.grad);
    let inner = cx.op("where", &[above, zeros, scaled], &[]);
    Some(vec![cx.op("where", &[below, zeros, inner], &[])])
}

fn add(cx: &mut GradCx) -> Rule {
    Some(vec![cx.collapse(cx.grad, cx.args[0]), cx.collapse(cx.grad, cx.args[1])])
}

fn subtract(cx: &mut GradCx) -> Rule {
    let minus = cx.unary("negative", cx.grad);
    Some(vec![cx.collapse(cx.grad, cx.args[0]), cx.collapse(minus, cx.args[1])])
}

fn multiply(cx: &mut GradCx) -> Rule {
    let (x, y) = (cx.args[0], cx.args[1]);
    let (of_x, of_y) = (cx.mul(cx.grad, y), cx.mul(cx.grad, x));
    Some(vec![cx.collapse(of_x, x), cx.collapse(of_y, y)])
}

/// `g / y` and `-(g * (x / y) / y)`.
fn divide(cx: &mut GradCx) -> Rule {
    let (x, y) = (cx.args[0], cx.args[1]);
    let of_x = cx.div(cx.grad, y);
    let scaled = cx.mul(cx.grad, cx.out);
    let by = cx.div(scaled, y);
    let of_y = cx.unary("negative", by);
    Some(vec![cx.collapse(of_x, x), cx.collapse(of_y, y)])
}

fn where_(cx: &mut GradCx) -> Rule {
    let (cond, x, y) = (cx.args[0], cx.args[1], cx.args[2]);
    let zeros = cx.zeros_like(cx.grad);
    let of_x = cx.op("where", &[cond, cx.grad, zeros], &[]);
    let of_y = cx.op("where", &[cond, zeros, cx.grad], &[]);
    Some(vec![cx.zeros_like(cond), cx.collapse(of_x, x), cx.collapse(of_y, y)])
}

/// The gradient divided by the size of the batch, which the first axis is.
fn per_sample(cx: &mut GradCx) -> Rule {
    let x = cx.args[0];
    let shape = cx.op("shape_of", &[x], &[("dtype", AttrValue::DType(Some(DType::I32)))]);
    let zero = cx.int(0);
    let batch = cx.op("take", &[shape, zero], &[("axis", AttrValue::int(0))]);
    let dtype = cx.dtype(x)?;
    let batch = cx.op("cast", &[batch], &[("dtype", AttrValue::DType(Some(dtype)))]);
    Some(vec![cx.div(cx.grad, batch)])
}

fn cross_entropy(cx: &mut GradCx) -> Rule {
    let (x, y) = (cx.args[0], cx.args[1]);
    let grad = per_sample(cx)?[0];
    let minus = cx.unary("negative", grad);
    let scaled = cx.mul(minus, y);
    let of_x = cx.div(scaled, x);
    let minus = cx.unary("negative", grad);
    let log = cx.unary("log", x);
    Some(vec![of_x, cx.mul(minus, log)])
}

fn cross_entropy_with_logits(cx: &mut GradCx) -> Rule {
    let (x, y) = (cx.args[0], cx.args[1]);
    let grad = per_sample(cx)?[0];
    let minus = cx.unary("negative", grad);
    let of_x = cx.mul(minus, y);
    let minus = cx.unary("negative", grad);
    Some(vec![of_x, cx.mul(minus, x)])
}
