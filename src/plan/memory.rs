//! Where buffers of the arena lie: offsets by the time for which each is needed.
//!
//! A buffer is needed from the first step that writes it to the last one that names it. Deliberately not here: how offsets are
//! found ([`super::offsets`]).

use super::offsets::{self, Stretch};
use super::{BufferId, Place, Plan};
use crate::base::Idx;

/// Buffers begin at multiples of this many bytes, a cache line.
const ALIGN: u64 = 64;

/// The time a buffer is needed: from the one step to the other.
#[derive(Clone, Copy)]
pub struct Life {
    pub first: usize,
    pub last: usize,
}

/// The time of each buffer; none for those that no step names.
pub fn lives(plan: &Plan) -> Vec<Option<Life>> {
    let mut lives: Vec<Option<Life>> = vec![None; plan.buffers.len()];
    for (at, step) in plan.steps.iter().enumerate() {
        for &buffer in &step.args {
            let life = lives[buffer.index()].get_or_insert(Life { first: at, last: at });
            life.last = at;
        }
    }
    lives
}

/// Gives every buffer of the arena its place, and those that are kept theirs.
pub fn arrange(plan: &mut Plan) {
    let lives = lives(plan);
    let (mut ids, mut stretches): (Vec<BufferId>, Vec<Stretch>) = (vec![], vec![]);
    let mut kept = 0;
    for id in plan.buffers.ids() {
        let buffer = &mut plan.buffers[id];
        let bytes = buffer.bytes().next_multiple_of(ALIGN);
        match (&mut buffer.place, lives[id.index()]) {
            (Place::Kept(offset), _) => {
                *offset = kept;
                kept += bytes;
            }
            (Place::Arena(_), Some(Life { first, last })) => {
                ids.push(id);
                stretches.push(Stretch { bytes, first, last });
            }
            _ => {}
        }
    }
    let offsets = offsets::place(&stretches);
    for (&id, &offset) in ids.iter().zip(&offsets.of) {
        plan.buffers[id].place = Place::Arena(offset);
    }
    plan.kept_bytes = kept;
    plan.arena_bytes = offsets.bytes;
    plan.live_bytes = offsets::live(&stretches);
}
