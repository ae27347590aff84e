//! Offsets for stretches of memory that are needed for a time each: those whose times meet never overlap.
//!
//! The least memory is hard to find (dynamic storage allocation), so stretches are placed one after the other at the lowest
//! offset that is free for all of their time, in several orders; the head of XNNPACK's `src/memory-planner.c` explains why
//! decreasing size is a good one. From the best of them on, stretches are drawn forward in the order as long as the effort is
//! small. What cannot be undercut is the largest sum of sizes at one time: reaching it ends the search. Deliberately not
//! here: whose the stretches are.

use crate::base::SplitMix64;
use std::cmp::Reverse;

/// A stretch, and the steps from which to which it is needed, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    pub bytes: u64,
    pub first: usize,
    pub last: usize,
}

/// Where stretches lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offsets {
    /// Of each stretch.
    pub of: Vec<u64>,
    /// Where the furthest ends.
    pub bytes: u64,
}

/// Pairs of stretches whose times meet are listed up to so many; with more of them only one order is tried.
const MAX_PAIRS: usize = 1 << 21;

/// So many looks at a stretch beside another, in all orders together: some milliseconds.
const EFFORT: usize = 1 << 21;

/// So many orders after each other may bring nothing.
const PATIENCE: usize = 500;

/// Places stretches. The result depends on nothing else.
pub fn place(stretches: &[Stretch]) -> Offsets {
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

/// The largest sum of sizes at one time.
pub fn live(stretches: &[Stretch]) -> u64 {
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

/// Places one after the other, each at the lowest offset that is free for all of its time. `others` are those that one meets.
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

/// For each stretch the others whose times meet its own.
struct Meeting {
    starts: Vec<u32>,
    others: Vec<u32>,
}

impl Meeting {
    /// `None` where there are too many.
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
    /// No order can need less.
    least: u64,
    /// How much effort is left.
    left: usize,
    best: Offsets,
    /// The order of the best.
    order: Vec<u32>,
}

impl Search<'_> {
    /// The sizes of a stretch and of all that it meets.
    fn around(&self, at: u32) -> u64 {
        let others = self.meeting.others(at).iter().map(|&other| self.stretches[other as usize].bytes);
        self.stretches[at as usize].bytes + others.sum::<u64>()
    }

    /// Whether an order is at least as good as the best, which it then is.
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

    /// Draws a stretch that ends highest, or one that it meets, forward in the order, as long as that brings something.
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
