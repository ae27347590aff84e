//! The typed intermediate representation: expressions in one arena, shared by index.
//!
//! A graph binding is a node that several operands refer to; a `let` is a `let`. Operators are named by [`OpId`] and carry
//! their attributes as plain values in schema order, complete after `resolve`; what an operator means is `ops`' business,
//! of which this room knows only the [`OpTable`]. Deliberately not here: inference, evaluation, rewriting.

pub mod attrs;
mod extract;
mod module;
pub mod object;
pub mod print;
pub mod verify;
mod visit;
mod wrap;

pub use attrs::{AttrSchema, AttrValue, Field, Kind, OpId, OpTable};
pub use module::{
    Adt, AdtId, AttrNames, Attrs, AttrsId, Clause, Clauses, ConstId, ConstNote, Ctor, CtorId, Expr, ExprId, ExprKind, Func,
    FuncId, Global, GlobalId, Module, Operand, Operands, PRIMITIVE, Pat, PatId, PatKind, Pats, Root, Var, VarId,
};
pub use object::{Object, ObjectId};
pub use visit::Seen;
