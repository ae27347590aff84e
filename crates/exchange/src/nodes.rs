//! Reads what MXNet's networks and TVM's executor graphs share: a list of nodes with inputs among them, and results by the
//! number of their node.

use super::json::{Json, List, Object};
use relayc_base::diag::Diagnostic;
use relayc_base::text::escape_control;
use relayc_weights::MAX_NAME;
use rustc_hash::FxHashSet;

/// Maximum number of nodes of a network (reliability 2, as for ONNX).
pub(super) const MAX_NODES: usize = 1 << 20;

/// The nodes. Errors: E0804 for too many.
pub(super) fn nodes<'a>(top: &Object<'a>) -> Result<List<'a>, Diagnostic> {
    let json = top.need("nodes")?;
    let items = json.list("list of nodes")?;
    match items.len() {
        n if n > MAX_NODES => Err(json.limit(format_args!("{n} nodes, the limit is {MAX_NODES}"))),
        _ => Ok(items),
    }
}

/// The name of a node. Errors: E0804 for a long one.
pub(super) fn name(node: &Object) -> Result<String, Diagnostic> {
    let json = node.need("name")?;
    let name: String = json.read("name")?;
    match name.len() {
        n if n > MAX_NAME => Err(json.limit(format_args!("a name of {n} bytes, the limit is {MAX_NAME}"))),
        _ => Ok(name),
    }
}

/// Reads `[node, index]` or `[node, index, version]`, which must refer to one of the first `n_nodes` nodes.
pub(super) fn reference(n_nodes: usize, json: Json) -> Result<[u32; 3], Diagnostic> {
    let numbers: Vec<u32> = json.read("list of numbers")?;
    let (node, index, version) = match numbers[..] {
        [node, index] => (node, index, 0),
        [node, index, version] => (node, index, version),
        _ => return Err(json.error("a reference is a node's number and one of its results")),
    };
    match usize::try_from(node) {
        Ok(number) if number < n_nodes => Ok([node, index, version]),
        _ => Err(json.error(format_args!("a reference to node {node}, which does not come before it"))),
    }
}

/// The inputs so far: their numbers, and their distinct names.
#[derive(Default)]
pub(super) struct Inputs {
    numbers: Vec<usize>,
    names: FxHashSet<String>,
}

impl Inputs {
    /// Adds the node of a number as an input.
    pub(crate) fn add(&mut self, number: usize, name: &str, node: Json) -> Result<(), Diagnostic> {
        if !self.names.insert(name.to_owned()) {
            return Err(node.error(format_args!("a second input named `{}`", escape_control(name))));
        }
        self.numbers.push(number);
        Ok(())
    }

    /// Refuses a list of inputs that differs from this one.
    pub(crate) fn check(&self, listed: Json) -> Result<(), Diagnostic> {
        let numbers: Vec<usize> = listed.read("list of node numbers")?;
        if numbers == self.numbers { Ok(()) } else { Err(listed.error("it does not list the nodes that are inputs, in order")) }
    }
}
