//! Operators: each is declared once, with everything known about it, in the file of its family.
//!
//! A family file ends with `pub const FAMILY: &[OpDef]`. Registering a family takes one line in the table below, and one more if
//! its operators have ONNX forms. No code outside this crate matches on an operator's name.
//!
//! Absent: code that runs relations to a fixed point (crate `check`) and code that runs programs (crate `interp`).

mod attrs;
pub mod blocks;
mod cast;
mod choice;
pub mod declarations;
mod def;
pub mod eval;
#[cfg_attr(not(debug_assertions), allow(dead_code, reason = "a release has the examples inside"))]
mod example;
mod foreign_names;
mod interpolation;
mod interpolation_lowering;
mod layout;
mod lists;
pub mod lower;
mod manual;
pub mod onnx;
mod prelude;
pub mod rel;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod trial;
mod window;

mod activation;
mod annotation;
mod arith;
mod broadcast;
mod compare;
mod conv;
mod coo;
mod correlation;
mod create;
mod dense;
mod dilation;
mod dynamic;
mod einsum;
mod fixed_point;
mod fourier;
mod gather_lowering;
mod grid_sample;
mod index;
mod index_map;
mod join;
mod layer_norm;
mod layout_transform;
mod logic;
mod loss;
mod math;
mod matmul;
mod matrix;
mod norm;
mod packed;
mod pad;
mod pool;
mod positions;
mod qnn;
mod random;
mod reduce;
mod reshape;
mod resize;
mod scan;
mod scatter;
mod sequence;
mod slice;
mod softmax;
mod sort;
mod space;
mod sparse;
mod transpose;
mod upsampling;
mod vision;
mod vm;

pub(crate) use attrs::AttrField;
pub use def::{Fixed, Fuse, KnownFacts, OpDef, Shapes};
pub use index::outside;

use onnx::Onnx;
use relayc_ir::attrs::{Arg, AttrSchema, OpId, OpTable};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// Every family, one line each.
const FAMILIES: &[&[OpDef]] = &[
    activation::FAMILY,
    annotation::FAMILY,
    arith::FAMILY,
    broadcast::FAMILY,
    compare::FAMILY,
    conv::FAMILY,
    coo::FAMILY,
    correlation::FAMILY,
    create::FAMILY,
    dense::FAMILY,
    dilation::FAMILY,
    dynamic::FAMILY,
    einsum::FAMILY,
    fixed_point::FAMILY,
    fourier::FAMILY,
    grid_sample::FAMILY,
    index::FAMILY,
    index_map::FAMILY,
    join::FAMILY,
    slice::FAMILY,
    layer_norm::FAMILY,
    layout_transform::FAMILY,
    logic::FAMILY,
    loss::FAMILY,
    math::FAMILY,
    cast::FAMILY,
    matmul::FAMILY,
    matrix::FAMILY,
    norm::FAMILY,
    packed::FAMILY,
    pad::FAMILY,
    pool::FAMILY,
    positions::FAMILY,
    qnn::FAMILY,
    random::FAMILY,
    reduce::FAMILY,
    reshape::FAMILY,
    resize::FAMILY,
    scan::FAMILY,
    scatter::FAMILY,
    sequence::FAMILY,
    softmax::FAMILY,
    sort::FAMILY,
    space::FAMILY,
    sparse::FAMILY,
    transpose::FAMILY,
    upsampling::FAMILY,
    vision::FAMILY,
    vm::FAMILY,
];

/// The ONNX forms of operators, one line for each family with such forms.
const ONNX: &[&[(&str, Onnx)]] = &[
    activation::ONNX,
    annotation::ONNX,
    arith::ONNX,
    broadcast::ONNX,
    compare::ONNX,
    conv::ONNX,
    create::ONNX,
    dense::ONNX,
    dynamic::ONNX,
    einsum::ONNX,
    fourier::ONNX,
    grid_sample::ONNX,
    index::ONNX,
    join::ONNX,
    slice::ONNX,
    layer_norm::ONNX,
    logic::ONNX,
    loss::ONNX,
    math::ONNX,
    cast::ONNX,
    matmul::ONNX,
    matrix::ONNX,
    norm::ONNX,
    pad::ONNX,
    pool::ONNX,
    positions::ONNX,
    qnn::ONNX,
    reduce::ONNX,
    reshape::ONNX,
    resize::ONNX,
    scan::ONNX,
    scatter::ONNX,
    sequence::ONNX,
    softmax::ONNX,
    sort::ONNX,
    space::ONNX,
    transpose::ONNX,
    upsampling::ONNX,
    vision::ONNX,
];

/// The operator table.
pub struct Table {
    /// Sorted by name; an [`OpId`] is an index into it.
    defs: Vec<&'static OpDef>,
    names: Vec<&'static str>,
    /// In the order of `defs`.
    onnx: Vec<Option<Onnx>>,
}

/// Returns the table of all operators.
pub fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut defs: Vec<&OpDef> = FAMILIES.iter().flat_map(|family| family.iter()).collect();
        defs.sort_by_key(|def| def.name);
        let names = defs.iter().map(|def| def.name).collect();
        let forms: FxHashMap<&str, Onnx> = ONNX.iter().copied().flatten().copied().collect();
        let onnx = defs.iter().map(|def| forms.get(def.name).copied()).collect();
        Table { defs, names, onnx }
    })
}

impl Table {
    pub fn def(&self, op: OpId) -> &'static OpDef {
        self.defs[op.0 as usize]
    }

    /// The operator's form in ONNX, if relayc knows one.
    pub fn onnx(&self, op: OpId) -> Option<Onnx> {
        self.onnx[op.0 as usize]
    }

    pub fn defs(&self) -> &[&'static OpDef] {
        &self.defs
    }
}

impl OpTable for Table {
    fn name(&self, op: OpId) -> &'static str {
        self.def(op).name
    }

    fn find(&self, name: &str) -> Option<OpId> {
        self.names.binary_search(&name).ok().map(|index| OpId(index as u32))
    }

    fn names(&self) -> &[&'static str] {
        &self.names
    }

    fn elsewhere(&self, name: &str) -> Option<&'static str> {
        foreign_names::operator(name).filter(|name| self.find(name).is_some())
    }

    fn attr_elsewhere(&self, name: &str) -> Option<&'static str> {
        foreign_names::attribute(name)
    }

    fn schema(&self, op: OpId) -> Option<&'static AttrSchema> {
        self.def(op).attrs.filter(|schema| schema.declared)
    }

    fn meta_schema(&self, op: OpId) -> Option<&'static AttrSchema> {
        self.def(op).attrs.filter(|schema| !schema.declared)
    }

    fn args(&self, op: OpId) -> Option<&'static [Arg]> {
        Some(self.def(op).args)
    }
}
