//! 64-bit lanes: half of a vector's points in each register.
//!
//! This code is not tuned. A tail is a number of lanes of each half; its mask is made on demand as one of twice as many 32-bit
//! lanes.

use super::emit::Run;
use super::normalize::PrimitiveStage;
use super::state::{Gen, Point, SCRATCH, SCRATCH_MASK};
use crate::asm::forms::{self, Form};
use crate::asm::{Isa, Mask, R, Rm, Round, V, Width};
use crate::machine::predicates;
use relayc_ir::kernel::{BinaryOp, Cmp, ScalarType, UnaryOp, Val, Widening};

/// Swaps the two doublewords of each lane.
const EXCHANGED: u8 = 0b10_11_00_01;

impl Gen<'_> {
    fn form2(&mut self, form: &'static Form, dst: V, a: impl Into<Rm>, imm: Option<u8>) {
        let width = self.isa().width();
        self.asm.vector(form, width, dst, V(0), a, imm);
    }

    /// `dst = mask ? a : b`, on lanes of 32 bits or of 64.
    pub(crate) fn select(&mut self, mask: Mask, dst: V, a: Rm, b: V, wide: bool) {
        let width = self.isa().width();
        match mask {
            _ if !wide => self.asm.select(mask, dst, a, b),
            Mask::K(mask) => self.asm.under(mask, false).vector(&forms::VBLENDMPD, width, dst, b, a, None),
            Mask::V(mask) => self.asm.vector(&forms::VBLENDVPD, width, dst, b, a, Some(mask.0 << 4)),
        }
    }

    /// `mask = x op y`; `None` without an instruction.
    pub(crate) fn compare_halves(&mut self, op: Cmp, lane: ScalarType, mask: Mask, x: V, y: Rm) -> Option<()> {
        let (float, int) = predicates(op);
        let (form, dst, imm) = match (mask, lane, op) {
            (Mask::K(mask), ScalarType::HalfF64, _) => (&forms::VCMPPD_K, V(mask.0), Some(float as u8)),
            (Mask::V(mask), ScalarType::HalfF64, _) => (&forms::VCMPPD, mask, Some(float as u8)),
            (Mask::K(mask), ..) => (&forms::VPCMPQ_K, V(mask.0), Some(int as u8)),
            (Mask::V(mask), _, Cmp::Eq) => (&forms::VPCMPEQQ, mask, None),
            (Mask::V(mask), _, Cmp::Gt) => (&forms::VPCMPGTQ, mask, None),
            _ => return None,
        };
        let width = self.isa().width();
        self.asm.vector(form, width, dst, x, y, imm);
        Some(())
    }

    pub(crate) fn half_unary(&mut self, program: &PrimitiveStage, op: UnaryOp, a: Val, run: &mut Run) -> Option<()> {
        let x = self.in_register(run, a, 0);
        let dst = self.result(program, run)?;
        match op {
            UnaryOp::Not => {
                let ones = self.asm.splat_quads_rm(u64::MAX);
                self.asm.op3(&forms::VXORPD, dst, x, ones);
            }
            UnaryOp::Bits | UnaryOp::FromBits if x == dst => (),
            UnaryOp::Bits | UnaryOp::FromBits => self.asm.mov(dst, x),
            UnaryOp::Sqrt => self.form2(&forms::VSQRTPD, dst, x, None),
            UnaryOp::Floor => self.form2(&forms::VRNDSCALEPD, dst, x, Some(Round::Down as u8 | 8)),
            UnaryOp::Ceil => self.form2(&forms::VRNDSCALEPD, dst, x, Some(Round::Up as u8 | 8)),
            UnaryOp::Trunc => self.form2(&forms::VRNDSCALEPD, dst, x, Some(Round::Trunc as u8 | 8)),
            UnaryOp::RoundEven => self.form2(&forms::VRNDSCALEPD, dst, x, Some(Round::Nearest as u8 | 8)),
            UnaryOp::ThroughF16 => {
                self.form2(&forms::VCVTPS2PH, x, SCRATCH[1], Some(0));
                self.form2(&forms::VCVTPH2PS, dst, SCRATCH[1], None);
            }
            UnaryOp::Widen(how, half) => {
                let from = if half == 0 { x } else { self.upper(x) };
                let form = match how {
                    Widening::Signed => &forms::VPMOVSXDQ,
                    Widening::Unsigned => &forms::VPMOVZXDQ,
                    Widening::Float => &forms::VCVTPS2PD,
                    Widening::IntToFloat => &forms::VCVTDQ2PD,
                };
                self.form2(form, dst, from, None);
            }
            _ => return None,
        }
        Some(())
    }

    /// The upper half of a register, in the lower half of a scratch register.
    fn upper(&mut self, x: V) -> V {
        let to = SCRATCH[1];
        let form = if self.isa() == Isa::Avx512 { &forms::VEXTRACTF64X4 } else { &forms::VEXTRACTF128 };
        self.form2_into(form, x, to, 1);
        to
    }

    /// Emits a form whose result is its last operand.
    fn form2_into(&mut self, form: &'static Form, src: V, dst: V, imm: u8) {
        let width = self.isa().width();
        self.asm.vector(form, width, src, V(0), dst, Some(imm));
    }

    /// The low 64 bits of products. `x` may be the first scratch register, `y` the second; both are overwritten. `dst` may be
    /// any register.
    pub(crate) fn multiply_quads(&mut self, dst: V, x: V, y: Rm) {
        if self.isa() == Isa::Avx512 {
            return self.asm.op3(&forms::VPMULLQ, dst, x, y);
        }
        // The product of the low doublewords, and the sum of the two mixed products 32 bits further up.
        let [low, mixed] = SCRATCH;
        if y == Rm::Reg(mixed) {
            // It is needed twice, so it goes last.
            self.asm.op3(&forms::VPMULUDQ, low, x, y);
            self.form2(&forms::VPSHUFD, mixed, mixed, Some(EXCHANGED));
            self.asm.op3(&forms::VPMULLD, mixed, mixed, x);
        } else {
            self.form2(&forms::VPSHUFD, mixed, y, Some(EXCHANGED));
            self.asm.op3(&forms::VPMULLD, mixed, mixed, x);
            self.asm.op3(&forms::VPMULUDQ, low, x, y);
        }
        self.asm.op3(&forms::VPHADDD, mixed, mixed, mixed);
        self.form2(&forms::VPSHUFD, mixed, mixed, Some(0b01_01_00_00));
        self.asm.shift(&forms::VPSLLQ_IMM, mixed, mixed, 32);
        self.asm.op3(&forms::VPADDQ, dst, low, mixed);
    }

    /// Joins two halves to one vector.
    pub(crate) fn join(&mut self, program: &PrimitiveStage, op: BinaryOp, [a, b]: [Val; 2], run: &mut Run) -> Option<()> {
        let (x, y) = (self.in_register(run, a, 0), self.in_register(run, b, 1));
        let dst = self.result(program, run)?;
        let [low, high] = SCRATCH;
        match (op, self.isa()) {
            (BinaryOp::JoinLow, Isa::Avx512) => {
                self.asm.vector(&forms::VPMOVQD, Width::Z, x, V(0), low, None);
                self.asm.vector(&forms::VPMOVQD, Width::Z, y, V(0), high, None);
            }
            (BinaryOp::JoinLow, Isa::Avx2) => {
                // Of each half of the registers the low doublewords; then these in order.
                self.asm.shuffle(low, x, y, 0b10_00_10_00);
                self.form2(&forms::VPERMQ_IMM, dst, low, Some(0b11_01_10_00));
                return Some(());
            }
            _ => {
                self.form2(&forms::VCVTPD2PS, low, x, None);
                self.form2(&forms::VCVTPD2PS, high, y, None);
            }
        }
        let form = if self.isa() == Isa::Avx512 { &forms::VINSERTF64X4 } else { &forms::VINSERTF128 };
        let width = self.isa().width();
        self.asm.vector(form, width, dst, low, high, Some(1));
        Some(())
    }

    /// How many of the first `n` lanes lie in a half.
    pub(crate) fn lanes_of_half(&self, n: usize, half: u8) -> usize {
        let room = self.lanes / 2;
        n.saturating_sub(usize::from(half) * room).min(room)
    }

    /// Reads a half; missing lanes are zero.
    pub(crate) fn read_half(&mut self, access: usize, half: u8, point: &Point, dst: V) -> Option<()> {
        let lanes = self.place(access, point)?;
        if lanes.stride == 0 || (lanes.n == 1 && !lanes.tail) {
            self.form2(&forms::VBROADCASTSD, dst, lanes.first, None);
            return Some(());
        }
        let (n, room) = (self.lanes_of_half(lanes.n, half), self.lanes / 2);
        let step = i32::try_from(8 * lanes.stride).ok()?;
        let first = lanes.first.plus(i32::from(half) * room as i32 * step);
        match n {
            0 => self.asm.zero(dst),
            _ if lanes.stride == 1 && n == room => self.asm.load(dst, first),
            _ if lanes.stride == 1 => {
                let mask = self.half_mask(n, SCRATCH[1]);
                self.asm.load_tail(dst, mask, first);
            }
            _ => {
                let slot = self.byte_slot();
                self.asm.zero(dst);
                self.asm.store(slot, dst);
                for lane in 0..n as i32 {
                    self.asm.mov_rm(R::RCX, first.plus(lane * step));
                    self.asm.mov_mr(slot.plus(8 * lane), R::RCX);
                }
                self.asm.load(dst, slot);
            }
        }
        Some(())
    }

    /// A mask of the first `n` 64-bit lanes, as twice as many 32-bit lanes.
    fn half_mask(&mut self, n: usize, scratch: V) -> Mask {
        let mask = match self.isa() {
            Isa::Avx512 => Mask::K(SCRATCH_MASK),
            Isa::Avx2 => Mask::V(scratch),
        };
        self.asm.set_tail(mask, 2 * n, R::RCX);
        mask
    }

    /// Stores a half. The value is not in the first scratch register.
    pub(crate) fn store_half(&mut self, access: usize, half: u8, point: &Point, value: V) -> Option<()> {
        let lanes = self.place(access, point)?;
        let (n, room) = (self.lanes_of_half(lanes.n, half), self.lanes / 2);
        let step = i32::try_from(8 * lanes.stride).ok()?;
        let first = lanes.first.plus(i32::from(half) * room as i32 * step);
        match n {
            0 => (),
            1 => self.asm.vector(&forms::VMOVSD_STORE, Width::X, value, V(0), first, None),
            _ if lanes.stride == 1 && n == room => self.asm.store(first, value),
            _ if lanes.stride == 1 => {
                let mask = self.half_mask(n, SCRATCH[0]);
                self.asm.store_tail(first, mask, value);
            }
            _ => {
                let slot = self.byte_slot();
                self.asm.store(slot, value);
                for lane in 0..n as i32 {
                    self.asm.mov_rm(R::RCX, slot.plus(8 * lane));
                    self.asm.mov_mr(first.plus(lane * step), R::RCX);
                }
            }
        }
        Some(())
    }
}
