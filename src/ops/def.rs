//! The declaration of an operator.

use super::blocks::Blocks;
use super::eval::{EvalCx, EvalResult};
use super::lower::Lower;
use super::rel::{RelCx, RelResult};
use crate::ir::attrs::{Arg, AttrSchema, AttrValue};
use crate::tensor::Tensor;

/// How an operator may be fused with its neighbours: TVM's `OpPatternKind` (`include/tvm/relay/op_attr_types.h`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fuse {
    ElemWise,
    Broadcast,
    Injective,
    CommReduce,
    OutEWiseFusable,
    Opaque,
}

/// An operator: all that relayc knows of it.
pub struct OpDef {
    /// Exactly as written in Relay text.
    pub name: &'static str,
    /// What it computes, its shapes, its source; for the manual.
    pub doc: &'static str,
    pub args: &'static [Arg],
    /// Absent for operators without an attribute type. Not `declared` where TVM registers none with the operator.
    pub attrs: Option<&'static AttrSchema>,
    /// What its operands and attributes must fulfil, numbered: `C1: …`. A relation cites the number.
    pub rules: &'static [&'static str],
    /// Types and shapes.
    pub rel: fn(&mut RelCx) -> RelResult,
    /// The meaning: short, slow, obvious. Types were checked before.
    pub eval: fn(&EvalCx) -> EvalResult,
    /// `None` where TVM registers no pattern.
    pub fuse: Option<Fuse>,
    /// What a call is where some of its operands are known before it runs; `None` where that makes no difference.
    pub fixed: Option<fn(&Known) -> Option<Fixed>>,
    /// Written by TVM's own passes only: checked and printed. Those that are more than a mark are not evaluated.
    pub internal: bool,
    /// Whether a call does nothing where its result has the type of its operand.
    pub idle: bool,
    /// Whether the result is the first operand under another shape and nothing else, so that both may be one tensor in memory: TVM's
    /// `TReshapeOp`.
    pub reshapes: bool,
    /// Whether a call draws random numbers, which is to happen in each run.
    pub random: bool,
    /// How many products a call adds up; absent where that says nothing of its cost.
    pub macs: Option<fn(&Shapes) -> u128>,
    /// How a call that has layouts among its attributes works on blocks of channels.
    pub blocks: Option<Blocks>,
    /// Passes write it as other operators, each with a rounding of its own.
    pub decomposed: bool,
    /// How a call becomes kernels; `None` where the plan falls back on `eval`.
    pub lower: Option<Lower>,
}

/// What is known of a call before it runs.
pub struct Known<'a> {
    pub attrs: &'a [AttrValue],
    /// The operands' values; tuples have none.
    pub values: Vec<Option<Tensor>>,
    /// The operands' shapes, where all dimensions are known.
    pub shapes: Vec<Option<Vec<i64>>>,
}

/// What a call is, known enough of it.
pub enum Fixed {
    Value(Tensor),
    /// A call of another operator, with the first of the operands.
    Call {
        def: &'static OpDef,
        n_args: usize,
        attrs: Vec<AttrValue>,
    },
}

/// A call by its shapes, all known.
pub struct Shapes<'a> {
    pub attrs: &'a [AttrValue],
    /// The operands' shapes; a tuple's is empty.
    pub args: &'a [Vec<i64>],
    pub out: &'a [i64],
}

impl Shapes<'_> {
    /// The number of elements of a shape.
    pub fn elements(shape: &[i64]) -> u128 {
        shape.iter().map(|&dim| dim.max(0) as u128).product()
    }
}

impl OpDef {
    /// For `..OpDef::BASE`: no arguments, attributes or rules.
    pub const BASE: OpDef = OpDef {
        name: "",
        doc: "",
        args: &[],
        attrs: None,
        rules: &[],
        rel: |_| Ok(()),
        eval: |_| Err(super::eval::Trap::new(crate::diag::codes::E0506, "it is for TVM's own passes and has no evaluation")),
        fuse: Some(Fuse::Opaque),
        fixed: None,
        internal: false,
        idle: false,
        reshapes: false,
        random: false,
        macs: None,
        blocks: None,
        decomposed: false,
        lower: None,
    };
}
