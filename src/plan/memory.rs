//! Where buffers of the arena lie: offsets by the time for which each is needed.
//!
//! A buffer is needed from the first step that writes it to the last one that names it. Buffers are placed by decreasing size,
//! each at the lowest offset free for all of its time; the head of XNNPACK's `src/memory-planner.c` explains why that is good.
//! The result is sound for any order of placing: two buffers whose times meet never overlap.

use super::{BufferId, Place, Plan};
use crate::base::Idx;

/// Buffers begin at multiples of this many bytes, a cache line.
const ALIGN: u64 = 64;

/// The time a buffer is needed.
#[derive(Clone, Copy)]
struct Life {
    first: usize,
    last: usize,
}

/// Gives every buffer of the arena its place.
pub fn arrange(plan: &mut Plan) {
    let mut lives: Vec<Option<Life>> = vec![None; plan.buffers.len()];
    for (at, step) in plan.steps.iter().enumerate() {
        for &buffer in &step.args {
            let life = lives[buffer.index()].get_or_insert(Life { first: at, last: at });
            life.last = at;
        }
    }
    let mut kept = 0;
    let mut placed: Vec<(u64, u64, Life)> = vec![];
    let mut order: Vec<BufferId> = plan.buffers.iter_ids().map(|(id, _)| id).collect();
    order.sort_by_key(|&id| (std::cmp::Reverse(plan.buffers[id].bytes()), id.index()));
    for id in order {
        let bytes = plan.buffers[id].bytes().next_multiple_of(ALIGN);
        match plan.buffers[id].place {
            Place::Kept(_) => {
                plan.buffers[id].place = Place::Kept(kept);
                kept += bytes;
            }
            Place::Arena(_) => {
                let Some(life) = lives[id.index()] else { continue };
                let offset = free_offset(&placed, life, bytes);
                placed.push((offset, bytes, life));
                placed.sort_by_key(|&(offset, ..)| offset);
                plan.buffers[id].place = Place::Arena(offset);
            }
            _ => {}
        }
    }
    plan.kept_bytes = kept;
    plan.arena_bytes = placed.iter().map(|&(offset, bytes, _)| offset + bytes).max().unwrap_or(0);
    let live =
        |at: usize| placed.iter().filter(|(_, _, life)| life.first <= at && at <= life.last).map(|(_, bytes, _)| bytes).sum();
    plan.live_bytes = (0..plan.steps.len()).map(live).max().unwrap_or(0);
}

/// The lowest offset at which so many bytes are free for all of a time. `placed` is sorted by offset.
fn free_offset(placed: &[(u64, u64, Life)], life: Life, bytes: u64) -> u64 {
    let mut offset = 0;
    for &(from, size, other) in placed {
        let meets = other.first <= life.last && life.first <= other.last;
        if meets && from < offset + bytes && offset < from + size {
            offset = from + size;
        }
    }
    offset
}
