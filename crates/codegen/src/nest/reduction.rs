//! Accumulators of reductions, and how they are joined to one value.
//!
//! Sets and lanes are joined in a fixed order, halves first, so the result does not depend on threads. Without an instruction
//! that joins three bit patterns, a float maximum is kept as the minimum of negated values. The "or" of the machine's minima in
//! both orders lets NaN win and makes -0 less than +0.

use super::half_reduction::HalfJoin;
use super::normalize::PrimitiveStage;
use super::shape::LaneDim;
use super::state::{Gen, Point, SCRATCH};
use crate::asm::forms::{self, Form};
use crate::asm::{Isa, Mem, R, Rm, V, Width};
use relayc_ir::kernel::{Reduction, ScalarType};

const SIGN: u32 = 1 << 31;

/// All bits but the sign: joins two maxima by majority, "and" for signs and "or" for other bits.
const BELOW_SIGN: u32 = !SIGN;
const MAJORITY: u8 = 0xe8;

/// How two values of a reduction are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Join {
    /// One instruction.
    Simple(&'static Form),
    Max,
    Min,
    /// On 64-bit lanes.
    Half(HalfJoin),
}

/// The reduction of one register: how it is joined, whether it is negated, and its initial value.
#[derive(Clone, Copy, Debug)]
struct Folding {
    join: Join,
    negated: bool,
    /// The initial value of all lanes, of 32 or 64 bits.
    start: u64,
    /// Which half of the lanes it holds, for 64-bit lanes.
    half: Option<u8>,
}

impl Folding {
    fn new(isa: Isa, lane: ScalarType, fold: Reduction, half: u8) -> Folding {
        if lane.is_half() {
            let (join, start) = HalfJoin::new(isa, lane, fold);
            return Folding { join: Join::Half(join), negated: join.is_negated(), start, half: Some(half) };
        }
        let float = lane == ScalarType::F32;
        let negated = float && fold == Reduction::Max && isa == Isa::Avx2;
        let join = match fold {
            Reduction::Sum => Join::Simple(if float { &forms::VADDPS } else { &forms::VPADDD }),
            Reduction::Product => Join::Simple(if float { &forms::VMULPS } else { &forms::VPMULLD }),
            Reduction::Max if !float => Join::Simple(&forms::VPMAXSD),
            Reduction::Min if !float => Join::Simple(&forms::VPMINSD),
            Reduction::Max if !negated => Join::Max,
            Reduction::Max | Reduction::Min => Join::Min,
        };
        let start = match (fold, float) {
            (Reduction::Sum, _) => 0,
            (Reduction::Product, true) => 1f32.to_bits(),
            (Reduction::Product, false) => 1,
            (Reduction::Max, true) if !negated => f32::NEG_INFINITY.to_bits(),
            (Reduction::Max | Reduction::Min, true) => f32::INFINITY.to_bits(),
            (Reduction::Max, false) => i32::MIN as u32,
            (Reduction::Min, false) => i32::MAX as u32,
        };
        Folding { join, negated, start: start.into(), half: None }
    }
}

/// Registers for each set, vector of the tile, and reduction.
pub(crate) struct Accumulators {
    pub(crate) sets: usize,
    vectors: usize,
    folds: Vec<Folding>,
    registers: Vec<V>,
}

impl Accumulators {
    /// Allocates registers and fills them with the initial values.
    pub(crate) fn new(cx: &mut Gen, program: &PrimitiveStage, vectors: usize, sets: usize) -> Option<Accumulators> {
        let mut folds: Vec<Folding> = Vec::new();
        for (at, fold) in program.folds.iter().enumerate() {
            let lane = cx.n.folded[program.first_fold + at];
            // The two halves of a fold stand side by side.
            let half = folds.last().is_some_and(|last| lane.is_half() && last.half == Some(0));
            folds.push(Folding::new(cx.isa(), lane, fold.1, u8::from(half)));
        }
        let mut accumulators = Accumulators { sets, vectors, folds, registers: Vec::new() };
        for _ in 0..sets * vectors {
            for at in 0..accumulators.folds.len() {
                let register = cx.take_register()?;
                let Folding { start, half, .. } = accumulators.folds[at];
                match half {
                    Some(_) => cx.asm.splat_quads(register, start),
                    None => cx.asm.splat_bits(register, start as u32),
                }
                accumulators.registers.push(register);
            }
        }
        Some(accumulators)
    }

    fn register(&self, set: usize, vector: usize, fold: usize) -> V {
        self.registers[(set * self.vectors + vector) * self.folds.len() + fold]
    }

    /// Accumulates a value; in the last vector of a reduced row, only the existing lanes.
    pub(crate) fn add(&self, cx: &mut Gen, set: usize, point: &Point, fold: usize, value: V, masked: bool) {
        let folding = self.folds[fold];
        let register = self.register(set, point.index, fold);
        let value = if folding.negated {
            folding.negate(cx, SCRATCH[1], value);
            SCRATCH[1]
        } else {
            value
        };
        let Some((mask, n)) = cx.tail.filter(|_| masked) else {
            return folding.join.emit(cx, register, register, value);
        };
        if let Some(half) = folding.half {
            let n = cx.lanes_of_half(n, half);
            let value = cx.padded_half(value, n, folding.start);
            return folding.join.emit(cx, register, register, value);
        }
        // The joined value goes to a scratch register, and from there the lanes that count.
        let joined = SCRATCH[0];
        folding.join.emit(cx, joined, register, value);
        cx.asm.select(mask, register, joined, register);
    }

    /// Joins sets and lanes, stores the results for later stages, and frees the registers.
    pub(crate) fn finish(&mut self, cx: &mut Gen, program: &PrimitiveStage) {
        let across = matches!(cx.shape.lane, LaneDim::Reduced(_));
        for vector in 0..self.vectors {
            for (fold, folding) in self.folds.iter().enumerate() {
                match folding.half {
                    Some(0) => [fold, fold + 1].into_iter().for_each(|half| self.join_sets(cx, vector, half)),
                    Some(_) => (),
                    None => self.join_sets(cx, vector, fold),
                }
                let register = self.register(0, vector, fold);
                match folding.half {
                    // Both halves become the join of both.
                    Some(0) if across => {
                        let other = self.register(0, vector, fold + 1);
                        folding.join.emit(cx, register, register, other);
                        folding.join.across(cx, register);
                        cx.asm.mov(other, register);
                    }
                    None if across => folding.join.across(cx, register),
                    _ => (),
                }
                if folding.negated {
                    folding.negate(cx, register, register);
                }
                let slot = cx.folded[program.first_fold + fold][vector];
                cx.asm.store(Mem::at(R::RSP, slot), register);
            }
        }
        self.registers.drain(..).for_each(|register| cx.free |= 1 << register.0);
    }

    fn join_sets(&self, cx: &mut Gen, vector: usize, fold: usize) {
        let mut sets = self.sets;
        while sets > 1 {
            let half = sets.div_ceil(2);
            for set in half..sets {
                let (to, from) = (self.register(set - half, vector, fold), self.register(set, vector, fold));
                self.folds[fold].join.emit(cx, to, to, from);
            }
            sets = half;
        }
    }
}

impl Folding {
    fn negate(self, cx: &mut Gen, dst: V, value: V) {
        if self.half.is_some() {
            return cx.flip_signs(dst, value);
        }
        let sign = cx.asm.splat_bits_rm(SIGN);
        cx.asm.op3(&forms::VXORPS, dst, value, sign);
    }
}

impl Join {
    /// `dst = a join b`; `dst` may be `a`, and scratch 1 may be `b`.
    fn emit(self, cx: &mut Gen, dst: V, a: V, b: V) {
        let other = SCRATCH[0];
        match self {
            Join::Simple(op) => cx.asm.op3(op, dst, a, b),
            Join::Half(join) => join.emit(cx, dst, a, b),
            Join::Min if dst == other => {
                // The scratch register is the result, so the first one is free for the other way.
                cx.asm.op3(&forms::VMINPS, other, a, b);
                cx.asm.op3(&forms::VMINPS, SCRATCH[1], b, a);
                cx.asm.op3(&forms::VORPS, dst, other, SCRATCH[1]);
            }
            Join::Min => {
                cx.asm.op3(&forms::VMINPS, other, a, b);
                cx.asm.op3(&forms::VMINPS, dst, b, a);
                cx.asm.op3(&forms::VORPS, dst, dst, other);
            }
            Join::Max => {
                // What may be one of the two is written by the last instruction that reads them.
                let last = if dst == other { SCRATCH[1] } else { dst };
                cx.asm.op3(&forms::VMAXPS, other, b, a);
                cx.asm.op3(&forms::VMAXPS, last, a, b);
                let rest = if dst == other { last } else { other };
                let below: Rm = cx.asm.splat_bits_rm(BELOW_SIGN);
                let width = cx.asm.isa().width();
                cx.asm.vector(&forms::VPTERNLOGD, width, dst, rest, below, Some(MAJORITY));
            }
        }
    }

    /// Joins all lanes and leaves the result in each: halves, quarters, pairs, neighbours.
    fn across(self, cx: &mut Gen, v: V) {
        let width = cx.isa().width();
        let moved = SCRATCH[1];
        match cx.isa() {
            Isa::Avx512 => {
                for parts in [0b01_00_11_10, 0b10_11_00_01] {
                    cx.asm.vector(&forms::VSHUFF32X4, width, moved, v, v, Some(parts));
                    self.emit(cx, v, v, moved);
                }
            }
            Isa::Avx2 => {
                cx.asm.vector(&forms::VPERM2F128, Width::Y, moved, v, v, Some(1));
                self.emit(cx, v, v, moved);
            }
        }
        let within: &[u8] = if matches!(self, Join::Half(_)) { &[0b01_00_11_10] } else { &[0b01_00_11_10, 0b10_11_00_01] };
        for &floats in within {
            cx.asm.shuffle(moved, v, v, floats);
            self.emit(cx, v, v, moved);
        }
    }
}
