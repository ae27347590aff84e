//! The table of vector instructions: every form that the assembler can emit, once.
//!
//! The assembler cannot emit a form outside this table. The tests walk [`ALL`], so they cover every form.

use super::operand::Width;

/// Mandatory prefixes.
pub(crate) const NP: u8 = 0;
pub(crate) const P66: u8 = 1;
pub(crate) const PF3: u8 = 2;
pub(crate) const PF2: u8 = 3;

/// Opcode maps.
pub(crate) const M0F: u8 = 1;
pub(crate) const M0F38: u8 = 2;
pub(crate) const M0F3A: u8 = 3;

/// Order and roles of a form's operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// `reg <- vvvv, rm`.
    Rvm,
    /// `reg <- rm`.
    Rm,
    /// `rm <- reg`.
    Mr,
    /// `vvvv <- rm`; the `reg` bits extend the opcode.
    Vm(u8),
    /// `reg <- vvvv, rm` under a mask vector, whose number is the high half of the immediate. VEX only.
    Rvm4,
    /// `rm <- reg` under the masks in `vvvv`. VEX only.
    Mvr,
    /// `reg <- gather rm`; the mask is `vvvv` with VEX and an opmask with EVEX.
    Gather,
}

/// The register class of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// A vector register of the instruction's width.
    Full,
    /// Half or a quarter of that width, but at least an xmm register.
    Half,
    Quarter,
    /// An xmm or a ymm register, whatever the width of the instruction.
    X,
    Y,
    Opmask,
    /// A 32-bit general register.
    R32,
}

/// The size of a memory operand, which is also the unit of EVEX's compressed displacements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tuple {
    /// The whole width; one element where EVEX broadcasts.
    Full,
    /// The whole width, never broadcast.
    FullMem,
    Half,
    /// Half, or one element where EVEX broadcasts.
    HalfBcast,
    Quarter,
    /// This many bytes.
    Bytes(i32),
    /// No memory operand.
    None,
}

impl Tuple {
    /// Number of bytes that the memory operand spans.
    pub(crate) fn unit(self, width: Width, broadcast: bool, w: u8) -> i32 {
        let bytes = width.bytes() as i32;
        match self {
            Tuple::Full | Tuple::HalfBcast if broadcast => 4 << w,
            Tuple::Full | Tuple::FullMem => bytes,
            Tuple::Half | Tuple::HalfBcast => bytes / 2,
            Tuple::Quarter => bytes / 4,
            Tuple::Bytes(n) => n,
            Tuple::None => 1,
        }
    }

    pub(crate) fn broadcasts(self) -> bool {
        matches!(self, Tuple::Full | Tuple::HalfBcast)
    }
}

/// One instruction form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    /// The mnemonic with VEX. EVEX has the same unless [`Form::evex_name`] states another.
    pub(crate) name: &'static str,
    pub(crate) evex_name: &'static str,
    pub(crate) pp: u8,
    pub(crate) map: u8,
    pub(crate) opcode: u8,
    /// The W bit with VEX, if VEX has the form.
    pub(crate) vex: Option<u8>,
    /// The W bit with EVEX, if EVEX has the form.
    pub(crate) evex: Option<u8>,
    pub(crate) shape: Shape,
    pub(crate) tuple: Tuple,
    pub(crate) has_imm: bool,
    /// Whether the rm operand may be a register.
    pub(crate) rm_reg: bool,
    /// The classes of `reg`, of `vvvv`, and of a register in `rm`.
    pub(crate) reg: Class,
    pub(crate) v: Class,
    pub(crate) rm: Class,
    /// Whether EVEX accepts an opmask.
    pub(crate) masked: bool,
    /// The widths at which it exists, as bits: 1 X, 2 Y, 4 Z.
    pub(crate) widths: u8,
}

impl Form {
    /// Whether one of its operands is an opmask.
    pub(crate) fn has_opmasks(&self) -> bool {
        [self.reg, self.v, self.rm].contains(&Class::Opmask)
    }

    /// Whether masked-off lanes may become zero. That needs a vector register as destination; a gather leaves the lanes
    /// unchanged.
    pub(crate) fn zeroes(&self, to_memory: bool) -> bool {
        match self.shape {
            Shape::Gather => false,
            Shape::Mr | Shape::Mvr => !to_memory,
            Shape::Rvm | Shape::Rm | Shape::Vm(_) | Shape::Rvm4 => self.reg != Class::Opmask,
        }
    }

    const fn new(name: &'static str, pp: u8, map: u8, opcode: u8) -> Form {
        Form {
            name,
            evex_name: name,
            pp,
            map,
            opcode,
            vex: None,
            evex: None,
            shape: Shape::Rvm,
            tuple: Tuple::Full,
            has_imm: false,
            rm_reg: true,
            reg: Class::Full,
            v: Class::Full,
            rm: Class::Full,
            masked: true,
            widths: 7,
        }
    }

    const fn vex(mut self, w: u8) -> Form {
        self.vex = Some(w);
        self
    }

    const fn evex(mut self, w: u8) -> Form {
        self.evex = Some(w);
        self
    }

    /// VEX and EVEX, each with W 0.
    const fn both(self) -> Form {
        self.vex(0).evex(0)
    }

    const fn named(mut self, evex_name: &'static str) -> Form {
        self.evex_name = evex_name;
        self
    }

    const fn shape(mut self, shape: Shape) -> Form {
        self.shape = shape;
        self
    }

    const fn rm(self) -> Form {
        self.shape(Shape::Rm)
    }

    const fn mr(self) -> Form {
        self.shape(Shape::Mr)
    }

    const fn tuple(mut self, tuple: Tuple) -> Form {
        self.tuple = tuple;
        self
    }

    const fn imm(mut self) -> Form {
        self.has_imm = true;
        self
    }

    const fn mem_only(mut self) -> Form {
        self.rm_reg = false;
        self
    }

    const fn unmasked(mut self) -> Form {
        self.masked = false;
        self
    }

    /// Moves bytes or words between memory and registers, element by element; never broadcast.
    const fn whole(self) -> Form {
        self.tuple(Tuple::FullMem)
    }

    const fn classes(mut self, reg: Class, v: Class, rm: Class) -> Form {
        (self.reg, self.v, self.rm) = (reg, v, rm);
        self
    }

    const fn widths(mut self, widths: u8) -> Form {
        self.widths = widths;
        self
    }

    /// A form whose registers are all xmm and whose memory operand spans `bytes`.
    const fn scalar(self, bytes: i32) -> Form {
        self.tuple(Tuple::Bytes(bytes)).classes(Class::X, Class::X, Class::X).widths(X)
    }

    /// A form between opmasks, or between an opmask and a general register; `widths` is the L bit that it requires.
    const fn opmask(self, widths: u8) -> Form {
        self.vex(0).tuple(Tuple::None).classes(Class::Opmask, Class::Opmask, Class::Opmask).widths(widths)
    }
}

const X: u8 = 1;
const Y: u8 = 2;
const Z: u8 = 4;

macro_rules! forms {
    ($($name:ident = $form:expr;)*) => {
        $(pub(crate) const $name: Form = $form;)*
        /// Every form.
        #[cfg(test)]
        pub(crate) const ALL: &[Form] = &[$($name),*];
    };
}

use Class as C;
use Tuple as T;

forms! {
    // Moves.
    VMOVUPS_LOAD = Form::new("vmovups", NP, M0F, 0x10).both().rm().tuple(T::FullMem);
    VMOVUPS_STORE = Form::new("vmovups", NP, M0F, 0x11).both().mr().tuple(T::FullMem).mem_only();
    VMOVAPS = Form::new("vmovaps", NP, M0F, 0x28).both().rm().tuple(T::FullMem);
    VMASKMOVPS_LOAD = Form::new("vmaskmovps", P66, M0F38, 0x2c).vex(0).tuple(T::FullMem).mem_only().widths(X | Y);
    VMASKMOVPS_STORE = Form::new("vmaskmovps", P66, M0F38, 0x2e).vex(0).shape(Shape::Mvr).tuple(T::FullMem).mem_only().widths(X | Y);
    VMOVSS_STORE = Form::new("vmovss", PF3, M0F, 0x11).both().mr().scalar(4).mem_only();
    VMOVSD_STORE = Form::new("vmovsd", PF2, M0F, 0x11).vex(0).evex(1).mr().scalar(8).mem_only();
    VMOVSD_LOAD = Form::new("vmovsd", PF2, M0F, 0x10).vex(0).evex(1).rm().scalar(8).mem_only();
    VMOVHPS_LOAD = Form::new("vmovhps", NP, M0F, 0x16).vex(0).scalar(8).mem_only();
    VMOVD_FROM_R = Form::new("vmovd", P66, M0F, 0x6e).unmasked().both().rm().scalar(4).classes(C::X, C::X, C::R32);
    VBROADCASTSS = Form::new("vbroadcastss", P66, M0F38, 0x18).both().rm().tuple(T::Bytes(4)).classes(C::Full, C::Full, C::X);
    VBROADCASTSD = Form::new("vbroadcastsd", P66, M0F38, 0x19).vex(0).evex(1).rm().tuple(T::Bytes(8)).classes(C::Full, C::Full, C::X).widths(Y | Z);
    VPBROADCASTD_R = Form::new("vpbroadcastd", P66, M0F38, 0x7c).evex(0).rm().tuple(T::None).classes(C::Full, C::Full, C::R32);

    // Arithmetic on f32.
    VADDPS = Form::new("vaddps", NP, M0F, 0x58).both();
    VMULPS = Form::new("vmulps", NP, M0F, 0x59).both();
    VSUBPS = Form::new("vsubps", NP, M0F, 0x5c).both();
    // The minimum is `a < b ? a : b`, so the second operand if either is NaN; the maximum likewise.
    VMINPS = Form::new("vminps", NP, M0F, 0x5d).both();
    VDIVPS = Form::new("vdivps", NP, M0F, 0x5e).both();
    VMAXPS = Form::new("vmaxps", NP, M0F, 0x5f).both();
    VANDPS = Form::new("vandps", NP, M0F, 0x54).both();
    VORPS = Form::new("vorps", NP, M0F, 0x56).both();
    VXORPS = Form::new("vxorps", NP, M0F, 0x57).both();
    VSQRTPS = Form::new("vsqrtps", NP, M0F, 0x51).both().rm();
    VRNDSCALEPS = Form::new("vroundps", P66, M0F3A, 0x08).named("vrndscaleps").both().rm().imm();
    VFMADD132PS = Form::new("vfmadd132ps", P66, M0F38, 0x98).both();
    VFMADD213PS = Form::new("vfmadd213ps", P66, M0F38, 0xa8).both();
    VFMADD231PS = Form::new("vfmadd231ps", P66, M0F38, 0xb8).both();
    VFMADD231PD = Form::new("vfmadd231pd", P66, M0F38, 0xb8).vex(1).evex(1);
    VFNMADD231PS = Form::new("vfnmadd231ps", P66, M0F38, 0xbc).both();
    VSCALEFPS = Form::new("vscalefps", P66, M0F38, 0x2c).evex(0);
    VCMPPS = Form::new("vcmpps", NP, M0F, 0xc2).vex(0).imm().widths(X | Y);
    VCMPPS_K = Form::new("vcmpps", NP, M0F, 0xc2).evex(0).imm().classes(C::Opmask, C::Full, C::Full);
    VBLENDVPS = Form::new("vblendvps", P66, M0F3A, 0x4a).vex(0).shape(Shape::Rvm4).widths(X | Y);
    VBLENDMPS = Form::new("vblendmps", P66, M0F38, 0x65).evex(0);

    // Arithmetic on f64.
    VADDPD = Form::new("vaddpd", P66, M0F, 0x58).vex(0).evex(1);
    VMULPD = Form::new("vmulpd", P66, M0F, 0x59).vex(0).evex(1);
    VSUBPD = Form::new("vsubpd", P66, M0F, 0x5c).vex(0).evex(1);
    VMINPD = Form::new("vminpd", P66, M0F, 0x5d).vex(0).evex(1);
    VDIVPD = Form::new("vdivpd", P66, M0F, 0x5e).vex(0).evex(1);
    VMAXPD = Form::new("vmaxpd", P66, M0F, 0x5f).vex(0).evex(1);
    VSQRTPD = Form::new("vsqrtpd", P66, M0F, 0x51).vex(0).evex(1).rm();
    VANDPD = Form::new("vandpd", P66, M0F, 0x54).vex(0).evex(1);
    VORPD = Form::new("vorpd", P66, M0F, 0x56).vex(0).evex(1);
    VXORPD = Form::new("vxorpd", P66, M0F, 0x57).vex(0).evex(1);
    VRNDSCALEPD = Form::new("vroundpd", P66, M0F3A, 0x09).named("vrndscalepd").vex(0).evex(1).rm().imm();
    VCMPPD = Form::new("vcmppd", P66, M0F, 0xc2).vex(0).imm().widths(X | Y);
    VCMPPD_K = Form::new("vcmppd", P66, M0F, 0xc2).evex(1).imm().classes(C::Opmask, C::Full, C::Full);
    VBLENDVPD = Form::new("vblendvpd", P66, M0F3A, 0x4b).vex(0).shape(Shape::Rvm4).widths(X | Y);
    VBLENDMPD = Form::new("vblendmpd", P66, M0F38, 0x65).evex(1);

    // Arithmetic on dwords.
    VPADDD = Form::new("vpaddd", P66, M0F, 0xfe).both();
    VPSUBD = Form::new("vpsubd", P66, M0F, 0xfa).both();
    VPMULLD = Form::new("vpmulld", P66, M0F38, 0x40).both();
    // Adds the sums of four products of bytes, unsigned in the second operand and signed in the third (AVX512-VNNI).
    VPDPBUSD = Form::new("vpdpbusd", P66, M0F38, 0x50).evex(0);
    // The same with two products of 16 bits, both signed.
    VPDPWSSD = Form::new("vpdpwssd", P66, M0F38, 0x52).evex(0);
    // Arithmetic on words.
    VPADDW = Form::new("vpaddw", P66, M0F, 0xfd).both().whole();
    VPSUBW = Form::new("vpsubw", P66, M0F, 0xf9).both().whole();
    VPSLLW_IMM = Form::new("vpsllw", P66, M0F, 0x71).vex(0).evex(0).shape(Shape::Vm(6)).imm().tuple(T::None);
    // The sums of two products of 16 bits, both signed.
    VPMADDWD = Form::new("vpmaddwd", P66, M0F, 0xf5).both().whole();
    VPHADDD = Form::new("vphaddd", P66, M0F38, 0x02).vex(0).widths(X | Y);
    VPMAXSD = Form::new("vpmaxsd", P66, M0F38, 0x3d).both();
    VPMINSD = Form::new("vpminsd", P66, M0F38, 0x39).both();
    // Shifts by lanes: counts of 32 and more give zeros, or copies of the sign.
    VPSLLVD = Form::new("vpsllvd", P66, M0F38, 0x47).both();
    VPSRLVD = Form::new("vpsrlvd", P66, M0F38, 0x45).both();
    VPSRAVD = Form::new("vpsravd", P66, M0F38, 0x46).both();
    VPSLLD_IMM = Form::new("vpslld", P66, M0F, 0x72).vex(0).evex(0).shape(Shape::Vm(6)).imm().tuple(T::None);
    VPSRLD_IMM = Form::new("vpsrld", P66, M0F, 0x72).vex(0).evex(0).shape(Shape::Vm(2)).imm().tuple(T::None);
    VPSRAD_IMM = Form::new("vpsrad", P66, M0F, 0x72).vex(0).evex(0).shape(Shape::Vm(4)).imm().tuple(T::None);
    VPCMPEQD = Form::new("vpcmpeqd", P66, M0F, 0x76).vex(0).widths(X | Y);
    VPCMPGTD = Form::new("vpcmpgtd", P66, M0F, 0x66).vex(0).widths(X | Y);
    VPCMPD_K = Form::new("vpcmpd", P66, M0F3A, 0x1f).evex(0).imm().classes(C::Opmask, C::Full, C::Full);
    VPXORD = Form::new("vpxord", P66, M0F, 0xef).evex(0);
    VPTERNLOGD = Form::new("vpternlogd", P66, M0F3A, 0x25).evex(0).imm();

    // Integers of other widths, and bits.
    VPADDQ = Form::new("vpaddq", P66, M0F, 0xd4).vex(0).evex(1);
    VPSUBQ = Form::new("vpsubq", P66, M0F, 0xfb).vex(0).evex(1);
    VPMULLQ = Form::new("vpmullq", P66, M0F38, 0x40).evex(1);
    VPMULUDQ = Form::new("vpmuludq", P66, M0F, 0xf4).vex(0).evex(1);
    VPSLLVQ = Form::new("vpsllvq", P66, M0F38, 0x47).vex(1).evex(1);
    VPSRLVQ = Form::new("vpsrlvq", P66, M0F38, 0x45).vex(1).evex(1);
    VPSRAVQ = Form::new("vpsravq", P66, M0F38, 0x46).evex(1);
    VPSLLQ_IMM = Form::new("vpsllq", P66, M0F, 0x73).vex(0).evex(1).shape(Shape::Vm(6)).imm().tuple(T::None);
    VPSRLQ_IMM = Form::new("vpsrlq", P66, M0F, 0x73).vex(0).evex(1).shape(Shape::Vm(2)).imm().tuple(T::None);
    VPSRAQ_IMM = Form::new("vpsraq", P66, M0F, 0x72).evex(1).shape(Shape::Vm(4)).imm().tuple(T::None);
    VPCMPEQQ = Form::new("vpcmpeqq", P66, M0F38, 0x29).vex(0).widths(X | Y);
    VPCMPGTQ = Form::new("vpcmpgtq", P66, M0F38, 0x37).vex(0).widths(X | Y);
    VPCMPQ_K = Form::new("vpcmpq", P66, M0F3A, 0x1f).evex(1).imm().classes(C::Opmask, C::Full, C::Full);

    // Conversions.
    VCVTTPS2DQ = Form::new("vcvttps2dq", PF3, M0F, 0x5b).both().rm();
    VCVTPS2DQ = Form::new("vcvtps2dq", P66, M0F, 0x5b).both().rm();
    VCVTDQ2PS = Form::new("vcvtdq2ps", NP, M0F, 0x5b).both().rm();
    VCVTPS2PD = Form::new("vcvtps2pd", NP, M0F, 0x5a).both().rm().tuple(T::HalfBcast).classes(C::Full, C::Full, C::Half);
    VCVTPD2PS = Form::new("vcvtpd2ps", P66, M0F, 0x5a).vex(0).evex(1).rm().classes(C::Half, C::Full, C::Full);
    VCVTPH2PS = Form::new("vcvtph2ps", P66, M0F38, 0x13).both().rm().tuple(T::Half).classes(C::Full, C::Full, C::Half);
    VCVTPS2PH = Form::new("vcvtps2ph", P66, M0F3A, 0x1d).both().mr().imm().tuple(T::Half).classes(C::Full, C::Full, C::Half);
    VPMOVSXBD = Form::new("vpmovsxbd", P66, M0F38, 0x21).both().rm().tuple(T::Quarter).classes(C::Full, C::Full, C::Quarter);
    VPMOVZXBD = Form::new("vpmovzxbd", P66, M0F38, 0x31).both().rm().tuple(T::Quarter).classes(C::Full, C::Full, C::Quarter);
    VPMOVZXBW = Form::new("vpmovzxbw", P66, M0F38, 0x30).both().rm().tuple(T::Half).classes(C::Full, C::Full, C::Half);
    VPMOVSXWD = Form::new("vpmovsxwd", P66, M0F38, 0x23).both().rm().tuple(T::Half).classes(C::Full, C::Full, C::Half);
    VPMOVZXWD = Form::new("vpmovzxwd", P66, M0F38, 0x33).both().rm().tuple(T::Half).classes(C::Full, C::Full, C::Half);
    VPMOVSXDQ = Form::new("vpmovsxdq", P66, M0F38, 0x25).both().rm().tuple(T::Half).classes(C::Full, C::Full, C::Half);
    VPMOVZXDQ = Form::new("vpmovzxdq", P66, M0F38, 0x35).both().rm().tuple(T::Half).classes(C::Full, C::Full, C::Half);
    VPMOVDB = Form::new("vpmovdb", PF3, M0F38, 0x31).evex(0).mr().tuple(T::Quarter).classes(C::Full, C::Full, C::Quarter);
    VPMOVDW = Form::new("vpmovdw", PF3, M0F38, 0x33).evex(0).mr().tuple(T::Half).classes(C::Full, C::Full, C::Half);
    VPMOVQD = Form::new("vpmovqd", PF3, M0F38, 0x35).evex(0).mr().tuple(T::Half).classes(C::Full, C::Full, C::Half);
    VCVTDQ2PD = Form::new("vcvtdq2pd", PF3, M0F, 0xe6).both().rm().tuple(T::HalfBcast).classes(C::Full, C::Full, C::Half);

    // Gathers.
    VGATHERDPS = Form::new("vgatherdps", P66, M0F38, 0x92).both().shape(Shape::Gather).tuple(T::Bytes(4)).mem_only();

    // Shuffles and permutes.
    VUNPCKLPS = Form::new("vunpcklps", NP, M0F, 0x14).both();
    VUNPCKHPS = Form::new("vunpckhps", NP, M0F, 0x15).both();
    VUNPCKLPD = Form::new("vunpcklpd", P66, M0F, 0x14).vex(0).evex(1);
    VUNPCKHPD = Form::new("vunpckhpd", P66, M0F, 0x15).vex(0).evex(1);
    VSHUFPS = Form::new("vshufps", NP, M0F, 0xc6).both().imm();
    VPERMPS = Form::new("vpermps", P66, M0F38, 0x16).both().widths(Y | Z);
    VPERM2F128 = Form::new("vperm2f128", P66, M0F3A, 0x06).vex(0).imm().tuple(T::FullMem).widths(Y);
    VPERMT2PS = Form::new("vpermt2ps", P66, M0F38, 0x7f).evex(0);
    VSHUFF32X4 = Form::new("vshuff32x4", P66, M0F3A, 0x23).evex(0).imm().widths(Y | Z);
    VPINSRB = Form::new("vpinsrb", P66, M0F3A, 0x20).unmasked().both().imm().scalar(1).mem_only();
    VPINSRW = Form::new("vpinsrw", P66, M0F, 0xc4).unmasked().both().imm().scalar(2).mem_only();
    VINSERTF128 = Form::new("vinsertf128", P66, M0F3A, 0x18).named("vinsertf32x4").both().imm().tuple(T::Bytes(16)).classes(C::Full, C::Full, C::X).widths(Y | Z);
    VEXTRACTF128 = Form::new("vextractf128", P66, M0F3A, 0x19).named("vextractf32x4").both().mr().imm().tuple(T::Bytes(16)).classes(C::Full, C::Full, C::X).widths(Y | Z);
    VINSERTF64X4 = Form::new("vinsertf64x4", P66, M0F3A, 0x1a).evex(1).imm().tuple(T::Bytes(32)).classes(C::Full, C::Full, C::Y).widths(Z);
    VEXTRACTF64X4 = Form::new("vextractf64x4", P66, M0F3A, 0x1b).evex(1).mr().imm().tuple(T::Bytes(32)).classes(C::Full, C::Full, C::Y).widths(Z);
    VPERMQ_IMM = Form::new("vpermq", P66, M0F3A, 0x00).vex(1).evex(1).rm().imm().widths(Y | Z);
    VPSHUFD = Form::new("vpshufd", P66, M0F, 0x70).both().rm().imm();
    VPSHUFB = Form::new("vpshufb", P66, M0F38, 0x00).both().whole();

    // Opmasks, 16 lanes.
    KANDW = Form::new("kandw", NP, M0F, 0x41).opmask(Y);
    KNOTW = Form::new("knotw", NP, M0F, 0x44).opmask(X).rm();
    KORW = Form::new("korw", NP, M0F, 0x45).opmask(Y);
    KXNORW = Form::new("kxnorw", NP, M0F, 0x46).opmask(Y);
    KXORW = Form::new("kxorw", NP, M0F, 0x47).opmask(Y);
    KMOVW_FROM_R = Form::new("kmovw", NP, M0F, 0x92).opmask(X).rm().classes(C::Opmask, C::Opmask, C::R32);
}
