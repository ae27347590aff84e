//! Converts other normalizations: numbers minus their mean, divided by their deviation, along some axes.

use super::super::formula::{call, call2, select};
use super::building_blocks::*;
use super::{Converter, op};

/// The mean along axes, and `x` minus the mean.
fn centred(cx: &mut Cx, x: Val, axes: &[i64]) -> Result<(Val, Val)> {
    let mean = cx.reduce("mean", x, axes, true)?;
    Ok((mean, cx.binary("subtract", x, mean)?))
}

/// Refuses statistics in another dtype than float32 (`stash_type` 1).
fn float_statistics(cx: &mut Cx) -> Result<()> {
    match cx.int("stash_type", 1)? {
        1 => Ok(()),
        other => Err(refuse(format!("statistics of another dtype than float32 (stash_type={other})"))),
    }
}

/// Rows of mean 0 and deviation 1, then scaled and moved.
pub(super) fn normal_rows(cx: &mut Cx, x: Val, scale: Val, bias: Option<Val>, epsilon: f64) -> Result {
    let bias = match bias {
        Some(bias) => bias,
        None => cx.call("zeros_like", &[scale], &[])?,
    };
    let attrs = [("axis", AttrValue::int(-1)), ("epsilon", AttrValue::float(epsilon))];
    cx.call("nn.layer_norm", &[x, scale, bias], &attrs)
}

/// Returns ONNX's three results; if only the first is used and Relay has it, one call.
fn layer_norm(cx: &mut Cx) -> Results {
    let (x, scale, bias) = (cx.input(0)?, cx.input(1)?, cx.opt(2));
    let (rank, epsilon) = (cx.rank(x)?, cx.float("epsilon", 1e-5)?);
    let axis = cx.axis_attr("axis", -1, rank)?;
    float_statistics(cx)?;
    if axis.saturating_add(1) == rank
        && !cx.wants(1)
        && !cx.wants(2)
        && cx.rank(scale)? == 1
        && cx.dim(scale, 0)? == cx.dim(x, axis)?
    {
        return one(normal_rows(cx, x, scale, bias, epsilon)?);
    }
    let axes = axes_from(axis, rank);
    // The statistics of half floats are float32.
    let dtype = cx.dtype(x)?;
    let wide = if dtype == DType::F64 { x } else { cx.cast(x, DType::F32)? };
    let (mean, diff) = centred(cx, wide, &axes)?;
    let squares = cx.binary("multiply", diff, diff)?;
    let variance = cx.reduce("mean", squares, &axes, true)?;
    let inverse = cx.b.formula(variance, 1.0 / call("sqrt", variance + epsilon))?;
    let normal = cx.binary("multiply", diff, inverse)?;
    let normal = cx.cast(normal, dtype)?;
    let mut result = cx.binary("multiply", normal, scale)?;
    if let Some(bias) = bias {
        result = cx.binary("add", result, bias)?;
    }
    Ok(vec![result, mean, inverse])
}

/// Normalizes by the root mean square along the last axes, in float32 like layer statistics.
fn rms_norm(cx: &mut Cx) -> Results {
    let (x, scale) = (cx.input(0)?, cx.input(1)?);
    let (rank, epsilon) = (cx.rank(x)?, cx.float("epsilon", 1e-5)?);
    let axis = cx.axis_attr("axis", -1, rank)?;
    float_statistics(cx)?;
    one(divided_by_size(cx, x, scale, &axes_from(axis, rank), epsilon)?)
}

/// `x` divided by its root mean square along axes, then scaled.
pub(super) fn divided_by_size(cx: &mut Cx, x: Val, scale: Val, axes: &[i64], epsilon: f64) -> Result {
    let dtype = cx.dtype(x)?;
    let wide = if dtype == DType::F64 { x } else { cx.cast(x, DType::F32)? };
    let squares = cx.binary("multiply", wide, wide)?;
    let mean = cx.reduce("mean", squares, axes, true)?;
    let normal = cx.b.formula(mean, wide / call("sqrt", mean + epsilon))?;
    let normal = cx.cast(normal, dtype)?;
    cx.binary("multiply", normal, scale)
}

fn instance_norm(cx: &mut Cx) -> Results {
    let (x, scale, bias) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let epsilon = AttrValue::float(cx.float("epsilon", 1e-5)?);
    one(cx.call("nn.instance_norm", &[x, scale, bias], &[("axis", AttrValue::int(1)), ("epsilon", epsilon)])?)
}

/// In operator sets 18 to 20 scale and bias have a number for each group; in Relay and in later sets one for each channel.
fn group_norm(cx: &mut Cx) -> Results {
    let (x, scale, bias) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let groups = cx.required_int("num_groups")?;
    float_statistics(cx)?;
    let channels = cx.size(x, 1)?;
    let of_group = channels.checked_div(groups).filter(|n| groups >= 1 && n.saturating_mul(groups) == channels);
    let of_group = of_group.ok_or_else(|| refuse(format!("{channels} channels in {groups} groups")))?;
    let per_channel = |cx: &mut Cx, value: Val| {
        if cx.dim(value, 0)? == channels {
            return Ok(value);
        }
        cx.call("repeat", &[value], &[("repeats", AttrValue::int(of_group)), ("axis", AttrValue::int(0))])
    };
    let (scale, bias) = (per_channel(cx, scale)?, per_channel(cx, bias)?);
    let epsilon = AttrValue::float(cx.float("epsilon", 1e-5)?);
    let attrs = [("num_groups", AttrValue::int(groups)), ("axis", AttrValue::int(1)), ("epsilon", epsilon)];
    one(cx.call("nn.group_norm", &[x, scale, bias], &attrs)?)
}

fn lrn(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let size = cx.required_int("size")?;
    let attrs = [
        ("size", AttrValue::int(size)),
        ("axis", AttrValue::int(1)),
        ("bias", AttrValue::float(cx.float("bias", 1.0)?)),
        ("alpha", AttrValue::float(cx.float("alpha", 1e-4)?)),
        ("beta", AttrValue::float(cx.float("beta", 0.75)?)),
    ];
    // The longer side of an even window is after the element in ONNX and before it in Relay.
    let mirrored = size % 2 == 0;
    let mirror = |cx: &mut Cx, x| cx.call("reverse", &[x], &[("axis", AttrValue::int(1))]);
    let x = if mirrored { mirror(cx, x)? } else { x };
    let out = cx.call("nn.lrn", &[x], &attrs)?;
    one(if mirrored { mirror(cx, out)? } else { out })
}

fn lp_norm(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let axis = cx.int("axis", -1)?;
    let norm = match cx.int("p", 2)? {
        1 => {
            let sizes = cx.unary("abs", x)?;
            cx.reduce("sum", sizes, &[axis], true)?
        }
        2 => {
            let squares = cx.binary("multiply", x, x)?;
            let sum = cx.reduce("sum", squares, &[axis], true)?;
            cx.unary("sqrt", sum)?
        }
        p => return Err(refuse(format!("p = {p}, where 1 and 2 are defined"))),
    };
    // What has no length stays as it is.
    let is_zero = cx.b.formula(norm, call2("equal", norm, 0.0))?;
    one(cx.b.formula(x, select(is_zero, 0.0, x / norm))?)
}

fn mean_variance(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let axes = cx.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    let (_, diff) = centred(cx, x, &axes)?;
    let squares = cx.binary("multiply", diff, diff)?;
    let variance = cx.reduce("mean", squares, &axes, true)?;
    // The standard's own decomposition has this number, which keeps constants from becoming 0 / 0.
    one(cx.b.formula(x, diff / (call("sqrt", variance) + 1e-9))?)
}

const STASH: &str = "statistics of another dtype than float32";

pub(crate) const FAMILY: &[Converter] = &[
    // ONNX Runtime has it in the standard's domain for models of all operator sets.
    op("LayerNormalization", &[1, 17], layer_norm).but(STASH),
    op("InstanceNormalization", &[6, 22], instance_norm),
    op("GroupNormalization", &[18, 21], group_norm)
        .but("an unknown number of channels; statistics of another dtype than float32"),
    op("LRN", &[1, 13], lrn),
    op("LpNormalization", &[1, 22], lp_norm),
    op("RMSNormalization", &[23], rms_norm).but(STASH),
    // This one is only ONNX Runtime's.
    op("SimplifiedLayerNormalization", &[1], rms_norm).but(STASH),
    op("MeanVarianceNormalization", &[9, 13], mean_variance),
];
