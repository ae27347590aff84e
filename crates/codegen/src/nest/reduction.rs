//! Accumulators of reductions, and how they are joined to one value.
//!
//! Sets and lanes are joined in a fixed order, halves first, so the result does not depend on threads. Without an instruction
//! that joins three bit patterns, a float maximum is kept as the minimum of negated values. The "or" of the machine's minima in
//! both orders lets NaN win and makes -0 less than +0.

use super::normalize::PrimitiveStage;
use super::shape::LaneDim;
use super::state::{Gen, Point, SCRATCH, SCRATCH_MASK};
use crate::asm::forms::{self, Form};
use crate::asm::{Isa, Mask, Mem, R, Rm, V, Width};
use crate::machine::machine_op;
use relayc_ir::kernel::{BinaryOp, Cmp, Reduction, ScalarType};

const SIGN: u64 = 1 << 63;

/// Immediate for the majority of two maxima and a mask of all bits but the sign: "and" of signs and "or" of the others.
const MAJORITY: u8 = 0xe8;

/// How two values of a reduction are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Join {
    /// One instruction.
    Simple(&'static Form),
    /// Of floats: NaN wins, -0 < +0.
    Max,
    Min,
    /// Of integers of 64 bits.
    MulQuads,
    MaxQuads,
    MinQuads,
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
        let (float, wide) = (matches!(lane, ScalarType::F32 | ScalarType::HalfF64), lane.is_half());
        let negated = float && fold == Reduction::Max && isa == Isa::Avx2;
        let op = match fold {
            Reduction::Sum => BinaryOp::Add,
            Reduction::Product => BinaryOp::Mul,
            Reduction::Max => BinaryOp::MaxSecond,
            Reduction::Min => BinaryOp::MinSecond,
        };
        let join = match (fold, machine_op(op, lane)) {
            (Reduction::Max, _) if float && !negated => Join::Max,
            (Reduction::Max | Reduction::Min, _) if float => Join::Min,
            (_, Some((form, _))) => Join::Simple(form),
            (Reduction::Max, None) => Join::MaxQuads,
            (Reduction::Min, None) => Join::MinQuads,
            (_, None) => Join::MulQuads,
        };
        let start = match (fold, float, wide) {
            (Reduction::Sum, ..) => 0,
            (Reduction::Product, true, false) => 1f32.to_bits().into(),
            (Reduction::Product, true, true) => 1f64.to_bits(),
            (Reduction::Product, false, _) => 1,
            (Reduction::Max, true, false) if !negated => f32::NEG_INFINITY.to_bits().into(),
            (Reduction::Max, true, true) if !negated => f64::NEG_INFINITY.to_bits(),
            (_, true, false) => f32::INFINITY.to_bits().into(),
            (_, true, true) => f64::INFINITY.to_bits(),
            (Reduction::Max, false, false) => 1 << 31,
            (Reduction::Max, false, true) => SIGN,
            (Reduction::Min, false, false) => (1 << 31) - 1,
            (Reduction::Min, false, true) => !SIGN,
        };
        Folding { join, negated, start, half: wide.then_some(half) }
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

    pub(crate) fn registers(&self) -> &[V] {
        &self.registers
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
            return folding.emit(cx, register, register, value);
        };
        if let Some(half) = folding.half {
            let n = cx.lanes_of_half(n, half);
            let value = cx.padded_half(value, n, folding.start);
            return folding.emit(cx, register, register, value);
        }
        // The joined value goes to a scratch register, and from there the lanes that count.
        let joined = SCRATCH[0];
        folding.emit(cx, joined, register, value);
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
                        folding.emit(cx, register, register, other);
                        folding.across(cx, register);
                        cx.asm.mov(other, register);
                    }
                    None if across => folding.across(cx, register),
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
                self.folds[fold].emit(cx, to, to, from);
            }
            sets = half;
        }
    }
}

impl Folding {
    fn negate(self, cx: &mut Gen, dst: V, value: V) {
        if self.half.is_some() {
            let sign = cx.asm.splat_quads_rm(SIGN);
            return cx.asm.op3(&forms::VXORPD, dst, value, sign);
        }
        let sign = cx.asm.splat_bits_rm(1 << 31);
        cx.asm.op3(&forms::VXORPS, dst, value, sign);
    }

    /// `dst = a join b`; `dst` may be `a`, and scratch 1 may be `b`.
    fn emit(self, cx: &mut Gen, dst: V, a: V, b: V) {
        let other = SCRATCH[0];
        let [min, max, or] = match self.half {
            Some(_) => [&forms::VMINPD, &forms::VMAXPD, &forms::VORPD],
            None => [&forms::VMINPS, &forms::VMAXPS, &forms::VORPS],
        };
        match self.join {
            Join::Simple(form) => cx.asm.op3(form, dst, a, b),
            Join::Min if dst == other => {
                // The scratch register is the result, so the first one is free for the other way.
                cx.asm.op3(min, other, a, b);
                cx.asm.op3(min, SCRATCH[1], b, a);
                cx.asm.op3(or, dst, other, SCRATCH[1]);
            }
            Join::Min => {
                cx.asm.op3(min, other, a, b);
                cx.asm.op3(min, dst, b, a);
                cx.asm.op3(or, dst, dst, other);
            }
            Join::Max => {
                // What may be one of the two is written by the last instruction that reads them.
                let last = if dst == other { SCRATCH[1] } else { dst };
                cx.asm.op3(max, other, b, a);
                cx.asm.op3(max, last, a, b);
                let rest = if dst == other { last } else { other };
                let below: Rm = match self.half {
                    Some(_) => Rm::Mem(cx.asm.constant(&(!SIGN).to_le_bytes().repeat(8))),
                    None => cx.asm.splat_bits_rm(u32::MAX >> 1),
                };
                let width = cx.asm.isa().width();
                cx.asm.vector(&forms::VPTERNLOGD, width, dst, rest, below, Some(MAJORITY));
            }
            Join::MulQuads => cx.multiply_quads(dst, a, Rm::Reg(b)),
            Join::MaxQuads => cx.greater(dst, (a, b), (a, b)),
            Join::MinQuads => cx.greater(dst, (a, b), (b, a)),
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
        let within: &[u8] = if self.half.is_some() { &[0b01_00_11_10] } else { &[0b01_00_11_10, 0b10_11_00_01] };
        for &floats in within {
            cx.asm.shuffle(moved, v, v, floats);
            self.emit(cx, v, v, moved);
        }
    }
}

impl Gen<'_> {
    /// `x` where the first of `compared` is greater, else `y`, on integers of 64 bits. Uses scratch register 0.
    fn greater(&mut self, dst: V, compared: (V, V), (x, y): (V, V)) {
        let mask = match self.isa() {
            Isa::Avx512 => Mask::K(SCRATCH_MASK),
            Isa::Avx2 => Mask::V(SCRATCH[0]),
        };
        self.compare_halves(Cmp::Gt, ScalarType::HalfI64, mask, compared.0, Rm::Reg(compared.1));
        self.select(mask, dst, Rm::Reg(x), y, true);
    }

    /// The first `n` lanes of a value, padded with the initial value, which changes nothing. The result is in scratch register
    /// 1.
    fn padded_half(&mut self, value: V, n: usize, start: u64) -> V {
        let room = self.lanes / 2;
        if n == room {
            return value;
        }
        let of = |taken: &dyn Fn(usize) -> u64| -> Vec<u8> { (0..room).flat_map(|lane| taken(lane).to_le_bytes()).collect() };
        let kept = self.asm.constant(&of(&|lane| if lane < n { u64::MAX } else { 0 }));
        let to = SCRATCH[1];
        self.asm.op3(&forms::VANDPD, to, value, kept);
        if start != 0 {
            let others = self.asm.constant(&of(&|lane| if lane < n { 0 } else { start }));
            self.asm.op3(&forms::VORPD, to, to, others);
        }
        to
    }
}
