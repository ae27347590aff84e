//! Gradients of reductions and of functions of lines.

use super::{GradCx, Gradient};
use relayc_ir::{AttrValue, ExprId};

pub(super) const GRADIENTS: &[(&str, Gradient)] = &[
    ("sum", sum),
    ("mean", mean),
    ("max", max),
    ("variance", variance),
    ("nn.softmax", softmax),
    ("nn.log_softmax", log_softmax),
];

type Rule = Option<Vec<ExprId>>;

/// The axes that a reduction takes away, in order; `None` for all.
fn axes(cx: &GradCx) -> Option<Option<Vec<i64>>> {
    let rank = cx.rank(cx.args[0])? as i64;
    let exclude = cx.attr_bool("exclude");
    let given: Option<Vec<i64>> = match cx.attr("axis") {
        AttrValue::None if exclude => return None,
        AttrValue::None => return Some(None),
        axis => axis.as_int().map(|axis| vec![axis]).or_else(|| cx.attr_ints("axis")),
    };
    let mut given: Vec<i64> = given?.into_iter().map(|axis| if axis < 0 { axis + rank } else { axis }).collect();
    given.sort_unstable();
    Some(Some(if exclude { (0..rank).filter(|axis| !given.contains(axis)).collect() } else { given }))
}

/// The axes as numbers, also where they are all.
fn all_axes(cx: &GradCx) -> Option<Vec<i64>> {
    let rank = cx.rank(cx.args[0])? as i64;
    Some(axes(cx)?.unwrap_or_else(|| (0..rank).collect()))
}

/// A result with the axes that a reduction took away, each of size 1.
fn expanded(cx: &mut GradCx, mut data: ExprId, axes: &[i64]) -> ExprId {
    for &axis in axes {
        data = cx.op("expand_dims", &[data], &[("axis", AttrValue::int(axis))]);
    }
    data
}

/// The gradient with the axes of the operand.
fn unreduced(cx: &mut GradCx, axes: &[i64]) -> ExprId {
    if cx.attr_bool("keepdims") { cx.grad } else { expanded(cx, cx.grad, axes) }
}

fn sum(cx: &mut GradCx) -> Rule {
    let axes = all_axes(cx)?;
    let grad = unreduced(cx, &axes);
    Some(vec![cx.binary("broadcast_to_like", grad, cx.args[0])])
}

/// How many elements become one.
fn count(cx: &GradCx, axes: &[i64]) -> Option<f64> {
    let shape = cx.shape(cx.args[0])?;
    Some(axes.iter().map(|&axis| shape[axis as usize] as f64).product())
}

fn mean(cx: &mut GradCx) -> Rule {
    let axes = all_axes(cx)?;
    let shape = cx.shape(cx.args[0])?;
    let grad = unreduced(cx, &axes);
    let factor = axes.iter().fold(1.0, |factor, &axis| factor / shape[axis as usize] as f64);
    let factor = cx.number(factor, cx.args[0])?;
    let scaled = cx.mul(grad, factor);
    Some(vec![cx.binary("broadcast_to_like", scaled, cx.args[0])])
}

/// `g` shared among the elements that are the maximum.
fn max(cx: &mut GradCx) -> Rule {
    let x = cx.args[0];
    let shape = cx.shape(x)?;
    let axes = axes(cx)?;
    let mut grad = cx.grad;
    let mut repeated = cx.out;
    match &axes {
        None => repeated = cx.binary("full_like", x, repeated),
        Some(axes) => {
            if !cx.attr_bool("keepdims") {
                repeated = expanded(cx, repeated, axes);
                grad = expanded(cx, grad, axes);
            }
            for &axis in axes {
                let set = [("repeats", AttrValue::int(shape[axis as usize])), ("axis", AttrValue::int(axis))];
                repeated = cx.op("repeat", &[repeated], &set);
            }
        }
    }
    let equal = cx.binary("equal", repeated, x);
    let indicators = cx.binary("cast_like", equal, grad);
    let selected = cx.sum(indicators, axes.as_deref(), true, false);
    let shared = cx.mul(indicators, grad);
    Some(vec![cx.div(shared, selected)])
}

/// The gradients for the data and for its mean, which is an operand.
fn variance(cx: &mut GradCx) -> Rule {
    let (data, mean) = (cx.args[0], cx.args[1]);
    let axes = all_axes(cx)?;
    let count = count(cx, &axes)?;
    let grad = unreduced(cx, &axes);
    let (by, of_mean) = if cx.attr_bool("unbiased") { (count - 1.0, -2.0 * count / (count - 1.0)) } else { (count, -2.0) };
    let factor = cx.number(2.0 / by, data)?;
    let scaled = cx.mul(grad, factor);
    let to_data = cx.mul(scaled, data);
    let factor = cx.number(of_mean, data)?;
    let scaled = cx.mul(factor, grad);
    Some(vec![to_data, cx.mul(scaled, mean)])
}

/// `(g - sum(g * y)) * y`, for `y` the result.
fn softmax(cx: &mut GradCx) -> Rule {
    let axis = cx.attr_int("axis")?;
    let weighted = cx.mul(cx.grad, cx.out);
    let sum = cx.sum(weighted, Some(&[axis]), true, false);
    let rest = cx.binary("subtract", cx.grad, sum);
    Some(vec![cx.mul(rest, cx.out)])
}

/// `g - sum(g) * exp(y)`, for `y` the result.
fn log_softmax(cx: &mut GradCx) -> Rule {
    let axis = cx.attr_int("axis")?;
    let sum = cx.sum(cx.grad, Some(&[axis]), true, false);
    let exp = cx.unary("exp", cx.out);
    let scaled = cx.mul(sum, exp);
    Some(vec![cx.binary("subtract", cx.grad, scaled)])
}
