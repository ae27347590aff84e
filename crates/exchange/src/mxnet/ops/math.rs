//! Converters of elementwise operators, activations, reductions and no-ops.

use super::super::cx::{Cx, Result};
use super::{Operator, op};
use crate::onnx::import::build::Val;
use crate::onnx::import::errors::Refusal;
use crate::onnx::import::formula::{Formula, call};
use crate::onnx::import::ops::curves;
use relayc_ir::attrs::AttrValue;

pub(crate) const FAMILY: &[Operator] = &[
    // One operand.
    op(&["abs"], |cx| unary(cx, "abs")),
    op(&["ceil"], |cx| unary(cx, "ceil")),
    op(&["cos"], |cx| unary(cx, "cos")),
    op(&["erf"], |cx| unary(cx, "erf")),
    op(&["exp"], |cx| unary(cx, "exp")),
    op(&["fix", "trunc"], |cx| unary(cx, "trunc")),
    op(&["floor"], |cx| unary(cx, "floor")),
    op(&["log"], |cx| unary(cx, "log")),
    op(&["log2"], |cx| unary(cx, "log2")),
    op(&["log10"], |cx| unary(cx, "log10")),
    op(&["negative"], |cx| unary(cx, "negative")),
    op(&["relu"], |cx| unary(cx, "nn.relu")),
    op(&["round"], |cx| unary(cx, "round")),
    op(&["rsqrt"], |cx| unary(cx, "rsqrt")),
    op(&["sigmoid"], |cx| unary(cx, "sigmoid")),
    op(&["sign"], |cx| unary(cx, "sign")),
    op(&["sin"], |cx| unary(cx, "sin")),
    op(&["sqrt"], |cx| unary(cx, "sqrt")),
    op(&["tanh"], |cx| unary(cx, "tanh")),
    op(&["square"], |cx| {
        let data = cx.one()?;
        cx.b.formula(data, data * data)
    }),
    op(&["reciprocal"], |cx| {
        let data = cx.one()?;
        cx.b.formula(data, 1.0 / data)
    }),
    op(&["softsign"], |cx| {
        let data = cx.one()?;
        cx.b.formula(data, softsign(data))
    }),
    // Two operands of one shape, or broadcast; the names of version 0.8 have capitals.
    op(&["elemwise_add", "_plus", "_Plus", "_add", "broadcast_add", "broadcast_plus", "_grad_add"], |cx| binary(cx, "add")),
    op(&["elemwise_sub", "_minus", "_Minus", "_sub", "broadcast_sub", "broadcast_minus"], |cx| binary(cx, "subtract")),
    op(&["elemwise_mul", "_mul", "_Mul", "broadcast_mul"], |cx| binary(cx, "multiply")),
    op(&["elemwise_div", "_div", "_Div", "broadcast_div"], |cx| binary(cx, "divide")),
    op(&["_maximum", "_Maximum", "broadcast_maximum"], |cx| binary(cx, "maximum")),
    op(&["_minimum", "_Minimum", "broadcast_minimum"], |cx| binary(cx, "minimum")),
    op(&["_power", "_Power", "broadcast_power"], |cx| binary(cx, "power")),
    op(&["add_n", "ElementWiseSum", "_sum"], sum_of_all),
    // An operand and a number.
    op(&["_plus_scalar", "_PlusScalar"], |cx| with_scalar(cx, "add", false)),
    op(&["_minus_scalar", "_MinusScalar"], |cx| with_scalar(cx, "subtract", false)),
    op(&["_rminus_scalar", "_RMinusScalar"], |cx| with_scalar(cx, "subtract", true)),
    op(&["_mul_scalar", "_MulScalar"], |cx| with_scalar(cx, "multiply", false)),
    op(&["_div_scalar", "_DivScalar"], |cx| with_scalar(cx, "divide", false)),
    op(&["_rdiv_scalar", "_RDivScalar"], |cx| with_scalar(cx, "divide", true)),
    op(&["_power_scalar", "_PowerScalar"], |cx| with_scalar(cx, "power", false)),
    op(&["_rpower_scalar", "_RPowerScalar"], |cx| with_scalar(cx, "power", true)),
    op(&["_maximum_scalar", "_MaximumScalar"], |cx| with_scalar(cx, "maximum", false)),
    op(&["_minimum_scalar", "_MinimumScalar"], |cx| with_scalar(cx, "minimum", false)),
    op(&["clip"], clip),
    // Activations.
    op(&["Activation"], activation),
    op(&["LeakyReLU"], leaky_relu),
    op(&["hard_sigmoid"], hard_sigmoid),
    // The label is for training.
    op(&["SoftmaxOutput", "Softmax"], softmax_output),
    op(&["softmax"], |cx| softmax(cx, "nn.softmax")),
    op(&["log_softmax"], |cx| softmax(cx, "nn.log_softmax")),
    op(&["SoftmaxActivation"], softmax_activation),
    op(&["LogisticRegressionOutput"], |cx| {
        let data = cx.input(0)?;
        cx.call("sigmoid", &[data], &[])
    }),
    // What passes its first operand on, when nothing is trained.
    op(&["Dropout"], |cx| {
        cx.float("p", 0.5)?;
        cx.ints("axes")?;
        match cx.text("mode").unwrap_or("training") {
            "training" => cx.one(),
            _ => Err(Refusal::unsupported("`mode` other than `training`")),
        }
    }),
    op(&["identity", "_copy", "BlockGrad", "stop_gradient"], |cx| cx.one()),
    op(&["MakeLoss", "make_loss", "LinearRegressionOutput", "MAERegressionOutput"], |cx| {
        cx.float("valid_thresh", 0.0)?;
        cx.input(0)
    }),
    // Reductions.
    op(&["sum", "sum_axis"], |cx| reduction(cx, "sum")),
    op(&["mean"], |cx| reduction(cx, "mean")),
    op(&["max", "max_axis"], |cx| reduction(cx, "max")),
    op(&["min", "min_axis"], |cx| reduction(cx, "min")),
    op(&["prod"], |cx| reduction(cx, "prod")),
    op(&["L2Normalization"], l2_normalization),
];

fn unary(cx: &mut Cx, op: &str) -> Result {
    let data = cx.one()?;
    cx.call(op, &[data], &[])
}

fn binary(cx: &mut Cx, op: &str) -> Result {
    let args = [cx.input(0)?, cx.input(1)?];
    cx.call(op, &args, &[])
}

fn sum_of_all(cx: &mut Cx) -> Result {
    let mut sum = cx.input(0)?;
    for index in 1..cx.inputs.len() {
        let next = cx.input(index)?;
        sum = cx.call("add", &[sum, next], &[])?;
    }
    Ok(sum)
}

fn with_scalar(cx: &mut Cx, op: &str, scalar_first: bool) -> Result {
    let data = cx.one()?;
    // Says only whether the number was an integer.
    cx.flag("is_int", true)?;
    if cx.text("scalar").is_none() {
        return Err(Refusal::wrong("the attribute `scalar` is missing"));
    }
    let number = cx.float("scalar", 0.0)?;
    let scalar = cx.scalar_like(data, number)?;
    let args = if scalar_first { [scalar, data] } else { [data, scalar] };
    cx.call(op, &args, &[])
}

fn clip(cx: &mut Cx) -> Result {
    let attrs = [
        ("a_min", AttrValue::float(cx.float("a_min", f64::NEG_INFINITY)?)),
        ("a_max", AttrValue::float(cx.float("a_max", f64::INFINITY)?)),
    ];
    let data = cx.one()?;
    cx.call("clip", &[data], &attrs)
}

/// `x / (1 + |x|)`.
fn softsign(x: Val) -> Formula {
    x / (1.0 + call("abs", x))
}

/// `log(1 + exp(x))`, in a form that does not overflow: `log(1 + exp(-|x|)) + relu(x)`.
fn softrelu(x: Val) -> Formula {
    call("log", 1.0 + call("exp", call("negative", call("abs", x)))) + call("nn.relu", x)
}

fn activation(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let kind = cx.text("act_type").ok_or_else(|| Refusal::wrong("the attribute `act_type` is missing"))?.to_owned();
    match kind.as_str() {
        "relu" => cx.call("nn.relu", &[data], &[]),
        "sigmoid" => cx.call("sigmoid", &[data], &[]),
        "tanh" => cx.call("tanh", &[data], &[]),
        "softrelu" => cx.b.formula(data, softrelu(data)),
        "softsign" => cx.b.formula(data, softsign(data)),
        other => Err(Refusal::unsupported(format!("`act_type={}`", relayc_base::text::escape_control(other)))),
    }
}

fn leaky_relu(cx: &mut Cx) -> Result {
    let data = cx.input(0)?;
    let kind = cx.text("act_type").unwrap_or("leaky").to_owned();
    let slope = cx.float("slope", 0.25)?;
    let (lower, upper) = (cx.float("lower_bound", 0.125)?, cx.float("upper_bound", 0.334)?);
    let leaky = |cx: &mut Cx, alpha: f64| cx.call("nn.leaky_relu", &[data], &[("alpha", AttrValue::float(alpha))]);
    match kind.as_str() {
        "leaky" => leaky(cx, slope),
        // The mean of the slopes that training draws.
        "rrelu" => leaky(cx, (lower + upper) / 2.0),
        "prelu" => {
            let alpha = cx.input(1)?;
            cx.call("nn.prelu", &[data, alpha], &[])
        }
        "elu" => cx.b.formula(data, elu(data, slope)),
        // As it is defined, `scale * elu(x, alpha)`.
        "selu" => cx.b.formula(data, elu(data, 1.673_263_242_354_377_2) * 1.050_700_987_355_480_5),
        "gelu" => cx.b.formula(data, data * 0.5 * (1.0 + call("erf", data / std::f64::consts::SQRT_2))),
        other => Err(Refusal::unsupported(format!("`act_type={}`", relayc_base::text::escape_control(other)))),
    }
}

/// `relu(x) - alpha * relu(1 - exp(x))`: only the second term remains below 0, only the first above.
fn elu(x: Val, alpha: f64) -> Formula {
    call("nn.relu", 1.0 - call("exp", x)) * -alpha + call("nn.relu", x)
}

fn hard_sigmoid(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let (alpha, beta) = (cx.float("alpha", 0.2)?, cx.float("beta", 0.5)?);
    cx.b.formula(data, curves::hard_sigmoid(data, alpha, beta))
}

/// Applies softmax along axis 1. Without `multi_output`, the data must have two axes.
fn softmax_output(cx: &mut Cx) -> Result {
    let data = cx.input(0)?;
    let many = cx.flag("multi_output", false)?;
    if !many && cx.rank(data)? != 2 {
        return Err(Refusal::unsupported("data of other than two axes without `multi_output`"));
    }
    cx.call("nn.softmax", &[data], &[("axis", AttrValue::int(1))])
}

fn softmax(cx: &mut Cx, op: &str) -> Result {
    let data = cx.one()?;
    cx.refuse_flag("use_length")?;
    if cx.float("temperature", 1.0)? != 1.0 || cx.text("dtype").is_some() {
        return Err(Refusal::unsupported("`temperature` and `dtype`"));
    }
    let axis = AttrValue::int(cx.int("axis")?.unwrap_or(-1));
    cx.call(op, &[data], &[("axis", axis)])
}

fn softmax_activation(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let by_channel = match cx.text("mode").unwrap_or("instance") {
        "instance" => false,
        "channel" => true,
        _ => return Err(Refusal::wrong("`mode` is `instance` or `channel`")),
    };
    if !by_channel && cx.rank(data)? != 2 {
        return Err(Refusal::unsupported("data of other than two axes with `mode=instance`"));
    }
    cx.call("nn.softmax", &[data], &[("axis", AttrValue::int(1))])
}

/// Reduces along the given axes, or all; with `exclude` along the others.
fn reduction(cx: &mut Cx, op: &str) -> Result {
    let data = cx.one()?;
    let axes = cx.ints("axis")?.filter(|axes| !axes.is_empty());
    let attrs = [
        ("axis", axes.map_or(AttrValue::None, |axes| AttrValue::ints(&axes))),
        ("keepdims", AttrValue::Bool(cx.flag("keepdims", false)?)),
        ("exclude", AttrValue::Bool(cx.flag("exclude", false)?)),
    ];
    cx.call(op, &[data], &attrs)
}

/// `x / sqrt(sum(x * x) + eps)`; Relay's own operator takes the larger of the sum and `eps` instead.
fn l2_normalization(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let eps = cx.float("eps", 1e-10)?;
    let rank = i64::try_from(cx.rank(data)?).unwrap_or(i64::MAX);
    let axes: Vec<i64> = match cx.text("mode").unwrap_or("instance") {
        "instance" => (1..rank).collect(),
        "channel" => vec![1],
        "spatial" => (2..rank).collect(),
        _ => return Err(Refusal::wrong("`mode` is `instance`, `channel` or `spatial`")),
    };
    let square = cx.call("multiply", &[data, data], &[])?;
    let sum = cx.call("sum", &[square], &[("axis", AttrValue::ints(&axes)), ("keepdims", AttrValue::Bool(true))])?;
    cx.b.formula(data, data / call("sqrt", sum + eps))
}
