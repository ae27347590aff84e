//! What ONNX's operators are in Relay: one file for each family, one line here for each file.
//!
//! A family file ends with `pub const FAMILY: &[Converter]`: each converter says which versions of its operator it knows, by the
//! operator sets in which the operator was given another meaning (`docs/Changelog.md` of ONNX). `refused.rs` lists operators
//! that Relay has nothing for, with the reason. The table of the documentation is made of both.

mod activation;
mod arith;
mod attention;
mod compare;
mod constant;
mod control;
mod conv;
mod counted;
mod curves;
mod index;
mod loss;
mod matmul;
mod norm;
mod normal;
mod optional;
mod pool;
mod quantized;
mod recurrent;
mod reduce;
mod refused;
mod shape;
mod slice;
mod vision;
mod window;
mod words;

pub use refused::Refused;

use super::build::Val;
use super::control::{Site, Started};
use super::cx::{Attributes, Cx, Results};
use super::errors::Refusal;
use super::graph::Walk;
use crate::base::text::nearest;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// Every family, one line each.
const FAMILIES: &[&[Converter]] = &[
    activation::FAMILY,
    arith::FAMILY,
    attention::FAMILY,
    compare::FAMILY,
    constant::FAMILY,
    control::FAMILY,
    conv::FAMILY,
    counted::conv_transpose::FAMILY,
    counted::grid::FAMILY,
    counted::moving::FAMILY,
    counted::resize::FAMILY,
    counted::signal::FAMILY,
    curves::FAMILY,
    index::FAMILY,
    loss::FAMILY,
    matmul::FAMILY,
    norm::FAMILY,
    normal::FAMILY,
    optional::FAMILY,
    pool::FAMILY,
    quantized::FAMILY,
    recurrent::FAMILY,
    reduce::FAMILY,
    shape::FAMILY,
    slice::FAMILY,
    vision::FAMILY,
];

/// What an operator becomes.
pub struct Converter {
    /// As nodes call it; behind its domain and a dot, where that is not ONNX's own.
    pub kind: &'static str,
    /// The operator sets that gave it a meaning which is understood, ascending.
    pub versions: &'static [i64],
    pub how: How,
    /// Which forms of it are not understood, for the documentation; empty for none.
    pub limits: &'static str,
}

/// How a node is converted.
#[derive(Clone, Copy)]
pub enum How {
    Node(fn(&mut Cx) -> Results),
    /// One with graphs inside.
    Control(Start),
}

/// Begins to go through the graphs of a node.
pub type Start = for<'a> fn(&mut Walk<'a>, Site<'a>, &[Option<Val>], &Attributes<'a>) -> Result<Started, Refusal>;

/// An operator of which every form is understood.
const fn op(kind: &'static str, versions: &'static [i64], convert: fn(&mut Cx) -> Results) -> Converter {
    Converter { kind, versions, how: How::Node(convert), limits: "" }
}

impl Converter {
    /// Says which forms are not understood.
    const fn but(self, limits: &'static str) -> Converter {
        Converter { limits, ..self }
    }

    /// The version that counts in an operator set; `None` where the operator is younger, or its meaning there not known.
    pub fn version(&self, opset: i64) -> Option<i64> {
        self.versions.iter().rev().find(|&&version| version <= opset).copied()
    }
}

fn converters() -> &'static FxHashMap<&'static str, &'static Converter> {
    static TABLE: OnceLock<FxHashMap<&'static str, &'static Converter>> = OnceLock::new();
    TABLE.get_or_init(|| FAMILIES.iter().flat_map(|family| family.iter()).map(|converter| (converter.kind, converter)).collect())
}

/// What is known of an operator. Errors: why there is nothing in Relay for it.
pub fn find(domain: &str, kind: &str) -> Result<&'static Converter, String> {
    let full = if domain.is_empty() { kind.to_owned() } else { format!("{domain}.{kind}") };
    if let Some(converter) = converters().get(full.as_str()) {
        return Ok(converter);
    }
    if let Some(refused) = refused::REFUSED.iter().find(|refused| refused.kind == full) {
        return Err(refused.why.to_owned());
    }
    if !domain.is_empty() {
        return Err("an operator of another domain than ONNX's own".to_owned());
    }
    Err(match nearest(kind, converters().keys().copied()) {
        Some(near) => format!("no operator that relayc knows; there is `{near}`"),
        None => "no operator that relayc knows".to_owned(),
    })
}

/// A row of the table of operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    pub kind: &'static str,
    pub versions: &'static [i64],
    /// Which forms are not understood; empty for none.
    pub limits: &'static str,
}

/// The operators that are understood, by name.
pub fn table() -> Vec<Row> {
    let all = FAMILIES.iter().flat_map(|family| family.iter());
    let mut rows: Vec<Row> = all.map(|&Converter { kind, versions, limits, .. }| Row { kind, versions, limits }).collect();
    rows.sort_by_key(|row| row.kind);
    rows
}

/// The operators that Relay has nothing for, by name.
pub fn refused() -> &'static [Refused] {
    refused::REFUSED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operator_is_declared_once() {
        let mut kinds: Vec<&str> = table().iter().map(|row| row.kind).collect();
        kinds.extend(refused().iter().map(|refused| refused.kind));
        kinds.sort_unstable();
        let twice: Vec<_> = kinds.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
        assert!(table().iter().all(|row| !row.versions.is_empty() && row.versions.is_sorted()));
        assert!(refused().is_sorted_by_key(|refused| refused.kind), "refused.rs is sorted");
    }

    #[test]
    fn the_version_is_the_last_that_changed_it() {
        let add = find("", "Add").expect("it is known");
        assert_eq!([6, 7, 12, 13, 20].map(|opset| add.version(opset)), [None, Some(7), Some(7), Some(13), Some(14)]);
        assert!(find("", "Convv").is_err_and(|why| why.contains("`Conv`")));
        assert!(find("com.example", "Add").is_err());
    }
}
