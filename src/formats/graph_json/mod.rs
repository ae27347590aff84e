//! Graph executor files: TVM's JSON of a compiled graph (`src/relay/backend/graph_executor_codegen.cc` writes it,
//! `src/runtime/graph_executor/graph_executor.h` reads it).
//!
//! A node is an input or a call of a compiled function; nodes stand in the order in which they run, and each result has a shape, a
//! dtype and the number of the memory it lies in. What the functions compute is not in the file: they are machine code elsewhere, so a
//! graph can be looked at and held against its weights, and cannot be run.
//!
//! `fused.rs` makes a graph of an optimised function, `names.rs` names its calls as TVM does, `storage.rs` gives its results their
//! memory; `write.rs` and `read.rs` are the file, `show.rs` a list for people. Deliberately not here: optimising, and files.

mod fused;
mod names;
mod read;
mod show;
mod storage;
mod write;

pub use fused::of_function;
pub use read::read;
pub use show::{show, unmatched};
pub use write::write;

use crate::tensor::Tensor;
use crate::tensor::text::type_text;
use crate::types::{DType, Dim};

/// The function of a call that does nothing: its result is its operand under another shape.
pub const NOP: &str = "__nop";

/// A compiled graph. What [`read`] gives and what [`of_function`] makes is sound: every reference is to an earlier node and to a
/// result that it has, and every result has its tensor.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// In the order in which they run.
    pub nodes: Vec<Node>,
    /// The results of the graph.
    pub heads: Vec<Ref>,
    /// For each node the number of its first result among `tensors`, and behind the last node their number.
    pub rows: Vec<u32>,
    /// The results of all nodes, in order.
    pub tensors: Vec<Info>,
}

/// An input, or a call.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    pub name: String,
    /// None for an input.
    pub call: Option<Call>,
}

/// A call of a compiled function.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    pub func: String,
    pub inputs: Vec<Ref>,
    /// Whether the function takes its operands as vectors, whatever their shapes.
    pub flatten: bool,
    /// What else is said of it: layouts and a hash of what it computes.
    pub attrs: Vec<(String, String)>,
}

/// A result of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ref {
    pub node: u32,
    pub index: u32,
    /// Written by other compilers of graphs; means nothing here.
    pub version: u32,
}

/// A result: its type, and where it lies.
#[derive(Clone, PartialEq, Debug)]
pub struct Info {
    /// At most [`MAX_RANK`](crate::types::MAX_RANK) dimensions, none negative.
    pub shape: Vec<i64>,
    pub dtype: DType,
    /// Results of one number share memory, at different times.
    pub storage: u32,
    /// The type of the device, 1 for the processor; absent in files that do not say.
    pub device: Option<u32>,
}

impl Info {
    /// Its type as Relay writes it.
    fn type_text(&self) -> String {
        let dims: Vec<Dim> = self.shape.iter().copied().map(Dim::known).collect();
        type_text(&dims, self.dtype)
    }

    fn is_type_of(&self, tensor: &Tensor) -> bool {
        let shape = tensor.shape().iter().map(|&dim| i64::try_from(dim).unwrap_or(i64::MAX));
        tensor.dtype() == self.dtype && shape.eq(self.shape.iter().copied())
    }
}

impl Graph {
    /// The first result of a node and how many it has.
    pub fn results(&self, node: usize) -> std::ops::Range<usize> {
        let row = |at: usize| self.rows.get(at).and_then(|&row| usize::try_from(row).ok()).unwrap_or(0);
        row(node)..row(node.saturating_add(1))
    }

    /// The tensor of a reference, where there is one.
    pub fn tensor(&self, at: Ref) -> Option<&Info> {
        let node = usize::try_from(at.node).ok()?;
        let results = self.results(node);
        let index = usize::try_from(at.index).ok()?;
        self.tensors.get(results.start.checked_add(index).filter(|index| results.contains(index))?)
    }

    /// The inputs, in order: number, name.
    pub fn inputs(&self) -> impl Iterator<Item = (usize, &str)> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.call.is_none()).map(|(number, node)| (number, node.name.as_str()))
    }
}

/// A dtype as these files write it: `bool` is `uint1` (`DType2String` of `src/relay/backend/utils.h`).
fn dtype_text(dtype: DType) -> String {
    if dtype.is_bool() { "uint1".to_owned() } else { dtype.to_string() }
}

#[cfg(test)]
mod tests;
