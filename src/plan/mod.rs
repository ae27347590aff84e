//! From a fused function to kernels on buffers.
//!
//! A plan is a list of steps in order. Every step names its buffers; a buffer lies in the arena, among the caller's inputs or
//! outputs, or is a constant. Steps whose operands are all constants are done once, when the plan is loaded. Inside of a group,
//! elementwise operators become the body of the kernel they follow, and operators that only move elements become strides;
//! what has no kernel is a step that names the operator and falls back on its evaluation. Deliberately not here: instructions.

mod accuracy;
mod anchor;
mod call;
mod group;
mod guard;
mod in_place;
mod index;
mod margins;
mod memory;
mod offsets;
mod order;
mod place;
mod region;
mod request;
mod show;
mod traffic;

pub use accuracy::{Accuracy, accuracy};
pub use memory::{Life, arrange, lives};
pub use region::{NotCompiled, is_dataflow, plan};
pub use show::{Told, kernels, ops as ops_text, text};
pub use traffic::{Traffic, traffic};

use crate::index_type;
pub use crate::ir::ConstId;
use crate::ir::ExprId;
pub use crate::ir::ExprId as CallId;
use crate::kernel::{Contract, Kernel, Lane, Routine, View};
pub use crate::ops::lower::{Outside, Table};
use crate::types::DType;
use std::ops::Range;

index_type! {
    /// A buffer of a plan.
    pub struct BufferId;
}

use crate::base::IndexVec;

/// What is computed, and where.
#[derive(Debug, Default)]
pub struct Plan {
    pub buffers: IndexVec<BufferId, Buffer>,
    pub steps: Vec<Step>,
    /// Vectors that kernels read, known without any data.
    pub tables: Vec<Table>,
    /// The leaves of the parameters, in order.
    pub inputs: Vec<BufferId>,
    /// The leaves of the result, in order.
    pub outputs: Vec<BufferId>,
    /// The calls that the steps compute, in order.
    pub groups: Vec<Group>,
    /// Where the leaves of the result lay before they were outputs.
    pub results: Vec<Seen>,
    /// For each step what it needs of the arena for itself; nothing before its code is known.
    pub scratch: Vec<Scratch>,
    /// Bytes of the arena, and of the memory that is kept from one run to the next.
    pub arena_bytes: u64,
    pub kept_bytes: u64,
    /// The largest sum of sizes of tensors that are needed at one time, and of them with the scratch memory of the step at hand.
    pub live_bytes: u64,
    pub needed_bytes: u64,
}

/// Memory that a step needs while it runs, and only then.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Scratch {
    /// Bytes that all threads see.
    pub shared: u64,
    /// Bytes of each thread's own, behind those of all, and how many threads have some in the arena.
    pub own: u64,
    pub threads: u64,
    /// The byte of the arena where it begins.
    pub at: u64,
}

impl Scratch {
    /// In the arena.
    pub fn bytes(&self) -> u64 {
        self.shared + self.threads * self.own
    }
}

/// A tensor's memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub dtype: DType,
    /// Extents of the tensor that lies in it whole, for inputs, outputs and constants.
    pub shape: Vec<u64>,
    /// Elements, margins included.
    pub elements: u64,
    pub place: Place,
    /// The buffer whose place it takes, which nothing reads any more.
    pub over: Option<BufferId>,
}

impl Buffer {
    pub fn bytes(&self) -> u64 {
        self.elements * u64::from(self.dtype.bits).div_ceil(8)
    }
}

/// Where a buffer lies.
#[derive(Clone, Debug)]
pub enum Place {
    Input(usize),
    Output(usize),
    Const(ConstId),
    /// One of the plan's tables.
    Table(usize),
    /// At a byte of the arena.
    Arena(u64),
    /// At a byte of the memory that is kept between runs.
    Kept(u64),
}

/// One thing to do.
#[derive(Clone, Debug)]
pub struct Step {
    pub work: Work,
    /// The buffers that the work's arguments are.
    pub args: Vec<BufferId>,
    /// Which of them are written.
    pub writes: Vec<bool>,
    /// The call that it computes, the last one of its group.
    pub origin: ExprId,
    /// The operators it computes.
    pub ops: Vec<&'static str>,
    /// Done once, when the plan is loaded.
    pub once: bool,
}

/// A call of an operator or of a fused group, for who follows a run.
#[derive(Clone, Debug)]
pub struct Group {
    pub call: ExprId,
    /// Where its operands lie before the first of its steps.
    pub operands: Vec<Seen>,
    /// Where its result lies after the last one.
    pub result: Seen,
    pub steps: Range<usize>,
}

/// Where a value lies for a while.
#[derive(Clone, Debug)]
pub enum Seen {
    Buffer(BufferId, View),
    /// A scalar that is part of the code, by its bits.
    Scalar(u64, Lane),
    Tuple(Vec<Seen>),
    /// Nowhere as such.
    Nowhere,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Work {
    Kernel(Kernel),
    /// Moves elements of any dtype.
    Move(Move),
    /// Brings indices to where they count.
    Positions(Positions),
    /// Sets stretches of argument 0 to one value.
    Fill(Fill),
    /// The evaluation of an operator.
    Fallback(Fallback),
    /// Fails where argument 0, a bool, holds.
    Guard(Guard),
    /// A routine, whose arguments are the operands and the results of the call that computes the same, and says what the data forbids.
    Routine(Routine, Fallback),
}

impl Work {
    /// The sum of products that it computes.
    pub fn contract(&self) -> Option<&Contract> {
        match self {
            Work::Kernel(kernel) => kernel.contract(),
            _ => None,
        }
    }
}

/// Stretches of argument 0, each its first element and the number of its elements, and the bits of the value they are set to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fill {
    pub bits: u64,
    pub stretches: Vec<(u64, u64)>,
}

/// The elements of argument 0 to places of argument 1: a stride for each dimension on both sides, and the first elements.
#[derive(Clone, Debug)]
pub struct Move {
    pub dims: Vec<u64>,
    pub from: (i64, Vec<i64>),
    pub to: (i64, Vec<i64>),
    /// Bytes of an element.
    pub width: usize,
}

/// The integers of argument 0, any of them, as positions inside of axes in argument 1, which holds I32: as many equal parts as
/// there are lengths, one after the other, each of indices along an axis of that length.
#[derive(Clone, Debug)]
pub struct Positions {
    pub lengths: Vec<u64>,
    pub outside: Outside,
    /// The operator that an index outside stops.
    pub call: ExprId,
}

/// A call that fails as its evaluation does on operands that are all 0.
#[derive(Clone, Debug)]
pub struct Guard {
    pub call: ExprId,
    /// The operands.
    pub operands: Vec<(DType, Vec<u64>)>,
}

/// Why an operator has no kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoKernel {
    /// Its declaration has none.
    Undeclared,
    /// What it has is not for these operands.
    Operands,
    /// The machine has no code for it.
    Machine,
}

impl NoKernel {
    pub fn words(self) -> &'static str {
        match self {
            NoKernel::Undeclared => "no kernel: the operator declares none",
            NoKernel::Operands => "no kernel: the operator has none for these operands and attributes",
            NoKernel::Machine => "no kernel: there is no code for it on this machine",
        }
    }
}

/// A call of an operator by its evaluation.
#[derive(Clone, Debug)]
pub struct Fallback {
    pub call: ExprId,
    pub why: NoKernel,
    /// The step's arguments that each operand is made of, and whether it is a tuple.
    pub operands: Vec<(bool, Vec<usize>)>,
    /// The step's arguments that take the fields of the result.
    pub results: Vec<usize>,
}
