//! Data types, dimensions, types and their unification.
//!
//! Types are hash-consed: a [`Ty`] is a number, equal types have equal numbers (dimensions that differ only in the width
//! of their literal are different numbers that unify). Nothing recurses over a type. Deliberately not here: where a type
//! came from, what an operator does with it.

mod arena;
mod dtype;
mod print;
mod shape;
mod solver;
mod symbol;

pub use arena::{MAX_DEPTH, MAX_LEAVES, Ty, TyData, Types};
pub use dtype::{DType, DTypeCode};
pub use print::TypeNames;
pub use shape::{Dim, MAX_ELEMENTS, MAX_RANK, can_be_held, checked_bytes, checked_elements, dims_of, shape_text};
pub use solver::{HoleId, Mismatch, Solver, StepKind};
pub use symbol::{Symbol, SymbolId, SymbolKind, SymbolOp, Symbols, VarRef};
