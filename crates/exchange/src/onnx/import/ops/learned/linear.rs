//! Converts linear models of tables: products with a matrix of coefficients.

use super::super::{Converter, op};
use super::*;

/// `x c^T + i`, for a row of coefficients for each result.
fn products(cx: &mut Cx, x: Val, n: i64) -> Result {
    let features = cx.size(x, 1)?;
    let coefficients = cx.floats("coefficients")?.unwrap_or_default();
    let rows = numbers(cx, &[n, features], x, &coefficients)?;
    let columns = cx.transpose(rows, &[1, 0])?;
    let y = cx.matmul(x, columns)?;
    match cx.floats("intercepts")? {
        Some(intercepts) => {
            let intercepts = numbers(cx, &[n], x, &intercepts)?;
            cx.binary("add", y, intercepts)
        }
        None => Ok(y),
    }
}

fn regressor(cx: &mut Cx) -> Results {
    let x = rows(cx)?;
    let (targets, after) = (cx.int("targets", 1)?, After::read(cx)?);
    let y = products(cx, x, targets)?;
    one(finished(cx, y, if targets == 1 { After::Nothing } else { after })?)
}

fn classifier(cx: &mut Cx) -> Results {
    let x = rows(cx)?;
    let (labels, after) = (labels(cx, "classlabels_ints")?, After::read(cx)?);
    // How the coefficients were found.
    cx.ignore("multi_class");
    let features = cx.size(x, 1)?;
    let n = cx.floats("coefficients")?.unwrap_or_default().len();
    let n = i64::try_from(n).ok().and_then(|n| n.checked_div(features)).unwrap_or(0);
    let scores = products(cx, x, n)?;
    match (n, labels.len()) {
        (1, 2) => Ok(vec![second_above(cx, scores, 0.0, &labels)?, of_both(cx, scores, 1.0, after)?]),
        (n, classes) if n >= 2 && usize::try_from(n) == Ok(classes) => {
            Ok(vec![winners(cx, scores, &labels)?, finished(cx, scores, after)?])
        }
        (n, classes) => Err(refuse(format!("{n} rows of coefficients for {classes} classes"))),
    }
}

pub(in super::super) const FAMILY: &[Converter] = &[
    op("ai.onnx.ml.LinearClassifier", &[1], classifier).but("scores after `PROBIT`; labels that are strings are positions"),
    op("ai.onnx.ml.LinearRegressor", &[1], regressor).but("scores after `PROBIT`"),
];
