//! Loop nests: the stages over the reduced dimensions run at every point of the kept dimensions.
//!
//! An elementwise kernel is one stage that stores at each point. A sum is a stage that reduces over the reduced dimensions and a
//! stage that stores once. A softmax computes a maximum, then stores exponentials and their sum, then scales the stored values. A
//! pooling window is a reduced dimension clipped to the data.

use super::body::{Body, Val};
use crate::types::DType;

/// The position of a read or a write: argument `arg`, at `offset + Σ kept·index + Σ reduced·index`, in elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    pub arg: usize,
    pub dtype: DType,
    pub offset: i64,
    /// A stride for each kept dimension.
    pub kept: Vec<i64>,
    /// A stride for each reduced dimension.
    pub reduced: Vec<i64>,
}

/// A reduced dimension with the indices `0..extent`; clips exclude some of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReduceDim {
    pub extent: u64,
    pub clip: Option<Clip>,
}

/// Index `r` at index `o` of the kept dimension `dim` is inside if `0 <= o·stride + r·dilation - before < size`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Clip {
    pub dim: usize,
    pub stride: i64,
    pub dilation: i64,
    pub before: i64,
    pub size: i64,
}

/// How a reduction combines the values of a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduction {
    /// Starts from 0.
    Sum,
    /// Starts from 1.
    Product,
    /// Starts from minus infinity or the least integer; NaN wins.
    Max,
    /// Starts from infinity or the greatest integer; NaN wins.
    Min,
}

/// A value that the nest stores.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Store {
    pub val: Val,
    /// The index of the write.
    pub write: usize,
}

/// One pass over the reduced dimensions, or a single evaluation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stage {
    /// Whether the body runs at each point of the reduced dimensions, or once.
    pub each: bool,
    pub body: Body,
    /// Reductions of a stage with `each`, numbered across the stages for [`super::Instr::Reduced`].
    pub reductions: Vec<(Val, Reduction)>,
    pub stores: Vec<Store>,
}

/// A loop nest.
///
/// The stages of one point run in order, and a stage may read what an earlier stage stored. Points are independent of each other,
/// so threads may share them, and lanes may compute them side by side.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Nest {
    /// The kept dimensions, outermost first.
    pub dims: Vec<u64>,
    pub reduce: Vec<ReduceDim>,
    pub reads: Vec<Access>,
    pub writes: Vec<Access>,
    pub stages: Vec<Stage>,
}
