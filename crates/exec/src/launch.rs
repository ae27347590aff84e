//! How steps are launched: what a step's code is called with, and the memory that it needs.

use super::routine;
use crate::plan::{Move, Scratch};
use relayc_codegen::contraction::Compiled;
use relayc_codegen::nest::NestCode;
use relayc_codegen::region::Region;
use relayc_ir::kernel::Routine;
use std::sync::Arc;

/// Weights in the memory of the program that has packed them.
#[derive(Clone, Debug)]
pub struct PackedWeights {
    pub(crate) region: Arc<Region>,
    /// Position of the first element.
    pub(crate) at: usize,
}

impl PackedWeights {
    pub(crate) fn start(&self) -> *const f32 {
        (self.region.start() as *const f32).wrapping_add(self.at)
    }
}

/// Location of the packed weights of a contraction.
#[derive(Clone, Debug)]
pub enum Packed {
    /// At an element of the program's packed weights.
    Kept(usize),
    /// Among those that another program has packed.
    Shared(PackedWeights),
    /// The contraction reads them unpacked.
    AsKept,
    /// In the session's memory, packed anew in each run.
    Scratch,
}

/// A move in bytes; contiguous elements move together.
#[derive(Clone, Debug)]
pub struct MoveCall {
    /// First byte and step of each dimension, of the source and of the destination.
    pub(crate) offsets: [i64; 2],
    pub(crate) steps: [Vec<i64>; 2],
    pub(crate) dims: Vec<i64>,
    pub(crate) together: usize,
}

impl MoveCall {
    pub(crate) fn of(moved: &Move) -> MoveCall {
        let width = moved.width as i64;
        let together = match (moved.from.1.last(), moved.to.1.last()) {
            (Some(1), Some(1)) => moved.dims.last().map_or(1, |&dim| dim as usize),
            _ => 1,
        };
        let rank = moved.dims.len() - usize::from(together > 1);
        let sides = [&moved.from, &moved.to];
        MoveCall {
            offsets: sides.map(|(offset, _)| offset * width),
            steps: sides.map(|(_, strides)| strides[..rank].iter().map(|stride| stride * width).collect()),
            dims: moved.dims[..rank].iter().map(|&dim| dim as i64).collect(),
            together: together * moved.width,
        }
    }
}

/// How a step is launched.
#[derive(Clone, Debug)]
pub enum Launch {
    Fill,
    Move(MoveCall),
    Positions,
    Fallback,
    Guard,
    Routine(Routine),
    Nest(Arc<NestCode>),
    Contraction(Arc<Compiled>, Packed),
}

impl Launch {
    /// Number of tasks for `threads` threads, if the work is split beforehand.
    pub(crate) fn shares(&self, threads: usize) -> usize {
        match self {
            Launch::Contraction(code, _) if !is_small(code) => threads.max(1),
            Launch::Routine(routine) => routine::shares(routine, threads),
            _ => 1,
        }
    }

    /// Scratch memory in the arena for `threads` threads.
    pub(crate) fn scratch(&self, threads: usize) -> Scratch {
        if let Launch::Routine(routine) = self {
            let own = routine::scratch_bytes(routine).next_multiple_of(LINE as u64);
            return Scratch { shared: 0, own, threads: self.shares(threads) as u64, at: 0 };
        }
        let Launch::Contraction(code, packed) = self else { return Scratch::default() };
        let shared = if matches!(packed, Packed::Scratch) { packed_bytes(code) as u64 } else { 0 };
        let own = (4 * code.scratch_len()).next_multiple_of(LINE) as u64;
        Scratch { shared, own, threads: self.shares(threads) as u64, at: 0 }
    }
}

/// Bytes of a cache line; packed weights and scratch memory are padded to whole lines.
const LINE: usize = 64;

pub(crate) fn packed_bytes(code: &Compiled) -> usize {
    code.packed_bytes().next_multiple_of(LINE)
}

/// Extra cost of work that is shared among threads.
pub(crate) const REGION_NS: f64 = 3000.0;

/// Whether a contraction is too small for more than one thread, at 60 GFLOP/s and 40 GB/s of weights. Even slow cores reach
/// these from their second-level cache.
fn is_small(code: &Compiled) -> bool {
    // Weights that are read as they come may be used for one product each.
    let weights = if code.reads_unpacked() { code.weight_bytes() * code.flops() / 2 } else { code.packed_bytes() as u64 };
    (code.flops() as f64 / 60.0).max(weights as f64 / 40.0) <= REGION_NS
}

/// The time of a contraction on one core whose weights are in its caches.
pub(crate) fn work_ns(code: &Compiled) -> f64 {
    code.flops() as f64 / 60.0
}

/// Whether the weights are few enough for each thread to read all of them, from a part of its second-level cache.
pub(crate) fn is_in_caches(code: &Compiled) -> bool {
    code.packed_bytes() <= 128 << 10
}

/// A strategy that a caller asks for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Wish {
    /// Its name, or the first words of it.
    pub name: String,
    /// Who asks for it, in words.
    pub why: String,
}
