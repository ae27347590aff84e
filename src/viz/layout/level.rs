//! Each group laid out by itself: what it holds, and where values come in at its top and go out at its bottom.
//!
//! A group inside is one node of the layout around it. A value that crosses a border does so at a port, a slot of no width; the line
//! outside ends at the group, the line inside begins at the port, so a group may be drawn closed or open without another layout.

use super::{Box, End, Flow, Layout, layout};
use crate::base::IndexVec;
use crate::viz::graph::{Graph, GroupId, Item, Items, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A node of a level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    Item(Item),
    /// Where the value of a node comes in.
    In(NodeId),
    /// Where the value of a node goes out.
    Out(NodeId),
}

/// A line of a level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wire {
    pub from: usize,
    pub to: usize,
    /// The node whose value it is; `None` for a link.
    pub value: Option<NodeId>,
    /// What is said at its end.
    pub label: String,
    /// Whether it goes back.
    pub back: bool,
}

/// One group.
#[derive(Clone, Debug, Default)]
pub struct Level {
    /// What the first slots of the layout are.
    pub parts: Vec<Part>,
    pub wires: Vec<Wire>,
    /// The routes are the wires'.
    pub layout: Layout,
    /// Where each part is among them.
    at: FxHashMap<Part, usize>,
}

impl Level {
    /// The slot of a port.
    pub fn port(&self, part: Part) -> Option<usize> {
        self.at.get(&part).copied()
    }
}

/// From where, to where, the value, and what is said at the end.
type Line = (Part, Part, Option<NodeId>, String);

/// What is to be connected in each group, before anything has a size.
pub struct Levels<'a> {
    items: &'a Items,
    wires: IndexVec<GroupId, Vec<Line>>,
    /// The links between functions.
    calls: Vec<(GroupId, GroupId, String)>,
}

impl<'a> Levels<'a> {
    pub fn new(graph: &Graph, items: &'a Items) -> Levels<'a> {
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

    /// A group, its items being so wide.
    pub fn level(&self, group: GroupId, width: impl Fn(Item) -> f64) -> Level {
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

    /// The functions and which calls which.
    pub fn top(&self, width: impl Fn(Item) -> f64) -> Level {
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
