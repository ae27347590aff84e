//! Operators: each is declared once, with everything known about it, in the file of its family.
//!
//! A family file ends with `pub const FAMILY: &[OpDef]`. Registering a family, with the ONNX forms of its operators, takes one line in
//! the table below. No code outside this crate matches on an operator's name.
//!
//! Absent: code that runs relations to a fixed point (crate `check`) and code that runs programs (crate `interp`).

mod attrs;
pub mod blocks;
pub mod call;
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
pub mod fake_quantization;
mod fixed_point;
mod fourier;
mod gather_lowering;
mod gradient;
mod grid_sample;
mod index;
mod index_map;
mod join;
mod layer_norm;
mod layout_transform;
pub mod layouts_of;
mod logic;
mod loss;
mod math;
mod matmul;
mod matrix;
pub mod mixed_precision;
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
pub use gradient::{GradCx, Gradient};
pub use index::outside;
pub use manual::literal;

use onnx::Onnx;
use relayc_ir::attrs::{Arg, AttrSchema, AttrValue, OpId, OpTable};
use relayc_ir::types::{DType, Dim, Solver, Types};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// The operators of a family, and the ONNX forms of those that have one.
type Family = (&'static [OpDef], &'static [(&'static str, Onnx)]);

/// Every family, one line each.
const FAMILIES: &[Family] = &[
    (activation::FAMILY, activation::ONNX),
    (annotation::FAMILY, annotation::ONNX),
    (arith::FAMILY, arith::ONNX),
    (broadcast::FAMILY, broadcast::ONNX),
    (compare::FAMILY, compare::ONNX),
    (conv::FAMILY, conv::ONNX),
    (coo::FAMILY, &[]),
    (correlation::FAMILY, &[]),
    (create::FAMILY, create::ONNX),
    (dense::FAMILY, dense::ONNX),
    (dilation::FAMILY, &[]),
    (dynamic::FAMILY, dynamic::ONNX),
    (einsum::FAMILY, einsum::ONNX),
    (fixed_point::FAMILY, fixed_point::ONNX),
    (fourier::FAMILY, fourier::ONNX),
    (grid_sample::FAMILY, grid_sample::ONNX),
    (index::FAMILY, index::ONNX),
    (index_map::FAMILY, &[]),
    (join::FAMILY, join::ONNX),
    (slice::FAMILY, slice::ONNX),
    (layer_norm::FAMILY, layer_norm::ONNX),
    (layout_transform::FAMILY, layout_transform::ONNX),
    (logic::FAMILY, logic::ONNX),
    (loss::FAMILY, loss::ONNX),
    (math::FAMILY, math::ONNX),
    (cast::FAMILY, cast::ONNX),
    (matmul::FAMILY, matmul::ONNX),
    (matrix::FAMILY, matrix::ONNX),
    (norm::FAMILY, norm::ONNX),
    (packed::FAMILY, packed::ONNX),
    (pad::FAMILY, pad::ONNX),
    (pool::FAMILY, pool::ONNX),
    (positions::FAMILY, positions::ONNX),
    (qnn::FAMILY, qnn::ONNX),
    (random::FAMILY, &[]),
    (reduce::FAMILY, reduce::ONNX),
    (reshape::FAMILY, reshape::ONNX),
    (resize::FAMILY, resize::ONNX),
    (scan::FAMILY, scan::ONNX),
    (scatter::FAMILY, scatter::ONNX),
    (sequence::FAMILY, sequence::ONNX),
    (softmax::FAMILY, softmax::ONNX),
    (sort::FAMILY, sort::ONNX),
    (space::FAMILY, space::ONNX),
    (sparse::FAMILY, &[]),
    (transpose::FAMILY, transpose::ONNX),
    (upsampling::FAMILY, upsampling::ONNX),
    (vision::FAMILY, vision::ONNX),
    (vm::FAMILY, vm::ONNX),
];

/// The operator table.
pub struct Table {
    /// Sorted by name; an [`OpId`] is an index into it.
    defs: Vec<&'static OpDef>,
    names: Vec<&'static str>,
    by_name: FxHashMap<&'static str, OpId>,
    /// In the order of `defs`.
    onnx: Vec<Option<Onnx>>,
}

/// Returns the table of all operators.
pub fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut defs: Vec<&OpDef> = FAMILIES.iter().flat_map(|(ops, _)| ops.iter()).collect();
        defs.sort_by_key(|def| def.name);
        let names = defs.iter().map(|def| def.name).collect();
        let by_name = defs.iter().zip(0..).map(|(def, at)| (def.name, OpId(at))).collect();
        let forms: FxHashMap<&str, Onnx> = FAMILIES.iter().flat_map(|(_, onnx)| onnx.iter().copied()).collect();
        let onnx = defs.iter().map(|def| forms.get(def.name).copied()).collect();
        Table { defs, names, by_name, onnx }
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

    /// The rule for the gradients of the operator's operands, if there is one.
    pub fn gradient(&self, op: OpId) -> Option<Gradient> {
        gradient::find(self.def(op).name)
    }

    pub fn defs(&self) -> &[&'static OpDef] {
        &self.defs
    }
}

/// The most parts that a name with dots is taken apart into.
const MAX_PARTS: usize = 8;

impl OpTable for Table {
    fn name(&self, op: OpId) -> &'static str {
        self.def(op).name
    }

    fn find(&self, name: &str) -> Option<OpId> {
        self.by_name.get(name).copied()
    }

    fn names(&self) -> &[&'static str] {
        &self.names
    }

    fn elsewhere(&self, name: &str) -> Option<&'static str> {
        let foreign = foreign_names::operator(name).filter(|name| self.find(name).is_some());
        // The same operator outside of the namespace: `nn.abs` is not `qnn.abs`, and `relay.nn.relu` is `nn.relu`.
        let behind = |dot: usize| self.find(&name[dot + 1..]).map(|op| self.def(op).name);
        let bare = || name.match_indices('.').take(MAX_PARTS).find_map(|(dot, _)| behind(dot));
        // TVM's own names come first: `relay.max` is `max`.
        let is_tvm = ["relay.", "tvm.", "op.", "_op."].iter().any(|module| name.starts_with(module));
        let in_nn = || self.find(&format!("nn.{}", name.rsplit_once('.')?.1)).map(|op| self.def(op).name);
        let found = if is_tvm { bare().or(foreign) } else { foreign.or_else(bare) };
        found.or_else(in_nn)
    }

    fn attr_elsewhere(&self, name: &str) -> Option<&'static str> {
        foreign_names::attribute(name)
    }

    fn schema(&self, op: OpId) -> Option<&'static AttrSchema> {
        self.def(op).attrs.filter(|schema| schema.declared)
    }

    fn positional(&self, op: OpId) -> Vec<&'static str> {
        let declared = || self.schema(op).map_or(vec![], |schema| schema.fields.iter().map(|field| field.name).collect());
        foreign_names::order(self.def(op).name).map_or_else(declared, <[_]>::to_vec)
    }

    fn meta_schema(&self, op: OpId) -> Option<&'static AttrSchema> {
        self.def(op).attrs.filter(|schema| !schema.declared)
    }

    fn rejects(&self, op: OpId, attrs: &[AttrValue], name: &str) -> bool {
        // Tensors of floats and of one rank are operands of most operators.
        const MAX_RANK: usize = 4;
        let def = self.def(op);
        (1..=MAX_RANK).all(|rank| {
            let mut types = Types::default();
            let mut solver = Solver::default();
            let args = vec![types.tensor(&vec![Dim::Any; rank], DType::F32); def.args.len()];
            let out = solver.fresh(&mut types);
            let result = (def.rel)(&mut rel::RelCx::new(&mut types, &mut solver, attrs, &args, out));
            let named = |place: &rel::Place| matches!(place.what, rel::FaultSubject::Attr(attr) if attr == name);
            matches!(result, Err(rel::Stop::Fault(fault)) if fault.places.iter().any(|(place, _)| named(place)))
        })
    }

    fn args(&self, op: OpId) -> Option<&'static [Arg]> {
        Some(self.def(op).args)
    }
}
