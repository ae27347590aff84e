//! Where buffers of the arena lie: offsets by the time for which each is needed.
//!
//! A buffer is needed from the first step that writes it to the last one that names it; one that lies over another
//! ([`super::in_place`]) goes on with its place. Deliberately not here: how offsets are found ([`super::offsets`]).

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

/// Gives every buffer of the arena its place, and those that are kept theirs; and every step its scratch memory, which is
/// needed for that step alone and is known when there is code.
pub fn arrange(plan: &mut Plan) {
    let lives = lives(plan);
    let mut stretches: Vec<Stretch> = vec![];
    // For each buffer of the arena its stretch, which those that lie over each other share.
    let mut of: Vec<Option<usize>> = vec![None; plan.buffers.len()];
    let mut kept = 0;
    for id in plan.buffers.ids() {
        let bytes = plan.buffers[id].bytes().next_multiple_of(ALIGN);
        let root = root(plan, id);
        match (&mut plan.buffers[id].place, lives[id.index()]) {
            (Place::Kept(offset), _) => {
                *offset = kept;
                kept += bytes;
            }
            (Place::Arena(_), Some(Life { first, last })) => {
                let at = *of[root.index()].get_or_insert_with(|| {
                    stretches.push(Stretch { bytes, first, last });
                    stretches.len() - 1
                });
                let stretch = &mut stretches[at];
                (stretch.first, stretch.last) = (stretch.first.min(first), stretch.last.max(last));
                of[id.index()] = Some(at);
            }
            _ => {}
        }
    }
    plan.live_bytes = offsets::live(&stretches);
    let needs: Vec<usize> = (0..plan.scratch.len()).filter(|&at| plan.scratch[at].bytes() > 0 && !plan.steps[at].once).collect();
    let n_buffers = stretches.len();
    let own = |&at: &usize| Stretch { bytes: plan.scratch[at].bytes().next_multiple_of(ALIGN), first: at, last: at };
    stretches.extend(needs.iter().map(own));
    let offsets = offsets::place(&stretches);
    for (id, of) in plan.buffers.ids().zip(of) {
        if let (Place::Arena(offset), Some(of)) = (&mut plan.buffers[id].place, of) {
            *offset = offsets.of[of];
        }
    }
    for (&at, &offset) in needs.iter().zip(&offsets.of[n_buffers..]) {
        plan.scratch[at].at = offset;
    }
    plan.kept_bytes = kept;
    plan.arena_bytes = offsets.bytes;
    plan.needed_bytes = offsets::live(&stretches);
}

/// The first of the buffers that lie over each other.
fn root(plan: &Plan, mut id: BufferId) -> BufferId {
    while let Some(over) = plan.buffers[id].over {
        id = over;
    }
    id
}
