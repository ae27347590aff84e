//! Accumulators of folds, and how they become one value.
//!
//! Sets and lanes are joined in a fixed order, halves first, so the result does not depend on threads. A maximum of floats is
//! kept as the minimum of what is negated where there is no instruction that joins three bit patterns: "or" of the machine's
//! minima taken both ways lets NaN win and -0 be less.

use super::emit::Point;
use super::generate::{Gen, SCRATCH};
use super::half_fold::HalfJoin;
use super::normal::Program;
use super::shape::LaneDim;
use crate::jit::asm::forms;
use crate::jit::asm::{Isa, Mem, Op, R, Rm, V, Width};
use crate::kernel::{Fold, Lane};

const SIGN: u32 = 1 << 31;

/// All bits but the sign's, for the majority of two maxima and this: "and" of signs, "or" of the others.
const BELOW_SIGN: u32 = !SIGN;
const MAJORITY: u8 = 0xe8;

/// How two values of a fold become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Join {
    /// One instruction.
    Simple(Op),
    Max,
    Min,
    /// Of lanes of 64 bits.
    Half(HalfJoin),
}

/// The fold of one register: how it is joined, whether it is kept negated, and what it starts from.
#[derive(Clone, Copy, Debug)]
struct Folding {
    join: Join,
    negated: bool,
    /// All lanes, of 32 or of 64 bits.
    start: u64,
    /// Which half of the lanes it is, of lanes of 64 bits.
    half: Option<u8>,
}

impl Folding {
    fn new(isa: Isa, lane: Lane, fold: Fold, half: u8) -> Folding {
        if lane.is_half() {
            let (join, start) = HalfJoin::new(isa, lane, fold);
            return Folding { join: Join::Half(join), negated: join.is_negated(), start, half: Some(half) };
        }
        let float = lane == Lane::F32;
        let negated = float && fold == Fold::Max && isa == Isa::Avx2;
        let join = match fold {
            Fold::Sum => Join::Simple(if float { Op::Add } else { Op::AddI }),
            Fold::Product => Join::Simple(if float { Op::Mul } else { Op::MulloI }),
            Fold::Max if !float => Join::Simple(Op::MaxI),
            Fold::Min if !float => Join::Simple(Op::MinI),
            Fold::Max if !negated => Join::Max,
            Fold::Max | Fold::Min => Join::Min,
        };
        let start = match (fold, float) {
            (Fold::Sum, _) => 0,
            (Fold::Product, true) => 1f32.to_bits(),
            (Fold::Product, false) => 1,
            (Fold::Max, true) if !negated => f32::NEG_INFINITY.to_bits(),
            (Fold::Max | Fold::Min, true) => f32::INFINITY.to_bits(),
            (Fold::Max, false) => i32::MIN as u32,
            (Fold::Min, false) => i32::MAX as u32,
        };
        Folding { join, negated, start: start.into(), half: None }
    }
}

/// Registers for each set, vector of the tile, and fold.
pub struct Accumulators {
    pub sets: usize,
    vectors: usize,
    folds: Vec<Folding>,
    registers: Vec<V>,
}

impl Accumulators {
    /// Takes registers and fills them with the folds' start values.
    pub fn new(cx: &mut Gen, program: &Program, vectors: usize, sets: usize) -> Option<Accumulators> {
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

    /// Folds a value in; of a reduced row's last vector only the lanes that there are.
    pub fn add(&self, cx: &mut Gen, set: usize, point: &Point, fold: usize, value: V, masked: bool) {
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

    /// Joins sets and lanes, puts the results where later stages find them, and gives the registers back.
    pub fn finish(&mut self, cx: &mut Gen, program: &Program) {
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
        cx.asm.op3(Op::Xor, dst, value, sign);
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
                cx.asm.op3(Op::Min, other, a, b);
                cx.asm.op3(Op::Min, SCRATCH[1], b, a);
                cx.asm.op3(Op::Or, dst, other, SCRATCH[1]);
            }
            Join::Min => {
                cx.asm.op3(Op::Min, other, a, b);
                cx.asm.op3(Op::Min, dst, b, a);
                cx.asm.op3(Op::Or, dst, dst, other);
            }
            Join::Max => {
                // What may be one of the two is written by the last instruction that reads them.
                let last = if dst == other { SCRATCH[1] } else { dst };
                cx.asm.op3(Op::Max, other, b, a);
                cx.asm.op3(Op::Max, last, a, b);
                let rest = if dst == other { last } else { other };
                let below: Rm = cx.asm.splat_bits_rm(BELOW_SIGN);
                let width = cx.asm.isa().width();
                cx.asm.vector(&forms::VPTERNLOGD, width, dst, rest, below, Some(MAJORITY));
            }
        }
    }

    /// All lanes become the join of all: halves, quarters, pairs, neighbours.
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
