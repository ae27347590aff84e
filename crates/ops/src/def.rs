//! The declaration of an operator.

use super::blocks::Blocks;
use super::eval::{Eval, Work};
use super::foreign_names;
use super::lower::{Lower, LowerScalar};
use super::rel::{self, RelCx, RelResult};
use relayc_ir::attrs::{Arg, AttrSchema, AttrValue};
use relayc_ir::tensor::Tensor;

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

impl Fuse {
    pub const ALL: [Fuse; 6] =
        [Fuse::ElemWise, Fuse::Broadcast, Fuse::Injective, Fuse::CommReduce, Fuse::OutEWiseFusable, Fuse::Opaque];

    /// What an operator of the class does, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Fuse::ElemWise => "each element of the result comes of the elements in the same place of the operands",
            Fuse::Broadcast => "as ElemWise, with operands that are repeated along axes",
            Fuse::Injective => {
                "each element of the result comes of one element of the operands, in another place: a transposition"
            }
            Fuse::CommReduce => "each element of the result comes of many elements, in any order: a sum, a maximum",
            Fuse::OutEWiseFusable => {
                "each element of the result is a sum of products: a convolution; elementwise operators may follow"
            }
            Fuse::Opaque => "nothing is known of it, and nothing is fused with it",
        }
    }
}

/// Finds valid attribute values that are probably a mistake.
pub(crate) type FindCaution = fn(&[AttrValue]) -> Option<Caution>;

/// The declaration of an operator.
pub struct OpDef {
    /// The name, exactly as in Relay text.
    pub name: &'static str,
    /// The manual's text: what it computes, its shapes, its source.
    pub doc: &'static str,
    pub args: &'static [Arg],
    /// The attribute type, if any. It is not `declared` if TVM registers none with the operator.
    pub attrs: Option<&'static AttrSchema>,
    /// Numbered conditions on operands and attributes: `C1: …`. A relation cites the number.
    pub rules: &'static [&'static str],
    /// The type relation.
    pub rel: fn(&mut RelCx) -> RelResult,
    /// The evaluator, which defines the meaning: short, slow, obvious. The types have been checked.
    pub eval: Eval,
    /// The memory that the evaluator takes beside its result, at most.
    pub work: Work,
    /// The fusion pattern; `None` if TVM registers none.
    pub fuse: Option<Fuse>,
    /// Evaluates or simplifies a call with some known operands; `None` if known operands make no difference.
    pub fixed: Option<fn(&KnownFacts) -> Option<Fixed>>,
    /// Whether only TVM's own passes write it. Such operators are checked and printed, and only evaluated if they are mere marks.
    pub internal: bool,
    /// Whether a call is a no-op if its result has the type of its operand.
    pub no_op: bool,
    /// Whether the result is the first operand under another shape, so that both may be one tensor in memory: TVM's `TReshapeOp`.
    pub reshapes: bool,
    /// The axis along which it combines elements, if lines along it are independent and the result has the operand's shape.
    pub lines: Option<fn(&[AttrValue]) -> i64>,
    /// Whether a result may be the least number of its dtype, which in a wider dtype is another one.
    pub limit: Option<fn(&[AttrValue]) -> bool>,
    /// Whether a call draws random numbers, which must happen in each run.
    pub random: bool,
    /// Counts the multiply-adds of a call; absent if that does not measure its cost.
    pub macs: Option<fn(&Shapes) -> u128>,
    /// How a call with layouts among its attributes works on blocks of channels.
    pub blocks: Option<Blocks>,
    /// Finds valid attribute values that are probably a mistake, for lints.
    pub caution: Option<FindCaution>,
    /// Whether passes write it as other operators, each with its own rounding.
    pub decomposed: bool,
    /// How a call is lowered to kernels; `None` if the plan falls back on `eval`.
    pub lower: Option<Lower>,
}

/// The operands of a function of one tensor.
pub(crate) const DATA: &[Arg] = &[Arg::tensor("data")];
const PAIR: &[Arg] = &[Arg::tensor("lhs"), Arg::tensor("rhs")];

/// A valid attribute value that is probably a mistake.
pub struct Caution {
    pub attr: &'static str,
    /// What is unusual about the value.
    pub message: String,
    /// What the operator does with it.
    pub note: &'static str,
}

/// The facts known about a call before it runs.
pub struct KnownFacts<'a> {
    pub attrs: &'a [AttrValue],
    /// The operands' values; `None` for unknown values and tuples.
    pub values: Vec<Option<Tensor>>,
    /// The operands' shapes; `None` if a dimension is unknown.
    pub shapes: Vec<Option<Vec<i64>>>,
}

/// The replacement of a call whose operands are sufficiently known.
pub enum Fixed {
    Value(Tensor),
    /// A call of another operator.
    Call {
        def: &'static OpDef,
        /// Which operands of the call it keeps.
        kept: &'static [usize],
        attrs: Vec<AttrValue>,
    },
}

/// The shapes of a call, all known.
pub struct Shapes<'a> {
    pub attrs: &'a [AttrValue],
    /// The operands' shapes; empty for a tuple.
    pub args: &'a [Vec<i64>],
    pub out: &'a [i64],
}

impl Shapes<'_> {
    pub fn elements(shape: &[i64]) -> u128 {
        shape.iter().map(|&dim| dim.max(0) as u128).product()
    }
}

impl OpDef {
    /// The operator that adds the bias which other frameworks give to this one as a further operand.
    pub fn bias(&self) -> Option<&'static str> {
        foreign_names::bias(self.name)
    }

    /// A function of each element of one operand, `data`, whose shape and dtype the result has.
    pub(crate) const fn unary(name: &'static str, doc: &'static str, eval: Eval, lower: LowerScalar) -> OpDef {
        OpDef {
            name,
            doc,
            args: DATA,
            rel: rel::identity,
            eval,
            work: Work::None,
            fuse: Some(Fuse::ElemWise),
            lower: Some(Lower::Scalar(lower)),
            ..OpDef::BASE
        }
    }

    /// A function of each pair of elements of two operands, `lhs` and `rhs`, which broadcast and have the dtype of the result.
    pub(crate) const fn binary(name: &'static str, doc: &'static str, eval: Eval, lower: LowerScalar) -> OpDef {
        OpDef {
            name,
            doc,
            args: PAIR,
            rules: rel::BROADCAST_RULES,
            rel: rel::broadcast,
            eval,
            work: Work::Broadcast,
            fuse: Some(Fuse::Broadcast),
            lower: Some(Lower::Scalar(lower)),
            ..OpDef::BASE
        }
    }

    /// For `..OpDef::BASE`: no arguments, attributes or rules, and not fused.
    pub(crate) const BASE: OpDef = OpDef {
        name: "",
        doc: "",
        args: &[],
        attrs: None,
        rules: &[],
        rel: |_| Ok(()),
        eval: |_| {
            Err(super::eval::Trap::new(relayc_base::diag::codes::E0506, "it is for TVM's own passes and has no evaluation"))
        },
        work: Work::LISTS,
        fuse: Some(Fuse::Opaque),
        fixed: None,
        internal: false,
        no_op: false,
        reshapes: false,
        lines: None,
        limit: None,
        random: false,
        macs: None,
        blocks: None,
        caution: None,
        decomposed: false,
        lower: None,
    };
}
