//! Compares two programs in one picture: common parts once, the others marked.
//!
//! Two nodes are equal if they are at the same place of the text, which passes keep, with the same operator, attributes and
//! operand types. Common nodes are drawn as in the second program; a node of the first program only follows its predecessor
//! there. An edge keeps the direction of its own program. If passes reorder operators, edges of the two may form a cycle.

use super::graph::{Change, Edge, Graph, GroupId, Link, Node, NodeId, NodeKind};
use relayc_base::IndexVec;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::hash::BuildHasher;

/// The second graph, with the parts that only the first has.
pub fn compare(before: &Graph, after: &Graph) -> Graph {
    let (old, new) = (row(before), row(after));
    let same = same(before, &old, after, &new);
    let stay: FxHashSet<NodeId> = same.values().copied().collect();
    // What is gone, behind the last node before it that stays.
    let mut gone: FxHashMap<Option<NodeId>, Vec<NodeId>> = FxHashMap::default();
    let mut last = None;
    for &node in &old {
        if stay.contains(&node) {
            last = Some(node);
        } else {
            gone.entry(last).or_default().push(node);
        }
    }
    let mut out = Graph { groups: after.groups.clone(), ..Graph::default() };
    let mut in_old: IndexVec<NodeId, Option<NodeId>> = IndexVec::filled(None, before.nodes.len());
    let mut in_new: IndexVec<NodeId, Option<NodeId>> = IndexVec::filled(None, after.nodes.len());
    let weights = before.nodes.iter().flat_map(|node| &node.weights).map(|weight| weight.text.as_str());
    let weights: FxHashSet<&str> = weights.collect();
    let mut groups = OldGroups::new(before, after);
    // First what nothing is before.
    for new in std::iter::once(None).chain(new.into_iter().map(Some)) {
        let old = new.and_then(|node| same.get(&node).copied());
        if let Some(new) = new {
            let node = &after.nodes[new];
            // A parameter that was a weight was there as well.
            let was_weight = node.kind == NodeKind::Input && weights.contains(node.label.as_str());
            let change = if old.is_some() || was_weight { Change::Kept } else { Change::Added };
            let id = out.nodes.push(Node { change, ..node.clone() });
            in_new[new] = Some(id);
            if let Some(old) = old {
                in_old[old] = Some(id);
            }
        }
        if new.is_none() || old.is_some() {
            for &gone in gone.get(&old).into_iter().flatten() {
                let group = groups.of(&mut out, before.nodes[gone].group);
                let node = Node { group, change: Change::Removed, ..before.nodes[gone].clone() };
                in_old[gone] = Some(out.nodes.push(node));
            }
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
    // The calls and the branches that are gone lead to what they led to.
    for link in &before.links {
        if let Some(from) = in_old[link.from].filter(|&from| out.nodes[from].change == Change::Removed) {
            let to = groups.of(&mut out, link.to);
            out.links.push(Link { from, to, label: link.label.clone() });
        }
    }
    out
}

/// Moves removed nodes into the group between whose parts they were, such as a normalization that became part of a fused group.
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

/// Maps nodes of the second graph to equal nodes of the first.
fn same(before: &Graph, old: &[NodeId], after: &Graph, new: &[NodeId]) -> FxHashMap<NodeId, NodeId> {
    let mut waiting: FxHashMap<u64, VecDeque<NodeId>> = FxHashMap::default();
    for (&node, key) in old.iter().zip(keys(before, old)) {
        waiting.entry(key).or_default().push_back(node);
    }
    let found = |(&node, key): (&NodeId, u64)| Some((node, waiting.get_mut(&key)?.pop_front()?));
    new.iter().zip(keys(after, new)).filter_map(found).collect()
}

/// Comparison keys of nodes.
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
        FxBuildHasher.hash_one((text, node.span))
    };
    row.iter().map(key).collect()
}

/// The groups of the first program in the picture: a function of the same name, or a new group.
struct OldGroups<'a> {
    before: &'a Graph,
    functions: FxHashMap<&'a str, GroupId>,
    found: FxHashMap<GroupId, GroupId>,
}

impl<'a> OldGroups<'a> {
    fn new(before: &'a Graph, after: &'a Graph) -> OldGroups<'a> {
        let functions = after.groups.iter_ids().filter(|(_, group)| group.parent.is_none());
        let functions = functions.map(|(id, group)| (group.title.as_str(), id)).collect();
        OldGroups { before, functions, found: FxHashMap::default() }
    }

    fn of(&mut self, out: &mut Graph, group: GroupId) -> GroupId {
        if let Some(&found) = self.found.get(&group) {
            return found;
        }
        let chain: Vec<GroupId> = self.before.around(group).collect();
        let mut around = None;
        for group in chain.into_iter().rev() {
            let own = &self.before.groups[group];
            let function = || self.functions.get(own.title.as_str()).copied().filter(|_| around.is_none());
            let known = self.found.get(&group).copied().or_else(function);
            let id = known.unwrap_or_else(|| out.group(around, own.kind, own.title.clone()));
            self.found.insert(group, id);
            around = Some(id);
        }
        around.expect("a group is around itself")
    }
}
