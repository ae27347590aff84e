//! The graph that is drawn: nodes, what flows between them, and groups of nodes one inside the other.
//!
//! A group is a function, a closure, a fused group, a branch, or a block that repeats. Nodes stand in the order of evaluation, but
//! for those that a later step adds; an edge that goes back in that order is no mistake, only drawn as one that goes back. What a
//! picture has no node for (weights, constants, names of functions) is said with the node that takes it. Deliberately not here:
//! where things are drawn.

use crate::base::{Idx, IndexVec, Span};
use crate::index_type;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

index_type! {
    /// A node.
    pub struct NodeId;
}
index_type! {
    /// A group of nodes.
    pub struct GroupId;
}

/// What is drawn.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub nodes: IndexVec<NodeId, Node>,
    pub groups: IndexVec<GroupId, Group>,
    /// Those into one node are in the order of its operands.
    pub edges: Vec<Edge>,
    /// What is no flow of values: from a branch to its cases, from a call to the function.
    pub links: Vec<Link>,
}

/// What a node stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NodeKind {
    /// A parameter.
    Input,
    /// A function's result.
    Output,
    Operator,
    /// A call of a function.
    Call,
    Constructor,
    Tuple,
    /// A function as a value.
    Closure,
    /// Where an `if` or a `match` decides.
    Branch,
    /// What comes of the case that was taken.
    Join,
    /// What a pattern takes apart.
    Pattern,
    /// A cell: made, read or written.
    Reference,
    /// What was not understood.
    Error,
    /// What is not part of the picture, but flows into it.
    Elsewhere,
}

impl NodeKind {
    /// One word, for files.
    pub fn word(self) -> &'static str {
        match self {
            NodeKind::Input => "input",
            NodeKind::Output => "output",
            NodeKind::Operator => "operator",
            NodeKind::Call => "call",
            NodeKind::Constructor => "constructor",
            NodeKind::Tuple => "tuple",
            NodeKind::Closure => "closure",
            NodeKind::Branch => "branch",
            NodeKind::Join => "join",
            NodeKind::Pattern => "pattern",
            NodeKind::Reference => "reference",
            NodeKind::Error => "error",
            NodeKind::Elsewhere => "elsewhere",
        }
    }
}

/// How operators differ in colour: what they are to fusion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Sums of products: convolutions, dense layers.
    Products,
    /// Element by element.
    Elements,
    /// Elements are moved.
    Moves,
    Reduction,
    /// Anything else.
    Other,
}

impl Family {
    pub fn word(self) -> &'static str {
        match self {
            Family::Products => "products",
            Family::Elements => "elements",
            Family::Moves => "moves",
            Family::Reduction => "reduction",
            Family::Other => "other",
        }
    }
}

/// Whether something is in one of two programs only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Change {
    #[default]
    Kept,
    Removed,
    Added,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub group: GroupId,
    pub kind: NodeKind,
    pub family: Family,
    /// The operator, `@f` of a call, the name of an input.
    pub label: String,
    /// The attributes in brief: `64 3×3 /2`.
    pub brief: String,
    /// The attributes that are not their defaults, as Relay text writes them.
    pub attrs: Vec<(String, String)>,
    pub weights: Vec<Weight>,
    /// The variable that holds it: `%12`.
    pub name: Option<String>,
    /// The type in brief, empty where it is not known: `(1, 64, 56, 56) f32`.
    pub ty: String,
    pub span: Span,
    pub change: Change,
    /// How many of its users are not in the picture.
    pub n_cut: usize,
    /// What else is known of it, such as a time; in words.
    pub facts: Vec<(String, String)>,
    /// What it takes, if that was measured or planned.
    pub heat: Option<Heat>,
}

/// What a node takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Heat {
    /// Beside the node that takes most: from 0 to 1.
    pub share: f64,
    /// None where another node of the same group says it.
    pub amount: Option<Amount>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    Ms(f64),
    Bytes(u64),
}

impl Amount {
    /// In words: `0.125 ms`, `1.5 MiB`.
    pub fn text(self) -> String {
        match self {
            Amount::Ms(ms) => format!("{ms:.3} ms"),
            Amount::Bytes(bytes @ 0..1024) => format!("{bytes} B"),
            Amount::Bytes(bytes @ 1024..1_048_576) => format!("{:.1} KiB", bytes as f64 / 1024.0),
            Amount::Bytes(bytes) => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        }
    }

    /// What blocks that follow each other take: times add up, and memory is used again.
    pub fn with(self, other: Amount) -> Amount {
        match (self, other) {
            (Amount::Ms(a), Amount::Ms(b)) => Amount::Ms(a + b),
            (Amount::Bytes(a), Amount::Bytes(b)) => Amount::Bytes(a.max(b)),
            (own, _) => own,
        }
    }
}

impl Node {
    /// What it takes, in words.
    pub fn figure(&self) -> Option<String> {
        self.heat?.amount.map(Amount::text)
    }
}

/// An operand without a node: a weight, a constant, the name of a function.
#[derive(Clone, Debug)]
pub struct Weight {
    /// What the operator calls the operand; empty where it has no name.
    pub arg: String,
    pub text: String,
    pub ty: String,
    /// Whether it is worth room in a picture: what the operator computes with, as opposed to trained numbers.
    pub telling: bool,
}

/// A value that flows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    pub from: NodeId,
    pub to: NodeId,
    /// The field of the value, or the part it plays: `.0`, `then`.
    pub label: String,
    /// The type of what flows, in brief.
    pub ty: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    pub from: NodeId,
    pub to: GroupId,
    pub label: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GroupKind {
    /// A function of the module.
    Function,
    /// A function literal where it is called.
    Inline,
    /// A function literal that is one kernel.
    Fused,
    /// A function literal as a value.
    Closure,
    /// An `if` or a `match`.
    Choice,
    /// One of its cases.
    Case,
    /// Blocks of one structure, each after the other.
    Repeat,
    /// One of them.
    Iteration,
}

impl GroupKind {
    /// One word, for files.
    pub fn word(self) -> &'static str {
        match self {
            GroupKind::Function => "function",
            GroupKind::Inline => "inline",
            GroupKind::Fused => "fused",
            GroupKind::Closure => "closure",
            GroupKind::Choice => "choice",
            GroupKind::Case => "case",
            GroupKind::Repeat => "repeat",
            GroupKind::Iteration => "iteration",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Group {
    /// None of a function of the module.
    pub parent: Option<GroupId>,
    pub kind: GroupKind,
    pub title: String,
    /// How many blocks a repetition has, were they all drawn.
    pub times: usize,
}

/// What a group directly holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Item {
    Node(NodeId),
    Group(GroupId),
}

/// What each group holds, in an order in which values flow forward wherever they can; groups without a node are in none.
pub struct Items {
    of: IndexVec<GroupId, Vec<Item>>,
    pub functions: Vec<GroupId>,
}

impl Items {
    pub fn of(&self, group: GroupId) -> &[Item] {
        &self.of[group]
    }

    /// All groups that hold something, each before those inside it.
    pub fn groups(&self) -> Vec<GroupId> {
        let mut order = vec![];
        let mut stack: Vec<GroupId> = self.functions.iter().rev().copied().collect();
        while let Some(group) = stack.pop() {
            order.push(group);
            let inside = self.of[group].iter().rev().filter_map(|item| match item {
                Item::Group(inner) => Some(*inner),
                Item::Node(_) => None,
            });
            stack.extend(inside);
        }
        order
    }

    /// The first node of a group that holds something.
    pub fn first(&self, mut group: GroupId) -> Option<NodeId> {
        loop {
            match self.of[group].first()? {
                Item::Node(node) => return Some(*node),
                Item::Group(inside) => group = *inside,
            }
        }
    }

    /// The nodes in a group and in those inside it, in order.
    pub fn nodes(&self, group: GroupId) -> Vec<NodeId> {
        let (mut nodes, mut stack) = (vec![], vec![Item::Group(group)]);
        while let Some(item) = stack.pop() {
            match item {
                Item::Node(node) => nodes.push(node),
                Item::Group(group) => stack.extend(self.of[group].iter().rev()),
            }
        }
        nodes
    }
}

impl Graph {
    pub fn group(&mut self, parent: Option<GroupId>, kind: GroupKind, title: impl Into<String>) -> GroupId {
        self.groups.push(Group { parent, kind, title: title.into(), times: 1 })
    }

    /// The groups around a group and itself, the innermost first.
    pub fn around(&self, group: GroupId) -> impl Iterator<Item = GroupId> + '_ {
        std::iter::successors(Some(group), |&group| self.groups[group].parent)
    }

    /// How many groups are around a group.
    pub fn depth(&self, group: GroupId) -> usize {
        self.around(group).count() - 1
    }

    /// The innermost group that holds both, if one does.
    pub fn common(&self, mut a: GroupId, mut b: GroupId) -> Option<GroupId> {
        let (mut above, mut below) = (self.depth(a), self.depth(b));
        while a != b {
            if above >= below {
                (a, above) = (self.groups[a].parent?, above.saturating_sub(1));
            } else {
                (b, below) = (self.groups[b].parent?, below - 1);
            }
        }
        Some(a)
    }

    /// What a group directly holds of which a node is, or is a part. `None` for the group outside of all: then it is the function.
    pub fn item_of(&self, node: NodeId, within: Option<GroupId>) -> Item {
        let own = self.nodes[node].group;
        if Some(own) == within {
            return Item::Node(node);
        }
        let top = self.around(own).find(|&group| self.groups[group].parent == within);
        top.map_or(Item::Node(node), Item::Group)
    }

    /// The function of the module that a node is in.
    pub fn function_of(&self, node: NodeId) -> GroupId {
        self.around(self.nodes[node].group).last().expect("a group is around itself")
    }

    /// The group in which an edge is drawn between two things that it holds, and these; none for one between two functions.
    pub fn ends(&self, edge: &Edge) -> Option<(GroupId, Item, Item)> {
        let group = self.common(self.nodes[edge.from].group, self.nodes[edge.to].group)?;
        Some((group, self.item_of(edge.from, Some(group)), self.item_of(edge.to, Some(group))))
    }

    /// What each group holds.
    pub fn items(&self) -> Items {
        let mut of: IndexVec<GroupId, Vec<Item>> = IndexVec::filled(vec![], self.groups.len());
        let mut functions = vec![];
        let mut met = vec![false; self.groups.len()];
        // In the order in which the first node of each is met.
        for (node, Node { group, .. }) in self.nodes.iter_ids() {
            let mut item = Item::Node(node);
            for group in self.around(*group) {
                of[group].push(item);
                if std::mem::replace(&mut met[group.index()], true) {
                    break;
                }
                item = Item::Group(group);
                if self.groups[group].parent.is_none() {
                    functions.push(group);
                }
            }
        }
        let mut flows: IndexVec<GroupId, Vec<(Item, Item)>> = IndexVec::filled(vec![], self.groups.len());
        for edge in &self.edges {
            if let Some((group, from, to)) = self.ends(edge) {
                flows[group].push((from, to));
            }
        }
        for link in &self.links {
            let from = self.nodes[link.from].group;
            if self.groups[link.to].parent == Some(from) {
                flows[from].push((Item::Node(link.from), Item::Group(link.to)));
            }
        }
        for group in of.ids() {
            let items = std::mem::take(&mut of[group]);
            of[group] = sorted(items, &flows[group]);
        }
        Items { of, functions }
    }

    /// A value of which only one field is used has that field's type: of a batch normalisation, the normalised data.
    pub fn show_used_fields(&mut self) {
        let mut used: IndexVec<NodeId, Option<(&str, &str)>> = IndexVec::filled(None, self.nodes.len());
        let mut several = vec![false; self.nodes.len()];
        for edge in &self.edges {
            let field = (edge.label.as_str(), edge.ty.as_str());
            several[edge.from.index()] |= used[edge.from].is_some_and(|used| used != field);
            used[edge.from] = Some(field);
        }
        for (id, node) in self.nodes.ids().zip(used.iter()) {
            if let Some((field, ty)) = node
                && field.starts_with('.')
                && !several[id.index()]
            {
                self.nodes[id].ty = (*ty).to_owned();
            }
        }
    }

    /// The functions that call themselves, directly.
    pub fn recursive(&self) -> FxHashSet<GroupId> {
        let calls_own = |link: &&Link| self.around(self.nodes[link.from].group).any(|around| around == link.to);
        self.links.iter().filter(calls_own).map(|link| link.to).collect()
    }
}

/// The items so that flows go forward; where they go round, the first of the items goes first.
fn sorted(items: Vec<Item>, flows: &[(Item, Item)]) -> Vec<Item> {
    let position: FxHashMap<Item, u32> = items.iter().enumerate().map(|(at, &item)| (item, at as u32)).collect();
    let mut users: Vec<Vec<u32>> = vec![vec![]; items.len()];
    let mut waits = vec![0u32; items.len()];
    for (from, to) in flows {
        let (Some(&from), Some(&to)) = (position.get(from), position.get(to)) else { continue };
        if from != to {
            users[from as usize].push(to);
            waits[to as usize] += 1;
        }
    }
    let mut ready: BinaryHeap<Reverse<u32>> =
        (0..items.len() as u32).filter(|&at| waits[at as usize] == 0).map(Reverse).collect();
    let mut done = vec![false; items.len()];
    let (mut order, mut first) = (Vec::with_capacity(items.len()), 0);
    while order.len() < items.len() {
        let at = match ready.pop() {
            Some(Reverse(at)) => at as usize,
            None => {
                while done[first] {
                    first += 1;
                }
                first
            }
        };
        if std::mem::replace(&mut done[at], true) {
            continue;
        }
        order.push(items[at]);
        for &user in &users[at] {
            waits[user as usize] -= 1;
            if waits[user as usize] == 0 {
                ready.push(Reverse(user));
            }
        }
    }
    order
}
