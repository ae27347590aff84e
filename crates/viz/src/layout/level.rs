//! Lays out each group by itself: its members, and ports for values that enter at its top and leave at its bottom.
//!
//! A nested group is one node of the layout around it. A value crosses a border at a port, a slot of zero width. The outer line
//! ends at the group, and the inner line begins at the port. So a group can be drawn closed or open without another layout.

use super::{Box, End, Flow, Layout, layout};
use crate::graph::{Graph, GroupId, Item, Items, NodeId};
use relayc_base::IndexVec;
use rustc_hash::{FxHashMap, FxHashSet};

/// A node of a level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Part {
    Item(Item),
    /// The entry port of a node's value.
    In(NodeId),
    /// The exit port of a node's value.
    Out(NodeId),
}

/// A line of a level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wire {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The node of the value; `None` for a link.
    pub(crate) value: Option<NodeId>,
    /// The label at its end.
    pub(crate) label: String,
    pub(crate) back: bool,
}

/// One group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    /// The parts of the first slots of the layout.
    pub(crate) parts: Vec<Part>,
    pub(crate) wires: Vec<Wire>,
    /// The layout; its routes are those of the wires.
    pub(crate) layout: Layout,
    at: FxHashMap<Part, usize>,
}

impl Level {
    pub(crate) fn port(&self, part: Part) -> Option<usize> {
        self.at.get(&part).copied()
    }
}

/// Start, end, value, and label at the end.
type Line = (Part, Part, Option<NodeId>, String);

/// The connections in each group, before sizes are known.
pub(crate) struct Levels<'a> {
    items: &'a Items,
    wires: IndexVec<GroupId, Vec<Line>>,
    /// The links between functions.
    calls: Vec<(GroupId, GroupId, String)>,
}

impl<'a> Levels<'a> {
    pub(crate) fn new(graph: &Graph, items: &'a Items) -> Levels<'a> {
        let mut wires = IndexVec::filled(vec![], graph.groups.len());
        let mut drawn: FxHashSet<(GroupId, Part, Part, Option<NodeId>)> = FxHashSet::default();
        let mut push = |group: GroupId, from: Part, to: Part, value: Option<NodeId>, label: &str| {
            // A second line of a value between the same ends says nothing, but for what it is labelled.
            if drawn.insert((group, from, to, value)) {
                wires[group].push((from, to, value, label.to_owned()));
            }
        };
        for edge in &graph.edges {
            let ends = [edge.from, edge.to].map(|node| graph.nodes[node].group);
            let Some(group) = graph.common(ends[0], ends[1]) else { continue };
            let value = Some(edge.from);
            // Inside of each group that the value leaves, the line to its port; the same for those that it enters.
            let (mut from, mut to) = (Item::Node(edge.from), Item::Node(edge.to));
            for own in graph.around(ends[0]).take_while(|&own| own != group) {
                push(own, Part::Item(from), Part::Out(edge.from), value, "");
                from = Item::Group(own);
            }
            let mut label = edge.label.as_str();
            for own in graph.around(ends[1]).take_while(|&own| own != group) {
                push(own, Part::In(edge.from), Part::Item(to), value, label);
                (to, label) = (Item::Group(own), "");
            }
            push(group, Part::Item(from), Part::Item(to), value, label);
        }
        let mut calls: Vec<(GroupId, GroupId, String)> = vec![];
        let mut met: FxHashSet<(GroupId, GroupId)> = FxHashSet::default();
        for link in &graph.links {
            let group = graph.nodes[link.from].group;
            if graph.groups[link.to].parent == Some(group) && !items.of(link.to).is_empty() {
                push(group, Part::Item(Item::Node(link.from)), Part::Item(Item::Group(link.to)), None, &link.label);
            } else if graph.groups[link.to].parent.is_none() {
                let caller = graph.function_of(link.from);
                if caller != link.to && met.insert((caller, link.to)) {
                    calls.push((caller, link.to, link.label.clone()));
                }
            }
        }
        Levels { items, wires, calls }
    }

    /// Lays out a group, given the widths of its items.
    pub(crate) fn level(&self, group: GroupId, width: impl Fn(Item) -> f64) -> Level {
        let mut parts: Vec<Part> = vec![];
        let wires = &self.wires[group];
        let ports_in = wires.iter().map(|(from, ..)| *from).filter(|part| matches!(part, Part::In(_)));
        parts.extend(ports_in);
        parts.extend(self.items.of(group).iter().map(|&item| Part::Item(item)));
        parts.extend(wires.iter().map(|(_, to, ..)| *to).filter(|part| matches!(part, Part::Out(_))));
        let mut seen = FxHashSet::default();
        parts.retain(|part| seen.insert(*part));
        laid_out(parts, wires, width)
    }

    /// Lays out the functions and their calls.
    pub(crate) fn top(&self, width: impl Fn(Item) -> f64) -> Level {
        let parts = self.items.functions.iter().map(|&function| Part::Item(Item::Group(function))).collect();
        let part = |group: GroupId| Part::Item(Item::Group(group));
        let drawn = self.calls.iter().filter(|(from, to, _)| [from, to].iter().all(|&&end| !self.items.of(end).is_empty()));
        let wires: Vec<_> = drawn.map(|(from, to, label)| (part(*from), part(*to), None, label.clone())).collect();
        laid_out(parts, &wires, width)
    }
}

fn laid_out(parts: Vec<Part>, wires: &[Line], width: impl Fn(Item) -> f64) -> Level {
    let at: FxHashMap<Part, usize> = parts.iter().enumerate().map(|(at, &part)| (part, at)).collect();
    let mut flow = Flow::default();
    for part in &parts {
        flow.nodes.push(match part {
            Part::Item(item) => Box { width: width(*item), end: End::Anywhere },
            Part::In(_) => Box { width: 0.0, end: End::Top },
            Part::Out(_) => Box { width: 0.0, end: End::Bottom },
        });
    }
    let mut kept = vec![];
    for (from, to, value, label) in wires {
        let (Some(&from), Some(&to)) = (at.get(from), at.get(to)) else { continue };
        if from != to {
            flow.edges.push((from, to));
            kept.push(Wire { from, to, value: *value, label: label.clone(), back: from > to });
        }
    }
    Level { layout: layout(&flow), parts, wires: kept, at }
}
