//! Converts optional values, if an existing value is a tensor.

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

pub(crate) const FAMILY: &[Converter] = &[
    op("Optional", &[15], element).but("a value that is missing"),
    op("OptionalGetElement", &[15, 18], element).but("sequences and optional values"),
    op("OptionalHasElement", &[15, 18], has_element).but("sequences and optional values"),
];
