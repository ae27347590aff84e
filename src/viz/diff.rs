//! Two programs in one picture: what both have once, what only one of them has marked.
//!
//! The nodes of each stand in a row in the order of evaluation, and the rows are compared as the lines of texts are: nodes are the same
//! that are the same operator with the same attributes and operands of the same types, in the same order. What both have is drawn as the
//! second program has it. So every edge goes the way it goes in its own program, and the picture has an order that fits both.

use super::graph::{Change, Edge, Graph, GroupId, Link, Node, NodeId, NodeKind};
use crate::base::{Idx, IndexVec};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::hash::BuildHasher;

/// The second graph with what only the first has beside it.
pub fn compare(before: &Graph, after: &Graph) -> Graph {
    let (old, new) = (row(before), row(after));
    let (old_keys, new_keys) = (keys(before, &old), keys(after, &new));
    let mut out = Graph { groups: after.groups.clone(), ..Graph::default() };
    let mut in_old: IndexVec<NodeId, Option<NodeId>> = IndexVec::filled(None, before.nodes.len());
    let mut in_new: IndexVec<NodeId, Option<NodeId>> = IndexVec::filled(None, after.nodes.len());
    let weights = before.nodes.iter().flat_map(|node| &node.weights).map(|weight| weight.text.as_str());
    let weights: FxHashSet<&str> = weights.collect();
    let mut groups = OldGroups { before, found: FxHashMap::default() };
    for op in capture_diff_slices(Algorithm::Myers, &old_keys, &new_keys) {
        let (gone, come) = (&old[op.old_range()], &new[op.new_range()]);
        if let DiffOp::Equal { .. } = op {
            for (&a, &b) in gone.iter().zip(come) {
                let id = out.nodes.push(after.nodes[b].clone());
                (in_old[a], in_new[b]) = (Some(id), Some(id));
            }
            continue;
        }
        for &a in gone {
            let group = groups.of(&mut out, before.nodes[a].group);
            let node = Node { group, change: Change::Removed, ..before.nodes[a].clone() };
            in_old[a] = Some(out.nodes.push(node));
        }
        for &b in come {
            // A parameter that was a weight was there as well.
            let was_weight = after.nodes[b].kind == NodeKind::Input && weights.contains(after.nodes[b].label.as_str());
            let change = if was_weight { Change::Kept } else { Change::Added };
            in_new[b] = Some(out.nodes.push(Node { change, ..after.nodes[b].clone() }));
        }
    }
    let mut drawn: FxHashSet<(NodeId, NodeId, String)> = FxHashSet::default();
    let mut edge = |edge: &Edge, ends: &IndexVec<NodeId, Option<NodeId>>, out: &mut Graph, only_removed: bool| {
        let (Some(from), Some(to)) = (ends[edge.from], ends[edge.to]) else { return };
        // A value that only the first program passes between nodes that both have would look as if it were there.
        let removed = |node: NodeId| out.nodes[node].change == Change::Removed;
        if (!only_removed || removed(from) || removed(to)) && drawn.insert((from, to, edge.label.clone())) {
            out.edges.push(Edge { from, to, ..edge.clone() });
        }
    };
    after.edges.iter().for_each(|own| edge(own, &in_new, &mut out, false));
    before.edges.iter().for_each(|own| edge(own, &in_old, &mut out, true));
    settle(&mut out);
    for link in &after.links {
        if let Some(from) = in_new[link.from] {
            out.links.push(Link { from, ..link.clone() });
        }
    }
    out
}

/// What is gone stands in the group that it was between two parts of, as a normalisation that became part of a fused group.
fn settle(graph: &mut Graph) {
    let is_gone = |graph: &Graph, node: NodeId| graph.nodes[node].change == Change::Removed;
    // The group that the values of a node come from, and the one that they go to, through others that are gone.
    let mut from: IndexVec<NodeId, Option<GroupId>> = IndexVec::filled(None, graph.nodes.len());
    let mut to = from.clone();
    let (mut incoming, mut outgoing) = (IndexVec::filled(vec![], graph.nodes.len()), IndexVec::filled(vec![], graph.nodes.len()));
    for edge in &graph.edges {
        incoming[edge.to].push(edge.from);
        outgoing[edge.from].push(edge.to);
    }
    let near = |graph: &Graph, known: &IndexVec<NodeId, Option<GroupId>>, others: &[NodeId]| {
        let group = |&other: &NodeId| if is_gone(graph, other) { known[other] } else { Some(graph.nodes[other].group) };
        others.iter().find_map(group)
    };
    for node in graph.nodes.ids() {
        from[node] = near(graph, &from, &incoming[node]);
    }
    for node in graph.nodes.ids().rev() {
        to[node] = near(graph, &to, &outgoing[node]);
    }
    for node in graph.nodes.ids() {
        if let (true, Some(group)) = (is_gone(graph, node) && from[node] == to[node], from[node]) {
            graph.nodes[node].group = group;
        }
    }
}

/// The nodes of a graph, function by function.
fn row(graph: &Graph) -> Vec<NodeId> {
    let items = graph.items();
    items.functions.iter().flat_map(|&function| items.nodes(function)).collect()
}

/// What a node is, as far as it is compared.
fn keys(graph: &Graph, row: &[NodeId]) -> Vec<u64> {
    let mut types: IndexVec<NodeId, Vec<&str>> = IndexVec::filled(vec![], graph.nodes.len());
    for edge in &graph.edges {
        types[edge.to].push(&edge.ty);
    }
    let key = |&id: &NodeId| {
        let node = &graph.nodes[id];
        let weights: Vec<&str> = node.weights.iter().filter(|weight| weight.telling).map(|weight| weight.text.as_str()).collect();
        let function = &graph.groups[graph.function_of(id)].title;
        let text = format!("{function} {:?} {} {:?} {weights:?} {} {:?}", node.kind, node.label, node.attrs, node.ty, types[id]);
        FxBuildHasher.hash_one(text)
    };
    row.iter().map(key).collect()
}

/// Where the groups of the first program are in the picture: a function of the same name, other groups anew.
struct OldGroups<'a> {
    before: &'a Graph,
    found: FxHashMap<GroupId, GroupId>,
}

impl OldGroups<'_> {
    fn of(&mut self, out: &mut Graph, group: GroupId) -> GroupId {
        let chain: Vec<GroupId> = self.before.around(group).collect();
        let mut parent = None;
        for group in chain.into_iter().rev() {
            let own = &self.before.groups[group];
            let known = self.found.get(&group).copied();
            let id = known.unwrap_or_else(|| {
                let same =
                    |id: &GroupId| parent.is_none() && out.groups[*id].parent.is_none() && out.groups[*id].title == own.title;
                let same = out.groups.ids().find(same);
                same.unwrap_or_else(|| out.group(parent, own.kind, own.title.clone()))
            });
            self.found.insert(group, id);
            parent = Some(id);
        }
        parent.unwrap_or(GroupId::from_usize(0))
    }
}
