//! Registers the converters of ONNX's operators: one file for each family, one line here for each file.
//!
//! A family file ends with `pub const FAMILY: &[Converter]`. Each converter lists its supported versions: the operator sets
//! that changed the operator's meaning (`docs/Changelog.md` of ONNX). `refused.rs` lists operators without a Relay equivalent,
//! with the reason. The documentation's table is generated from both.

mod activation;
mod arith;
mod attention;
mod building_blocks;
mod compare;
mod constant;
mod control;
mod conv;
mod counted;
pub(crate) mod curves;
mod grouped_attention;
mod index;
mod learned;
mod loss;
mod matmul;
mod microsoft;
mod microsoft_attention;
mod microsoft_bits;
mod microsoft_fused;
mod neighbours;
mod norm;
mod normalization;
mod optional;
mod pool;
mod quantized;
mod recurrent;
mod reduce;
mod refused;
mod sequence;
mod shape;
mod slice;
mod vision;
mod window;

pub(crate) use refused::Refused;

use super::build::Val;
use super::cx::{Attributes, Cx, Results};
use super::errors::Refusal;
use super::frame::{Site, Started};
use super::walk::Walk;
use relayc_base::text::nearest;
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
    counted::deform_conv::FAMILY,
    counted::determinant::FAMILY,
    counted::grid::FAMILY,
    counted::moving::FAMILY,
    counted::resize::FAMILY,
    counted::signal::FAMILY,
    curves::FAMILY,
    grouped_attention::FAMILY,
    index::FAMILY,
    learned::features::FAMILY,
    learned::linear::FAMILY,
    learned::trees::FAMILY,
    learned::vectors::FAMILY,
    loss::FAMILY,
    matmul::FAMILY,
    microsoft::FAMILY,
    microsoft_attention::FAMILY,
    microsoft_bits::FAMILY,
    microsoft_fused::FAMILY,
    norm::FAMILY,
    normalization::FAMILY,
    optional::FAMILY,
    pool::FAMILY,
    quantized::FAMILY,
    recurrent::FAMILY,
    reduce::FAMILY,
    sequence::FAMILY,
    shape::FAMILY,
    slice::FAMILY,
    vision::FAMILY,
];

/// The converter of an operator.
pub(crate) struct Converter {
    /// The operator's name in nodes; with its domain and a dot in front if that is not ONNX's own.
    pub(crate) kind: &'static str,
    /// The operator sets that gave it a supported meaning, ascending.
    pub(crate) versions: &'static [i64],
    pub(crate) how: Conversion,
    /// Unsupported forms, for the documentation; empty for none.
    pub(crate) limits: &'static str,
}

/// How a node is converted.
#[derive(Clone, Copy)]
pub(crate) enum Conversion {
    Node(fn(&mut Cx) -> Results),
    /// As a node with graphs inside.
    Control(Start),
}

/// Starts converting the graphs of a node.
pub(crate) type Start = for<'a> fn(&mut Walk<'a>, Site<'a>, &[Option<Val>], &Attributes<'a>) -> Result<Started, Refusal>;

/// An operator with support for every form.
const fn op(kind: &'static str, versions: &'static [i64], convert: fn(&mut Cx) -> Results) -> Converter {
    Converter { kind, versions, how: Conversion::Node(convert), limits: "" }
}

impl Converter {
    /// States the unsupported forms.
    const fn but(self, limits: &'static str) -> Converter {
        Converter { limits, ..self }
    }

    /// The version that applies in an operator set; `None` if the operator is younger, or its meaning there is unsupported.
    pub(crate) fn version(&self, opset: i64) -> Option<i64> {
        self.versions.iter().rev().find(|&&version| version <= opset).copied()
    }
}

fn converters() -> &'static FxHashMap<&'static str, &'static Converter> {
    static TABLE: OnceLock<FxHashMap<&'static str, &'static Converter>> = OnceLock::new();
    TABLE.get_or_init(|| FAMILIES.iter().flat_map(|family| family.iter()).map(|converter| (converter.kind, converter)).collect())
}

/// The converter of an operator. Errors: why Relay has no equivalent.
pub(crate) fn find(domain: &str, kind: &str) -> Result<&'static Converter, String> {
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
    /// Unsupported forms; empty for none.
    pub limits: &'static str,
}

/// The supported operators, by name.
pub fn table() -> Vec<Row> {
    let all = FAMILIES.iter().flat_map(|family| family.iter());
    let mut rows: Vec<Row> = all.map(|&Converter { kind, versions, limits, .. }| Row { kind, versions, limits }).collect();
    rows.sort_by_key(|row| row.kind);
    rows
}

/// The operators without a Relay equivalent, by name.
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
