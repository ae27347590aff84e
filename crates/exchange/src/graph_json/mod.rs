//! Graph executor files: TVM's JSON of a compiled graph (`src/relay/backend/graph_executor_codegen.cc` writes it,
//! `src/runtime/graph_executor/graph_executor.h` reads it).
//!
//! A node is an input or a call of a compiled function. Nodes are in execution order, and each result has a shape, a dtype and
//! a storage number. The file does not define the functions: they are machine code elsewhere. So a graph can be shown and
//! compared with its weights, but not run.
//!
//! `fused.rs` makes a graph of an optimized function, `names.rs` names its calls like TVM, and `storage.rs` assigns storage to
//! its results. `write.rs` and `read.rs` handle the file; `show.rs` prints a list for people. Absent: optimization, and opening
//! files.

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

use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::text::type_text;
use relayc_ir::types::{DType, Dim};

/// The function of a no-op call, whose result is its operand with another shape.
pub const NOP: &str = "__nop";

/// A compiled graph.
///
/// Results of [`read`] and [`of_function`] are sound: every reference is to an earlier node and one of its results, and every
/// result has its tensor.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// Nodes in execution order.
    pub nodes: Vec<Node>,
    /// The results of the graph.
    pub heads: Vec<Ref>,
    /// Index of each node's first result in `tensors`, followed by their total number.
    pub(crate) rows: Vec<u32>,
    /// Results of all nodes, in order.
    pub tensors: Vec<Info>,
}

/// An input, or a call.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    pub(crate) name: String,
    /// `None` for an input.
    pub call: Option<Call>,
}

/// A call of a compiled function.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    pub func: String,
    pub inputs: Vec<Ref>,
    /// Whether the function takes its operands as vectors, whatever their shapes.
    pub(crate) flatten: bool,
    /// Other attributes: layouts, and a hash of the computation.
    pub(crate) attrs: Vec<(String, String)>,
}

/// A result of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ref {
    pub node: u32,
    pub index: u32,
    /// Written by other graph compilers; ignored here.
    pub(crate) version: u32,
}

/// A result: its type and storage.
#[derive(Clone, PartialEq, Debug)]
pub struct Info {
    /// At most [`MAX_RANK`](relayc_ir::types::MAX_RANK) non-negative dimensions.
    pub shape: Vec<i64>,
    pub dtype: DType,
    /// Results with equal numbers share memory, at different times.
    pub storage: u32,
    /// The device type, 1 for the processor; absent in files without it.
    pub(crate) device: Option<u32>,
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
    /// The first result of a node, and the number of its results.
    pub fn results(&self, node: usize) -> std::ops::Range<usize> {
        let row = |at: usize| self.rows.get(at).and_then(|&row| usize::try_from(row).ok()).unwrap_or(0);
        row(node)..row(node.saturating_add(1))
    }

    /// The tensor of a reference, if it exists.
    pub fn tensor(&self, at: Ref) -> Option<&Info> {
        let node = usize::try_from(at.node).ok()?;
        let results = self.results(node);
        let index = usize::try_from(at.index).ok()?;
        self.tensors.get(results.start.checked_add(index).filter(|index| results.contains(index))?)
    }

    /// The inputs in order: number, name.
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
