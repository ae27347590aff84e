//! Constants of a program and values computed once from them, kept while something reads them.
//!
//! Loading packs weights that only loading reads, and frees each once it is packed. So a program's weights are in memory once:
//! packed, or as stored if a kernel or an evaluation reads them unpacked.

use super::index;
use super::launch::{Launch, Packed};
use crate::plan::{Buffer, BufferId, ConstId, Place, Plan, Step};
use half::slice::HalfFloatSliceExt;
use relayc_base::Idx;
use relayc_ir::tensor::{Array, Data, Tensor, with_array};
use relayc_sys as sys;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// How long constants are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// As long as the program, to compare its results.
    All,
    /// Only those that a run reads.
    Read,
}

/// The tensors of constant buffers.
pub(crate) struct Constants {
    /// The constant of each buffer, while it is kept.
    of: Vec<Option<Tensor>>,
    /// For each buffer that no run reads, the number of loading steps that have still to read it.
    readers: Vec<Option<usize>>,
}

impl Constants {
    /// Takes the constants of a plan from `values`. Constants to be freed should have no other owner.
    pub(crate) fn new(plan: &Plan, launches: &[Launch], mut values: FxHashMap<ConstId, Tensor>, keep: Keep) -> Constants {
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
            value.filter(|_| *readers != Some(0))
        };
        let of = plan.buffers.iter().zip(&readers).map(&mut take).collect();
        Constants { of, readers }
    }

    /// The constant of a buffer, if it is one and still kept.
    pub(crate) fn tensor(&self, id: BufferId) -> Option<&Tensor> {
        self.of[id.index()].as_ref()
    }

    /// Address of a constant's elements; null without elements.
    pub(crate) fn address(&self, id: BufferId) -> *mut u8 {
        self.tensor(id).map_or(std::ptr::null_mut(), address)
    }

    /// Frees the constants whose last loading step is this one. Returns the other buffers that nothing reads any more.
    pub(crate) fn done(&mut self, step: &Step) -> Vec<BufferId> {
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

    /// Whether the current step is the last loading step that reads a buffer, and no run reads it.
    pub(crate) fn is_last(&self, id: BufferId) -> bool {
        self.readers[id.index()] == Some(1)
    }

    /// Releases the memory of the first elements of a constant before the rest; their content is lost.
    pub(crate) fn give_back(&mut self, id: BufferId, n: usize) {
        let Some(tensor) = &mut self.of[id.index()] else { return };
        match tensor.data_mut() {
            Data::F32(array) => release(array, n, sys::give_back_pages),
            Data::F16(array) => release(array, n, |elements| sys::give_back_pages(elements.reinterpret_cast_mut())),
            Data::BF16(array) => release(array, n, |elements| sys::give_back_pages(elements.reinterpret_cast_mut())),
            _ => (),
        }
    }

    /// Whether only loading read a buffer, and it is freed.
    pub(crate) fn is_gone(&self, id: BufferId) -> bool {
        self.readers[id.index()].is_some()
    }

    /// Number of bytes of the kept constants.
    pub(crate) fn bytes(&self) -> u64 {
        self.of.iter().flatten().map(|tensor| tensor.len() as u64 * tensor.dtype().bytes()).sum()
    }
}

/// The order of loading steps. Steps that only pack weights come first, in descending order of size, then all others in plan
/// order.
///
/// So the peak, when most weights are packed already, holds only the smallest weights twice.
pub(crate) fn order(plan: &Plan, launches: &[Launch]) -> Vec<usize> {
    let weight = |at: usize| {
        let kernel = packed(&plan.steps[at], &launches[at]).filter(|_| !plan.steps[at].once)?;
        let buffer = &plan.buffers[plan.steps[at].args[kernel]];
        matches!(buffer.place, Place::Const(_)).then(|| Reverse(buffer.bytes()))
    };
    let mut order: Vec<usize> = (0..plan.steps.len()).collect();
    order.sort_by_key(|&at| weight(at).map_or((1, Reverse(0)), |bytes| (0, bytes)));
    order
}

/// The argument of a step that loading packs, and that the step does not use otherwise.
pub(crate) fn packed(step: &Step, launch: &Launch) -> Option<usize> {
    let Launch::Contraction(_, Packed::Kept(_)) = launch else { return None };
    let kernel = step.work.contract()?;
    let weight = kernel.weight.0;
    let else_read = kernel.input.0 == weight || kernel.operands.iter().any(|operand| operand.arg == weight);
    (!else_read).then_some(weight)
}

/// Gives back the first elements of an array that nothing else has.
fn release<T: Clone>(array: &mut Array<T>, n: usize, give_back: impl FnOnce(&mut [T])) {
    if array.is_unique() {
        let n = n.min(array.len());
        give_back(&mut array.elements_mut()[..n]);
    }
}

/// The buffers of a step, each once.
fn distinct(step: &Step) -> impl Iterator<Item = &BufferId> {
    step.args.iter().enumerate().filter(|(at, id)| !step.args[..*at].contains(id)).map(|(_, id)| id)
}

/// For each constant, and each buffer that is computed once, the number of steps that name it, unless a run reads it.
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

fn address(tensor: &Tensor) -> *mut u8 {
    with_array!(tensor, |array| array.as_ptr() as *mut u8)
}
