//! Converters of elementwise operators, activations, reductions and no-ops.

use super::super::cx::{Cx, Result};
use super::{Operator, op};
use crate::onnx::import::build::Val;
use crate::onnx::import::errors::Refusal;
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
        cx.call("multiply", &[data, data], &[])
    }),
    op(&["reciprocal"], |cx| {
        let data = cx.one()?;
        let one = cx.scalar_like(data, 1.0)?;
        cx.call("divide", &[one, data], &[])
    }),
    op(&["softsign"], |cx| {
        let data = cx.one()?;
        softsign(cx, data)
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
fn softsign(cx: &mut Cx, data: Val) -> Result {
    let one = cx.scalar_like(data, 1.0)?;
    let size = cx.call("abs", &[data], &[])?;
    let below = cx.call("add", &[one, size], &[])?;
    cx.call("divide", &[data, below], &[])
}

/// `log(1 + exp(x))`, in a form that does not overflow: `log(1 + exp(-|x|)) + relu(x)`.
fn softrelu(cx: &mut Cx, data: Val) -> Result {
    let one = cx.scalar_like(data, 1.0)?;
    let size = cx.call("abs", &[data], &[])?;
    let minus = cx.call("negative", &[size], &[])?;
    let power = cx.call("exp", &[minus], &[])?;
    let sum = cx.call("add", &[one, power], &[])?;
    let log = cx.call("log", &[sum], &[])?;
    let relu = cx.call("nn.relu", &[data], &[])?;
    cx.call("add", &[log, relu], &[])
}

fn activation(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let kind = cx.text("act_type").ok_or_else(|| Refusal::wrong("the attribute `act_type` is missing"))?.to_owned();
    match kind.as_str() {
        "relu" => cx.call("nn.relu", &[data], &[]),
        "sigmoid" => cx.call("sigmoid", &[data], &[]),
        "tanh" => cx.call("tanh", &[data], &[]),
        "softrelu" => softrelu(cx, data),
        "softsign" => softsign(cx, data),
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
        "elu" => elu(cx, data, slope, 1.0),
        // As it is defined, `scale * elu(x, alpha)`.
        "selu" => elu(cx, data, 1.673_263_242_354_377_2, 1.050_700_987_355_480_5),
        "gelu" => gelu(cx, data),
        other => Err(Refusal::unsupported(format!("`act_type={}`", relayc_base::text::escape_control(other)))),
    }
}

/// `scale * (relu(x) - alpha * relu(1 - exp(x)))`: only the second term remains below 0, only the first above.
fn elu(cx: &mut Cx, data: Val, alpha: f64, scale: f64) -> Result {
    let one = cx.scalar_like(data, 1.0)?;
    let power = cx.call("exp", &[data], &[])?;
    let below = cx.call("subtract", &[one, power], &[])?;
    let below = cx.call("nn.relu", &[below], &[])?;
    let alpha = cx.scalar_like(data, -alpha)?;
    let below = cx.call("multiply", &[below, alpha], &[])?;
    let above = cx.call("nn.relu", &[data], &[])?;
    let sum = cx.call("add", &[below, above], &[])?;
    if scale == 1.0 {
        return Ok(sum);
    }
    let scale = cx.scalar_like(data, scale)?;
    cx.call("multiply", &[sum, scale], &[])
}

/// `x / 2 * (1 + erf(x / sqrt(2)))`.
fn gelu(cx: &mut Cx, data: Val) -> Result {
    let root = cx.scalar_like(data, std::f64::consts::SQRT_2)?;
    let inside = cx.call("divide", &[data, root], &[])?;
    let erf = cx.call("erf", &[inside], &[])?;
    let one = cx.scalar_like(data, 1.0)?;
    let sum = cx.call("add", &[one, erf], &[])?;
    let half = cx.scalar_like(data, 0.5)?;
    let half = cx.call("multiply", &[data, half], &[])?;
    cx.call("multiply", &[half, sum], &[])
}

/// `clip(alpha * x + beta, 0, 1)`.
fn hard_sigmoid(cx: &mut Cx) -> Result {
    let data = cx.one()?;
    let (alpha, beta) = (cx.float("alpha", 0.2)?, cx.float("beta", 0.5)?);
    let (alpha, beta) = (cx.scalar_like(data, alpha)?, cx.scalar_like(data, beta)?);
    let product = cx.call("multiply", &[data, alpha], &[])?;
    let sum = cx.call("add", &[product, beta], &[])?;
    cx.call("clip", &[sum], &[("a_min", AttrValue::float(0.0)), ("a_max", AttrValue::float(1.0))])
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
    let eps = cx.scalar_like(data, eps)?;
    let rank = i64::try_from(cx.rank(data)?).unwrap_or(i64::MAX);
    let axes: Vec<i64> = match cx.text("mode").unwrap_or("instance") {
        "instance" => (1..rank).collect(),
        "channel" => vec![1],
        "spatial" => (2..rank).collect(),
        _ => return Err(Refusal::wrong("`mode` is `instance`, `channel` or `spatial`")),
    };
    let square = cx.call("multiply", &[data, data], &[])?;
    let sum = cx.call("sum", &[square], &[("axis", AttrValue::ints(&axes)), ("keepdims", AttrValue::Bool(true))])?;
    let sum = cx.call("add", &[sum, eps], &[])?;
    let norm = cx.call("sqrt", &[sum], &[])?;
    cx.call("divide", &[data, norm], &[])
}
