//! Plans a fused function as kernels on buffers.
//!
//! A plan is an ordered list of steps. Every step names its buffers. A buffer is in the arena, one of the caller's inputs or
//! outputs, or a constant. Loading runs the steps with constant operands once. Within a group, elementwise operators become the
//! epilogue of the preceding kernel, and operators that only move elements become strides. For an operator without a kernel, a
//! fallback step names the operator and runs its evaluation. Absent: instructions.

mod accuracy;
mod anchor;
mod attention;
mod call;
mod form;
mod group;
mod group_plans;
mod guard;
mod in_place;
mod index;
mod lowering;
mod margins;
mod memory;
mod nests;
mod not_compiled;
mod offsets;
mod order;
mod place;
mod region;
mod repeat;
mod request;
mod show;
mod structure;
mod traffic;

pub use accuracy::{Accuracy, accuracy};
pub use group_plans::GroupPlans;
pub use lowering::KernelOptions;
pub use memory::lives;
pub(crate) use memory::{arrange, place as place_tensors};
pub use not_compiled::NotCompiled;
pub use region::{is_dataflow, plan};
pub use show::{PlanNotes, kernels, ops as ops_text, signature, text};
pub use structure::Structure;
pub use traffic::{Traffic, traffic};

use relayc_base::index_type;
pub use relayc_ir::ConstId;
use relayc_ir::ExprId;
pub use relayc_ir::ExprId as CallId;
use relayc_ir::kernel::{Contraction, Kernel, Routine, ScalarType, View};
use relayc_ir::types::DType;
pub use relayc_ops::lower::{IndexMode, Table};
use relayc_runtime::margins::Margins;
use std::ops::Range;
use std::sync::Arc;

index_type! {
    /// A buffer of a plan.
    pub struct BufferId;
}

use relayc_base::IndexVec;

/// The steps of a function, and their buffers.
#[derive(Debug, Default)]
pub struct Plan {
    pub buffers: IndexVec<BufferId, Buffer>,
    pub steps: Vec<Step>,
    /// Tables that kernels read, known without any data.
    pub(crate) tables: Vec<Table>,
    /// Buffers of the parameters' leaves, in order.
    pub inputs: Vec<BufferId>,
    /// Buffers of the result's leaves, in order.
    pub outputs: Vec<BufferId>,
    /// The calls that the steps compute, in order.
    pub groups: Vec<Group>,
    /// Locations of the result's leaves before they were copied to outputs.
    pub results: Vec<ValueLocation>,
    /// Scratch memory of each step in the arena; empty until its code is known.
    pub scratch: Vec<Scratch>,
    /// Bytes of the arena, and of the memory that is kept between runs.
    pub arena_bytes: u64,
    pub(crate) kept_bytes: u64,
    /// Largest total size of tensors that are live at one time; the same including the current step's scratch memory.
    pub live_bytes: u64,
    pub needed_bytes: u64,
}

impl Plan {
    /// Whether a run may evaluate operators.
    pub fn evaluates(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.work, Work::Fallback(_) | Work::Guard(_) | Work::Routine(..)))
    }

    /// The steps that loading runs, on the same buffers, whose kept ones lie alike.
    pub fn of_loading(&self) -> Plan {
        let steps = self.steps.iter().filter(|step| step.once).cloned().collect();
        Plan { buffers: self.buffers.clone(), steps, tables: self.tables.clone(), ..Plan::default() }
    }
}

/// Memory that a step needs only while it runs.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Scratch {
    /// Bytes shared by all threads.
    pub(crate) shared: u64,
    /// Bytes of each thread, after the shared ones, and the number of threads with such memory in the arena.
    pub(crate) own: u64,
    pub(crate) threads: u64,
    /// Offset in the arena.
    pub at: u64,
}

impl Scratch {
    /// Number of bytes in the arena.
    pub fn bytes(&self) -> u64 {
        self.shared + self.threads * self.own
    }
}

/// The memory of a tensor.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub dtype: DType,
    /// Extents of the tensor that it holds, for inputs, outputs and constants.
    pub shape: Vec<u64>,
    /// Number of elements, including margins.
    pub elements: u64,
    pub place: Place,
    /// The buffer without further readers whose place it takes.
    pub(crate) over: Option<BufferId>,
}

impl Buffer {
    pub fn bytes(&self) -> u64 {
        self.elements * u64::from(self.dtype.bits).div_ceil(8)
    }
}

/// Location of a buffer.
#[derive(Clone, Debug)]
pub enum Place {
    Input(usize),
    Output(usize),
    Const(ConstId),
    /// One of the plan's tables.
    Table(usize),
    /// A byte offset in the arena.
    Arena(u64),
    /// A byte offset in the memory that is kept between runs.
    Kept(u64),
}

/// A step: one piece of work on buffers.
#[derive(Clone, Debug)]
pub struct Step {
    pub work: Work,
    /// The buffers of the work's arguments.
    pub args: Vec<BufferId>,
    /// Which arguments are written.
    pub writes: Arc<[bool]>,
    /// The last call of the group that it computes.
    pub origin: ExprId,
    /// The operators that it computes.
    pub ops: Arc<[&'static str]>,
    /// Whether loading runs it once.
    pub once: bool,
}

/// A call of an operator or of a fused group, for tracing.
#[derive(Clone, Debug)]
pub struct Group {
    pub call: ExprId,
    /// Locations of its operands before its first step.
    pub operands: Vec<ValueLocation>,
    /// Location of its result after its last step.
    pub result: ValueLocation,
    pub steps: Range<usize>,
}

/// The temporary location of a value.
#[derive(Clone, Debug)]
pub enum ValueLocation {
    Buffer(BufferId, View),
    /// A scalar in the code, by its bits.
    Scalar(u64, ScalarType),
    Tuple(Vec<ValueLocation>),
    /// Not in memory.
    Nowhere,
}

/// The work of a step.
#[derive(Clone, Debug)]
pub enum Work {
    Kernel(Arc<Kernel>),
    /// Moves elements of any dtype.
    Move(Move),
    /// Normalizes indices to positions.
    Positions(Positions),
    /// Sets ranges of argument 0 to one value.
    Fill(Fill),
    /// The evaluation of an operator.
    Fallback(Fallback),
    /// Fails if argument 0, a bool, is true.
    Guard(Guard),
    /// A routine, whose arguments are the operands and results of a call; and that call, which reports errors in the data.
    Routine(Routine, Fallback),
}

impl Work {
    /// The kernel that does it.
    pub fn kernel(&self) -> Option<&Kernel> {
        match self {
            Work::Kernel(kernel) => Some(kernel),
            _ => None,
        }
    }

    /// The contraction that it computes.
    pub(crate) fn contract(&self) -> Option<&Contraction> {
        self.kernel()?.contract()
    }
}

/// The margins around the tensor in argument 0, and the bits of the value they are set to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fill {
    pub bits: u64,
    /// For each axis up to the last one with margins: the extents of the margin before the tensor, of the tensor, and of the margin
    /// after it.
    pub(crate) axes: Vec<[i64; 3]>,
    /// Number of elements of the axes behind these.
    pub(crate) piece: u64,
}

impl Fill {
    /// The margins of a tensor whose elements have so many bytes.
    pub(crate) fn margins(&self, width: usize) -> Margins<'_> {
        Margins { axes: &self.axes, piece: self.piece as usize, width, bits: self.bits }
    }
}

/// Copies elements of argument 0 to argument 1: for both sides a first element, and a stride for each dimension.
#[derive(Clone, Debug)]
pub struct Move {
    pub(crate) dims: Vec<u64>,
    pub(crate) from: (i64, Vec<i64>),
    pub(crate) to: (i64, Vec<i64>),
    /// Bytes of an element.
    pub(crate) width: usize,
}

/// Converts integers of any dtype in argument 0 to positions in argument 1, which holds I32.
///
/// The argument consists of equal parts, one for each length: the indices along an axis of that length.
#[derive(Clone, Debug)]
pub struct Positions {
    pub(crate) lengths: Vec<u64>,
    pub(crate) outside: IndexMode,
    /// The operator that an index out of range stops.
    pub(crate) call: ExprId,
}

/// A call that fails as its evaluation does on all-zero operands.
#[derive(Clone, Debug)]
pub struct Guard {
    pub(crate) call: ExprId,
    /// The operands.
    pub(crate) operands: Vec<(DType, Vec<u64>)>,
}

/// Why an operator has no kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoKernel {
    /// Its declaration provides none.
    Undeclared,
    /// Its kernels do not apply to these operands.
    Operands,
    /// The machine has no code for it.
    Machine,
}

impl NoKernel {
    pub(crate) fn words(self) -> &'static str {
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
    pub(crate) why: NoKernel,
    /// The arguments of the step that form each operand, and whether it is a tuple.
    pub(crate) operands: Vec<(bool, Vec<usize>)>,
    /// The arguments of the step that receive the fields of the result.
    pub(crate) results: Vec<usize>,
}
