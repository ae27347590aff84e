//! Accumulators of folds, and how they become one value.
//!
//! Sets and lanes are joined in a fixed order, halves first, so the result does not depend on threads. A maximum of floats is
//! kept as the minimum of what is negated where there is no instruction that joins three bit patterns: "or" of the machine's
//! minima taken both ways lets NaN win and -0 be less.

use super::emit::Point;
use super::generate::{Gen, SCRATCH};
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
}

/// Registers for each set, vector of the tile, and fold.
pub struct Accumulators {
    pub sets: usize,
    vectors: usize,
    folds: Vec<(Join, bool)>,
    registers: Vec<V>,
}

impl Accumulators {
    /// Takes registers and fills them with the folds' start values.
    pub fn new(cx: &mut Gen, program: &Program, vectors: usize, sets: usize) -> Option<Accumulators> {
        let folds: Vec<(Join, bool)> = program
            .folds
            .iter()
            .enumerate()
            .map(|(at, fold)| {
                let float = cx.n.folded[program.first_fold + at] == Lane::F32;
                let negated = float && fold.1 == Fold::Max && cx.isa() == Isa::Avx2;
                let join = match fold.1 {
                    Fold::Sum => Join::Simple(if float { Op::Add } else { Op::AddI }),
                    Fold::Product => Join::Simple(if float { Op::Mul } else { Op::MulloI }),
                    Fold::Max if !float => Join::Simple(Op::MaxI),
                    Fold::Min if !float => Join::Simple(Op::MinI),
                    Fold::Max if !negated => Join::Max,
                    Fold::Max | Fold::Min => Join::Min,
                };
                (join, negated)
            })
            .collect();
        let mut accumulators = Accumulators { sets, vectors, folds, registers: Vec::new() };
        for _ in 0..sets * vectors {
            for (at, fold) in program.folds.iter().enumerate() {
                let register = cx.take_register()?;
                let float = cx.n.folded[program.first_fold + at] == Lane::F32;
                let negated = accumulators.folds[at].1;
                let start = match (fold.1, float) {
                    (Fold::Sum, _) => 0,
                    (Fold::Product, true) => 1f32.to_bits(),
                    (Fold::Product, false) => 1,
                    (Fold::Max, true) if !negated => f32::NEG_INFINITY.to_bits(),
                    (Fold::Max | Fold::Min, true) => f32::INFINITY.to_bits(),
                    (Fold::Max, false) => i32::MIN as u32,
                    (Fold::Min, false) => i32::MAX as u32,
                };
                cx.asm.splat_bits(register, start);
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
        let (join, negated) = self.folds[fold];
        let register = self.register(set, point.index, fold);
        let value = if negated {
            let sign = cx.asm.splat_bits_rm(SIGN);
            cx.asm.op3(Op::Xor, SCRATCH[1], value, sign);
            SCRATCH[1]
        } else {
            value
        };
        let Some((mask, _)) = cx.tail.filter(|_| masked) else {
            return join.emit(cx, register, register, value);
        };
        // The joined value goes to a scratch register, and from there the lanes that count.
        let joined = SCRATCH[0];
        join.emit(cx, joined, register, value);
        cx.asm.select(mask, register, joined, register);
    }

    /// Joins sets and lanes, puts the results where later stages find them, and gives the registers back.
    pub fn finish(&mut self, cx: &mut Gen, program: &Program) {
        let across = matches!(cx.shape.lane, LaneDim::Reduced(_));
        for vector in 0..self.vectors {
            for (fold, &(join, negated)) in self.folds.iter().enumerate() {
                let mut sets = self.sets;
                while sets > 1 {
                    let half = sets.div_ceil(2);
                    for set in half..sets {
                        let (to, from) = (self.register(set - half, vector, fold), self.register(set, vector, fold));
                        join.emit(cx, to, to, from);
                    }
                    sets = half;
                }
                let register = self.register(0, vector, fold);
                if across {
                    join.across(cx, register);
                }
                if negated {
                    let sign = cx.asm.splat_bits_rm(SIGN);
                    cx.asm.op3(Op::Xor, register, register, sign);
                }
                let slot = cx.folded[program.first_fold + fold][vector];
                cx.asm.store(Mem::at(R::RSP, slot), register);
            }
        }
        self.registers.drain(..).for_each(|register| cx.free |= 1 << register.0);
    }
}

impl Join {
    /// `dst = a join b`; `dst` may be `a`, and scratch 1 may be `b`.
    fn emit(self, cx: &mut Gen, dst: V, a: V, b: V) {
        let other = SCRATCH[0];
        match self {
            Join::Simple(op) => cx.asm.op3(op, dst, a, b),
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
        for floats in [0b01_00_11_10, 0b10_11_00_01] {
            cx.asm.shuffle(moved, v, v, floats);
            self.emit(cx, v, v, moved);
        }
    }
}
