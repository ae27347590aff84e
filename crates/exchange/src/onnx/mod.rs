//! Exports programs as ONNX models for other runtimes, and imports models.
//!
//! `walk.rs` walks a program and asks each operator for its nodes (`ops::onnx`); `write.rs` encodes them as the messages of
//! `proto.rs`. Values computed from given weights become initializers, other parameters inputs. Names are those of the model that
//! the program was imported from, as far as the text says them, otherwise those of the text.
//! Everything that ONNX cannot express is found before anything is written, and reported at once. `import/` converts models to
//! programs. Absent: the ONNX nodes of any operator of relayc.

#![allow(clippy::indexing_slicing, reason = "nothing here reads bytes: a module's and a graph's indices are their own")]

mod bias;
mod errors;
pub mod import;
pub mod proto;
mod walk;
mod write;

use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_ir::tensor::Tensor;
use relayc_ir::{FuncId, Module};
use rustc_hash::FxHashMap;

/// A request to export.
pub struct Export<'a> {
    /// The module, with types.
    pub module: &'a Module,
    pub func: FuncId,
    /// Name of the function.
    pub name: &'a str,
    /// Values of tensor parameters, by their names without `%`.
    pub weights: FxHashMap<String, Tensor>,
    /// The names of the result's tensors, left to right.
    pub results: &'a [String],
    /// The graph variable that binds an expression, by its place in the text.
    pub names: &'a dyn Fn(Span) -> Option<String>,
    /// What the model that the program was imported from calls the node, the input or the tensor at a place in the text.
    pub origins: &'a dyn Fn(Span) -> Option<String>,
}

/// An exported model.
pub struct Model {
    /// The bytes of an `.onnx` file.
    pub bytes: Vec<u8>,
    pub n_nodes: usize,
    pub n_inputs: usize,
    pub n_initializers: usize,
}

/// Exports a function as a model. Errors: E0708 for everything that ONNX cannot express; E0804 and E0805 for limits.
pub fn export(export: Export) -> Result<Model, Diagnostic> {
    let (name, symbols) = (export.name, &export.module.types.symbols);
    let graph = walk::walk(export)?;
    write::model(name, graph, symbols)
}
