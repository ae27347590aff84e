//! Allocates offsets for memory blocks with live ranges; blocks that are live at one time never overlap.
//!
//! Minimal memory is a hard problem (dynamic storage allocation). Blocks are placed one after the other at the lowest offset
//! that is free for their live range, in several orders. The head of XNNPACK's `src/memory-planner.c` explains why decreasing
//! size is a good one. Then blocks move forward in the best order while the effort stays small. The largest total size at one
//! time is a lower bound; reaching it ends the search. Absent: the owners of the blocks.

use relayc_base::SplitMix64;
use std::cmp::Reverse;

/// A block, with the first and the last step of its live range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    pub(crate) bytes: u64,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Offsets of blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Offsets {
    /// Offset of each block.
    pub(crate) of: Vec<u64>,
    /// End of the furthest block.
    pub(crate) bytes: u64,
}

/// Maximum number of listed pairs of interfering blocks; with more pairs only one order is tried.
const MAX_PAIRS: usize = 1 << 21;

/// Maximum number of comparisons of two blocks, in all orders together: some milliseconds.
const EFFORT: usize = 1 << 21;

/// Maximum number of consecutive orders without improvement.
const PATIENCE: usize = 500;

/// Places blocks. The result depends on the arguments alone.
pub(crate) fn place(stretches: &[Stretch]) -> Offsets {
    let mut order: Vec<u32> = (0..stretches.len() as u32).collect();
    let stretch = |at: u32| stretches[at as usize];
    order.sort_by_key(|&at| Reverse(stretch(at).bytes));
    let Some(meeting) = Meeting::of(stretches) else {
        return in_order(stretches, &order, |at| {
            let other = |other: &u32| meet(stretch(at), stretch(*other));
            (0..stretches.len() as u32).filter(other).collect::<Vec<u32>>()
        });
    };
    let start = Offsets { of: vec![], bytes: u64::MAX };
    let mut search = Search { stretches, meeting, least: live(stretches), left: EFFORT, best: start, order: vec![] };
    let time = |at: u32| (stretch(at).last - stretch(at).first + 1) as u64;
    search.attempt(order.clone());
    order.sort_by_key(|&at| Reverse(stretch(at).bytes.saturating_mul(time(at))));
    search.attempt(order.clone());
    order.sort_by_key(|&at| Reverse(time(at)));
    search.attempt(order.clone());
    order.sort_by_key(|&at| stretch(at).first);
    search.attempt(order.clone());
    order.sort_by_key(|&at| Reverse(search.around(at)));
    search.attempt(order);
    search.improve();
    search.best
}

fn meet(a: Stretch, b: Stretch) -> bool {
    a.first <= b.last && b.first <= a.last
}

/// Largest total size at one time.
pub(crate) fn live(stretches: &[Stretch]) -> u64 {
    let begins = stretches.iter().map(|stretch| (stretch.first, true, stretch.bytes));
    let ends = stretches.iter().map(|stretch| (stretch.last + 1, false, stretch.bytes));
    let mut changes: Vec<(usize, bool, u64)> = begins.chain(ends).collect();
    // What is needed no longer goes before what is needed from this step on.
    changes.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, begins, bytes) in changes {
        now = if begins { now + bytes } else { now - bytes };
        most = most.max(now);
    }
    most
}

/// Places blocks in this order, each at the lowest offset that is free for its live range. `others` lists the interfering
/// blocks.
fn in_order<Others: AsRef<[u32]>>(stretches: &[Stretch], order: &[u32], others: impl Fn(u32) -> Others) -> Offsets {
    let mut offsets = Offsets { of: vec![u64::MAX; stretches.len()], bytes: 0 };
    let mut taken: Vec<(u64, u64)> = vec![];
    for &at in order {
        taken.clear();
        let placed = others(at);
        let placed = placed.as_ref().iter().map(|&other| (offsets.of[other as usize], stretches[other as usize].bytes));
        taken.extend(placed.filter(|&(offset, _)| offset != u64::MAX));
        taken.sort_unstable();
        let (mut offset, bytes) = (0, stretches[at as usize].bytes);
        for &(from, size) in &taken {
            if offset + bytes <= from {
                break;
            }
            offset = offset.max(from + size);
        }
        offsets.of[at as usize] = offset;
        offsets.bytes = offsets.bytes.max(offset + bytes);
    }
    offsets
}

/// The interference lists of blocks.
struct Meeting {
    starts: Vec<u32>,
    others: Vec<u32>,
}

impl Meeting {
    /// `None` if there are too many pairs.
    fn of(stretches: &[Stretch]) -> Option<Meeting> {
        let mut by_first: Vec<u32> = (0..stretches.len() as u32).collect();
        by_first.sort_by_key(|&at| stretches[at as usize].first);
        let (mut pairs, mut active): (Vec<(u32, u32)>, Vec<u32>) = (vec![], vec![]);
        for at in by_first {
            active.retain(|&other| stretches[other as usize].last >= stretches[at as usize].first);
            if pairs.len() + 2 * active.len() > MAX_PAIRS {
                return None;
            }
            pairs.extend(active.iter().flat_map(|&other| [(at, other), (other, at)]));
            active.push(at);
        }
        pairs.sort_unstable();
        let mut starts = vec![0; stretches.len() + 1];
        pairs.iter().for_each(|&(at, _)| starts[at as usize + 1] += 1);
        for at in 0..stretches.len() {
            starts[at + 1] += starts[at];
        }
        Some(Meeting { starts, others: pairs.into_iter().map(|(_, other)| other).collect() })
    }

    fn others(&self, at: u32) -> &[u32] {
        &self.others[self.starts[at as usize] as usize..self.starts[at as usize + 1] as usize]
    }
}

/// The search for a good order.
struct Search<'a> {
    stretches: &'a [Stretch],
    meeting: Meeting,
    /// A lower bound for every order.
    least: u64,
    /// Remaining effort.
    left: usize,
    best: Offsets,
    /// The best order.
    order: Vec<u32>,
}

impl Search<'_> {
    /// Total size of a block and of all blocks that interfere with it.
    fn around(&self, at: u32) -> u64 {
        let others = self.meeting.others(at).iter().map(|&other| self.stretches[other as usize].bytes);
        self.stretches[at as usize].bytes + others.sum::<u64>()
    }

    /// Tries an order and keeps it if it is at least as good as the best.
    fn attempt(&mut self, order: Vec<u32>) -> bool {
        let effort = self.stretches.len() + self.meeting.others.len();
        if self.best.bytes <= self.least || self.left < effort && !self.order.is_empty() {
            return false;
        }
        self.left = self.left.saturating_sub(effort);
        let found = in_order(self.stretches, &order, |at| self.meeting.others(at));
        let good = found.bytes <= self.best.bytes;
        if good {
            (self.best, self.order) = (found, order);
        }
        good
    }

    /// Moves a block with the highest end, or one that interferes with it, forward in the order, while that helps.
    fn improve(&mut self) {
        let mut random = SplitMix64::new(1, "offsets");
        let mut patience = PATIENCE;
        while patience > 0 && self.best.bytes > self.least && self.left > self.stretches.len() + self.meeting.others.len() {
            let before = self.best.bytes;
            let ends = |at: &u32| self.best.of[*at as usize] + self.stretches[*at as usize].bytes == before;
            let Some(place) = self.order.iter().position(ends) else { return };
            let mut choose = |n: usize| (random.next_u64() % n.max(1) as u64) as usize;
            let others = self.meeting.others(self.order[place]);
            let drawn = match choose(others.len() + 2).checked_sub(2) {
                Some(other) => self.order.iter().position(|&at| at == others[other]).unwrap_or(place),
                None => place,
            };
            let to = choose(drawn + 1);
            let mut order = self.order.clone();
            order[to..=drawn].rotate_right(1);
            self.attempt(order);
            patience = if self.best.bytes < before { PATIENCE } else { patience - 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stretches: &[Stretch], offsets: &Offsets) {
        for (a, first) in stretches.iter().enumerate() {
            assert!(offsets.of[a] + first.bytes <= offsets.bytes);
            for (b, second) in stretches.iter().enumerate().skip(a + 1) {
                let apart = offsets.of[a] + first.bytes <= offsets.of[b] || offsets.of[b] + second.bytes <= offsets.of[a];
                assert!(apart || !meet(*first, *second) || first.bytes * second.bytes == 0, "{first:?} and {second:?} overlap");
            }
        }
    }

    fn random(n: usize, longest: usize, seed: u64) -> Vec<Stretch> {
        let mut random = SplitMix64::new(seed, "stretches");
        let mut below = |n: usize| (random.next_u64() % n as u64) as usize;
        let mut one = |_| {
            let first = below(n);
            Stretch { bytes: 64 * below(100) as u64, first, last: first + below(longest) }
        };
        (0..n).map(&mut one).collect()
    }

    #[test]
    fn nothing_needs_nothing() {
        assert_eq!(place(&[]), Offsets { of: vec![], bytes: 0 });
        assert_eq!((live(&[]), place(&[Stretch { bytes: 0, first: 0, last: 3 }]).bytes), (0, 0));
    }

    #[test]
    fn a_chain_takes_its_largest_pair() {
        let chain: Vec<Stretch> =
            (0..1000).map(|at| Stretch { bytes: 64 * (1 + at as u64 % 7), first: at, last: at + 1 }).collect();
        let offsets = place(&chain);
        check(&chain, &offsets);
        assert_eq!((offsets.bytes, live(&chain)), (64 * 13, 64 * 13));
    }

    #[test]
    fn stretches_that_meet_never_overlap_and_the_result_is_near_what_must_be() {
        for seed in 0..60 {
            let stretches = random(1 + seed as usize * 3, 1 + seed as usize % 9, seed);
            let offsets = place(&stretches);
            check(&stretches, &offsets);
            let least = live(&stretches);
            assert!(
                offsets.bytes >= least && offsets.bytes as f64 <= 1.1 * least as f64,
                "seed {seed}: {} of {least}",
                offsets.bytes
            );
            assert_eq!(place(&stretches), offsets);
        }
    }

    #[test]
    fn an_order_that_size_alone_misses_is_found() {
        // By size, the 5 takes the floor on both sides of which the 4s could have lain.
        let of = |bytes, first, last| Stretch { bytes, first, last };
        let stretches = [of(4, 0, 2), of(2, 2, 5), of(5, 3, 4), of(4, 5, 7), of(3, 1, 3), of(1, 4, 6)];
        let offsets = place(&stretches);
        check(&stretches, &offsets);
        assert_eq!(offsets.bytes, live(&stretches));
    }

    #[test]
    fn many_that_all_meet_are_placed_too() {
        let all: Vec<Stretch> = (0..1500).map(|at| Stretch { bytes: 64 + at as u64, first: 0, last: 2000 }).collect();
        assert!(Meeting::of(&all).is_none());
        let offsets = place(&all);
        assert_eq!(offsets.bytes, live(&all));
        check(&all, &offsets);
    }
}
