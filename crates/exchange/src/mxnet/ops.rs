//! Converters of MXNet's operators to Relay, with the semantics of TVM's importer (`python/tvm/relay/frontend/mxnet.py`).
//!
//! They cover the image networks of gluon's model zoo, under the names of all versions, and closely related operators.

mod layers;
mod math;
mod shapes;

use super::cx::{Cx, Result};
use crate::onnx::import::build::Val;

/// A function that adds a node to the program.
#[derive(Clone, Copy)]
pub(crate) enum Convert {
    /// Returns its only result.
    One(fn(&mut Cx) -> Result),
    /// Returns its results as far as they are used.
    Many(fn(&mut Cx) -> Result<Vec<Option<Val>>>),
}

/// An operator with all its names.
pub(crate) struct Operator {
    pub(crate) names: &'static [&'static str],
    pub(crate) convert: Convert,
}

/// Every operator, one list for each file.
const FAMILIES: &[&[Operator]] = &[layers::FAMILY, math::FAMILY, shapes::FAMILY];

const fn op(names: &'static [&'static str], convert: fn(&mut Cx) -> Result) -> Operator {
    Operator { names, convert: Convert::One(convert) }
}

/// The converter of an operator.
pub(crate) fn find(name: &str) -> Option<Convert> {
    all().find(|operator| operator.names.contains(&name)).map(|operator| operator.convert)
}

fn all() -> impl Iterator<Item = &'static Operator> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// The names of all operators.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    all().flat_map(|operator| operator.names.iter().copied())
}

#[cfg(test)]
mod tests;
