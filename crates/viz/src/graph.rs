//! The drawn graph: nodes, edges between them, and nested groups of nodes.
//!
//! A group is a function, a closure, a fused group, a branch, or a repeated block. Nodes are in evaluation order, except for
//! nodes that a later step adds. An edge against that order is valid and is drawn as a back edge. Operands without a node
//! (weights, constants, names of functions) are listed at the node that takes them. Absent: positions in the drawing.

use relayc_base::index_type;
use relayc_base::{Idx, IndexVec, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

index_type! {
    pub struct NodeId;
}
index_type! {
    pub struct GroupId;
}

/// Declares an enum, with a name in files for each variant.
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            pub(crate) fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }
    };
}

#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub nodes: IndexVec<NodeId, Node>,
    pub groups: IndexVec<GroupId, Group>,
    /// Edges; those into one node are in the order of its operands.
    pub(crate) edges: Vec<Edge>,
    /// Links without a value: from a branch to its cases, from a call to the function.
    pub links: Vec<Link>,
}

named! {
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum NodeKind {
        /// A parameter.
        Input = "input",
        /// A function's result.
        Output = "output",
        Operator = "operator",
        /// A call of a function.
        Call = "call",
        Constructor = "constructor",
        Tuple = "tuple",
        /// A function as a value.
        Closure = "closure",
        /// The decision of an `if` or a `match`.
        Branch = "branch",
        /// The result of the taken case.
        Join = "join",
        /// A pattern that destructures a value.
        Pattern = "pattern",
        /// A reference: made, read or written.
        Reference = "reference",
        /// An expression that was not understood.
        Error = "error",
        /// A node outside the picture that flows into it.
        Elsewhere = "elsewhere",
    }
}

named! {
    /// Colour families of operators, by their role in fusion.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Family {
        /// Contractions: convolutions, dense layers.
        Products = "products",
        /// Elementwise operators.
        Elements = "elements",
        /// Operators that move elements.
        Moves = "moves",
        Reduction = "reduction",
        /// Anything else.
        Other = "other",
    }
}

/// Whether something is in only one of two programs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Change {
    #[default]
    Kept,
    Removed,
    Added,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) group: GroupId,
    pub kind: NodeKind,
    pub(crate) family: Family,
    /// The operator, `@f` of a call, the name of an input.
    pub label: String,
    /// Abbreviated attributes: `64 3×3 /2`.
    pub(crate) brief: String,
    /// The attributes with non-default values, as Relay text writes them.
    pub(crate) attrs: Vec<(String, String)>,
    pub(crate) weights: Vec<Weight>,
    /// The variable that holds it: `%12`.
    pub name: Option<String>,
    /// The abbreviated type, empty if unknown: `(1, 64, 56, 56) f32`.
    pub(crate) ty: String,
    pub span: Span,
    pub change: Change,
    /// Number of its users outside the picture.
    pub(crate) n_cut: usize,
    /// Other facts in words, such as a time.
    pub facts: Vec<(String, String)>,
    /// Its cost in the profile overlay, if it was measured or planned.
    pub heat: Option<Overlay>,
}

/// The cost of a node in the profile overlay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Overlay {
    /// Fraction of the most expensive node's cost, from 0 to 1.
    pub share: f64,
    /// `None` if another node of the same group states it.
    pub amount: Option<Amount>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    Ms(f64),
    Bytes(u64),
}

impl Amount {
    /// In words: `0.125 ms`, `1.5 MiB`.
    pub(crate) fn text(self) -> String {
        match self {
            Amount::Ms(ms) => format!("{ms:.3} ms"),
            Amount::Bytes(bytes) => relayc_base::text::bytes(bytes),
        }
    }

    /// The total of consecutive blocks: times add up, memory is reused.
    pub(crate) fn with(self, other: Amount) -> Amount {
        match (self, other) {
            (Amount::Ms(a), Amount::Ms(b)) => Amount::Ms(a + b),
            (Amount::Bytes(a), Amount::Bytes(b)) => Amount::Bytes(a.max(b)),
            (own, _) => own,
        }
    }
}

impl Node {
    pub(crate) fn figure(&self) -> Option<String> {
        self.heat?.amount.map(Amount::text)
    }
}

/// An operand without a node: a weight, a constant, the name of a function.
#[derive(Clone, Debug)]
pub(crate) struct Weight {
    /// The operator's name for the operand; empty without one.
    pub(crate) arg: String,
    pub(crate) text: String,
    pub(crate) ty: String,
    /// Whether to show it in small pictures: true for operands of the computation, false for trained numbers.
    pub(crate) telling: bool,
}

/// An edge: a value that flows from node to node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    /// The field of the value, or its role: `.0`, `then`.
    pub(crate) label: String,
    /// The abbreviated type of the value.
    pub(crate) ty: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    pub from: NodeId,
    pub to: GroupId,
    pub(crate) label: String,
}

named! {
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum GroupKind {
        /// A function of the module.
        Function = "function",
        /// A function literal at its call.
        Inline = "inline",
        /// A function literal that is one kernel.
        Fused = "fused",
        /// A function literal as a value.
        Closure = "closure",
        /// An `if` or a `match`.
        Choice = "choice",
        /// One of its cases.
        Case = "case",
        /// Consecutive blocks of one structure.
        Repeat = "repeat",
        /// One of those blocks.
        Iteration = "iteration",
    }
}

#[derive(Clone, Debug)]
pub struct Group {
    /// `None` for a function of the module.
    pub(crate) parent: Option<GroupId>,
    pub kind: GroupKind,
    pub title: String,
    /// Number of blocks of a repetition.
    pub(crate) times: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Item {
    Node(NodeId),
    Group(GroupId),
}

/// The members of each group, in an order in which values flow forward if possible; excludes groups without a node.
pub(crate) struct Items {
    of: IndexVec<GroupId, Vec<Item>>,
    pub(crate) functions: Vec<GroupId>,
}

impl Items {
    pub(crate) fn of(&self, group: GroupId) -> &[Item] {
        &self.of[group]
    }

    /// All non-empty groups, each before those inside it.
    pub(crate) fn groups(&self) -> Vec<GroupId> {
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

    /// The first node of a non-empty group.
    pub(crate) fn first(&self, mut group: GroupId) -> Option<NodeId> {
        loop {
            match self.of[group].first()? {
                Item::Node(node) => return Some(*node),
                Item::Group(inside) => group = *inside,
            }
        }
    }

    /// The nodes in a group and its nested groups, in order.
    pub(crate) fn nodes(&self, group: GroupId) -> Vec<NodeId> {
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
    pub(crate) fn group(&mut self, parent: Option<GroupId>, kind: GroupKind, title: impl Into<String>) -> GroupId {
        self.groups.push(Group { parent, kind, title: title.into(), times: 1 })
    }

    /// A group and its enclosing groups, innermost first.
    pub(crate) fn around(&self, group: GroupId) -> impl Iterator<Item = GroupId> + '_ {
        std::iter::successors(Some(group), |&group| self.groups[group].parent)
    }

    /// Number of enclosing groups.
    pub(crate) fn depth(&self, group: GroupId) -> usize {
        self.around(group).count() - 1
    }

    /// The innermost group that contains both, if one does.
    pub(crate) fn common(&self, mut a: GroupId, mut b: GroupId) -> Option<GroupId> {
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

    /// The direct member of a group that is or contains a node. `None` stands for the group outside of all, whose members are
    /// the functions.
    pub(crate) fn item_of(&self, node: NodeId, within: Option<GroupId>) -> Item {
        let own = self.nodes[node].group;
        if Some(own) == within {
            return Item::Node(node);
        }
        let top = self.around(own).find(|&group| self.groups[group].parent == within);
        top.map_or(Item::Node(node), Item::Group)
    }

    /// The function of the module that contains a node.
    pub(crate) fn function_of(&self, node: NodeId) -> GroupId {
        self.around(self.nodes[node].group).last().expect("a group is around itself")
    }

    /// The group in which an edge is drawn, and its two members that the edge connects; `None` for an edge between functions.
    pub(crate) fn ends(&self, edge: &Edge) -> Option<(GroupId, Item, Item)> {
        let group = self.common(self.nodes[edge.from].group, self.nodes[edge.to].group)?;
        Some((group, self.item_of(edge.from, Some(group)), self.item_of(edge.to, Some(group))))
    }

    /// The members of each group.
    pub(crate) fn items(&self) -> Items {
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

    /// Gives a value the type of its field, if only one field is used: for a batch normalization, the normalized data.
    pub(crate) fn show_used_fields(&mut self) {
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

    /// The functions that call themselves directly.
    pub(crate) fn recursive(&self) -> FxHashSet<GroupId> {
        let calls_own = |link: &&Link| self.around(self.nodes[link.from].group).any(|around| around == link.to);
        self.links.iter().filter(calls_own).map(|link| link.to).collect()
    }
}

/// Sorts items so that edges go forward; in a cycle, the first item goes first.
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
