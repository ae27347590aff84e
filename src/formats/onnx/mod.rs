//! ONNX: a program as a model that other runtimes take, and a model as a program.
//!
//! `walk.rs` goes through a program and asks each operator for its nodes (`ops::onnx`); `write.rs` makes the messages of
//! `proto.rs` of them. What the program computes with given weights becomes initializers, the other parameters inputs; names
//! are those of the text. Everything that ONNX cannot say is found before anything is written, and said at once.
//! `import/` is the way back. Deliberately not here: what any operator of ours is in ONNX.

#![allow(clippy::indexing_slicing, reason = "nothing here reads bytes: a module's and a graph's indices are their own")]

mod errors;
pub mod import;
pub mod proto;
mod walk;
mod write;

use crate::base::Span;
use crate::diag::Diagnostic;
use crate::ir::{FuncId, Module};
use crate::tensor::Tensor;
use rustc_hash::FxHashMap;

/// What is exported.
pub struct Export<'a> {
    /// With types.
    pub module: &'a Module,
    pub func: FuncId,
    /// What the function is called.
    pub name: &'a str,
    /// Values of parameters that are tensors, by their names without `%`.
    pub weights: FxHashMap<String, Tensor>,
    /// The graph variable that an expression is bound to, by its place in the text.
    pub names: &'a dyn Fn(Span) -> Option<String>,
}

/// A model that was made.
pub struct Model {
    /// The bytes of an `.onnx` file.
    pub bytes: Vec<u8>,
    pub n_nodes: usize,
    pub n_inputs: usize,
    pub n_initializers: usize,
}

/// Makes a model of a function. Errors: E0708 for what ONNX cannot say, all of it; E0804 and E0805 for limits.
pub fn export(export: Export) -> Result<Model, Diagnostic> {
    let name = export.name;
    let graph = walk::walk(export)?;
    write::model(name, graph)
}
