//! Packed weights that the programs of one network share: it is compiled once for each size of its inputs, and packed once.
//!
//! What is shared is known by its source, a constant of the network before its sizes are known, and by its layout. A program
//! finds what others have packed before it packs the rest, and leaves that to those after it. Packed weights stay as long as
//! their [`SharedWeights`]: there are no more of them than layouts, and contractions of shared weights choose a layout without
//! their number of points ([`relayc_codegen::contraction::Weights::Shared`]). Absent: constants that only one size has.

use crate::launch::{Launch, Packed, PackedWeights};
use crate::plan::{ConstId, Place, Plan};
use relayc_codegen::contraction::WeightLayout;
use relayc_codegen::region::Region;
use relayc_ir::tensor::{Data, Tensor};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A constant, by the address of its elements, and how it is packed.
type Key = (usize, WeightLayout);

/// The packed weights of a network.
pub(crate) struct SharedWeights {
    /// The constants that have packed weights to share. They are kept, so that no other tensor has their address.
    sources: FxHashMap<usize, Tensor>,
    packed: Mutex<FxHashMap<Key, PackedWeights>>,
}

impl SharedWeights {
    /// For programs made from a network with these constants.
    pub(crate) fn of<'a>(constants: impl IntoIterator<Item = &'a Tensor>) -> SharedWeights {
        let source = |tensor: &Tensor| Some((address(tensor)?, tensor.clone()));
        SharedWeights { sources: constants.into_iter().filter_map(source).collect(), packed: Mutex::default() }
    }

    /// Begins the loading of a program.
    pub(crate) fn open(&self) -> Loading<'_> {
        let packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        Loading { sources: &self.sources, packed, new: vec![] }
    }

    /// Number of bytes of the packed weights.
    pub(crate) fn bytes(&self) -> u64 {
        let packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        let regions: FxHashMap<*mut u8, usize> =
            packed.values().map(|weights| (weights.region.start(), weights.region.bytes())).collect();
        regions.values().map(|&bytes| bytes as u64).sum()
    }
}

/// A program that is being loaded; others wait, so that they find what it packs.
pub(crate) struct Loading<'a> {
    sources: &'a FxHashMap<usize, Tensor>,
    packed: MutexGuard<'a, FxHashMap<Key, PackedWeights>>,
    /// What the program packs, and where in its own memory.
    new: Vec<(Key, usize)>,
}

impl Loading<'_> {
    /// Gives launches the packed weights that there are, and others a place in the program's own memory. Returns the number of
    /// elements of that.
    pub(crate) fn find(&mut self, plan: &Plan, constants: &FxHashMap<ConstId, Tensor>, launches: &mut [Launch]) -> usize {
        let mut len = 0;
        // Where the weights are that the program's own places name.
        let mut found_at: FxHashMap<usize, Packed> = FxHashMap::default();
        for (step, launch) in plan.steps.iter().zip(launches) {
            let Launch::Contraction(code, packed) = launch else { continue };
            let (Packed::Kept(at), Some(kernel)) = (&mut *packed, step.work.contract()) else { continue };
            let own = *at;
            if let Some(known) = found_at.get(&own) {
                *packed = known.clone();
                continue;
            }
            let source = match plan.buffers[step.args[kernel.weight.0]].place {
                Place::Const(id) => constants.get(&id).and_then(address).filter(|address| self.sources.contains_key(address)),
                _ => None,
            };
            let key = source.and_then(|source| Some((source, code.weight_layout()?)));
            if let Some(found) = key.as_ref().and_then(|key| self.packed.get(key)) {
                *packed = Packed::Shared(found.clone());
            } else {
                *at = len;
                len += code.packed_bytes().next_multiple_of(4 * LINE) / 4;
                self.new.extend(key.map(|key| (key, *at)));
            }
            found_at.insert(own, packed.clone());
        }
        len
    }

    /// Shares what the program has packed in this memory.
    pub(crate) fn add(mut self, region: &Arc<Region>) {
        for (key, at) in std::mem::take(&mut self.new) {
            self.packed.entry(key).or_insert_with(|| PackedWeights { region: region.clone(), at });
        }
    }
}

/// Elements of a cache line, to which packed weights are padded.
const LINE: usize = 16;

/// The address of a tensor's elements; only weights of floats, int8, int16 and int32 are packed.
fn address(tensor: &Tensor) -> Option<usize> {
    match tensor.data() {
        Data::F64(array) if !array.is_empty() => Some(array.as_ptr() as usize),
        Data::F32(array) if !array.is_empty() => Some(array.as_ptr() as usize),
        Data::F16(array) if !array.is_empty() => Some(array.as_ptr() as usize),
        Data::BF16(array) if !array.is_empty() => Some(array.as_ptr() as usize),
        Data::I32(array) if !array.is_empty() => Some(array.as_ptr() as usize),
        Data::I16(array) if !array.is_empty() => Some(array.as_ptr() as usize),
        Data::I8(array) if !array.is_empty() => Some(array.as_ptr() as usize),
        _ => None,
    }
}
