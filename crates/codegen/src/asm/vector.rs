//! Vector instructions at the full width of the instruction set, and the few of fixed width that kernels need.
//!
//! Each method emits one instruction unless its documentation states otherwise. Names and operand orders are relayc's
//! (destination first); the table of forms gives the instruction.

use super::Asm;
use super::encode::{Insn, Place};
use super::forms::{self, Form, Shape};
use super::operand::{IPred, Isa, K, Mask, Mem, Pred, R, Rm, Round, V, Width};

impl From<Rm> for Place {
    fn from(rm: Rm) -> Place {
        match rm {
            Rm::Reg(v) => Place::Reg(v.0),
            Rm::Mem(mem) => Place::Mem(mem),
            Rm::Bcast(mem) => Place::Bcast(mem),
        }
    }
}

/// Any form of the table at any width: `dst` is the `reg` operand (the stored register of a store), `a` the `vvvv` operand of
/// forms that have one.
impl Asm {
    pub(crate) fn vector(&mut self, form: &'static Form, width: Width, dst: V, a: V, rm: impl Into<Rm>, imm: Option<u8>) {
        let place = rm.into().into();
        self.insn(form, width, dst.0, a.0, place, imm);
    }

    /// Masks the next vector instruction: its other lanes become zero, or keep their value. AVX-512 only.
    pub(crate) fn under(&mut self, k: K, zeroing: bool) -> &mut Asm {
        self.next_mask = Some((k, zeroing));
        self
    }

    fn insn(&mut self, form: &'static Form, width: Width, reg: u8, v: u8, rm: Place, imm: Option<u8>) {
        let (reg, v) = match form.shape {
            Shape::Vm(extension) => (extension, v),
            Shape::Rm | Shape::Mr => (reg, 0),
            Shape::Rvm | Shape::Rvm4 | Shape::Mvr | Shape::Gather => (reg, v),
        };
        self.emit(Insn { form, width, reg, v, rm, k: 0, zeroing: false, imm });
    }

    /// `dst <- rm` at full width.
    fn full2(&mut self, form: &'static Form, dst: V, rm: Rm) {
        self.insn(form, self.isa.width(), dst.0, 0, rm.into(), None);
    }
}

/// Loads, stores, constants.
impl Asm {
    pub fn load(&mut self, dst: V, src: Mem) {
        self.full2(&forms::VMOVUPS_LOAD, dst, src.into());
    }

    pub fn store(&mut self, dst: Mem, src: V) {
        self.full2(&forms::VMOVUPS_STORE, src, dst.into());
    }

    /// Sets `mask` to the first `n` lanes. Uses `scratch` on AVX-512 only.
    pub(crate) fn set_tail(&mut self, mask: Mask, n: usize, scratch: R) {
        let n = n.min(self.isa.lanes());
        match mask {
            Mask::K(k) => {
                self.mov_ri(scratch, (1 << n) - 1);
                self.kmov_kr(k, scratch);
            }
            Mask::V(v) => {
                let lanes: Vec<u8> = (0..self.isa.lanes()).flat_map(|lane| [if lane < n { 0xff } else { 0 }; 4]).collect();
                let lanes = self.constant(&lanes);
                self.load(v, lanes);
            }
        }
    }

    /// Loads the lanes of `mask`, or all. Other lanes become zero, and their memory is not touched.
    pub(crate) fn load_tail(&mut self, dst: V, mask: impl Into<Option<Mask>>, src: Mem) {
        match mask.into() {
            None => self.load(dst, src),
            Some(Mask::K(k)) => self.under(k, true).load(dst, src),
            Some(Mask::V(v)) => self.op3(&forms::VMASKMOVPS_LOAD, dst, v, src),
        }
    }

    /// Stores the lanes of `mask`, or all. Memory of other lanes is not touched.
    pub(crate) fn store_tail(&mut self, dst: Mem, mask: impl Into<Option<Mask>>, src: V) {
        match mask.into() {
            None => self.store(dst, src),
            Some(Mask::K(k)) => self.under(k, false).store(dst, src),
            Some(Mask::V(v)) => self.op3(&forms::VMASKMOVPS_STORE, src, v, dst),
        }
    }

    pub(crate) fn store_lane0(&mut self, dst: Mem, src: V) {
        self.insn(&forms::VMOVSS_STORE, Width::X, src.0, 0, Place::Mem(dst), None);
    }

    pub fn zero(&mut self, dst: V) {
        if dst.0 < 16 {
            // Clearing the lower part clears the whole register.
            self.insn(&forms::VXORPS, Width::X, dst.0, dst.0, Place::Reg(dst.0), None);
        } else {
            self.op3(&forms::VPXORD, dst, dst, dst);
        }
    }

    pub(crate) fn mov(&mut self, dst: V, src: V) {
        self.full2(&forms::VMOVAPS, dst, src.into());
    }

    /// Broadcasts one f32 in memory to all lanes.
    pub(crate) fn bcast(&mut self, dst: V, src: Mem) {
        self.full2(&forms::VBROADCASTSS, dst, src.into());
    }

    /// Broadcasts lane 0 to all lanes.
    pub(crate) fn bcast_lane0(&mut self, dst: V, src: V) {
        self.full2(&forms::VBROADCASTSS, dst, src.into());
    }

    /// Broadcasts the lower half of a general register to all lanes. Two instructions on AVX2.
    pub(crate) fn bcast_r(&mut self, dst: V, src: R) {
        match self.isa {
            Isa::Avx512 => self.insn(&forms::VPBROADCASTD_R, Width::Z, dst.0, 0, Place::Reg(src.0), None),
            Isa::Avx2 => {
                self.insn(&forms::VMOVD_FROM_R, Width::X, dst.0, 0, Place::Reg(src.0), None);
                self.bcast_lane0(dst, dst);
            }
        }
    }

    /// Loads a constant into all lanes.
    pub(crate) fn splat(&mut self, dst: V, value: f32) {
        self.splat_bits(dst, value.to_bits());
    }

    /// Loads a constant dword into all lanes.
    pub(crate) fn splat_bits(&mut self, dst: V, bits: u32) {
        if bits == 0 {
            return self.zero(dst);
        }
        let mem = self.constant(&bits.to_le_bytes());
        self.bcast(dst, mem);
    }

    /// A constant in all lanes, as an operand: broadcast from four bytes on AVX-512, a whole vector in memory on AVX2.
    pub(crate) fn splat_rm(&mut self, value: f32) -> Rm {
        self.splat_bits_rm(value.to_bits())
    }

    /// Like [`Asm::splat_rm`], for a dword.
    pub(crate) fn splat_bits_rm(&mut self, bits: u32) -> Rm {
        match self.isa {
            Isa::Avx512 => Rm::Bcast(self.constant(&bits.to_le_bytes())),
            Isa::Avx2 => Rm::Mem(self.constant(&bits.to_le_bytes().repeat(8))),
        }
    }

    /// Loads a constant quadword into all lanes.
    pub(crate) fn splat_quads(&mut self, dst: V, bits: u64) {
        if bits == 0 {
            return self.zero(dst);
        }
        let mem = self.constant(&bits.to_le_bytes());
        self.full2(&forms::VBROADCASTSD, dst, mem.into());
    }

    /// A constant quadword in all lanes as an operand of an instruction on quadwords.
    pub(crate) fn splat_quads_rm(&mut self, bits: u64) -> Rm {
        match self.isa {
            Isa::Avx512 => Rm::Bcast(self.constant(&bits.to_le_bytes())),
            Isa::Avx2 => Rm::Mem(self.constant(&bits.to_le_bytes().repeat(4))),
        }
    }
}

/// Arithmetic.
impl Asm {
    /// `dst = a op rm` at full width, for the operation `op` of the table.
    pub(crate) fn op3(&mut self, op: &'static Form, dst: V, a: V, rm: impl Into<Rm>) {
        self.insn(op, self.isa.width(), dst.0, a.0, rm.into().into(), None);
    }

    /// `dst = a + rm` on floats.
    pub fn add(&mut self, dst: V, a: V, rm: impl Into<Rm>) {
        self.op3(&forms::VADDPS, dst, a, rm);
    }

    /// `dst += a * rm`.
    pub fn fma(&mut self, dst: V, a: V, rm: impl Into<Rm>) {
        self.op3(&forms::VFMADD231PS, dst, a, rm);
    }

    /// `dst -= a * rm`.
    pub(crate) fn fnma(&mut self, dst: V, a: V, rm: impl Into<Rm>) {
        self.op3(&forms::VFNMADD231PS, dst, a, rm);
    }

    /// `dst = a * dst + rm`.
    pub(crate) fn fma213(&mut self, dst: V, a: V, rm: impl Into<Rm>) {
        self.op3(&forms::VFMADD213PS, dst, a, rm);
    }

    /// `dst = dst * rm + a`.
    pub(crate) fn fma132(&mut self, dst: V, a: V, rm: impl Into<Rm>) {
        self.op3(&forms::VFMADD132PS, dst, a, rm);
    }

    pub(crate) fn sqrt(&mut self, dst: V, rm: impl Into<Rm>) {
        self.full2(&forms::VSQRTPS, dst, rm.into());
    }

    /// Rounds to a whole number, which stays a float; raises no flag.
    pub(crate) fn round(&mut self, round: Round, dst: V, rm: impl Into<Rm>) {
        self.insn(&forms::VRNDSCALEPS, self.isa.width(), dst.0, 0, rm.into().into(), Some(round as u8 | 8));
    }

    /// Shifts each lane by the same count.
    pub(crate) fn shift(&mut self, form: &'static Form, dst: V, src: V, count: u8) {
        self.insn(form, self.isa.width(), 0, dst.0, Place::Reg(src.0), Some(count));
    }

    /// Converts f32 to dwords, towards zero; values out of range become `i32::MIN`.
    pub(crate) fn cvt_f2i_trunc(&mut self, dst: V, rm: impl Into<Rm>) {
        self.full2(&forms::VCVTTPS2DQ, dst, rm.into());
    }

    /// Converts f32 to dwords, halves to even; values out of range become `i32::MIN`.
    pub(crate) fn cvt_f2i_nearest(&mut self, dst: V, rm: impl Into<Rm>) {
        self.full2(&forms::VCVTPS2DQ, dst, rm.into());
    }

    /// Converts dwords to f32.
    pub(crate) fn cvt_i2f(&mut self, dst: V, rm: impl Into<Rm>) {
        self.full2(&forms::VCVTDQ2PS, dst, rm.into());
    }

    /// `dst = a * 2^floor(rm)`. AVX-512 only.
    pub(crate) fn scalef(&mut self, dst: V, a: V, rm: impl Into<Rm>) {
        self.op3(&forms::VSCALEFPS, dst, a, rm);
    }
}

/// Masks.
impl Asm {
    /// `mask = a pred rm` on floats.
    pub(crate) fn cmp(&mut self, pred: Pred, mask: Mask, a: V, rm: impl Into<Rm>) {
        let (form, dst) = match mask {
            Mask::K(k) => (&forms::VCMPPS_K, k.0),
            Mask::V(v) => (&forms::VCMPPS, v.0),
        };
        self.insn(form, self.isa.width(), dst, a.0, rm.into().into(), Some(pred as u8));
    }

    /// `mask = a pred rm` on signed dwords. On AVX2, `Ne`, `Le` and `Ge` take two instructions, and `Lt` and `Ge` require a
    /// register as `rm`.
    pub(crate) fn cmp_i(&mut self, pred: IPred, mask: Mask, a: V, rm: impl Into<Rm>) {
        let rm = rm.into();
        let dst = match mask {
            Mask::K(k) => return self.insn(&forms::VPCMPD_K, self.isa.width(), k.0, a.0, rm.into(), Some(pred as u8)),
            Mask::V(v) => v,
        };
        match (pred, rm) {
            (IPred::Eq | IPred::Ne, _) => self.op3(&forms::VPCMPEQD, dst, a, rm),
            (IPred::Gt | IPred::Le, _) => self.op3(&forms::VPCMPGTD, dst, a, rm),
            (IPred::Lt | IPred::Ge, Rm::Reg(b)) => self.op3(&forms::VPCMPGTD, dst, b, a),
            (IPred::Lt | IPred::Ge, _) => self.refuse("vpcmpgtd", "the greater side has to be a register"),
        }
        if matches!(pred, IPred::Ne | IPred::Le | IPred::Ge) {
            self.mask_not(mask, mask);
        }
    }

    /// `dst = mask ? a : b`, lane by lane.
    pub(crate) fn select(&mut self, mask: Mask, dst: V, a: impl Into<Rm>, b: V) {
        let (width, a) = (self.isa.width(), a.into().into());
        match mask {
            Mask::K(k) => self.under(k, false).insn(&forms::VBLENDMPS, width, dst.0, b.0, a, None),
            Mask::V(v) => self.insn(&forms::VBLENDVPS, width, dst.0, b.0, a, Some(v.0 << 4)),
        }
    }

    /// Sets all lanes of a mask.
    pub(crate) fn mask_all(&mut self, dst: Mask) {
        match dst {
            Mask::K(k) => self.opmask(&forms::KXNORW, k, k, k),
            Mask::V(v) => self.op3(&forms::VPCMPEQD, v, v, v),
        }
    }

    pub(crate) fn mask_and(&mut self, dst: Mask, a: Mask, b: Mask) {
        self.mask_op(&forms::KANDW, &forms::VANDPS, dst, a, b);
    }

    pub(crate) fn mask_or(&mut self, dst: Mask, a: Mask, b: Mask) {
        self.mask_op(&forms::KORW, &forms::VORPS, dst, a, b);
    }

    pub(crate) fn mask_xor(&mut self, dst: Mask, a: Mask, b: Mask) {
        self.mask_op(&forms::KXORW, &forms::VXORPS, dst, a, b);
    }

    pub(crate) fn mask_not(&mut self, dst: Mask, src: Mask) {
        match (dst, src) {
            (Mask::K(dst), Mask::K(src)) => self.opmask(&forms::KNOTW, dst, K(0), src),
            (Mask::V(dst), Mask::V(src)) => {
                let ones = self.splat_bits_rm(!0);
                self.op3(&forms::VXORPS, dst, src, ones);
            }
            _ => self.refuse("mask_not", "masks of two kinds"),
        }
    }

    pub(crate) fn kmov_kr(&mut self, dst: K, src: R) {
        self.insn(&forms::KMOVW_FROM_R, Width::X, dst.0, 0, Place::Reg(src.0), None);
    }

    fn mask_op(&mut self, k: &'static Form, v: &'static Form, dst: Mask, a: Mask, b: Mask) {
        match (dst, a, b) {
            (Mask::K(dst), Mask::K(a), Mask::K(b)) => self.opmask(k, dst, a, b),
            (Mask::V(dst), Mask::V(a), Mask::V(b)) => self.op3(v, dst, a, b),
            _ => self.refuse(k.name, "masks of two kinds"),
        }
    }

    fn opmask(&mut self, form: &'static Form, dst: K, a: K, b: K) {
        let width = if form.widths & 2 != 0 { Width::Y } else { Width::X };
        self.insn(form, width, dst.0, a.0, Place::Reg(b.0), None);
    }

    /// `dst[lane] = f32 at base + index[lane] * scale + disp` for the lanes of `mask`; other lanes keep their value.
    ///
    /// The instruction clears `mask`. The three vector registers must differ.
    pub(crate) fn gather(&mut self, dst: V, mask: Mask, base: R, index: V, scale: u8, disp: i32) {
        let place = Place::Gather(Mem { base, index: Some((R(index.0), scale)), disp });
        let width = self.isa.width();
        let form = &forms::VGATHERDPS;
        let (v, k) = match mask {
            Mask::K(k) => (0, k.0),
            Mask::V(v) => (v.0, 0),
        };
        if mask == Mask::K(K(0)) {
            return self.refuse(form.name, "k0 is no mask");
        }
        if dst == index || mask == Mask::V(dst) || mask == Mask::V(index) {
            return self.refuse(form.name, "two of its registers are the same");
        }
        self.emit(Insn { form, width, reg: dst.0, v, rm: place, k, zeroing: false, imm: None });
    }
}
