//! Draws a graph as lines of text: a row for each node, lanes of values beside them, repeated blocks once.
//!
//! From the left, a row shows changes, enclosing groups, lanes, and the operator with abbreviated attributes. At the right are
//! the variable, and the type if it differs from the operand's. A fused group is one row. No line exceeds the requested width.

mod lanes;

use super::graph::{Change, Edge, Graph, GroupId, GroupKind, Item, Items, NodeId, NodeKind};
use super::{headline, repeat};
use lanes::{Lanes, MAX_LANES};
use relayc_base::IndexVec;
use relayc_base::text::count;
use rustc_hash::{FxHashMap, FxHashSet};

pub const WIDTH: usize = 80;

/// Maximum indentation of groups.
const MAX_INDENT: usize = 12;

/// Up to this many lanes, texts are aligned.
const ALIGNED_LANES: usize = 6;

/// Draws the graph as text, with repetitions folded, in lines of at most `width` characters.
pub fn term(whole: &Graph, width: usize) -> String {
    let (all, recursive) = (whole.items(), whole.recursive());
    let graph = fused(&repeat::once(whole));
    let items = graph.items();
    if items.functions.is_empty() {
        return "no functions\n".to_owned();
    }
    let mut drawing = Drawing::new(&graph, width.max(40));
    for (at, &function) in items.functions.iter().enumerate() {
        if at > 0 {
            drawing.out.push('\n');
        }
        // What is counted are all blocks, not the one that is drawn.
        let title = title(whole, function, &all.nodes(function), recursive.contains(&function));
        drawing.push(&beside("", &title, "", drawing.width));
        drawing.function(&items, function);
    }
    drawing.out
}

/// `@main: 69 operators, 98 weights`.
fn title(graph: &Graph, function: GroupId, nodes: &[NodeId], is_recursive: bool) -> String {
    let (mut n_operators, mut weights) = (0, FxHashSet::default());
    for node in nodes.iter().map(|&node| &graph.nodes[node]) {
        n_operators += usize::from(node.kind == NodeKind::Operator);
        weights.extend(node.weights.iter().filter(|weight| weight.text.starts_with('%')).map(|weight| &weight.text));
    }
    let mut words = vec![count(n_operators, "operator")];
    if !weights.is_empty() {
        words.push(count(weights.len(), "weight"));
    }
    if is_recursive {
        words.push("calls itself".to_owned());
    }
    format!("{}: {}", graph.groups[function].title, words.join(", "))
}

/// Replaces each fused group by one node.
fn fused(graph: &Graph) -> Graph {
    let items = graph.items();
    let mut ends: IndexVec<NodeId, Option<NodeId>> = IndexVec::filled(None, graph.nodes.len());
    let mut out = graph.clone();
    for group in items.groups() {
        if graph.groups[group].kind != GroupKind::Fused {
            continue;
        }
        let nodes = items.nodes(group);
        let Some(&end) = nodes.last() else { continue };
        // What passes changed inside of it is to be seen.
        if nodes.iter().any(|&node| graph.nodes[node].change != graph.nodes[end].change) {
            continue;
        }
        let labels: Vec<String> = nodes.iter().map(|&node| headline(&graph.nodes[node])).collect();
        let briefs: Vec<&str> =
            nodes.iter().map(|&node| graph.nodes[node].brief.as_str()).filter(|brief| !brief.is_empty()).collect();
        let whole = &mut out.nodes[end];
        whole.weights.clear();
        (whole.label, whole.brief) = (labels.join(" + "), briefs.join(", "));
        whole.group = graph.groups[group].parent.unwrap_or(group);
        nodes.iter().for_each(|&node| ends[node] = Some(end));
    }
    let of = |node: NodeId| ends[node].unwrap_or(node);
    out.edges = graph.edges.iter().map(|edge| Edge { from: of(edge.from), to: of(edge.to), ..edge.clone() }).collect();
    out.edges.retain(|edge| edge.from != edge.to);
    out.kept(|node| of(node) == node)
}

struct Drawing<'a> {
    graph: &'a Graph,
    width: usize,
    incoming: IndexVec<NodeId, Vec<&'a Edge>>,
    /// The sources of its operands, each node once.
    operands: IndexVec<NodeId, Vec<NodeId>>,
    /// Nodes of which something takes another field than the first.
    divided: FxHashSet<NodeId>,
    changed: bool,
    out: String,
}

enum Step {
    Open(GroupId),
    Item(Item),
    Close,
}

impl<'a> Drawing<'a> {
    fn new(graph: &'a Graph, width: usize) -> Drawing<'a> {
        let mut incoming: IndexVec<NodeId, Vec<&Edge>> = IndexVec::filled(vec![], graph.nodes.len());
        let mut operands = IndexVec::filled(vec![], graph.nodes.len());
        let mut met: FxHashSet<(NodeId, NodeId)> = FxHashSet::default();
        for edge in &graph.edges {
            incoming[edge.to].push(edge);
            if met.insert((edge.from, edge.to)) {
                operands[edge.to].push(edge.from);
            }
        }
        let changed = graph.nodes.iter().any(|node| node.change != Change::Kept);
        let divided = graph.edges.iter().filter(|edge| edge.label != ".0" && tells(&edge.label)).map(|edge| edge.from).collect();
        Drawing { graph, width, incoming, operands, divided, changed, out: String::new() }
    }

    fn function(&mut self, items: &Items, function: GroupId) {
        let nodes = items.nodes(function);
        let mut uses: FxHashMap<NodeId, usize> = FxHashMap::default();
        for &node in &nodes {
            self.operands[node].iter().for_each(|&operand| *uses.entry(operand).or_default() += 1);
        }
        // Once to know how many lanes there are, once to draw.
        let mut trial = Lanes::new(uses.clone());
        let drawn = nodes.iter().map(|&node| trial.node(node, &self.operands[node], '●').lines.chars().count());
        let most = drawn.max().unwrap_or(1).min(2 * ALIGNED_LANES - 1);
        let mut lanes = Lanes::new(uses);
        let mut gutter = String::new();
        let mut depth = 0usize;
        let mut stack = vec![];
        stack.extend(items.of(function).iter().rev().map(|&item| Step::Item(item)));
        while let Some(step) = stack.pop() {
            match step {
                Step::Item(Item::Node(node)) => self.node(node, &mut lanes, &gutter, most),
                Step::Item(Item::Group(group)) => stack.push(Step::Open(group)),
                Step::Open(group) => {
                    let framed = self.is_framed(group);
                    if framed {
                        self.frame(&gutter, "╭ ", &lanes.rest(), most, &self.graph.groups[group].title);
                        depth += 1;
                        gutter = "│ ".repeat(depth.min(MAX_INDENT));
                        stack.push(Step::Close);
                    }
                    stack.extend(items.of(group).iter().rev().map(|&item| Step::Item(item)));
                }
                Step::Close => {
                    depth -= 1;
                    gutter = "│ ".repeat(depth.min(MAX_INDENT));
                    self.frame(&gutter, "╰ ", &lanes.rest(), most, "");
                }
            }
        }
    }

    /// Whether a group is drawn with a frame: one block stands for its repetition.
    fn is_framed(&self, group: GroupId) -> bool {
        self.graph.groups[group].kind != GroupKind::Iteration
    }

    fn frame(&mut self, gutter: &str, corner: &str, lines: &str, most: usize, title: &str) {
        let mark = if self.changed { "  " } else { "" };
        let pad = if title.is_empty() { 0 } else { most };
        let line = format!("{mark}{gutter}{corner}{lines:<pad$} {title}");
        self.push(&line);
    }

    fn node(&mut self, id: NodeId, lanes: &mut Lanes, gutter: &str, most: usize) {
        let node = &self.graph.nodes[id];
        let drawn = lanes.node(id, &self.operands[id], mark(node.kind));
        let mut text = headline(node);
        if !node.brief.is_empty() {
            text = format!("{text} {}", node.brief);
        }
        let told = |edge: &&&Edge| tells(&edge.label) && (edge.label != ".0" || self.divided.contains(&edge.from));
        let fields: Vec<&str> = self.incoming[id].iter().filter(told).map(|edge| edge.label.as_str()).collect();
        if !fields.is_empty() {
            text = format!("{text} ‹{}›", fields.join(", "));
        }
        if !drawn.unseen.is_empty() {
            text = format!("{text} ← {}", drawn.unseen.iter().map(|&node| self.name(node)).collect::<Vec<_>>().join(", "));
        }
        if node.n_cut > 0 {
            text = format!("{text} → {} more", node.n_cut);
        }
        let is_new = self.incoming[id].first().is_none_or(|edge| edge.ty != node.ty);
        let own_name = node.name.as_deref().filter(|name| *name != node.label);
        let figure = node.figure();
        let right: Vec<&str> = [figure.as_deref(), own_name, Some(node.ty.as_str()).filter(|ty| is_new && !ty.is_empty())]
            .into_iter()
            .flatten()
            .collect();
        let right = right.join("  ");
        let changed = match (self.changed, node.change) {
            (false, _) => "",
            (true, Change::Kept) => "  ",
            (true, Change::Added) => "+ ",
            (true, Change::Removed) => "- ",
        };
        let left = format!("{changed}{gutter}{:<most$} ", drawn.lines);
        let line = beside(&left, &text, &right, self.width);
        self.push(&line);
    }

    fn name(&self, node: NodeId) -> String {
        let node = &self.graph.nodes[node];
        node.name.clone().unwrap_or_else(|| node.label.clone())
    }

    fn push(&mut self, line: &str) {
        let line: String = line.chars().take(self.width).collect();
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }
}

/// Whether the label of an operand is a field. The first one of a batch normalization is too common to be shown.
fn tells(label: &str) -> bool {
    !label.is_empty() && label != "then" && label != "else"
}

fn mark(kind: NodeKind) -> char {
    match kind {
        NodeKind::Input | NodeKind::Pattern => '○',
        NodeKind::Output => '◎',
        NodeKind::Branch | NodeKind::Join => '◇',
        NodeKind::Call | NodeKind::Closure => '◆',
        NodeKind::Elsewhere => '┄',
        NodeKind::Error => '✗',
        NodeKind::Operator | NodeKind::Constructor | NodeKind::Tuple | NodeKind::Reference => '●',
    }
}

/// A text with another at the right end of the line. If they do not fit, both are truncated, and the first keeps the larger
/// part.
fn beside(left: &str, text: &str, right: &str, width: usize) -> String {
    let length = |text: &str| text.chars().count();
    let room = width.saturating_sub(length(left));
    let cut = |text: &str, room: usize| {
        if length(text) <= room { text.to_owned() } else { text.chars().take(room.saturating_sub(1)).chain(['…']).collect() }
    };
    if right.is_empty() {
        return format!("{left}{}", cut(text, room));
    }
    let right = cut(right, room.saturating_sub(length(text) + 2).max(room * 2 / 5));
    let text = cut(text, room.saturating_sub(length(&right) + 2));
    let gap = room.saturating_sub(length(&text) + length(&right));
    format!("{left}{text}{}{right}", " ".repeat(gap))
}

/// Aligned lanes must exist.
const _: () = assert!(ALIGNED_LANES <= MAX_LANES);
