//! Data types, dimensions, types and their unification.
//!
//! Types are hash-consed: a [`Ty`] is a number, and equal types have equal numbers. Dimensions that differ only in the width of
//! their literal have different numbers, and they unify. Nothing recurses over a type. Absent: the origin of a type, and the
//! meaning of operators.

mod arena;
mod dtype;
mod normal;
mod op;
mod print;
mod shape;
mod solver;
mod symbol;

pub use arena::{HoleId, MAX_DEPTH, MAX_LEAVES, Ty, TyData, Types};
pub use dtype::{DType, DTypeCode};
pub use op::SymbolOp;
pub(crate) use print::{MAX_SHOWN, TypeNames};
pub(crate) use shape::Symbol;
pub use shape::{
    Dim, MAX_ELEMENTS, MAX_RANK, SizeName, SymbolId, VarRef, can_be_held, checked_bytes, checked_elements, dims_of, shape_text,
};
pub use solver::{Mismatch, Solver, StepKind};
pub use symbol::{Arith, SymbolKind, Symbols};
