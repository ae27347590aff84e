//! The constants of a program and what is computed once of them, as long as somebody reads them.
//!
//! Weights that are packed are read by loading only. Each of them goes as soon as it is packed, so that a
//! program's weights are in memory once: packed, or as they came where a kernel or an evaluation reads them like that.

use super::assemble::{Launch, Packed};
use super::index;
use crate::base::Idx;
use crate::plan::{Buffer, BufferId, ConstId, Place, Plan, Step};
use crate::sys;
use crate::tensor::{Data, Tensor, with_array};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// How long constants stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// As long as the program, for who compares what it computes.
    All,
    /// Those that a run reads.
    Read,
}

/// The tensors of buffers that are constants.
pub struct Constants {
    /// For each buffer its constant, while there is one.
    of: Vec<Option<Tensor>>,
    /// For each buffer that no run reads how many steps of loading have still to read it.
    readers: Vec<Option<usize>>,
}

impl Constants {
    /// The constants of a plan, taken from `values`. Nobody else should have those that are to go.
    pub fn new(plan: &Plan, launches: &[Launch], mut values: FxHashMap<ConstId, Tensor>, keep: Keep) -> Constants {
        let readers = if keep == Keep::All { vec![None; plan.buffers.len()] } else { readers(plan, launches) };
        let id_of = |buffer: &Buffer| if let Place::Const(id) = buffer.place { Some(id) } else { None };
        let mut n_left: FxHashMap<ConstId, usize> = FxHashMap::default();
        plan.buffers.iter().filter_map(id_of).for_each(|id| *n_left.entry(id).or_default() += 1);
        let mut take = |(buffer, readers): (&Buffer, &Option<usize>)| {
            if let Place::Table(at) = buffer.place {
                return Some(index::tensor(&plan.tables[at]));
            }
            let id = id_of(buffer)?;
            let left = n_left.get_mut(&id)?;
            *left -= 1;
            let value = if *left == 0 { values.remove(&id) } else { values.get(&id).cloned() };
            value.filter(|_| *readers != Some(0)).map(in_order)
        };
        let of = plan.buffers.iter().zip(&readers).map(&mut take).collect();
        Constants { of, readers }
    }

    /// The constant of a buffer, if it is one that is still there.
    pub fn tensor(&self, id: BufferId) -> Option<&Tensor> {
        self.of[id.index()].as_ref()
    }

    /// Where a constant's elements lie; null where there are none.
    pub fn address(&self, id: BufferId) -> *mut u8 {
        self.tensor(id).map_or(std::ptr::null_mut(), address)
    }

    /// Lets go the constants that no other step of loading than those that are done and this one reads. Answers which other
    /// buffers nobody reads any more.
    pub fn done(&mut self, step: &Step) -> Vec<BufferId> {
        let mut others = vec![];
        for &id in distinct(step) {
            if let Some(readers) = &mut self.readers[id.index()] {
                *readers -= 1;
                if *readers == 0 && self.of[id.index()].take().is_none() {
                    others.push(id);
                }
            }
        }
        others
    }

    /// Whether the step at hand is the last of loading that reads a buffer, which no run reads.
    pub fn is_last(&self, id: BufferId) -> bool {
        self.readers[id.index()] == Some(1)
    }

    /// Gives the memory of the first elements of a constant back, before it goes as a whole; what they were is lost.
    pub fn give_back(&mut self, id: BufferId, n: usize) {
        if let Some(Tensor { data: Data::F32(array) }) = &mut self.of[id.index()]
            && array.is_unique()
            && let Some(elements) = array.as_slice_mut()
        {
            let n = n.min(elements.len());
            sys::give_back_pages(&mut elements[..n]);
        }
    }

    /// Whether a buffer was read by loading only.
    pub fn is_gone(&self, id: BufferId) -> bool {
        self.readers[id.index()].is_some()
    }

    /// The bytes of the constants that are there.
    pub fn bytes(&self) -> u64 {
        self.of.iter().flatten().map(|tensor| tensor.len() as u64 * tensor.dtype().bytes()).sum()
    }
}

/// The order in which loading does steps: weights that only have to be packed first, the largest of them first, so that where
/// most is packed already the smallest are in memory twice; then the steps as they are.
pub fn order(plan: &Plan, launches: &[Launch]) -> Vec<usize> {
    let weight = |at: usize| {
        let kernel = packed(&plan.steps[at], &launches[at]).filter(|_| !plan.steps[at].once)?;
        let buffer = &plan.buffers[plan.steps[at].args[kernel]];
        matches!(buffer.place, Place::Const(_)).then(|| Reverse(buffer.bytes()))
    };
    let mut order: Vec<usize> = (0..plan.steps.len()).collect();
    order.sort_by_key(|&at| weight(at).map_or((1, Reverse(0)), |bytes| (0, bytes)));
    order
}

/// The argument of a step that loading packs, and that is nothing else to the step.
pub fn packed(step: &Step, launch: &Launch) -> Option<usize> {
    let Launch::Contract(_, Packed::Kept(_)) = launch else { return None };
    let kernel = step.work.contract()?;
    let weight = kernel.weight.0;
    let else_read = kernel.input.0 == weight || kernel.operands.iter().any(|operand| operand.arg == weight);
    (!else_read).then_some(weight)
}

/// The buffers of a step, each once.
fn distinct(step: &Step) -> impl Iterator<Item = &BufferId> {
    step.args.iter().enumerate().filter(|(at, id)| !step.args[..*at].contains(id)).map(|(_, id)| id)
}

/// For each constant, and each buffer that is computed once, how many steps name it, unless a run reads it.
fn readers(plan: &Plan, launches: &[Launch]) -> Vec<Option<usize>> {
    let mut readers = vec![0; plan.buffers.len()];
    let mut stays = vec![false; plan.buffers.len()];
    for (step, launch) in plan.steps.iter().zip(launches) {
        let packed = packed(step, launch);
        for (arg, id) in step.args.iter().enumerate() {
            stays[id.index()] |= !step.once && packed != Some(arg);
        }
        distinct(step).for_each(|id| readers[id.index()] += 1);
    }
    let of = |(buffer, (readers, stays)): (&Buffer, (usize, bool))| {
        (!stays && matches!(buffer.place, Place::Const(_) | Place::Kept(_))).then_some(readers)
    };
    plan.buffers.iter().zip(readers.into_iter().zip(stays)).map(of).collect()
}

/// The same tensor with its elements in order.
fn in_order(tensor: Tensor) -> Tensor {
    if !address(&tensor).is_null() || tensor.is_empty() {
        return tensor;
    }
    with_array!(tensor, |array| array.as_standard_layout().into_owned().into_shared().into())
}

fn address(tensor: &Tensor) -> *mut u8 {
    with_array!(tensor, |array| array.as_slice().map_or(std::ptr::null_mut(), |slice| slice.as_ptr() as *mut u8))
}
