//! Converts what is learned from tables, of the domain `ai.onnx.ml`: what its classifiers and regressors have in common.
//!
//! The standard leaves open how scores of two classes are written and which label wins; this is what ONNX Runtime does
//! (`onnxruntime/core/providers/cpu/ml`). Relay has no strings, so a label that is a string is its position among the labels.

pub(super) mod features;
pub(super) mod linear;
pub(super) mod trees;
pub(super) mod vectors;

use super::building_blocks::*;

/// What becomes of the scores at the end (`post_transform`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Nothing,
    Logistic,
    Softmax,
    SoftmaxZero,
}

impl After {
    fn read(cx: &mut Cx) -> Result<After> {
        match cx.text("post_transform", "NONE")?.as_str() {
            "NONE" => Ok(After::Nothing),
            "LOGISTIC" => Ok(After::Logistic),
            "SOFTMAX" => Ok(After::Softmax),
            "SOFTMAX_ZERO" => Ok(After::SoftmaxZero),
            other => Err(refuse(format!("scores after `{other}`"))),
        }
    }
}

/// The operand as rows of floats; a vector is one row.
fn rows(cx: &mut Cx) -> Result {
    let x = cx.input(0)?;
    let x = match cx.rank(x)? {
        1 => cx.expand_dims(x, 0, 1)?,
        2 => x,
        rank => return Err(refuse(format!("an operand of {rank} axes, where a table has two"))),
    };
    match cx.dtype(x)? {
        DType::F32 | DType::F64 => Ok(x),
        _ => cx.cast(x, DType::F32),
    }
}

/// A constant of these numbers, of the dtype of `like`.
fn numbers(cx: &mut Cx, shape: &[i64], like: Val, values: &[f64]) -> Result {
    if i64::try_from(values.len()).ok() != Some(product(shape)) {
        return Err(Refusal::wrong(format!("{} numbers for {shape:?}", values.len())));
    }
    let dtype = cx.dtype(like)?;
    cx.put_numbers(shape, dtype, |i| values.get(i).copied().unwrap_or(0.0))
}

/// Scores as a node gives them.
fn finished(cx: &mut Cx, scores: Val, after: After) -> Result {
    let scores = cx.cast(scores, DType::F32)?;
    transformed(cx, scores, after)
}

fn transformed(cx: &mut Cx, scores: Val, after: After) -> Result {
    let last = [("axis", AttrValue::int(-1))];
    match after {
        After::Nothing => Ok(scores),
        After::Logistic => cx.unary("sigmoid", scores),
        After::Softmax => cx.call("nn.softmax", &[scores], &last),
        After::SoftmaxZero => softmax_zero(cx, scores),
    }
}

/// A softmax in which scores of 0 stay 0.
fn softmax_zero(cx: &mut Cx, scores: Val) -> Result {
    use super::super::formula::{call, call2, select};
    let most = cx.reduce("max", scores, &[-1], true)?;
    let counts = cx.b.formula(scores, call2("greater", call("abs", scores), 1e-7))?;
    let weights = cx.b.formula(scores, select(counts, call("exp", scores - most), scores * call("exp", 0.0 - most)))?;
    let sum = cx.reduce("sum", weights, &[-1], true)?;
    let is_zero = cx.b.formula(sum, call2("equal", sum, 0.0))?;
    cx.b.formula(sum, select(is_zero, 0.5, weights / sum))
}

/// The labels of classes, in order.
fn labels(cx: &mut Cx, of_ints: &'static str) -> Result<Vec<i64>> {
    let (given, strings) = (cx.ints(of_ints)?.unwrap_or_default(), cx.texts("classlabels_strings")?.unwrap_or_default());
    Ok(if strings.is_empty() { given } else { (0i64..).take(strings.len()).collect() })
}

/// The labels of classes by their positions, a vector of int64.
fn labelled(cx: &mut Cx, positions: Val, labels: &[i64]) -> Result {
    let positions = cx.cast(positions, DType::I64)?;
    if labels.iter().copied().eq((0i64..).take(labels.len())) {
        return Ok(positions);
    }
    let labels = cx.int_list(labels);
    cx.call("take", &[labels, positions], &[("axis", AttrValue::int(0)), ("mode", AttrValue::str("fast"))])
}

/// The label of the greatest score of each row.
fn winners(cx: &mut Cx, scores: Val, labels: &[i64]) -> Result {
    let best = cx.call("argmax", &[scores], &[("axis", ints(&[1]))])?;
    labelled(cx, best, labels)
}

/// The label of the second class where its score is above a limit, else that of the first.
fn second_above(cx: &mut Cx, score: Val, limit: f64, labels: &[i64]) -> Result {
    let limit = cx.like(score, limit)?;
    let above = cx.binary("greater", score, limit)?;
    let above = cx.reshape(above, &[-1])?;
    labelled(cx, above, labels)
}

/// The scores of both classes, where one score says both: it and what is left of `whole`.
fn of_both(cx: &mut Cx, score: Val, whole: f64, after: After) -> Result {
    if after == After::Logistic {
        let opposite = cx.unary("negative", score)?;
        let both = cx.concatenate(&[opposite, score], 1)?;
        return finished(cx, both, after);
    }
    let first = cx.b.formula(score, whole - score)?;
    let both = cx.concatenate(&[first, score], 1)?;
    finished(cx, both, After::Nothing)
}
