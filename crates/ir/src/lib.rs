//! The typed intermediate representation: expressions in one arena, shared by index.
//!
//! A graph binding is a node that several operands refer to; a `let` is a node of its own. [`OpId`]s name operators. A call
//! carries its attributes as plain values in schema order, complete after `resolve`. The crate `ops` defines operators; this
//! crate knows only the trait [`OpTable`]. Absent: inference, evaluation and rewriting.

pub mod attrs;
mod extract;
pub mod flow;
mod ids;
pub mod kernel;
mod module;
pub mod object;
pub mod print;
pub mod sizes;
pub mod tensor;
pub mod threads;
pub mod types;
pub mod verify;
mod visit;
mod wrap;

pub use attrs::{AttrSchema, AttrValue, Field, Kind, OpId, OpTable};
pub use ids::{AdtId, AttrsId, ConstId, CtorId, ExprId, FuncId, GlobalId, PatId, VarId};
pub use module::{
    Adt, AttrNames, Attrs, COMPILER, Clause, Clauses, ConstNote, Ctor, Expr, ExprKind, Func, Global, Module, OUTPUT_NAMES,
    Operand, Operands, PRIMITIVE, Pat, PatKind, Pats, Root, are_output_names,
};
pub use object::{Object, ObjectId};
pub use visit::Seen;
