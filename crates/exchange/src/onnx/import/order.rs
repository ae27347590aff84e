//! Puts the nodes of each graph in an order in which every value is made before it is used.
//!
//! ONNX demands that of a file. ONNX Runtime takes any order, and its own converter to float16 appends the casts of inputs at the end. A
//! graph in order stays as it is, and so does one with a circle, which `check.rs` refuses.

use super::super::proto::{GraphProto, ModelProto, NodeProto};
use super::check::{subgraphs, tensor_name};
use rustc_hash::{FxHashMap, FxHashSet};

/// Sorts the nodes of all graphs and functions of a model.
pub(crate) fn sort(model: &mut ModelProto) {
    let mut lists: Vec<&mut Vec<NodeProto>> = model.functions.iter_mut().map(|function| &mut function.node).collect();
    lists.extend(model.graph.as_mut().map(|graph| &mut graph.node));
    while let Some(nodes) = lists.pop() {
        if let Some(order) = order_of(nodes) {
            let mut unsorted: Vec<Option<NodeProto>> = std::mem::take(nodes).into_iter().map(Some).collect();
            nodes.extend(order.into_iter().filter_map(|at| unsorted.get_mut(at).and_then(Option::take)));
        }
        let attributes = nodes.iter_mut().flat_map(|node| &mut node.attribute);
        lists.extend(attributes.filter_map(|attribute| attribute.g.as_deref_mut()).map(|graph| &mut graph.node));
    }
}

/// The indices of nodes in order: each behind those that it needs, else as they stand. `None` where they are in order already, or in a
/// circle.
fn order_of(nodes: &[NodeProto]) -> Option<Vec<usize>> {
    let mut makers: FxHashMap<&str, usize> = FxHashMap::default();
    for (node, at) in nodes.iter().zip(0..) {
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            makers.entry(output).or_insert(at);
        }
    }
    let needs = |at: usize| -> Vec<usize> {
        let names = nodes.get(at).map(needed).unwrap_or_default();
        names.into_iter().filter_map(|name| makers.get(name).copied()).collect()
    };
    if (0..nodes.len()).all(|at| needs(at).into_iter().all(|maker| maker < at)) {
        return None;
    }
    let mut met = vec![Met::Not; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    let mut open: Vec<(usize, std::vec::IntoIter<usize>)> = vec![];
    for start in 0..nodes.len() {
        let mut next = Some(start);
        loop {
            match next.and_then(|at| Some((at, met.get_mut(at)?))) {
                Some((at, state @ Met::Not)) => {
                    *state = Met::Open;
                    open.push((at, needs(at).into_iter()));
                }
                Some((_, Met::Open)) => return None,
                Some((_, Met::Placed)) | None => {}
            }
            let Some((at, left)) = open.last_mut() else { break };
            next = left.next();
            if next.is_none() {
                met[*at] = Met::Placed;
                order.push(*at);
                open.pop();
            }
        }
    }
    Some(order)
}

/// How far the walk is with a node.
#[derive(Clone, Copy)]
enum Met {
    Not,
    /// What it needs is being placed.
    Open,
    Placed,
}

/// The values that a node takes from outside: its inputs, and what its subgraphs use and do not make.
fn needed(node: &NodeProto) -> Vec<&str> {
    let mut used: Vec<&str> = node.input.iter().map(String::as_str).collect();
    let mut made: FxHashSet<&str> = FxHashSet::default();
    let mut graphs: Vec<&GraphProto> = subgraphs(node).collect();
    while let Some(graph) = graphs.pop() {
        made.extend(graph.input.iter().filter_map(|input| input.name.as_deref()));
        made.extend(graph.initializer.iter().map(tensor_name));
        made.extend(graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_deref().map(tensor_name)));
        used.extend(graph.output.iter().filter_map(|output| output.name.as_deref()));
        for node in &graph.node {
            used.extend(node.input.iter().map(String::as_str));
            made.extend(node.output.iter().map(String::as_str));
            graphs.extend(subgraphs(node));
        }
    }
    used.retain(|name| !made.contains(name));
    used
}
