//! Operands of instructions: registers, memory operands, labels, conditions.
//!
//! Numbers are those of the hardware. Absent: encoding.

use dynasmrt::DynamicLabel;

/// The vector instruction sets that kernels are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isa {
    /// AVX2 and FMA: 16 registers of 256 bits.
    Avx2,
    /// AVX-512 F, DQ, BW and VL: 32 registers of 512 bits and the opmasks.
    Avx512,
}

impl Isa {
    /// Number of f32 lanes in a vector register.
    pub const fn lanes(self) -> usize {
        self.bytes() / 4
    }

    /// Number of vector registers.
    pub(crate) const fn regs(self) -> usize {
        match self {
            Isa::Avx2 => 16,
            Isa::Avx512 => 32,
        }
    }

    /// Number of bytes in a vector register.
    pub const fn bytes(self) -> usize {
        self.width().bytes()
    }

    /// The width of a whole register.
    pub(crate) const fn width(self) -> Width {
        match self {
            Isa::Avx2 => Width::Y,
            Isa::Avx512 => Width::Z,
        }
    }
}

/// The part of a vector register that an instruction works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Width {
    /// 128 bits.
    X = 0,
    /// 256 bits.
    Y = 1,
    /// 512 bits.
    Z = 2,
}

impl Width {
    pub(crate) const fn bytes(self) -> usize {
        16 << self as usize
    }
}

/// A vector register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct V(pub u8);

/// An opmask register. Kernels use `k1` to `k7`, because `k0` means "no mask" in a masked instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct K(pub u8);

/// A general register, 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct R(pub u8);

impl R {
    pub(crate) const RAX: R = R(0);
    pub(crate) const RCX: R = R(1);
    pub(crate) const RDX: R = R(2);
    pub(crate) const RBX: R = R(3);
    pub(crate) const RSP: R = R(4);
    pub(crate) const RBP: R = R(5);
    pub(crate) const RSI: R = R(6);
    pub(crate) const RDI: R = R(7);
    pub(crate) const R8: R = R(8);
    pub(crate) const R9: R = R(9);
    pub(crate) const R10: R = R(10);
    pub(crate) const R11: R = R(11);
    pub(crate) const R12: R = R(12);
    pub(crate) const R13: R = R(13);
    pub(crate) const R14: R = R(14);
    pub(crate) const R15: R = R(15);

    /// The base register number of constants in the pool; only [`super::Asm::constant`] makes operands with it.
    pub(super) const POOL: R = R(16);

    /// Registers of the first six integer or pointer arguments of a call.
    #[cfg(test)]
    pub(crate) const ARGS: [R; 6] = [R::RDI, R::RSI, R::RDX, R::RCX, R::R8, R::R9];

    /// Registers that a function must preserve, besides `rsp`.
    pub(crate) const CALLEE_SAVED: [R; 6] = [R::RBX, R::RBP, R::R12, R::R13, R::R14, R::R15];
}

impl From<R> for u8 {
    fn from(r: R) -> u8 {
        r.0
    }
}

/// `[base + index * scale + disp]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mem {
    pub(crate) base: R,
    pub(crate) index: Option<(R, u8)>,
    pub(crate) disp: i32,
}

impl Mem {
    pub const fn at(base: R, disp: i32) -> Mem {
        Mem { base, index: None, disp }
    }

    /// `scale` is 1, 2, 4 or 8; `index` is any register but `rsp`.
    pub const fn indexed(base: R, index: R, scale: u8, disp: i32) -> Mem {
        Mem { base, index: Some((index, scale)), disp }
    }

    /// The same operand with `bytes` added to its displacement.
    pub(crate) const fn plus(self, bytes: i32) -> Mem {
        Mem { base: self.base, index: self.index, disp: self.disp + bytes }
    }
}

/// The last operand of most vector instructions: a register or memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rm {
    Reg(V),
    Mem(Mem),
    /// One element in memory, broadcast to all lanes. AVX-512 only.
    Bcast(Mem),
}

impl From<V> for Rm {
    fn from(v: V) -> Rm {
        Rm::Reg(v)
    }
}

impl From<Mem> for Rm {
    fn from(mem: Mem) -> Rm {
        Rm::Mem(mem)
    }
}

/// The result of a comparison: an opmask on AVX-512, all-ones or all-zeros lanes of a vector on AVX2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mask {
    K(K),
    V(V),
}

/// A position in the code, bound once.
#[derive(Clone, Copy, Debug)]
pub struct Label(pub(super) DynamicLabel);

/// A condition of the flags, by its number in the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cond {
    /// Overflow.
    O = 0,
    NO,
    /// Unsigned below; carry.
    B,
    /// Unsigned above or equal.
    AE,
    E,
    NE,
    /// Unsigned below or equal.
    BE,
    /// Unsigned above.
    A,
    /// Negative.
    S,
    NS,
    /// Parity even; unordered after a floating-point comparison.
    P,
    NP,
    /// Signed less.
    L,
    GE,
    LE,
    G,
}

/// A comparison of floats, by its number in the instruction. None of them traps. All but `Ne` are false for NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pred {
    Eq = 0x00,
    Lt = 0x11,
    Le = 0x12,
    /// True for NaN.
    Ne = 0x04,
    Ge = 0x1d,
    Gt = 0x1e,
}

/// A comparison of signed dwords, by its number in the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IPred {
    Eq = 0,
    Lt = 1,
    Le = 2,
    Ne = 4,
    Ge = 5,
    Gt = 6,
}

/// A rounding mode, by its number in the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Round {
    /// To nearest, halves to even.
    Nearest = 0,
    Down = 1,
    Up = 2,
    Trunc = 3,
}
