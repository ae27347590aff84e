//! Straight-line code on one element: what a fused group computes between its loads and its stores.
//!
//! A body is in static single assignment: instruction `n` makes value `n`, from values before it. A value is one element of the
//! type that its [`Lane`] names. The instructions from [`Un::Exp`] and [`Bin::Max`] on are functions that a machine lacks; `jit`
//! expands them into the others, which are called primitive.
//!
//! F32, I32 and Bool are what registers hold as it is, 32 bits a lane. For `jit` the others become those: what is narrower is
//! held in them, and what has 64 bits fills two registers, whose lanes are the `Half…` ones. Only `jit` makes these, and the
//! instructions that say so.

use crate::index_type;
use crate::types::DType;

index_type! {
    /// A value of a body: the number of the instruction that makes it.
    pub struct Val;
}

/// What a lane holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lane {
    F32,
    I32,
    /// The result of a comparison: every bit where it holds, none where not.
    Bool,
    I8,
    I16,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F64,
    /// Half of a vector's lanes, of 64 bits each.
    HalfF64,
    /// As [`Lane::HalfF64`]; signed or not is for the instruction to say.
    HalfI64,
    /// As [`Lane::HalfF64`], a comparison of such.
    HalfBool,
}

impl Lane {
    /// The lanes that hold elements of tensors.
    const ELEMENTS: [(DType, Lane); 13] = [
        (DType::F32, Lane::F32),
        (DType::I32, Lane::I32),
        (DType::BOOL, Lane::Bool),
        (DType::I8, Lane::I8),
        (DType::I16, Lane::I16),
        (DType::I64, Lane::I64),
        (DType::U8, Lane::U8),
        (DType::U16, Lane::U16),
        (DType::U32, Lane::U32),
        (DType::U64, Lane::U64),
        (DType::F16, Lane::F16),
        (DType::BF16, Lane::BF16),
        (DType::F64, Lane::F64),
    ];

    /// The lane that holds an element of a tensor.
    pub fn of(dtype: DType) -> Option<Lane> {
        Lane::ELEMENTS.iter().find(|known| known.0 == dtype).map(|known| known.1)
    }

    /// What tensors have such elements.
    pub fn dtype(self) -> Option<DType> {
        Lane::ELEMENTS.iter().find(|known| known.1 == self).map(|known| known.0)
    }

    pub fn is_float(self) -> bool {
        matches!(self, Lane::F32 | Lane::F16 | Lane::BF16 | Lane::F64 | Lane::HalfF64)
    }

    /// Signed or unsigned, `Bool` excluded.
    pub fn is_int(self) -> bool {
        self.int_bits().is_some()
    }

    /// The bits of an integer, and whether it has a sign.
    pub fn int_bits(self) -> Option<(u32, bool)> {
        Some(match self {
            Lane::I8 => (8, true),
            Lane::I16 => (16, true),
            Lane::I32 => (32, true),
            Lane::I64 => (64, true),
            Lane::U8 => (8, false),
            Lane::U16 => (16, false),
            Lane::U32 => (32, false),
            Lane::U64 => (64, false),
            _ => return None,
        })
    }

    /// Whether it has 64 bits, so that a vector of it fills two registers.
    pub fn is_wide(self) -> bool {
        matches!(self, Lane::F64 | Lane::I64 | Lane::U64)
    }

    /// Whether it is half of the lanes of such a vector.
    pub fn is_half(self) -> bool {
        matches!(self, Lane::HalfF64 | Lane::HalfI64 | Lane::HalfBool)
    }

    /// Whether a register holds it as it is.
    pub fn is_plain(self) -> bool {
        matches!(self, Lane::F32 | Lane::I32 | Lane::Bool)
    }
}

/// How a lane of 32 bits becomes one of 64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Widening {
    /// Copies of the sign come in; a Bool stays one.
    Signed,
    /// Zeros come in.
    Unsigned,
    /// F32 to F64.
    Float,
    /// I32 to F64.
    IntToFloat,
}

/// Functions of one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Un {
    /// Flips the sign bit; an integer wraps.
    Neg,
    /// Clears the sign bit; an integer wraps.
    Abs,
    Sqrt,
    Floor,
    Ceil,
    Trunc,
    /// To the nearest integer, ties to even.
    RoundEven,
    /// Not, of a `Bool`.
    Not,
    /// F32 to I32 towards zero; what does not fit becomes `i32::MIN`, as the machine has it.
    TruncToInt,
    /// F32 to I32, ties to even; what does not fit becomes `i32::MIN`.
    NearestToInt,
    /// I32 to F32, ties to even.
    ToFloat,
    /// The bits of an F32 as an I32.
    Bits,
    /// The bits of an I32 as an F32.
    FromBits,
    /// A `Bool` as 0.0 or 1.0.
    BoolToFloat,
    /// A `Bool` as 0 or 1.
    BoolToInt,
    /// F32 to the nearest F16 and back.
    ThroughF16,
    /// The lower (0) or the upper (1) half of the lanes, widened.
    Widen(Widening, u8),
    /// `e^x`, within 2 ULP.
    Exp,
    /// The natural logarithm, within 2 ULP.
    Log,
    /// Within 2 ULP.
    Log2,
    /// Within 2 ULP.
    Log10,
    /// `1/√x`, within 2 ULP.
    Rsqrt,
    /// `1/(1+e^-x)`, within 2 ULP.
    Sigmoid,
    /// Within 3 ULP.
    Tanh,
    /// Within 3 ULP.
    Erf,
    /// Within 3 ULP.
    Sin,
    /// Within 3 ULP.
    Cos,
    /// To the nearest integer, ties away from zero.
    Round,
    /// -1, 0 or 1 of an F32; 0 for NaN.
    Sign,
    /// F32 to I32 towards zero; saturates, NaN becomes 0 (reliability 4).
    SaturateToInt,
    /// To a number type, as reliability 4 has it: a float becomes an integer towards zero and saturates, NaN becoming 0; integers
    /// wrap; to a float rounds once, to the nearest.
    To(Lane),
}

/// Functions of two values of one lane type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bin {
    Add,
    Sub,
    Mul,
    /// Of floats only.
    Div,
    /// The machine's own maximum: the second operand where one is NaN or both are zero. I32: the greater.
    MaxSecond,
    /// As [`Bin::MaxSecond`].
    MinSecond,
    /// Bitwise, of any lane type.
    And,
    Or,
    Xor,
    /// Of integers; the amount is less than their width.
    Shl,
    /// As [`Bin::Shl`], copies of the sign come in.
    ShrSigned,
    /// As [`Bin::Shl`], zeros come in.
    ShrUnsigned,
    /// `x·2^y` of F32, rounded once, for `y` a whole number from -400 to 400 or NaN. Primitive where the machine has it.
    Scale,
    /// Two halves as a whole vector: the low 32 bits of integers, or a comparison.
    JoinLow,
    /// Two halves of F64 as a vector of F32, to the nearest.
    JoinFloat,
    /// NaN wins, -0 < +0 (reliability 4). I32: the greater.
    Max,
    /// As [`Bin::Max`].
    Min,
    /// `x^y`, within 8 ULP.
    Pow,
    /// The remainder with the sign of the dividend. Of integers, as with the others that divide, the divisor is not 0: there any
    /// number may come.
    Mod,
    /// `x - y·⌊x/y⌋`.
    FloorMod,
    /// `⌊x/y⌋`.
    FloorDiv,
    /// The quotient of integers towards zero.
    TruncDiv,
}

/// Comparisons. NaN is unequal to everything and neither less nor greater.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Instr {
    /// The element of the kernel's read of this number.
    Read(u16),
    /// As [`Instr::Read`], displaced by so many elements, an I32. Who makes it sees to it that they lie inside.
    Pick(u16, Val),
    /// Half of the lanes of a read of 64 bits: the lower (0) or the upper (1).
    ReadHalf(u16, u8),
    /// The result of the fold of this number of an earlier stage.
    Folded(u16),
    /// How many points of the reduced dimensions are inside, as an F32; less than all where a window is clipped.
    Count,
    /// A constant by its bits, which are zero above those of its lane. A Bool is all ones of 32 bits, or zero.
    Const(u64, Lane),
    Un(Un, Val),
    Bin(Bin, Val, Val),
    /// `a·b + c`, rounded once.
    Fma(Val, Val, Val),
    Cmp(Cmp, Val, Val),
    /// `b` where the Bool `a` holds, else `c`.
    Select(Val, Val, Val),
}

impl Instr {
    /// The values it is made of.
    pub fn operands(self) -> impl Iterator<Item = Val> {
        let list = match self {
            Instr::Read(_) | Instr::ReadHalf(..) | Instr::Folded(_) | Instr::Count | Instr::Const(..) => [None; 3],
            Instr::Un(_, a) | Instr::Pick(_, a) => [Some(a), None, None],
            Instr::Bin(_, a, b) | Instr::Cmp(_, a, b) => [Some(a), Some(b), None],
            Instr::Fma(a, b, c) | Instr::Select(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        list.into_iter().flatten()
    }

    /// The same instruction of other values.
    pub fn map(self, mut f: impl FnMut(Val) -> Val) -> Instr {
        match self {
            Instr::Read(_) | Instr::ReadHalf(..) | Instr::Folded(_) | Instr::Count | Instr::Const(..) => self,
            Instr::Pick(read, a) => Instr::Pick(read, f(a)),
            Instr::Un(op, a) => Instr::Un(op, f(a)),
            Instr::Bin(op, a, b) => Instr::Bin(op, f(a), f(b)),
            Instr::Fma(a, b, c) => Instr::Fma(f(a), f(b), f(c)),
            Instr::Cmp(op, a, b) => Instr::Cmp(op, f(a), f(b)),
            Instr::Select(a, b, c) => Instr::Select(f(a), f(b), f(c)),
        }
    }
}

/// Straight-line code.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Body {
    pub instrs: Vec<Instr>,
}

impl Body {
    pub fn new() -> Body {
        Body::default()
    }

    /// Adds an instruction; one that is there already is used again.
    pub fn push(&mut self, instr: Instr) -> Val {
        if let Some(at) = self.instrs.iter().rposition(|&known| known == instr) {
            return Val(at as u32);
        }
        self.instrs.push(instr);
        Val(self.instrs.len() as u32 - 1)
    }

    pub fn read(&mut self, read: usize) -> Val {
        self.push(Instr::Read(read as u16))
    }

    pub fn pick(&mut self, read: usize, at: Val) -> Val {
        self.push(Instr::Pick(read as u16, at))
    }

    pub fn folded(&mut self, fold: usize) -> Val {
        self.push(Instr::Folded(fold as u16))
    }

    pub fn f32(&mut self, value: f32) -> Val {
        self.push(Instr::Const(value.to_bits().into(), Lane::F32))
    }

    pub fn i32(&mut self, value: i32) -> Val {
        self.push(Instr::Const((value as u32).into(), Lane::I32))
    }

    pub fn un(&mut self, op: Un, a: Val) -> Val {
        self.push(Instr::Un(op, a))
    }

    pub fn bin(&mut self, op: Bin, a: Val, b: Val) -> Val {
        self.push(Instr::Bin(op, a, b))
    }

    pub fn fma(&mut self, a: Val, b: Val, c: Val) -> Val {
        self.push(Instr::Fma(a, b, c))
    }

    pub fn cmp(&mut self, op: Cmp, a: Val, b: Val) -> Val {
        self.push(Instr::Cmp(op, a, b))
    }

    pub fn select(&mut self, condition: Val, then: Val, other: Val) -> Val {
        self.push(Instr::Select(condition, then, other))
    }

    /// Appends another body, whose reads become the values given; the value that `result` has become.
    pub fn append(&mut self, other: &Body, reads: &[Val], result: Val) -> Val {
        let mut map: Vec<Val> = Vec::with_capacity(other.instrs.len());
        for &instr in &other.instrs {
            let val = match instr {
                Instr::Read(read) => reads[usize::from(read)],
                _ => self.push(instr.map(|val| map[val.0 as usize])),
            };
            map.push(val);
        }
        map[result.0 as usize]
    }

    /// What each lane holds; reads are `reads`, and folds give F32.
    pub fn lanes(&self, reads: &[Lane]) -> Vec<Lane> {
        self.lanes_of(reads, &[])
    }

    /// As [`Body::lanes`], where folds give what `folded` says.
    pub fn lanes_of(&self, reads: &[Lane], folded: &[Lane]) -> Vec<Lane> {
        let mut lanes: Vec<Lane> = Vec::with_capacity(self.instrs.len());
        for instr in &self.instrs {
            let of = |val: Val| lanes[val.0 as usize];
            let lane = match *instr {
                Instr::Read(read) | Instr::Pick(read, _) => reads[usize::from(read)],
                Instr::Folded(fold) => folded.get(usize::from(fold)).copied().unwrap_or(Lane::F32),
                Instr::Count => Lane::F32,
                Instr::Const(_, lane) => lane,
                Instr::ReadHalf(read, _) if reads[usize::from(read)] == Lane::F64 => Lane::HalfF64,
                Instr::ReadHalf(..) => Lane::HalfI64,
                Instr::Un(Un::Bits, a) if of(a).is_half() => Lane::HalfI64,
                Instr::Un(Un::FromBits, a) if of(a).is_half() => Lane::HalfF64,
                Instr::Un(Un::TruncToInt | Un::NearestToInt | Un::Bits | Un::BoolToInt | Un::SaturateToInt, _) => Lane::I32,
                Instr::Un(Un::ToFloat | Un::FromBits | Un::BoolToFloat, _) => Lane::F32,
                Instr::Un(Un::To(lane), _) => lane,
                Instr::Un(Un::Widen(Widening::Signed, _), a) if of(a) == Lane::Bool => Lane::HalfBool,
                Instr::Un(Un::Widen(Widening::Signed | Widening::Unsigned, _), _) => Lane::HalfI64,
                Instr::Un(Un::Widen(..), _) => Lane::HalfF64,
                Instr::Bin(Bin::JoinLow, a, _) if of(a) == Lane::HalfBool => Lane::Bool,
                Instr::Bin(Bin::JoinLow, ..) => Lane::I32,
                Instr::Bin(Bin::JoinFloat, ..) => Lane::F32,
                Instr::Un(_, a) | Instr::Bin(_, a, _) | Instr::Fma(a, ..) => of(a),
                Instr::Select(_, then, _) => of(then),
                Instr::Cmp(_, a, _) if of(a).is_half() => Lane::HalfBool,
                Instr::Cmp(..) => Lane::Bool,
            };
            lanes.push(lane);
        }
        lanes
    }
}
