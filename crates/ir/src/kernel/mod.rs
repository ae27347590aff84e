//! Kernels as data: what is computed where, independent of operators' names and of the machine.
//!
//! A kernel reads and writes its arguments, which are flat buffers of elements. Positions are sums of loop indices times strides
//! ([`Access`]). It computes with [`Body`]s, straight-line code on one element. [`Nest`] is the general form; [`Contraction`] is a
//! sum of products, the form of convolutions and of matrix products. [`Attention`] joins two of these. All other kernels are
//! [`Routine`]s. All extents are known numbers. The reason for a choice is data too ([`Reason`]). Absent: the choice itself, and
//! machine instructions.

mod attention;
pub mod body;
mod contraction;
mod fixed_point;
mod nest;
mod reason;
mod routine;
mod target;
mod view;

pub use attention::Attention;
pub use body::{BinaryOp, Body, Cmp, Instr, ScalarType, Steps, UnaryOp, Val, Widening};
pub use contraction::{BYTES, Columns, Contraction, ContractionDim, Depthwise, Factors, Operand, Winograd, is_exact_by_tiles};
pub use fixed_point::{FixedPoint, multiply_shift};
pub use nest::{Access, Clip, Nest, ReduceDim, Reduction, Stage, Store};
pub use reason::{Alternative, Reason, Rejection, ns_of_cycles};
pub use routine::{
    AllClassNms, Anchors, BoxRows, Boxes, ChosenRows, Lines, MAX_RANK, OfBin, PoolGradient, PoolWindow, Random, Regions,
    Requantize, Routine, Scan, Scatter, ScatterReduction, ScatterTarget, Sort, Sparse, SparseForm, StridedSet, SuppressRows,
    ValidRows,
};
pub use target::{ByteProducts, Target};
pub use view::View;

/// The computation of one launch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kernel {
    Nest(Nest),
    Contraction(Contraction),
    Depthwise(Depthwise),
    Winograd(Winograd),
    Attention(Box<Attention>),
}

impl Kernel {
    /// The one contraction that it computes, if it computes one.
    pub fn contract(&self) -> Option<&Contraction> {
        match self {
            Kernel::Nest(_) | Kernel::Attention(_) => None,
            Kernel::Contraction(contract) => Some(contract),
            Kernel::Depthwise(depthwise) => Some(&depthwise.contract),
            Kernel::Winograd(winograd) => Some(&winograd.contract),
        }
    }

    /// A contraction as a loop nest, if it can be one.
    pub fn as_nest(&self) -> Option<Nest> {
        match self {
            Kernel::Nest(_) | Kernel::Attention(_) => None,
            Kernel::Contraction(contract) | Kernel::Winograd(Winograd { contract, .. }) => contract.nest(Columns::STILL),
            Kernel::Depthwise(depthwise) => depthwise.contract.nest(depthwise.input_columns),
        }
    }
}
