//! Loop nests: every point of the kept dimensions, and inside it stages over the reduced ones.
//!
//! An elementwise kernel is one stage that stores at each point. A sum is a stage that folds over the reduced dimensions and
//! a stage that stores once. A softmax folds a maximum, then stores exponentials and folds their sum, then scales what it
//! stored. A pooling window is a reduced dimension clipped to what is inside.

use super::body::{Body, Val};
use crate::types::DType;

/// Where a read or a write goes: argument `arg`, at `offset + Σ kept·index + Σ reduced·index`, in elements.
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

/// A reduced dimension, with the indices `0..extent` of which only those inside count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReduceDim {
    pub extent: u64,
    pub clip: Option<Clip>,
}

/// Index `r` at index `o` of the kept dimension `dim` is inside where `0 <= o·stride + r·dilation - before < size`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Clip {
    pub dim: usize,
    pub stride: i64,
    pub dilation: i64,
    pub before: i64,
    pub size: i64,
}

/// How the values of a row become one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fold {
    /// From 0.
    Sum,
    /// From 1.
    Product,
    /// From minus infinity or the least integer; NaN wins.
    Max,
    /// From infinity or the greatest integer; NaN wins.
    Min,
}

/// A value that goes to a write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Store {
    pub val: Val,
    /// The number of the write.
    pub write: usize,
}

/// One pass over the reduced dimensions, or none.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stage {
    /// Whether the body is run at each point of the reduced dimensions, or once.
    pub each: bool,
    pub body: Body,
    /// Folds of a stage with `each`; numbered on through the stages for [`super::Instr::Folded`].
    pub folds: Vec<(Val, Fold)>,
    pub stores: Vec<Store>,
}

/// A loop nest.
///
/// Stages of one point run in order, and what one stores a later one may read; points are independent of each other, so they
/// may be shared among threads and computed side by side in lanes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Nest {
    /// The kept dimensions, outermost first.
    pub dims: Vec<u64>,
    pub reduce: Vec<ReduceDim>,
    pub reads: Vec<Access>,
    pub writes: Vec<Access>,
    pub stages: Vec<Stage>,
}
