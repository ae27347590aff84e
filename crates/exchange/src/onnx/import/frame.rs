//! Lists of nodes that are gone through: the frames of the stack, and what comes after the last node of each.

use super::super::proto::{GraphProto, NodeProto, TypeProto};
use super::build::Val;
use super::cx::Attributes;
use super::scanned::Scanned;
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_ir::VarId;
use relayc_ir::types::Ty;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What is known of a graph or the body of a function, however often it is gone through.
pub(crate) struct Plan<'a> {
    pub(crate) nodes: &'a [NodeProto],
    /// Which nodes the outputs depend on.
    pub(crate) needed: Vec<bool>,
    pub(crate) outputs: Vec<&'a str>,
    /// The types that the model says values have.
    pub(crate) types: FxHashMap<&'a str, &'a TypeProto>,
    /// Its tensors.
    pub(crate) tensors: Vec<(&'a str, Val)>,
    /// What going through it costs, with all that is inside its nodes.
    pub(crate) cost: usize,
    /// What beginning to go through it costs.
    pub(crate) entry: usize,
}

/// The versions of operator sets by domain.
pub(crate) type Opsets = Rc<FxHashMap<String, i64>>;

/// A list of nodes that is gone through.
pub(crate) struct Frame<'a> {
    pub(crate) plan: Rc<Plan<'a>>,
    pub(crate) next: usize,
    /// What names stand for.
    pub(crate) values: FxHashMap<&'a str, Val>,
    /// The frame whose values are seen from here.
    pub(crate) outer: Option<usize>,
    /// What is bound by `let`, in order.
    pub(crate) lets: Vec<(VarId, Val)>,
    pub(crate) opsets: Opsets,
    /// The attributes of the function that this is the body of.
    pub(crate) attrs: Rc<Attributes<'a>>,
    /// Whether results of nodes that cannot be imported may become inputs of the program.
    pub(crate) may_open: bool,
    pub(crate) after: Continuation<'a>,
}

/// A node with graphs inside: its frame, itself, and its place.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) at: usize,
    pub(crate) node: &'a NodeProto,
    pub(crate) span: Span,
}

/// What comes after the last node of a frame.
pub(crate) enum Continuation<'a> {
    /// The program is there.
    Main,
    /// The results are those of the node.
    Inline(Site<'a>),
    /// The other branch.
    Then { site: Site<'a>, cond: Val, other: &'a GraphProto },
    /// Both branches are there.
    Else { site: Site<'a>, cond: Val, then: Branch },
    /// A turn of a loop that is written out.
    Turn(Box<Iterations<'a>>),
    /// The body of a loop.
    Body(Box<Loop<'a>>),
}

/// The results of a branch and what they need.
pub(crate) struct Branch {
    pub(crate) results: Vec<Val>,
    pub(crate) lets: Vec<(VarId, Val)>,
}

/// A loop that is being written out.
pub(crate) struct Iterations<'a> {
    pub(crate) site: Site<'a>,
    pub(crate) graph: &'a GraphProto,
    pub(crate) turn: i64,
    pub(crate) n_turns: i64,
    pub(crate) carried: Vec<Val>,
    pub(crate) scans: Vec<Vec<Val>>,
    pub(crate) kind: LoopKind<'a>,
}

pub(crate) enum LoopKind<'a> {
    /// `Loop`, and what is started if its condition turns out to be unknown.
    Loop(Box<Loop<'a>>),
    Scan(Scanned),
}

/// A loop that becomes a function: a `Loop`, or a `Scan` of many turns.
pub(crate) struct Loop<'a> {
    pub(crate) site: Site<'a>,
    pub(crate) graph: &'a GraphProto,
    pub(crate) trip: Option<Val>,
    pub(crate) cond: Option<Val>,
    pub(crate) init: Vec<Val>,
    /// The types of what is carried from turn to turn.
    pub(crate) types: Vec<Ty>,
    /// Which of it are sequences that each turn appends a tensor to.
    pub(crate) appended: Vec<Option<Appended>>,
    /// The variables of the body: the number of the turn, and what is carried.
    pub(crate) turn: Option<(VarId, Val)>,
    pub(crate) vars: Vec<(VarId, Val)>,
    pub(crate) tries: usize,
    /// What a `Scan` goes along, whose body takes no number and no condition.
    pub(crate) scanned: Option<Scanned>,
}

/// How a sequence that each turn appends a tensor to becomes a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Appended {
    /// Along a new first axis.
    Stacked,
    /// One behind another along an axis that they have.
    Joined(i64),
}

/// What starting a node with graphs comes to.
pub(crate) enum Started {
    /// A frame is on the stack.
    Frames,
    Failed(Diagnostic),
}
