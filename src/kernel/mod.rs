//! Kernels as data: what is computed where, without operators' names and without a machine.
//!
//! A kernel reads and writes its arguments, flat buffers of elements, at places that are sums of a loop index times a
//! stride ([`Access`]), and computes with [`Body`]s, straight-line code on one element. [`Nest`] is the general one;
//! [`Contract`] is a sum of products, the shape of convolutions and of matrix products; what neither says is a [`Routine`]. All
//! extents are known numbers.
//! What made a choice is data too ([`Reason`]). Deliberately not here: the choosing (`plan`, `jit`), instructions (`jit`).

pub mod body;
mod contract;
mod fixed_point;
mod nest;
mod reason;
mod routine;
mod target;
mod view;

pub use body::{Bin, Body, Cmp, Instr, Lane, Un, Val, Widening};
pub use contract::{Columns, Contract, ContractDim, Depthwise, Operand, Winograd};
pub use fixed_point::{FixedPoint, multiply_shift};
pub use nest::{Access, Clip, Fold, Nest, ReduceDim, Stage, Store};
pub use reason::{Other, Reason, Said, ns_of_cycles};
pub use routine::{Join, Lines, MAX_RANK, Requantize, Routine, Scan, Scatter, Sort, Whereto};
pub use target::Target;
pub use view::View;

/// What one launch computes.
#[derive(Clone, PartialEq, Debug)]
pub enum Kernel {
    Nest(Nest),
    Contract(Contract),
    Depthwise(Depthwise),
    Winograd(Winograd),
}

impl Kernel {
    /// The sum of products it computes, if it is one.
    pub fn contract(&self) -> Option<&Contract> {
        match self {
            Kernel::Nest(_) => None,
            Kernel::Contract(contract) => Some(contract),
            Kernel::Depthwise(depthwise) => Some(&depthwise.contract),
            Kernel::Winograd(winograd) => Some(&winograd.contract),
        }
    }
}
