//! Folds of lanes of 64 bits: how two registers are joined.
//!
//! As with lanes of 32 bits a maximum of floats is kept as the minimum of what is negated where no instruction joins three bit
//! patterns.

use super::generate::{Gen, SCRATCH, SCRATCH_MASK};
use crate::jit::asm::forms::{self, Form};
use crate::jit::asm::{Isa, Rm, V};
use crate::kernel::{Fold, Lane};

const SIGN: u64 = 1 << 63;

/// "And" of signs and "or" of the others, of two maxima and what has all bits but the sign.
const MAJORITY: u8 = 0xe8;

/// How two registers become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HalfJoin {
    Add,
    Mul,
    AddInt,
    MulInt,
    /// NaN wins, -0 < +0.
    Max,
    Min,
    /// As the minimum of what is negated.
    MaxNegated,
    MaxInt,
    MinInt,
}

impl HalfJoin {
    /// The join of a fold and what it starts from.
    pub fn new(isa: Isa, lane: Lane, fold: Fold) -> (HalfJoin, u64) {
        let infinity = f64::INFINITY.to_bits();
        match (fold, lane == Lane::HalfF64) {
            (Fold::Sum, true) => (HalfJoin::Add, 0),
            (Fold::Sum, false) => (HalfJoin::AddInt, 0),
            (Fold::Product, true) => (HalfJoin::Mul, 1f64.to_bits()),
            (Fold::Product, false) => (HalfJoin::MulInt, 1),
            (Fold::Max, true) if isa == Isa::Avx2 => (HalfJoin::MaxNegated, infinity),
            (Fold::Max, true) => (HalfJoin::Max, infinity | SIGN),
            (Fold::Min, true) => (HalfJoin::Min, infinity),
            (Fold::Max, false) => (HalfJoin::MaxInt, SIGN),
            (Fold::Min, false) => (HalfJoin::MinInt, !SIGN),
        }
    }

    pub fn is_negated(self) -> bool {
        self == HalfJoin::MaxNegated
    }

    /// `dst = a join b`; `dst` may be `a`, and scratch 1 may be `b`.
    pub fn emit(self, cx: &mut Gen, dst: V, a: V, b: V) {
        let (one_way, other_way) = (SCRATCH[0], dst);
        match self {
            HalfJoin::Add => cx.form3(&forms::VADDPD, dst, a, b),
            HalfJoin::Mul => cx.form3(&forms::VMULPD, dst, a, b),
            HalfJoin::AddInt => cx.form3(&forms::VPADDQ, dst, a, b),
            HalfJoin::MulInt => cx.multiply_quads(dst, a, Rm::Reg(b)),
            HalfJoin::Min | HalfJoin::MaxNegated => {
                cx.form3(&forms::VMINPD, one_way, a, b);
                cx.form3(&forms::VMINPD, other_way, b, a);
                cx.form3(&forms::VORPD, dst, one_way, other_way);
            }
            HalfJoin::Max => {
                cx.form3(&forms::VMAXPD, one_way, b, a);
                cx.form3(&forms::VMAXPD, other_way, a, b);
                let below = cx.asm.constant(&(!SIGN).to_le_bytes().repeat(8));
                let width = cx.isa().width();
                cx.asm.vector(&forms::VPTERNLOGD, width, dst, one_way, below, Some(MAJORITY));
            }
            HalfJoin::MaxInt => cx.chosen(dst, (a, b), (a, b)),
            HalfJoin::MinInt => cx.chosen(dst, (a, b), (b, a)),
        }
    }
}

impl Gen<'_> {
    /// `x` where the first of `compared` is greater, else `y`. Scratch 0 is used.
    fn chosen(&mut self, dst: V, compared: (V, V), (x, y): (V, V)) {
        let width = self.isa().width();
        if self.isa() == Isa::Avx512 {
            self.asm.vector(&forms::VPCMPQ_K, width, V(SCRATCH_MASK.0), compared.0, compared.1, Some(6));
            self.asm.under(SCRATCH_MASK, false).vector(&forms::VBLENDMPD, width, dst, y, x, None);
        } else {
            self.form3(&forms::VPCMPGTQ, SCRATCH[0], compared.0, compared.1);
            self.asm.vector(&forms::VBLENDVPD, width, dst, y, x, Some(SCRATCH[0].0 << 4));
        }
    }

    /// Turns the sign of each lane.
    pub fn flip_signs(&mut self, dst: V, value: V) {
        let sign = self.asm.splat_quads_rm(SIGN);
        self.form3(&forms::VXORPD, dst, value, sign);
    }

    /// The first `n` lanes of a value, and in the others what a fold starts from, which changes nothing. It is in scratch 1.
    pub fn padded_half(&mut self, value: V, n: usize, start: u64) -> V {
        let room = self.lanes / 2;
        if n == room {
            return value;
        }
        let of = |taken: &dyn Fn(usize) -> u64| -> Vec<u8> { (0..room).flat_map(|lane| taken(lane).to_le_bytes()).collect() };
        let kept = self.asm.constant(&of(&|lane| if lane < n { u64::MAX } else { 0 }));
        let (to, form): (V, &'static Form) = (SCRATCH[1], &forms::VANDPD);
        self.form3(form, to, value, kept);
        if start != 0 {
            let others = self.asm.constant(&of(&|lane| if lane < n { 0 } else { start }));
            self.form3(&forms::VORPD, to, to, others);
        }
        to
    }
}
