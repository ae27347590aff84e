//! The work on one function: the plan so far, where values lie, and the operators that wait for what follows them.

use super::group::{Lazy, Load, Padded};
use super::group_plans::GroupPlans;
use super::request::Requests;
use super::structure::Structure;
use super::{BufferId, Plan};
use relayc_ir::kernel::{Attention, Target, View};
use relayc_ir::types::DType;
use relayc_ir::{ExprId, Module};
use relayc_ops::Table;
use relayc_ops::lower::{Product, Template};
use rustc_hash::{FxHashMap, FxHashSet};

/// What kernels may be made of.
#[derive(Clone, Copy, Debug)]
pub struct KernelOptions {
    /// The largest tile of Winograd's method, in results a side; 0 disables it.
    pub tile: u64,
    pub target: Target,
    /// Contractions read and store integers of 8 bits if contiguous columns are a multiple of this.
    pub byte_columns: u64,
    /// Whether the plan says where operands and results of its groups lie, for who follows a run.
    pub followed: bool,
}

/// The work on one function.
pub(crate) struct Lowering<'a> {
    pub(crate) module: &'a Module,
    pub(crate) ops: &'a Table,
    pub(crate) refusals: &'a [ExprId],
    pub(crate) options: KernelOptions,
    pub(crate) plan: Plan,
    pub(crate) anchors: Vec<Anchor>,
    pub(crate) requests: Requests,
    /// Where values that must lie somewhere lie.
    pub(crate) places: FxHashMap<ExprId, (BufferId, View)>,
    pub(crate) padded: FxHashMap<BufferId, Padded>,
    /// Buffers that several values share, each in its place.
    pub(crate) parts: FxHashSet<BufferId>,
    /// Buffers whose content does not change from run to run.
    pub(crate) constant: FxHashSet<BufferId>,
    pub(crate) consts: FxHashMap<ExprId, BufferId>,
    /// The call that is being computed: of a group, or of an operator outside of any.
    pub(crate) origin: ExprId,
    /// Whether the group at hand may have two contractions in one step.
    pub(crate) joins: bool,
    /// Whether each attention of the plan so far is faster in one step.
    pub(crate) joined: FxHashMap<Attention, bool>,
    /// Loads of which the call at hand has a copy in order.
    pub(crate) straight: Vec<(Load, Lazy)>,
    /// The plans of groups so far.
    pub(crate) groups: &'a GroupPlans,
    pub(crate) structure: &'a Structure,
    /// The operator at hand.
    pub(crate) call: ExprId,
}

/// An operator with loops of its own, whose result waits for what is done to it before it is stored.
pub(crate) struct Anchor {
    pub(crate) kind: Kind,
    /// The operands; none of them waits.
    pub(crate) inputs: Vec<Lazy>,
    pub(crate) dims: Vec<u64>,
    pub(crate) dtype: DType,
    pub(crate) op: &'static str,
    pub(crate) origin: ExprId,
    /// Where it was stored as it is.
    pub(crate) stored: Option<(BufferId, View)>,
}

#[derive(Clone)]
pub(crate) enum Kind {
    /// Which together write each element once.
    Nests(Vec<Template>),
    Products(Vec<Product>),
}
