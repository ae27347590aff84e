//! Places the arena's buffers: offsets by live range.
//!
//! A buffer is live from the first step that writes it to the last one that names it. An in-place result ([`super::in_place`])
//! extends its operand's live range. Absent: the search for offsets ([`super::offsets`]).

use super::offsets::{self, Stretch};
use super::{BufferId, Place, Plan};
use relayc_base::Idx;
use std::ops::Range;

/// Alignment of buffers in bytes, a cache line.
const ALIGN: u64 = 64;

/// Places tensors of so many bytes, each with its live range: the offset of each, and the bytes of all.
pub(crate) fn place(tensors: &[(u64, Range<usize>)]) -> (Vec<u64>, u64) {
    let stretch =
        |(bytes, life): &(u64, Range<usize>)| Stretch { bytes: bytes.next_multiple_of(ALIGN), first: life.start, last: life.end };
    let offsets = offsets::place(&tensors.iter().map(stretch).collect::<Vec<_>>());
    (offsets.of, offsets.bytes)
}

/// The live range of a buffer: first and last step.
#[derive(Clone, Copy)]
pub struct Life {
    pub first: usize,
    pub last: usize,
}

/// The live range of each buffer; `None` for buffers that no step names.
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

/// Assigns offsets to all buffers of the arena, to all kept buffers, and to the scratch memory of every step.
///
/// Scratch memory is live for its step alone; its size is known once there is code.
pub(crate) fn arrange(plan: &mut Plan) {
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

/// The first of the buffers that share a place.
fn root(plan: &Plan, mut id: BufferId) -> BufferId {
    while let Some(over) = plan.buffers[id].over {
        id = over;
    }
    id
}
