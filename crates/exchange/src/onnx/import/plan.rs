//! Analyses each graph or function once, however often it is converted: needed nodes, tensors as constants, and cost.

use super::super::proto::{FunctionProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, ValueInfoProto};
use super::build::Val;
use super::check::{self, domain_of, subgraphs};
use super::cx::Attributes;
use super::errors;
use super::frame::{Continuation, Frame, Opsets, Plan};
use super::tensors::{Unread, is_of_nibbles};
use super::walk::Walk;
use relayc_base::diag::Diagnostic;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Number of names, attributes or tensors that cost as much as a node.
const PARTS: usize = 16;

/// A tensor of a graph.
#[derive(Clone, Copy)]
enum Stored<'a> {
    Dense(&'a TensorProto),
    Sparse(&'a SparseTensorProto),
}

impl<'a> Stored<'a> {
    fn all(graph: &'a GraphProto) -> impl Iterator<Item = Stored<'a>> {
        graph.initializer.iter().map(Stored::Dense).chain(graph.sparse_initializer.iter().map(Stored::Sparse))
    }

    fn name(self) -> &'a str {
        let proto = match self {
            Stored::Dense(proto) => Some(proto),
            Stored::Sparse(sparse) => sparse.values.as_deref(),
        };
        proto.and_then(|proto| proto.name.as_deref()).unwrap_or_default()
    }
}

impl<'a> Walk<'a> {
    /// The plan of a graph; tensors are read if something may use them.
    pub(crate) fn plan(&mut self, graph: &'a GraphProto) -> Result<Rc<Plan<'a>>, Diagnostic> {
        let key = std::ptr::from_ref(graph);
        if let Some(plan) = self.graphs.get(&key) {
            return Ok(plan.clone());
        }
        let info = |value: &'a ValueInfoProto| Some((value.name.as_deref()?, value.r#type.as_ref()?));
        let outputs: Vec<&str> = graph.output.iter().map(|output| output.name.as_deref().unwrap_or_default()).collect();
        let (needed, wanted) = needed(&graph.node, &outputs);
        let mut tensors = vec![];
        for stored in Stored::all(graph) {
            let name = stored.name();
            let value = if wanted.contains(name) { self.stored(name, stored)? } else { self.poison };
            tensors.push((name, value));
        }
        let plan = Rc::new(Plan {
            nodes: &graph.node,
            needed,
            outputs,
            types: graph.value_info.iter().chain(&graph.output).filter_map(info).collect(),
            tensors,
            cost: cost(&graph.node).saturating_add(entry(graph)),
            entry: entry(graph),
        });
        self.graphs.insert(key, plan.clone());
        Ok(plan)
    }

    /// A tensor of a graph as a constant.
    fn stored(&mut self, name: &'a str, stored: Stored<'a>) -> Result<Val, Diagnostic> {
        let span = self.listing.add_value("initializer", name);
        let tensor = match stored {
            Stored::Dense(proto) => self.gate.tensor(proto),
            Stored::Sparse(proto) => self.gate.sparse(proto, &mut self.b),
        };
        match tensor {
            Ok(tensor) => {
                // A node of another place may be converted.
                let around = std::mem::replace(&mut self.b.span, span);
                let value = self.b.constant(tensor);
                self.b.span = around;
                if matches!(stored, Stored::Dense(proto) if is_of_nibbles(proto)) {
                    self.nibbles.insert(value);
                }
                let name = self.names.free(name);
                self.weights.push((value, name));
                Ok(value)
            }
            Err(Unread::Wrong(error)) => Err(*error),
            Err(Unread::Unsupported(what)) => {
                self.refuse(errors::INITIALIZER, &what, name, span);
                Ok(self.poison)
            }
        }
    }

    /// The plan of a function's body, and its operator sets.
    pub(crate) fn plan_of_function(&mut self, function: &'a FunctionProto) -> Result<(Rc<Plan<'a>>, Opsets), Diagnostic> {
        let key = std::ptr::from_ref(function);
        if let Some(known) = self.bodies.get(&key) {
            return Ok(known.clone());
        }
        let opsets = Rc::new(check::opsets(self.request.name, &function.opset_import)?);
        let outputs: Vec<&str> = function.output.iter().map(String::as_str).collect();
        let (needed, _) = needed(&function.node, &outputs);
        let entry = cost_of([function.input.len(), function.output.len(), function.attribute_proto.len()]);
        let cost = cost(&function.node).saturating_add(entry);
        let (types, tensors) = (FxHashMap::default(), vec![]);
        let plan = Rc::new(Plan { nodes: &function.node, needed, outputs, types, tensors, cost, entry });
        self.bodies.insert(key, (plan.clone(), opsets.clone()));
        Ok((plan, opsets))
    }

    /// A graph with its tensors; its inputs are left to the caller.
    pub(crate) fn frame(
        &mut self,
        graph: &'a GraphProto,
        outer: Option<usize>,
        opsets: Opsets,
        attrs: Rc<Attributes<'a>>,
        after: Continuation<'a>,
    ) -> Result<Frame<'a>, Diagnostic> {
        let plan = self.plan(graph)?;
        self.charge(plan.entry)?;
        let values = plan.tensors.iter().copied().collect();
        Ok(Frame { plan, next: 0, values, outer, lets: vec![], opsets, attrs, may_open: false, after })
    }

    /// The body of a function, with values for its inputs.
    pub(crate) fn body(
        &mut self,
        function: &'a FunctionProto,
        values: FxHashMap<&'a str, Val>,
        attrs: Attributes<'a>,
        after: Continuation<'a>,
    ) -> Result<Frame<'a>, Diagnostic> {
        let (plan, opsets) = self.plan_of_function(function)?;
        self.charge(plan.entry)?;
        let attrs = Rc::new(attrs);
        Ok(Frame { plan, next: 0, values, outer: None, lets: vec![], opsets, attrs, may_open: false, after })
    }
}

/// The nodes that results depend on, and the names that these nodes and their graphs use.
fn needed<'a>(nodes: &'a [NodeProto], outputs: &[&'a str]) -> (Vec<bool>, FxHashSet<&'a str>) {
    let mut wanted: FxHashSet<&str> = outputs.iter().copied().collect();
    let mut needed = vec![false; nodes.len()];
    for (node, needed) in nodes.iter().zip(&mut needed).rev() {
        if !node.output.iter().any(|output| wanted.contains(output.as_str())) {
            continue;
        }
        *needed = true;
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            wanted.extend(node.input.iter().map(String::as_str));
            for graph in subgraphs(node) {
                wanted.extend(graph.output.iter().filter_map(|output| output.name.as_deref()));
                stack.extend(&graph.node);
            }
        }
    }
    (needed, wanted)
}

/// Whether the body of a loop uses the carried value of this number only to append one tensor to it, a sequence; in an `If`, in each of
/// its branches.
pub(crate) fn only_appends(graph: &GraphProto, index: usize) -> bool {
    let before = graph.input.get(index.saturating_add(2)).and_then(|input| input.name.as_deref());
    let after = graph.output.get(index.saturating_add(1)).and_then(|output| output.name.as_deref());
    let (Some(before), Some(after)) = (before, after) else { return false };
    let mut n_appended = 0usize;
    // The graphs that give the longer sequence, each with its name there.
    let mut givers = vec![(graph, after)];
    while let Some((giver, after)) = givers.pop() {
        let place = |node: &NodeProto| node.output.iter().position(|output| output == after);
        let Some((node, place)) = giver.node.iter().find_map(|node| Some((node, place(node)?))) else { return false };
        if n_uses(giver, after) != 1 || !domain_of(&node.domain).is_empty() {
            return false;
        }
        match (node.op_type.as_deref(), &node.input[..]) {
            (Some("SequenceInsert"), [sequence, _]) if sequence == before => n_appended = n_appended.saturating_add(1),
            (Some("If"), _) => {
                for branch in subgraphs(node) {
                    let Some(name) = branch.output.get(place).and_then(|output| output.name.as_deref()) else { return false };
                    givers.push((branch, name));
                }
            }
            _ => return false,
        }
    }
    n_uses(graph, before) == n_appended
}

/// The axis along which the only node that reads a sequence joins its tensors, among the nodes of a graph or a function.
pub(crate) fn joined_along(plan: &Plan, sequence: &str) -> Option<i64> {
    let inside: usize = plan.nodes.iter().flat_map(subgraphs).map(|graph| n_uses(graph, sequence)).sum();
    let mut readers = plan.nodes.iter().filter(|node| node.input.iter().any(|input| input == sequence));
    let (reader, another) = (readers.next()?, readers.next());
    let joins = domain_of(&reader.domain).is_empty() && reader.op_type.as_deref() == Some("ConcatFromSequence");
    if !joins || another.is_some() || inside > 0 || plan.outputs.contains(&sequence) {
        return None;
    }
    let int = |name: &str| reader.attribute.iter().find(|attr| attr.name.as_deref() == Some(name)).map(|attr| attr.i);
    int("axis")?.filter(|_| int("new_axis").is_none_or(|new| new == Some(0)))
}

/// How often a graph and those inside use a value, also as their results.
fn n_uses(graph: &GraphProto, value: &str) -> usize {
    let (mut n, mut stack) = (0usize, vec![graph]);
    while let Some(graph) = stack.pop() {
        let outputs = graph.output.iter().filter_map(|output| output.name.as_deref());
        let used = outputs.chain(graph.node.iter().flat_map(|node| &node.input).map(String::as_str));
        n = n.saturating_add(used.filter(|name| *name == value).count());
        stack.extend(graph.node.iter().flat_map(subgraphs));
    }
    n
}

/// The cost of a node or of a graph's parts, from the number of each kind.
fn cost_of<const N: usize>(parts: [usize; N]) -> usize {
    let n = parts.iter().fold(0usize, |n, &part| n.saturating_add(part));
    n.checked_div(PARTS).unwrap_or(0).saturating_add(1)
}

pub(crate) fn cost_of_node(node: &NodeProto) -> usize {
    cost_of([node.input.len(), node.output.len(), node.attribute.len()])
}

fn entry(graph: &GraphProto) -> usize {
    cost_of([graph.input.len(), graph.output.len(), graph.initializer.len(), graph.sparse_initializer.len()])
}

pub(crate) fn cost_of_model(model: &ModelProto) -> usize {
    let main = model.graph.iter().map(|graph| cost(&graph.node).saturating_add(entry(graph)));
    main.chain(model.functions.iter().map(|function| cost(&function.node))).fold(0, usize::saturating_add)
}

/// The cost of nodes and of their graphs.
fn cost(nodes: &[NodeProto]) -> usize {
    let (mut n, mut stack) = (0usize, vec![nodes]);
    while let Some(nodes) = stack.pop() {
        for node in nodes {
            n = n.saturating_add(cost_of_node(node));
            for graph in subgraphs(node) {
                n = n.saturating_add(entry(graph));
                stack.push(&graph.node);
            }
        }
    }
    n
}
