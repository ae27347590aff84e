//! Weights of 16-bit floats, which stay 16 bits in memory: their conversion to F32.
//!
//! Tiles convert them in registers as they load them, or a group of columns is converted before its tiles run: into scratch
//! memory of the thread, which stays in its caches. Each tile pays for the first, each piece of the work once for the second; a
//! model decides. The conversion is exact, so neither changes a bit of the result.

use super::choose::{self, Choice, Sum};
use super::emit::{LINE, slot};
use super::pack::Packing;
use super::points::PointDim;
use super::registers::{COUNT, FRAME, INPUT, WEIGHTS};
use crate::asm::{Asm, Cond, Mem, V};
use crate::machine::load_floats;
use relayc_ir::kernel::Target;
use relayc_ir::types::DType;

/// The modelled cycles of a contraction that converts its weights in registers, or by groups of columns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct CostedConversion {
    pub(crate) in_registers: f64,
    pub(crate) by_groups: f64,
}

impl CostedConversion {
    /// Of the tiles of a part.
    pub(crate) fn of(dims: &[PointDim], choice: Choice, n_vectors: u64, sum: Sum, target: &Target) -> Option<CostedConversion> {
        let cycles = |sum| choose::cycles(dims, choice.cut, choice.vectors as u64, n_vectors, sum, target);
        let groups = n_vectors.div_ceil(choice.vectors as u64) as f64;
        Some(CostedConversion {
            in_registers: cycles(Sum { conversions: CONVERSIONS, ..sum })?,
            by_groups: cycles(sum)? + GROUP_CYCLES * groups + VECTOR_CYCLES * (n_vectors * sum.steps) as f64,
        })
    }

    pub(crate) fn is_by_groups(&self) -> bool {
        self.by_groups < self.in_registers
    }

    pub(crate) fn least(&self) -> f64 {
        self.by_groups.min(self.in_registers)
    }

    pub(crate) fn map(&self, f: impl Fn(f64) -> f64) -> CostedConversion {
        CostedConversion { in_registers: f(self.in_registers), by_groups: f(self.by_groups) }
    }
}

/// Operations on the units of multiply-adds that convert a vector of weights.
const CONVERSIONS: f64 = 2.0;

/// Cycles to convert a vector of weights in memory, and to begin with a group of columns.
const VECTOR_CYCLES: f64 = 2.0;
const GROUP_CYCLES: f64 = 40.0;

/// The code that converts the weights of a group of columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GroupCode {
    pub(crate) entry: usize,
    /// Iterations for a whole group, and for the last one.
    pub(crate) rounds: [u64; 2],
}

/// Emits the code that converts a group: a function like that of a tile, whose frame has the source and the destination, and
/// whose count is the number of iterations.
pub(crate) fn by_groups(packing: &Packing, dtype: DType, asm: &mut Asm) -> GroupCode {
    let vectors = [0, packing.n_groups() - 1].map(|group| packing.group_vectors(group) * packing.steps());
    let at_once = [8, 4, 2, 1].into_iter().find(|n| vectors.iter().all(|vectors| vectors.is_multiple_of(*n))).unwrap_or(1);
    asm.align(LINE);
    let entry = asm.here();
    asm.mark(format!("{dtype} weights of a group of columns to float32"));
    let frame = asm.enter(&[], 0);
    asm.mov_rm(WEIGHTS, slot(FRAME, 0));
    asm.mov_rm(INPUT, slot(FRAME, 1));
    asm.align(32);
    let next = asm.bound();
    let (to, from) = (asm.isa().bytes() as i32, asm.isa().lanes() as i32 * dtype.bytes() as i32);
    for at in 0..at_once as i32 {
        load_floats(asm, dtype, V(at as u8), Mem::at(WEIGHTS, at * from));
        asm.store(Mem::at(INPUT, at * to), V(at as u8));
    }
    asm.add_ri(WEIGHTS, at_once as i32 * from);
    asm.add_ri(INPUT, at_once as i32 * to);
    asm.dec(COUNT);
    asm.jcc(Cond::NE, next);
    asm.leave(&frame);
    GroupCode { entry, rounds: vectors.map(|vectors| vectors / at_once) }
}
