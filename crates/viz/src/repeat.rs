//! Folds repeated blocks: consecutive parts of a group with the same structure.
//!
//! The members of a group form a row. Two items match if they are the same operator with the same number of operands, and their
//! operands correspond. Operands correspond if they come from the same distance back in the row, or from the very same place (a
//! mask that every layer reads). Widths, strides, shapes and weights may differ, as they do between stages. Values that leave a
//! block before the last must be none, or the same for each.
//!
//! A stretch in which every item matches the one `p` before it is a repeated block of `p` items. The stretch that folds the
//! most is taken first, then those beside and inside it. Absent: matching blocks that are not consecutive.

use super::graph::{Amount, Edge, Graph, GroupId, GroupKind, Item, Items, Link, NodeId, NodeKind, Overlay};
use relayc_base::IndexVec;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

/// Maximum length of a block.
const MAX_PERIOD: usize = 400;

/// Maximum number of examined stretches, the best first.
const MAX_FOUND: usize = 20_000;

/// Maximum number of start positions of a block in its stretch.
const MAX_STARTS: usize = 64;

/// Items that each match the one a period before, and the period before them.
#[derive(Clone, Copy)]
struct Stretch {
    start: usize,
    end: usize,
    period: usize,
}

impl Stretch {
    /// Whether it contains another stretch with a multiple of its period.
    fn has(&self, other: &Stretch) -> bool {
        self.start <= other.start && other.end <= self.end && other.period.is_multiple_of(self.period)
    }
}

/// The source of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Operand {
    /// The item of the row, and the node in it; `None` for a source outside the row.
    item: Option<(u32, u32)>,
    from: NodeId,
    /// The node of this item that takes it, and the field of the value.
    to: u32,
    field: u64,
}

/// A repeated block.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Fold {
    start: usize,
    period: usize,
    times: usize,
}

/// Groups the repeated blocks: a [`GroupKind::Repeat`] of [`GroupKind::Iteration`]s.
pub fn fold(graph: &mut Graph) {
    let items = graph.items();
    let mut codes: IndexVec<GroupId, u64> = IndexVec::filled(0, graph.groups.len());
    let incoming = incoming(graph);
    let mut folded = vec![];
    // What is inside first, as what is around is like another by what is in it.
    for group in items.groups().into_iter().rev() {
        let row = Row::new(graph, &items, group, &codes, &incoming);
        folded.push((group, row.folds()));
        codes[group] = row.code(graph, group);
    }
    // What is around first, so that a group is made before those inside it.
    for (group, folds) in folded.into_iter().rev() {
        apply(graph, &items, group, folds);
    }
}

/// The edges into each node.
fn incoming(graph: &Graph) -> IndexVec<NodeId, Vec<u32>> {
    let mut incoming = IndexVec::filled(vec![], graph.nodes.len());
    for (at, edge) in graph.edges.iter().enumerate() {
        incoming[edge.to].push(at as u32);
    }
    incoming
}

/// The members of a group, in a row.
struct Row {
    codes: Vec<u64>,
    operands: Vec<Vec<Operand>>,
    /// Users of each item's values, and the fields that they take.
    users: Vec<Vec<(u32, u64)>>,
    /// Number of values from before each item to it or to later ones.
    crossing: Vec<u32>,
}

impl Row {
    fn new(
        graph: &Graph,
        items: &Items,
        group: GroupId,
        codes: &IndexVec<GroupId, u64>,
        incoming: &IndexVec<NodeId, Vec<u32>>,
    ) -> Row {
        let row = items.of(group);
        let mut place: FxHashMap<NodeId, (u32, u32)> = FxHashMap::default();
        let nodes: Vec<Vec<NodeId>> = row
            .iter()
            .map(|item| match item {
                Item::Node(node) => vec![*node],
                Item::Group(inner) => items.nodes(*inner),
            })
            .collect();
        for (at, nodes) in nodes.iter().enumerate() {
            place.extend(nodes.iter().enumerate().map(|(within, &node)| (node, (at as u32, within as u32))));
        }
        let mut ends = vec![0u32; row.len()];
        let mut operands = vec![];
        let mut users = vec![vec![]; row.len()];
        for (at, nodes) in nodes.iter().enumerate() {
            let mut own = vec![];
            for (to, &node) in nodes.iter().enumerate() {
                for &edge in &incoming[node] {
                    let from = graph.edges[edge as usize].from;
                    let item = place.get(&from).copied();
                    if let Some((source, _)) = item {
                        if source as usize == at {
                            continue;
                        }
                        ends[source as usize] = ends[source as usize].max(at as u32);
                        users[source as usize].push((at as u32, hash(&graph.edges[edge as usize].label)));
                    }
                    own.push(Operand { item, from, to: to as u32, field: hash(&graph.edges[edge as usize].label) });
                }
            }
            operands.push(own);
        }
        let mut crossing = vec![0u32; row.len() + 1];
        let (mut open, mut closing) = (0u32, vec![0u32; row.len() + 1]);
        for (at, &end) in ends.iter().enumerate() {
            crossing[at] = open;
            if end as usize > at {
                open += 1;
                closing[end as usize] += 1;
            }
            open -= closing[at];
        }
        let code = |item: &Item| match item {
            Item::Node(node) => node_code(graph, *node),
            Item::Group(inner) => codes[*inner],
        };
        Row { codes: row.iter().map(code).collect(), operands, users, crossing }
    }

    /// Whether an item matches the one a period before it.
    fn alike(&self, at: usize, period: usize) -> bool {
        let before = at - period;
        if self.codes[at] != self.codes[before] || self.operands[at].len() != self.operands[before].len() {
            return false;
        }
        self.operands[at].iter().zip(&self.operands[before]).all(|(a, b)| {
            let moved = match (a.item, b.item) {
                (Some((x, within_x)), Some((y, within_y))) => {
                    // The first block may begin with what is of another kind: its field does not matter.
                    let same_part = within_x == within_y || self.codes[x as usize] != self.codes[y as usize];
                    same_part && (x as usize).checked_sub(y as usize) == Some(period)
                }
                _ => false,
            };
            a.to == b.to && a.field == b.field && (moved || a.from == b.from)
        })
    }

    /// The disjoint stretches of repeated blocks.
    fn folds(&self) -> Vec<Fold> {
        let n = self.codes.len();
        let mut found: Vec<Fold> = vec![];
        // The stretch of the shortest period over each item: a multiple of that period finds nothing new in it.
        let mut shortest: Vec<Option<Stretch>> = vec![None; n];
        for period in 1..=(n / 2).min(MAX_PERIOD) {
            let mut from = period;
            for at in period..=n {
                if at < n && self.alike(at, period) {
                    continue;
                }
                let stretch = Stretch { start: from - period, end: at, period };
                from = at + 1;
                if stretch.end - stretch.start < 2 * period || shortest[stretch.start].is_some_and(|known| known.has(&stretch)) {
                    continue;
                }
                if let Some(fold) = self.of_stretch(stretch) {
                    shortest[stretch.start..stretch.end].iter_mut().for_each(|own| *own = own.or(Some(stretch)));
                    found.push(fold);
                }
            }
        }
        // What folds away most, then the shorter block, then the earlier.
        found.sort_by_key(|fold| (std::cmp::Reverse((fold.times - 1) * fold.period), fold.period, fold.start));
        found.truncate(MAX_FOUND);
        let mut taken: Vec<Fold> = vec![];
        for fold in found {
            let apart = |other: &Fold| fold.end() <= other.start || other.end() <= fold.start;
            // Inside of one block of another: each of its blocks has it again.
            let inside = |other: &Fold| {
                let within = |at: usize| (at - other.start) / other.period;
                fold.start >= other.start && fold.end() <= other.end() && within(fold.start) == within(fold.end() - 1)
            };
            if taken.iter().all(|other| apart(other) || inside(other)) {
                taken.push(fold);
            }
        }
        taken
    }

    /// The best blocks of one period in a stretch: those with the fewest values between them.
    fn of_stretch(&self, Stretch { start, end, period }: Stretch) -> Option<Fold> {
        let (length, least) = (end - start, if period == 1 { 3 } else { 2 });
        let times = length / period;
        if times < least {
            return None;
        }
        let cost = |start: usize| (0..=times).map(|k| self.crossing.get(start + k * period).copied().unwrap_or(0)).sum::<u32>();
        let whole = |&start: &usize| self.is_tight(&Fold { start, period, times });
        let starts = start..=start + (length - times * period).min(MAX_STARTS);
        let start = starts.filter(whole).min_by_key(|&start| cost(start))?;
        Some(Fold { start, period, times })
    }

    /// Whether only the last block has results, or each has the same ones.
    fn is_tight(&self, fold: &Fold) -> bool {
        let last = fold.end() - fold.period;
        (fold.start..last).all(|at| {
            let later = last + (at - fold.start) % fold.period;
            let leaving = |at: usize| self.users[at].iter().filter(|(user, _)| *user as usize >= fold.end());
            leaving(at).next().is_none() || leaving(at).eq(leaving(later))
        })
    }

    /// A structural hash, for the row that contains the group.
    fn code(&self, graph: &Graph, group: GroupId) -> u64 {
        let mut hasher = FxHasher::default();
        (graph.groups[group].kind, self.codes.len()).hash(&mut hasher);
        for (at, code) in self.codes.iter().enumerate() {
            code.hash(&mut hasher);
            for operand in &self.operands[at] {
                (operand.item, operand.to, operand.field).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

impl Fold {
    fn end(&self) -> usize {
        self.start + self.period * self.times
    }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

fn node_code(graph: &Graph, node: NodeId) -> u64 {
    let node = &graph.nodes[node];
    // Inputs are told apart by their names, patterns are not.
    let label = if node.kind == NodeKind::Pattern { "" } else { &node.label };
    // A convolution of 1x1 is another thing than one of 3x3.
    let attrs = node.attrs.iter().filter(|(name, _)| ["kernel_size", "pool_size", "axis", "axes"].contains(&name.as_str()));
    hash((node.kind, label, node.weights.len(), node.change, attrs.collect::<Vec<_>>()))
}

/// Makes the groups, outer blocks before inner ones.
fn apply(graph: &mut Graph, items: &Items, group: GroupId, mut folds: Vec<Fold>) {
    folds.sort_by_key(|fold| (std::cmp::Reverse(fold.period * fold.times), fold.start));
    // The group that each item is in by now.
    let row = items.of(group);
    let mut holder = vec![group; row.len()];
    for fold in folds {
        let repeat = graph.group(Some(holder[fold.start]), GroupKind::Repeat, format!("{} times", fold.times));
        graph.groups[repeat].times = fold.times;
        for k in 0..fold.times {
            let block = graph.group(Some(repeat), GroupKind::Iteration, format!("{} of {}", k + 1, fold.times));
            let from = fold.start + k * fold.period;
            holder[from..from + fold.period].fill(block);
        }
    }
    for (&item, &holder) in row.iter().zip(&holder) {
        match item {
            Item::Node(node) => graph.nodes[node].group = holder,
            Item::Group(inner) => graph.groups[inner].parent = Some(holder),
        }
    }
}

/// The graph with one block for each repetition. Values that differ between blocks show the first and the last: `64…512`.
pub fn once(graph: &Graph) -> Graph {
    let items = graph.items();
    let repeats: Vec<GroupId> =
        items.groups().into_iter().filter(|&group| graph.groups[group].kind == GroupKind::Repeat).collect();
    // The node of the first block for each of a later one.
    let mut first: IndexVec<NodeId, Option<NodeId>> = IndexVec::filled(None, graph.nodes.len());
    for &repeat in &repeats {
        let blocks: Vec<GroupId> = items
            .of(repeat)
            .iter()
            .filter_map(|item| match item {
                Item::Group(block) => Some(*block),
                Item::Node(_) => None,
            })
            .collect();
        let Some((&head, tail)) = blocks.split_first() else { continue };
        let shown = items.nodes(head);
        for &block in tail {
            for (node, &shown) in items.nodes(block).into_iter().zip(&shown) {
                first[node].get_or_insert(shown);
            }
        }
    }
    let shown = |node: NodeId| std::iter::successors(Some(node), |&node| first[node]).last().unwrap_or(node);
    let mut out = Graph { groups: graph.groups.clone(), ..Graph::default() };
    // The one block that is left needs no border of its own.
    let block_of = |group: GroupId| match graph.groups[group].kind {
        GroupKind::Iteration => graph.groups[group].parent.unwrap_or(group),
        _ => group,
    };
    for group in out.groups.ids() {
        out.groups[group].parent = out.groups[group].parent.map(block_of);
    }
    let mut new: IndexVec<NodeId, Option<NodeId>> = IndexVec::filled(None, graph.nodes.len());
    let mut merged: IndexVec<NodeId, Vec<NodeId>> = IndexVec::filled(vec![], graph.nodes.len());
    for node in graph.nodes.ids() {
        merged[shown(node)].push(node);
    }
    for (node, all) in merged.iter_ids() {
        if first[node].is_none() {
            let mut own = graph.nodes[node].clone();
            own.group = block_of(own.group);
            if let (true, Some(&last)) = (all.len() > 1, all.last()) {
                let last = &graph.nodes[last];
                own.brief = range(&own.brief, &last.brief);
                own.ty = range(&own.ty, &last.ty);
                own.facts.clear();
                let heats = || all.iter().filter_map(|&node| graph.nodes[node].heat);
                let share = heats().map(|heat| heat.share).reduce(f64::max);
                own.heat =
                    share.map(|share| Overlay { share, amount: heats().filter_map(|heat| heat.amount).reduce(Amount::with) });
            }
            new[node] = Some(out.nodes.push(own));
        }
    }
    let mut drawn: FxHashSet<(NodeId, NodeId, &str)> = FxHashSet::default();
    for edge in &graph.edges {
        let (Some(to), Some(from)) = (new[edge.to], new[shown(edge.from)]) else { continue };
        // What a block takes from the one before it is drawn as what the first takes; what the last gives, as the first's.
        let between_blocks = || {
            let common = graph.common(graph.nodes[edge.from].group, graph.nodes[edge.to].group);
            common.is_some_and(|group| graph.groups[group].kind == GroupKind::Repeat)
        };
        if from != to && (shown(edge.from) == edge.from || !between_blocks()) && drawn.insert((from, to, &edge.label)) {
            out.edges.push(Edge { from, to, ..edge.clone() });
        }
    }
    out.links = graph.links.iter().filter_map(|link| Some(Link { from: new[link.from]?, ..link.clone() })).collect();
    out
}

/// Merges two texts that differ only in numbers: `64…512 3×3`. Other texts are listed side by side.
pub(crate) fn range(first: &str, last: &str) -> String {
    if first == last {
        return first.to_owned();
    }
    let (a, b) = (tokens(first), tokens(last));
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let fits = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a == b || (number(a) && number(b)));
    if !fits {
        return format!("{first} … {last}");
    }
    a.iter().zip(&b).map(|(a, b)| if a == b { (*a).to_owned() } else { format!("{a}…{b}") }).collect()
}

/// Splits a text into numbers and the texts between them.
fn tokens(text: &str) -> Vec<&str> {
    let (mut tokens, mut start) = (vec![], 0);
    let mut digits: Option<bool> = None;
    for (at, c) in text.char_indices() {
        let is_digit = c.is_ascii_digit();
        if digits.is_some_and(|digits| digits != is_digit) {
            tokens.push(&text[start..at]);
            start = at;
        }
        digits = Some(is_digit);
    }
    if start < text.len() {
        tokens.push(&text[start..]);
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_a_range() {
        assert_eq!(range("64 3×3", "512 3×3"), "64…512 3×3");
        assert_eq!(range("(1, 64, 56, 56) f32", "(1, 512, 7, 7) f32"), "(1, 64…512, 56…7, 56…7) f32");
        assert_eq!(range("a", "b"), "a … b");
        assert_eq!(range("same", "same"), "same");
    }
}
