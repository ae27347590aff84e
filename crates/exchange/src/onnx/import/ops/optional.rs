//! Converts optional values, if an existing value is a tensor, and the plain arithmetic of `ai.onnx.ml`.

use super::building_blocks::*;
use super::{Converter, op};

/// Whether an operand exists, which a graph of tensors determines statically.
fn has_element(cx: &mut Cx) -> Results {
    let there = cx.opt(0).is_some();
    one(cx.put(Tensor::scalar(there))?)
}

/// A value that is there, as one that may be missing or out of one: the same.
fn element(cx: &mut Cx) -> Results {
    match cx.opt(0) {
        Some(value) => one(value),
        None => Err(refuse("a value that is missing")),
    }
}

/// 1 above the threshold, else 0.
fn binarizer(cx: &mut Cx) -> Results {
    let (x, threshold) = (cx.input(0)?, cx.float("threshold", 0.0)?);
    let (limit, dtype) = (cx.like(x, threshold)?, cx.dtype(x)?);
    let above = cx.binary("greater", x, limit)?;
    one(cx.cast(above, dtype)?)
}

/// Columns of the last axis, as rows.
fn array_feature_extractor(cx: &mut Cx) -> Results {
    let (x, positions) = (cx.input(0)?, cx.input(1)?);
    let rank = cx.rank(x)?;
    let last = rank.checked_sub(1).ok_or_else(|| Refusal::wrong("an operand without an axis"))?;
    let flat = cx.reshape(positions, &[-1])?;
    let taken = cx.call("take", &[x, flat], &[("axis", int(last)), ("mode", AttrValue::str("fast"))])?;
    one(if rank == 1 { cx.reshape(taken, &[1, -1])? } else { taken })
}

pub(crate) const FAMILY: &[Converter] = &[
    op("Optional", &[15], element).but("a value that is missing"),
    op("OptionalGetElement", &[15, 18], element).but("sequences and optional values"),
    op("OptionalHasElement", &[15, 18], has_element).but("sequences and optional values"),
    op("ai.onnx.ml.ArrayFeatureExtractor", &[1], array_feature_extractor),
    op("ai.onnx.ml.Binarizer", &[1], binarizer),
];
