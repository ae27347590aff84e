//! Selects part of a graph: one function, or the neighbourhood of a node.

use super::graph::{Edge, Graph, GroupId, Node, NodeId, NodeKind};
use relayc_base::{Idx, IndexVec};
use std::collections::VecDeque;

impl Graph {
    /// Only the nodes of a function of the module.
    pub fn function(&self, function: GroupId) -> Graph {
        self.kept(|node| self.function_of(node) == function)
    }

    /// The nodes of a name, `%12` or `@f` of a call or an operator's: nodes in variables of that name before nodes with that
    /// label.
    pub fn named(&self, name: &str) -> Vec<NodeId> {
        let by = |of: fn(&Node) -> Option<&str>| -> Vec<NodeId> {
            self.nodes.iter_ids().filter(|(_, node)| of(node) == Some(name)).map(|(id, _)| id).collect()
        };
        let held = by(|node| node.name.as_deref());
        if held.is_empty() { by(|node| Some(&node.label)) } else { held }
    }

    /// The nodes within `depth` edges of a node, in either direction; sources outside become marker nodes.
    pub fn near(&self, centres: &[NodeId], depth: usize) -> Graph {
        let mut beside: IndexVec<NodeId, Vec<NodeId>> = IndexVec::filled(vec![], self.nodes.len());
        for edge in &self.edges {
            beside[edge.from].push(edge.to);
            beside[edge.to].push(edge.from);
        }
        let mut distance: IndexVec<NodeId, Option<usize>> = IndexVec::filled(None, self.nodes.len());
        let mut queue: VecDeque<NodeId> = centres.iter().copied().collect();
        centres.iter().for_each(|&node| distance[node] = Some(0));
        while let Some(node) = queue.pop_front() {
            let next = distance[node].map_or(0, |distance| distance + 1);
            if next > depth {
                continue;
            }
            for &other in &beside[node] {
                if distance[other].is_none() {
                    distance[other] = Some(next);
                    queue.push_back(other);
                }
            }
        }
        let mut cut = self.clone();
        for edge in &self.edges {
            if distance[edge.from].is_some() && distance[edge.to].is_none() {
                cut.nodes[edge.from].n_cut += 1;
            }
        }
        // What feeds the part stays as a name.
        let feeds = |node: NodeId| distance[node].is_none() && beside[node].iter().any(|&other| distance[other].is_some());
        let feeding: Vec<NodeId> =
            self.edges.iter().filter(|edge| distance[edge.to].is_some() && feeds(edge.from)).map(|edge| edge.from).collect();
        for node in feeding {
            distance[node] = Some(usize::MAX);
            let node = &mut cut.nodes[node];
            if node.kind != NodeKind::Input {
                *node = Node { kind: NodeKind::Elsewhere, weights: vec![], attrs: vec![], brief: String::new(), ..node.clone() };
            }
        }
        let elsewhere = |node: NodeId| distance[node] == Some(usize::MAX);
        // What is elsewhere takes nothing here.
        cut.edges.retain(|edge| !elsewhere(edge.to));
        cut.kept(|node| distance[node].is_some())
    }

    /// Some of the nodes, and the edges between them.
    pub(crate) fn kept(&self, keep: impl Fn(NodeId) -> bool) -> Graph {
        let mut out = Graph { groups: self.groups.clone(), ..Graph::default() };
        let new: Vec<Option<NodeId>> =
            self.nodes.iter_ids().map(|(id, node)| keep(id).then(|| out.nodes.push(node.clone()))).collect();
        let of = |node: NodeId| new[node.index()];
        out.edges =
            self.edges.iter().filter_map(|edge| Some(Edge { from: of(edge.from)?, to: of(edge.to)?, ..edge.clone() })).collect();
        out.links =
            self.links.iter().filter_map(|link| Some(super::graph::Link { from: of(link.from)?, ..link.clone() })).collect();
        out
    }
}
