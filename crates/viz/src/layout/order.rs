//! Orders each rank: sweeps down and up move every slot to the mean position of its neighbours while crossings decrease.

use super::{Neighbours, Slot};

/// Maximum number of sweeps; large drawings get fewer.
const SWEEPS: usize = 16;

/// Maximum number of sweeps without improvement.
const PATIENCE: usize = 4;

/// From this many slots on there are few sweeps.
const MANY: usize = 20_000;

/// The slots in the order of a walk down from the first one, so that neighbours start side by side.
pub(crate) fn start(slots: &[Slot], near: &Neighbours) -> Vec<usize> {
    let mut by_rank: Vec<usize> = (0..slots.len()).collect();
    by_rank.sort_by_key(|&slot| slots[slot].rank);
    let mut met = vec![false; slots.len()];
    let (mut order, mut stack) = (vec![], vec![]);
    for first in by_rank {
        stack.push(first);
        while let Some(slot) = stack.pop() {
            if !std::mem::replace(&mut met[slot], true) {
                order.push(slot);
                stack.extend(near.below[slot].iter().rev().filter(|&&next| !met[next]));
            }
        }
    }
    order
}

/// Reorders each row.
pub(crate) fn improve(rows: &mut Vec<Vec<usize>>, near: &Neighbours) {
    let n_slots: usize = rows.iter().map(Vec::len).sum();
    let mut position = vec![0usize; near.above.len()];
    let fill = |rows: &[Vec<usize>], position: &mut Vec<usize>| {
        for row in rows {
            row.iter().enumerate().for_each(|(at, &slot)| position[slot] = at);
        }
    };
    fill(rows, &mut position);
    let mut best = rows.clone();
    let mut fewest = crossings(rows, near, &position);
    let (mut waited, sweeps) = (0, if n_slots > MANY { 4 } else { SWEEPS });
    for sweep in 0..sweeps {
        if fewest == 0 || waited >= PATIENCE {
            break;
        }
        let down = sweep % 2 == 0;
        let n_rows = rows.len();
        for step in 1..n_rows {
            let at = if down { step } else { n_rows - 1 - step };
            let beside = if down { &near.above } else { &near.below };
            reorder(&mut rows[at], beside, &mut position, sweep % 4 >= 2);
        }
        let now = crossings(rows, near, &position);
        if now < fewest {
            (fewest, waited) = (now, 0);
            best.clone_from(rows);
        } else {
            waited += 1;
        }
    }
    *rows = best;
}

/// Sorts a row by the mean position of each slot's neighbours in the adjacent row; slots without neighbours stay in place.
fn reorder(row: &mut [usize], beside: &[Vec<usize>], position: &mut [usize], later_first: bool) {
    let mean = |slot: usize| {
        let near = &beside[slot];
        let sum: usize = near.iter().map(|&other| position[other]).sum();
        (!near.is_empty()).then(|| sum as f64 / near.len() as f64)
    };
    let mut moving: Vec<(f64, usize, usize)> =
        row.iter().enumerate().filter_map(|(at, &slot)| mean(slot).map(|mean| (mean, at, slot))).collect();
    // Of equals, every other sweep turns the order round, which frees what is stuck.
    moving.sort_by(|a, b| a.0.total_cmp(&b.0).then(if later_first { b.1.cmp(&a.1) } else { a.1.cmp(&b.1) }));
    let mut next = moving.into_iter();
    for slot in row.iter_mut() {
        if !beside[*slot].is_empty() {
            *slot = next.next().map_or(*slot, |(_, _, slot)| slot);
        }
    }
    row.iter().enumerate().for_each(|(at, &slot)| position[slot] = at);
}

/// Number of crossing pairs of lines.
fn crossings(rows: &[Vec<usize>], near: &Neighbours, position: &[usize]) -> u64 {
    let mut total = 0;
    for pair in rows.windows(2) {
        // Lines from left to right; those before one that end to the right of it cross it (a Fenwick tree counts them).
        let mut tree = vec![0u64; pair[1].len() + 1];
        let mut drawn = 0u64;
        for &slot in &pair[0] {
            let mut ends: Vec<usize> = near.below[slot].iter().map(|&other| position[other]).collect();
            ends.sort_unstable();
            for &end in &ends {
                let (mut at, mut before) = (end + 1, 0);
                while at > 0 {
                    before += tree[at];
                    at &= at - 1;
                }
                total += drawn - before;
            }
            for end in ends {
                let mut at = end + 1;
                while at < tree.len() {
                    tree[at] += 1;
                    at += at & at.wrapping_neg();
                }
                drawn += 1;
            }
        }
    }
    total
}
