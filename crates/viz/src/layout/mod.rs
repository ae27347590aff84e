//! Layered layout: positions of a graph's nodes so that values flow down, with few crossings and straight long edges.
//!
//! The method is that of Sugiyama, Tagawa and Toda (1981): ranks (`rank`), an order in each rank (`order`), then coordinates
//! (`place`, by Brandes and Köpf 2001). An edge over several ranks has a slot in each; edges of one source share slots as far
//! as possible. A nested group is one node here: `level` lays out each group by itself. Absent: colours and text.

pub(crate) mod level;
mod order;
mod place;
mod rank;

/// Longest edge that is drawn as a line, in ranks. Readers cannot follow longer ones, whose ends name their sources.
pub(crate) const MAX_SPAN: usize = 40;

/// Distance between neighbours of a rank.
const GAP: f64 = 18.0;

/// The input of the layout. Edges go from earlier to later nodes, except for back edges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    pub(crate) nodes: Vec<Box>,
    pub(crate) edges: Vec<(usize, usize)>,
}

/// A node to be placed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Box {
    pub(crate) width: f64,
    pub(crate) end: End,
}

/// Whether a node belongs to a border.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Top,
    Bottom,
    Anywhere,
}

/// A position in a rank.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Slot {
    /// `None` for a slot of a passing edge.
    pub(crate) node: Option<usize>,
    pub(crate) rank: usize,
    /// Horizontal centre.
    pub(crate) x: f64,
    pub(crate) width: f64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// Slots; the first ones are those of the nodes.
    pub(crate) slots: Vec<Slot>,
    /// The slots of each rank from left to right.
    pub(crate) rows: Vec<Vec<usize>>,
    /// The slots of each edge from its upper to its lower end; empty for an edge that is not drawn.
    pub(crate) routes: Vec<Vec<usize>>,
}

/// Lays out a graph, in time nearly linear in the number of slots.
pub(crate) fn layout(flow: &Flow) -> Layout {
    let ranks = rank::ranks(flow);
    let mut slots: Vec<Slot> = flow
        .nodes
        .iter()
        .zip(&ranks)
        .enumerate()
        .map(|(node, (own, &rank))| Slot { node: Some(node), rank, x: 0.0, width: own.width })
        .collect();
    // The slots of edges, shared by those of one source: where it has one in a rank.
    let mut through: Vec<Vec<usize>> = vec![vec![]; flow.nodes.len()];
    let mut routes = vec![];
    for &(from, to) in &flow.edges {
        let (upper, lower) = if ranks[from] <= ranks[to] { (from, to) } else { (to, from) };
        let span = ranks[lower] - ranks[upper];
        if span == 0 || span > MAX_SPAN {
            routes.push(vec![]);
            continue;
        }
        while through[upper].len() + 1 < span {
            let rank = ranks[upper] + through[upper].len() + 1;
            through[upper].push(slots.len());
            slots.push(Slot { node: None, rank, x: 0.0, width: 2.0 });
        }
        let between = through[upper][..span - 1].iter().copied();
        routes.push(std::iter::once(upper).chain(between).chain([lower]).collect());
    }
    let mut rows = vec![vec![]; ranks.iter().map(|rank| rank + 1).max().unwrap_or(0)];
    let near = Neighbours::new(slots.len(), &routes);
    for slot in order::start(&slots, &near) {
        rows[slots[slot].rank].push(slot);
    }
    order::improve(&mut rows, &near);
    place::place(&mut slots, &rows, &near);
    Layout { slots, rows, routes }
}

/// The slots that each slot is connected to, in the ranks above and below.
struct Neighbours {
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
}

impl Neighbours {
    fn new(n: usize, routes: &[Vec<usize>]) -> Neighbours {
        let (mut above, mut below) = (vec![vec![]; n], vec![vec![]; n]);
        for route in routes {
            for pair in route.windows(2) {
                below[pair[0]].push(pair[1]);
                above[pair[1]].push(pair[0]);
            }
        }
        for list in above.iter_mut().chain(&mut below) {
            list.sort_unstable();
            list.dedup();
        }
        Neighbours { above, below }
    }
}

/// Minimum distance between the centres of neighbours.
fn apart(left: &Slot, right: &Slot) -> f64 {
    (left.width + right.width) / 2.0 + GAP
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(n: usize, edges: &[(usize, usize)]) -> Layout {
        let nodes = (0..n).map(|at| Box { width: 20.0 + 7.0 * (at % 5) as f64, end: End::Anywhere }).collect();
        layout(&Flow { nodes, edges: edges.to_vec() })
    }

    /// The invariants of every drawing: lines go down rank by rank, and neighbours do not touch.
    fn is_sound(layout: &Layout) {
        for (rank, row) in layout.rows.iter().enumerate() {
            for pair in row.windows(2) {
                let (left, right) = (&layout.slots[pair[0]], &layout.slots[pair[1]]);
                assert!(right.x - left.x >= apart(left, right) - 1e-6, "{left:?} {right:?}");
            }
            row.iter().for_each(|&slot| assert_eq!(layout.slots[slot].rank, rank));
        }
        for route in &layout.routes {
            for pair in route.windows(2) {
                assert_eq!(layout.slots[pair[0]].rank + 1, layout.slots[pair[1]].rank);
            }
        }
        assert!(layout.slots.iter().all(|slot| slot.x.is_finite()));
    }

    #[test]
    fn a_chain_is_straight() {
        let chain = flow(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        is_sound(&chain);
        assert!(chain.slots.iter().all(|slot| (slot.x - chain.slots[0].x).abs() < 1e-9), "{chain:?}");
    }

    #[test]
    fn a_skipped_rank_has_a_slot() {
        let skip = flow(3, &[(0, 1), (1, 2), (0, 2)]);
        is_sound(&skip);
        assert_eq!((skip.slots.len(), skip.routes[2].len()), (4, 3));
    }

    #[test]
    fn random_graphs_are_sound() {
        let mut random = relayc_base::SplitMix64::new(7, "layout");
        for round in 0..300 {
            let n = 2 + (random.next_u64() % 60) as usize;
            let m = (random.next_u64() % (3 * n as u64)) as usize;
            let edges: Vec<(usize, usize)> = (0..m)
                .map(|_| ((random.next_u64() % n as u64) as usize, (random.next_u64() % n as u64) as usize))
                .filter(|(a, b)| a != b)
                // Some go back.
                .map(|(a, b)| if a < b || round % 7 == 0 { (a, b) } else { (b, a) })
                .collect();
            is_sound(&flow(n, &edges));
        }
    }

    #[test]
    fn crossings_that_need_not_be_are_not_there() {
        let crossed = flow(4, &[(0, 3), (1, 2)]);
        is_sound(&crossed);
        let x = |slot: usize| crossed.slots[slot].x;
        assert_eq!(x(0) < x(1), x(3) < x(2));
    }
}
