//! Converts scalar functions without a Relay operator to formulas of existing ones.

use super::building_blocks::*;
use super::{Converter, op};

fn map(cx: &mut Cx, f: fn(&mut Cx, Val) -> Result) -> Results {
    let x = cx.input(0)?;
    one(f(cx, x)?)
}

fn with_alpha(cx: &mut Cx, default: f32, f: fn(&mut Cx, Val, f64) -> Result) -> Results {
    let (x, alpha) = (cx.input(0)?, cx.float("alpha", default)?);
    one(f(cx, x, alpha)?)
}

/// `exp(x) - 1`.
fn exp_less_one(cx: &mut Cx, x: Val) -> Result {
    let exp = cx.unary("exp", x)?;
    let unit = cx.like(x, 1.0)?;
    cx.binary("subtract", exp, unit)
}

fn times(cx: &mut Cx, x: Val, factor: f64) -> Result {
    let factor = cx.like(x, factor)?;
    cx.binary("multiply", x, factor)
}

fn plus(cx: &mut Cx, x: Val, term: f64) -> Result {
    let term = cx.like(x, term)?;
    cx.binary("add", x, term)
}

fn swish(cx: &mut Cx, x: Val, alpha: f64) -> Result {
    let scaled = times(cx, x, alpha)?;
    let share = cx.unary("sigmoid", scaled)?;
    cx.binary("multiply", x, share)
}

/// `negative` where `x < 0`, else `x`.
fn below_zero(cx: &mut Cx, x: Val, negative: Val) -> Result {
    let zero = cx.like(x, 0.0)?;
    let below = cx.binary("less", x, zero)?;
    cx.select(below, negative, x)
}

pub(crate) fn elu(cx: &mut Cx, x: Val, alpha: f64) -> Result {
    let curve = exp_less_one(cx, x)?;
    let curve = times(cx, curve, alpha)?;
    below_zero(cx, x, curve)
}

fn celu(cx: &mut Cx, x: Val, alpha: f64) -> Result {
    let scale = cx.like(x, alpha)?;
    let scaled = cx.binary("divide", x, scale)?;
    let curve = exp_less_one(cx, scaled)?;
    let curve = times(cx, curve, alpha)?;
    below_zero(cx, x, curve)
}

fn selu(cx: &mut Cx) -> Results {
    // Numbers of Klambauer et al. (2017), as float32 has them.
    let (alpha, gamma) = (cx.float("alpha", 1.673_263_2)?, cx.float("gamma", 1.050_701)?);
    let x = cx.input(0)?;
    let elu = elu(cx, x, alpha)?;
    one(times(cx, elu, gamma)?)
}

pub(crate) fn hard_sigmoid(cx: &mut Cx, x: Val, alpha: f64, beta: f64) -> Result {
    let x = times(cx, x, alpha)?;
    let x = plus(cx, x, beta)?;
    cx.call("clip", &[x], &[("a_min", AttrValue::float(0.0)), ("a_max", AttrValue::float(1.0))])
}

fn hard_swish(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let share = hard_sigmoid(cx, x, 1.0 / 6.0, 0.5)?;
    one(cx.binary("multiply", x, share)?)
}

/// `log(1 + exp(x))`, in a form that does not overflow.
pub(crate) fn softplus(cx: &mut Cx, x: Val) -> Result {
    let size = cx.unary("abs", x)?;
    let low = cx.unary("negative", size)?;
    let exp = cx.unary("exp", low)?;
    let sum = plus(cx, exp, 1.0)?;
    let log = cx.unary("log", sum)?;
    let positive = cx.unary("nn.relu", x)?;
    cx.binary("add", positive, log)
}

pub(crate) fn softsign(cx: &mut Cx, x: Val) -> Result {
    let size = cx.unary("abs", x)?;
    let sum = plus(cx, size, 1.0)?;
    cx.binary("divide", x, sum)
}

fn mish(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let curve = softplus(cx, x)?;
    let curve = cx.unary("tanh", curve)?;
    one(cx.binary("multiply", x, curve)?)
}

fn gelu(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let curve = match &*cx.text("approximate", "none")? {
        "none" => {
            let scaled = times(cx, x, std::f64::consts::FRAC_1_SQRT_2)?;
            cx.unary("erf", scaled)?
        }
        "tanh" => {
            let square = cx.binary("multiply", x, x)?;
            let cube = cx.binary("multiply", square, x)?;
            let small = times(cx, cube, 0.044715)?;
            let sum = cx.binary("add", x, small)?;
            let scaled = times(cx, sum, (2.0 / std::f64::consts::PI).sqrt())?;
            cx.unary("tanh", scaled)?
        }
        other => return Err(refuse(format!("the approximation `{other}`"))),
    };
    let curve = plus(cx, curve, 1.0)?;
    let half = times(cx, x, 0.5)?;
    one(cx.binary("multiply", half, curve)?)
}

pub(crate) fn thresholded_relu(cx: &mut Cx, x: Val, alpha: f64) -> Result {
    let (limit, zero) = (cx.like(x, alpha)?, cx.like(x, 0.0)?);
    let above = cx.binary("greater", x, limit)?;
    cx.select(above, x, zero)
}

fn shrink(cx: &mut Cx) -> Results {
    let (x, lambd, bias) = (cx.input(0)?, cx.float("lambd", 0.5)?, cx.float("bias", 0.0)?);
    let (low, high, zero) = (cx.like(x, -lambd)?, cx.like(x, lambd)?, cx.like(x, 0.0)?);
    let (below, above) = (cx.binary("less", x, low)?, cx.binary("greater", x, high)?);
    let (raised, lowered) = (plus(cx, x, bias)?, plus(cx, x, -bias)?);
    let rest = cx.select(above, lowered, zero)?;
    one(cx.select(below, raised, rest)?)
}

fn is_inf(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let both = (cx.int("detect_negative", 1)? != 0, cx.int("detect_positive", 1)? != 0);
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
    if cx.int("fmod", 0)? != 0 { binary(cx, "trunc_mod") } else { binary(cx, "floor_mod") }
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
        one(hard_sigmoid(cx, x, alpha, beta)?)
    }),
    op("HardSwish", &[14, 22], hard_swish),
    op("Mish", &[18, 22], mish),
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
    op("Clip", &[6, 11, 12, 13], clip),
];
