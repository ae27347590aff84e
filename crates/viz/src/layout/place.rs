//! Horizontal coordinates (U. Brandes, B. Köpf: Fast and Simple Horizontal Coordinate Assignment, 2001).
//!
//! Slots are aligned with a median neighbour in four ways, from above or below and from the left or the right. Each alignment
//! forms columns, which are placed as near to each other as possible. A slot goes to the mean of the two middle ones of its
//! four positions. At crossings, lines between two passing slots stay straight. A minimum distance that all four keep also
//! holds for the mean.

use super::{Neighbours, Slot, apart};
use rustc_hash::FxHashSet;

type Pair = (usize, usize);

pub(crate) fn place(slots: &mut [Slot], rows: &[Vec<usize>], near: &Neighbours) {
    let mut position = vec![0usize; slots.len()];
    for row in rows {
        row.iter().enumerate().for_each(|(at, &slot)| position[slot] = at);
    }
    let conflicts = conflicts(slots, rows, near, &position);
    let mut all: Vec<Vec<f64>> = vec![];
    for from_below in [false, true] {
        for from_right in [false, true] {
            let mut turned: Vec<Vec<usize>> = rows.to_vec();
            if from_below {
                turned.reverse();
            }
            if from_right {
                turned.iter_mut().for_each(|row| row.reverse());
            }
            let beside = if from_below { &near.below } else { &near.above };
            let root = align(&turned, beside, &conflicts, slots.len());
            let mut xs = compact(slots, &turned, &root);
            if from_right {
                xs.iter_mut().for_each(|x| *x = -*x);
            }
            all.push(xs);
        }
    }
    balance(slots, all);
}

/// The lines that cross an inner line, which connects two slots of passing edges. They are not aligned.
fn conflicts(slots: &[Slot], rows: &[Vec<usize>], near: &Neighbours, position: &[usize]) -> FxHashSet<Pair> {
    let mut found = FxHashSet::default();
    let is_inner = |upper: usize, lower: usize| slots[upper].node.is_none() && slots[lower].node.is_none();
    for pair in rows.windows(2) {
        let (mut scanned, mut low) = (0, 0);
        for (at, &slot) in pair[1].iter().enumerate() {
            let inner = near.above[slot].iter().copied().find(|&upper| is_inner(upper, slot));
            if inner.is_none() && at + 1 < pair[1].len() {
                continue;
            }
            let high = inner.map_or(pair[0].len(), |upper| position[upper]);
            for &other in &pair[1][scanned..=at] {
                for &upper in &near.above[other] {
                    let lies = position[upper];
                    if (lies < low || lies > high) && !is_inner(upper, other) {
                        found.insert((upper, other));
                    }
                }
            }
            (scanned, low) = (at + 1, high);
        }
    }
    found
}

/// The first slot of each slot's column.
fn align(rows: &[Vec<usize>], beside: &[Vec<usize>], conflicts: &FxHashSet<Pair>, n: usize) -> Vec<usize> {
    let mut position = vec![0usize; n];
    for row in rows {
        row.iter().enumerate().for_each(|(at, &slot)| position[slot] = at);
    }
    let mut root: Vec<usize> = (0..n).collect();
    let mut taken = vec![false; n];
    for row in rows.iter().skip(1) {
        let mut last: Option<usize> = None;
        for &slot in row {
            let mut near = beside[slot].clone();
            near.sort_by_key(|&other| position[other]);
            let Some(end) = near.len().checked_sub(1) else { continue };
            for middle in [end / 2, end.div_ceil(2)] {
                let other = near[middle];
                let crosses = conflicts.contains(&(other, slot)) || conflicts.contains(&(slot, other));
                if root[slot] == slot && !taken[other] && !crosses && last.is_none_or(|last| last < position[other]) {
                    root[slot] = root[other];
                    taken[other] = true;
                    last = Some(position[other]);
                }
            }
        }
    }
    root
}

/// Places columns as far left as possible, then moves those with room to their right.
fn compact(slots: &[Slot], rows: &[Vec<usize>], root: &[usize]) -> Vec<f64> {
    let n = slots.len();
    let (mut right, mut waits) = (vec![Vec::<(usize, f64)>::new(); n], vec![0u32; n]);
    for row in rows {
        for pair in row.windows(2) {
            let (a, b) = (root[pair[0]], root[pair[1]]);
            right[a].push((b, apart(&slots[pair[0]], &slots[pair[1]])));
            waits[b] += 1;
        }
    }
    let mut order: Vec<usize> = (0..n).filter(|&slot| root[slot] == slot && waits[slot] == 0).collect();
    let mut xs = vec![0.0f64; n];
    let mut at = 0;
    while let Some(&column) = order.get(at) {
        at += 1;
        for &(other, distance) in &right[column] {
            xs[other] = xs[other].max(xs[column] + distance);
            waits[other] -= 1;
            if waits[other] == 0 {
                order.push(other);
            }
        }
    }
    for &column in order.iter().rev() {
        let room = right[column].iter().map(|&(other, distance)| xs[other] - distance).fold(f64::INFINITY, f64::min);
        if room.is_finite() {
            xs[column] = xs[column].max(room);
        }
    }
    (0..n).map(|slot| xs[root[slot]]).collect()
}

/// Aligns the four placements with the narrowest one, and takes the mean of the middle two.
fn balance(slots: &mut [Slot], mut all: Vec<Vec<f64>>) {
    let ends = |xs: &[f64]| {
        let sides = xs.iter().zip(slots.iter());
        sides.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (x, slot)| {
            (low.min(x - slot.width / 2.0), high.max(x + slot.width / 2.0))
        })
    };
    let widths: Vec<(f64, f64)> = all.iter().map(|xs| ends(xs)).collect();
    let Some(narrow) = (0..all.len()).min_by(|&a, &b| (widths[a].1 - widths[a].0).total_cmp(&(widths[b].1 - widths[b].0))) else {
        return;
    };
    for (at, xs) in all.iter_mut().enumerate() {
        // Every other one is pushed to the right.
        let by = if at % 2 == 1 { widths[narrow].1 - widths[at].1 } else { widths[narrow].0 - widths[at].0 };
        if by.is_finite() {
            xs.iter_mut().for_each(|x| *x += by);
        }
    }
    for (at, slot) in slots.iter_mut().enumerate() {
        let mut four: Vec<f64> = all.iter().map(|xs| xs[at]).collect();
        four.sort_by(f64::total_cmp);
        slot.x = (four[1] + four[2]) / 2.0;
    }
    let left = slots.iter().map(|slot| slot.x - slot.width / 2.0).fold(f64::INFINITY, f64::min);
    slots.iter_mut().for_each(|slot| slot.x -= left);
}
