//! What each operator of MXNet is in Relay, as TVM's importer has it (`python/tvm/relay/frontend/mxnet.py`).
//!
//! Covered is what the networks of gluon's model zoo for images hold, in the names of all versions, and what is next to it.

mod layers;
mod math;
mod shapes;

use super::cx::{Cx, Result};
use crate::formats::onnx::import::build::Val;

/// Adds a node to the program.
#[derive(Clone, Copy)]
pub enum Convert {
    /// Its only result.
    One(fn(&mut Cx) -> Result),
    /// Its results as far as they are asked for.
    Many(fn(&mut Cx) -> Result<Vec<Option<Val>>>),
}

/// An operator by all its names.
pub struct Operator {
    pub names: &'static [&'static str],
    pub convert: Convert,
}

/// Every operator, a list a file.
const FAMILIES: &[&[Operator]] = &[layers::FAMILY, math::FAMILY, shapes::FAMILY];

const fn op(names: &'static [&'static str], convert: fn(&mut Cx) -> Result) -> Operator {
    Operator { names, convert: Convert::One(convert) }
}

/// How an operator is converted.
pub fn find(name: &str) -> Option<Convert> {
    all().find(|operator| operator.names.contains(&name)).map(|operator| operator.convert)
}

fn all() -> impl Iterator<Item = &'static Operator> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// The names of all operators.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().flat_map(|operator| operator.names.iter().copied())
}

#[cfg(test)]
mod tests;
