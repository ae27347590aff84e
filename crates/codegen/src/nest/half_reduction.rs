//! Reductions of 64-bit lanes: how two registers are joined.
//!
//! As with 32-bit lanes, a float maximum is kept as the minimum of negated values if no instruction joins three bit patterns.

use super::state::{Gen, SCRATCH, SCRATCH_MASK};
use crate::asm::forms::{self, Form};
use crate::asm::{Isa, Rm, V};
use relayc_ir::kernel::{Reduction, ScalarType};

const SIGN: u64 = 1 << 63;

/// Immediate for the majority of two maxima and a mask of all bits but the sign: "and" of signs and "or" of the others.
const MAJORITY: u8 = 0xe8;

/// How two registers are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HalfJoin {
    Add,
    Mul,
    AddInt,
    MulInt,
    /// NaN wins, -0 < +0.
    Max,
    Min,
    /// As the minimum of negated values.
    MaxNegated,
    MaxInt,
    MinInt,
}

impl HalfJoin {
    /// The join of a reduction and its initial value.
    pub(crate) fn new(isa: Isa, lane: ScalarType, fold: Reduction) -> (HalfJoin, u64) {
        let infinity = f64::INFINITY.to_bits();
        match (fold, lane == ScalarType::HalfF64) {
            (Reduction::Sum, true) => (HalfJoin::Add, 0),
            (Reduction::Sum, false) => (HalfJoin::AddInt, 0),
            (Reduction::Product, true) => (HalfJoin::Mul, 1f64.to_bits()),
            (Reduction::Product, false) => (HalfJoin::MulInt, 1),
            (Reduction::Max, true) if isa == Isa::Avx2 => (HalfJoin::MaxNegated, infinity),
            (Reduction::Max, true) => (HalfJoin::Max, infinity | SIGN),
            (Reduction::Min, true) => (HalfJoin::Min, infinity),
            (Reduction::Max, false) => (HalfJoin::MaxInt, SIGN),
            (Reduction::Min, false) => (HalfJoin::MinInt, !SIGN),
        }
    }

    pub(crate) fn is_negated(self) -> bool {
        self == HalfJoin::MaxNegated
    }

    /// `dst = a join b`; `dst` may be `a`, and scratch 1 may be `b`.
    pub(crate) fn emit(self, cx: &mut Gen, dst: V, a: V, b: V) {
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
    /// `x` where the first of `compared` is greater, else `y`. Uses scratch register 0.
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

    /// Negates each lane.
    pub(crate) fn flip_signs(&mut self, dst: V, value: V) {
        let sign = self.asm.splat_quads_rm(SIGN);
        self.form3(&forms::VXORPD, dst, value, sign);
    }

    /// The first `n` lanes of a value, padded with the initial value, which changes nothing. The result is in scratch register
    /// 1.
    pub(crate) fn padded_half(&mut self, value: V, n: usize, start: u64) -> V {
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
