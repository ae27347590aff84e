//! Converts scalar functions without a Relay operator to formulas of existing ones.

use super::super::formula::{Formula, call, call2, clip as clipped, select};
use super::building_blocks::*;
use super::{Converter, op};

pub(super) fn map(cx: &mut Cx, f: fn(Val) -> Formula) -> Results {
    let x = cx.input(0)?;
    one(cx.b.formula(x, f(x))?)
}

pub(super) fn with_alpha(cx: &mut Cx, default: f32, f: fn(Val, f64) -> Formula) -> Results {
    let (x, alpha) = (cx.input(0)?, cx.float("alpha", default)?);
    one(cx.b.formula(x, f(x, alpha))?)
}

pub(super) fn swish(x: Val, alpha: f64) -> Formula {
    x * call("sigmoid", x * alpha)
}

/// `negative` where `x < 0`, else `x`.
fn below_zero(x: Val, negative: Formula) -> Formula {
    select(call2("less", x, 0.0), negative, x)
}

pub(crate) fn elu(x: Val, alpha: f64) -> Formula {
    below_zero(x, (call("exp", x) - 1.0) * alpha)
}

fn celu(x: Val, alpha: f64) -> Formula {
    below_zero(x, (call("exp", x / alpha) - 1.0) * alpha)
}

fn selu(cx: &mut Cx) -> Results {
    // Numbers of Klambauer et al. (2017), as float32 has them.
    let (alpha, gamma) = (cx.float("alpha", 1.673_263_2)?, cx.float("gamma", 1.050_701)?);
    let x = cx.input(0)?;
    one(cx.b.formula(x, elu(x, alpha) * gamma)?)
}

pub(crate) fn hard_sigmoid(x: Val, alpha: f64, beta: f64) -> Formula {
    clipped(x * alpha + beta, 0.0, 1.0)
}

fn hard_swish(x: Val) -> Formula {
    x * hard_sigmoid(x, 1.0 / 6.0, 0.5)
}

/// `log(1 + exp(x))`, in a form that does not overflow.
pub(crate) fn softplus(x: Val) -> Formula {
    call("nn.relu", x) + call("log", call("exp", call("negative", call("abs", x))) + 1.0)
}

pub(crate) fn softsign(x: Val) -> Formula {
    x / (call("abs", x) + 1.0)
}

fn mish(x: Val) -> Formula {
    x * call("tanh", softplus(x))
}

/// `x` times the normal distribution's share below it.
pub(super) fn gelu_by_erf(x: Val) -> Formula {
    x * 0.5 * (call("erf", x * std::f64::consts::FRAC_1_SQRT_2) + 1.0)
}

/// Its approximation by Hendrycks and Gimpel (2016).
pub(super) fn gelu_by_tanh(x: Val) -> Formula {
    x * 0.5 * (call("tanh", (x + x * x * x * 0.044715) * (2.0 / std::f64::consts::PI).sqrt()) + 1.0)
}

fn gelu(cx: &mut Cx) -> Results {
    match &*cx.text("approximate", "none")? {
        "none" => map(cx, gelu_by_erf),
        "tanh" => map(cx, gelu_by_tanh),
        other => Err(refuse(format!("the approximation `{other}`"))),
    }
}

pub(crate) fn thresholded_relu(x: Val, alpha: f64) -> Formula {
    select(call2("greater", x, alpha), x, 0.0)
}

fn shrink(cx: &mut Cx) -> Results {
    let (x, lambd, bias) = (cx.input(0)?, cx.float("lambd", 0.5)?, cx.float("bias", 0.0)?);
    let lowered = select(call2("greater", x, lambd), x + -bias, 0.0);
    one(cx.b.formula(x, select(call2("less", x, -lambd), x + bias, lowered))?)
}

fn is_inf(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let both = (cx.flag("detect_negative", true)?, cx.flag("detect_positive", true)?);
    let zero = cx.like(x, 0.0)?;
    let infinite = cx.unary("isinf", x)?;
    let side = match both {
        (true, true) => return one(infinite),
        (true, false) => cx.binary("less", x, zero)?,
        (false, true) => cx.binary("greater", x, zero)?,
        (false, false) => cx.binary("not_equal", zero, zero)?,
    };
    one(cx.binary("logical_and", infinite, side)?)
}

fn bit_shift(cx: &mut Cx) -> Results {
    match &*cx.text("direction", "")? {
        "LEFT" => binary(cx, "left_shift"),
        "RIGHT" => binary(cx, "right_shift"),
        other => Err(refuse(format!("the direction `{other}`"))),
    }
}

/// With `fmod` the result has the sign of the dividend, otherwise that of the divisor.
fn modulo(cx: &mut Cx) -> Results {
    if cx.flag("fmod", false)? { binary(cx, "trunc_mod") } else { binary(cx, "floor_mod") }
}

/// Bounds are attributes up to operator set 10, then operands; either may be missing.
fn clip(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let (mut low, mut high) = (cx.opt(1), cx.opt(2));
    if cx.version < 11 {
        low = match cx.opt_float("min")? {
            Some(low) => Some(cx.like(x, low)?),
            None => None,
        };
        high = match cx.opt_float("max")? {
            Some(high) => Some(cx.like(x, high)?),
            None => None,
        };
    }
    let known = |cx: &Cx, bound: Option<Val>| Some(cx.known(bound?)?.to_f64s().first().copied()).flatten();
    if let (Some(low), Some(high), true) = (known(cx, low), known(cx, high), cx.dtype(x)?.is_float())
        && low <= high
    {
        return one(cx.call("clip", &[x], &[("a_min", AttrValue::float(low)), ("a_max", AttrValue::float(high))])?);
    }
    let x = match low {
        Some(low) => cx.binary("maximum", x, low)?,
        None => x,
    };
    one(match high {
        Some(high) => cx.binary("minimum", x, high)?,
        None => x,
    })
}

pub(crate) const FAMILY: &[Converter] = &[
    op("Elu", &[6, 22], |cx| with_alpha(cx, 1.0, elu)),
    op("Celu", &[12], |cx| with_alpha(cx, 1.0, celu)),
    op("Selu", &[6, 22], selu),
    op("HardSigmoid", &[6, 22], |cx| {
        let (x, alpha, beta) = (cx.input(0)?, cx.float("alpha", 0.2)?, cx.float("beta", 0.5)?);
        one(cx.b.formula(x, hard_sigmoid(x, alpha, beta))?)
    }),
    op("HardSwish", &[14, 22], |cx| map(cx, hard_swish)),
    op("Mish", &[18, 22], |cx| map(cx, mish)),
    op("Gelu", &[20], gelu),
    op("Swish", &[24], |cx| with_alpha(cx, 1.0, swish)),
    op("ThresholdedRelu", &[10, 22], |cx| with_alpha(cx, 1.0, thresholded_relu)),
    op("Shrink", &[9], shrink),
    op("Softplus", &[1, 22], |cx| map(cx, softplus)),
    op("Softsign", &[1, 22], |cx| map(cx, softsign)),
    op("IsInf", &[10, 20], is_inf),
    op("IsNaN", &[9, 13, 20], |cx| unary(cx, "isnan")),
    op("BitShift", &[11], bit_shift),
    op("BitwiseAnd", &[18], |cx| binary(cx, "bitwise_and")),
    op("BitwiseOr", &[18], |cx| binary(cx, "bitwise_or")),
    op("BitwiseXor", &[18], |cx| binary(cx, "bitwise_xor")),
    op("BitwiseNot", &[18], |cx| unary(cx, "bitwise_not")),
    op("Mod", &[10, 13], modulo),
    op("Clip", &[6, 11, 12, 13], clip).but("an infinity on the side that has no bound, which stays"),
];
