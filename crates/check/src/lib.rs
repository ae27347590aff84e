//! Turns a syntax tree into typed IR: name resolution ([`resolve`]), then type and shape inference ([`infer`]).
//!
//! Promises that both return a result and a list of diagnostics, and that neither stops at the first error. Absent: reading
//! files, and rewriting programs.

pub mod infer;
pub mod resolve;
