//! Straight-line code on one element: the computation of a fused group between its loads and its stores.
//!
//! A body is in static single assignment form: instruction `n` computes value `n` from earlier values. A value is one element of
//! the type that its [`ScalarType`] names. The instructions from [`UnaryOp::Exp`] and [`BinaryOp::Max`] on are functions without a machine
//! instruction; codegen legalizes them into the others, which are called primitive.
//!
//! A register holds F32, I32 and Bool directly, in 32 bits a lane. Codegen legalizes the other types. It widens narrower types to
//! these, and splits a 64-bit vector over two registers, whose lanes have the `Half…` types. Only codegen creates these types and
//! the instructions on them.

use crate::types::DType;
use relayc_base::index_type;

index_type! {
    /// A value of a body: the index of the instruction that computes it.
    pub struct Val;
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScalarType {
    F32,
    I32,
    /// The result of a comparison: all bits set if it holds, none otherwise.
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
    /// Half of a vector's 64-bit lanes.
    HalfF64,
    /// As [`ScalarType::HalfF64`]; the instruction determines the sign.
    HalfI64,
    /// As [`ScalarType::HalfF64`], for a comparison of 64-bit values.
    HalfBool,
}

impl ScalarType {
    /// The lanes that hold elements of tensors.
    const ELEMENTS: [(DType, ScalarType); 13] = [
        (DType::F32, ScalarType::F32),
        (DType::I32, ScalarType::I32),
        (DType::BOOL, ScalarType::Bool),
        (DType::I8, ScalarType::I8),
        (DType::I16, ScalarType::I16),
        (DType::I64, ScalarType::I64),
        (DType::U8, ScalarType::U8),
        (DType::U16, ScalarType::U16),
        (DType::U32, ScalarType::U32),
        (DType::U64, ScalarType::U64),
        (DType::F16, ScalarType::F16),
        (DType::BF16, ScalarType::BF16),
        (DType::F64, ScalarType::F64),
    ];

    /// The lane type for an element of a tensor.
    pub fn of(dtype: DType) -> Option<ScalarType> {
        ScalarType::ELEMENTS.iter().find(|known| known.0 == dtype).map(|known| known.1)
    }

    /// The dtype of tensors with such elements.
    pub fn dtype(self) -> Option<DType> {
        ScalarType::ELEMENTS.iter().find(|known| known.1 == self).map(|known| known.0)
    }

    pub fn is_float(self) -> bool {
        matches!(self, ScalarType::F32 | ScalarType::F16 | ScalarType::BF16 | ScalarType::F64 | ScalarType::HalfF64)
    }

    /// Whether it is a signed or unsigned integer; false for `Bool`.
    pub fn is_int(self) -> bool {
        self.int_bits().is_some()
    }

    /// The width of an integer, and whether it is signed.
    pub fn int_bits(self) -> Option<(u32, bool)> {
        Some(match self {
            ScalarType::I8 => (8, true),
            ScalarType::I16 => (16, true),
            ScalarType::I32 => (32, true),
            ScalarType::I64 => (64, true),
            ScalarType::U8 => (8, false),
            ScalarType::U16 => (16, false),
            ScalarType::U32 => (32, false),
            ScalarType::U64 => (64, false),
            _ => return None,
        })
    }

    /// Whether it has 64 bits, so that a vector fills two registers.
    pub fn is_wide(self) -> bool {
        matches!(self, ScalarType::F64 | ScalarType::I64 | ScalarType::U64)
    }

    /// Whether it is half of a 64-bit vector.
    pub fn is_half(self) -> bool {
        matches!(self, ScalarType::HalfF64 | ScalarType::HalfI64 | ScalarType::HalfBool)
    }

    /// Whether a register holds it directly.
    pub fn is_plain(self) -> bool {
        matches!(self, ScalarType::F32 | ScalarType::I32 | ScalarType::Bool)
    }
}

/// How a 32-bit lane is widened to 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Widening {
    /// Fills with copies of the sign; a Bool stays a Bool.
    Signed,
    /// Fills with zeros.
    Unsigned,
    /// F32 to F64.
    Float,
    /// I32 to F64.
    IntToFloat,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// Flips the sign bit; an integer wraps.
    Neg,
    /// Clears the sign bit; an integer wraps.
    Abs,
    Sqrt,
    Floor,
    Ceil,
    Trunc,
    /// Rounds to the nearest integer, ties to even.
    RoundEven,
    /// Logical not of a `Bool`.
    Not,
    /// F32 to I32, towards zero; out-of-range values become `i32::MIN`, as in the machine instruction.
    TruncToInt,
    /// F32 to I32, ties to even; out-of-range values become `i32::MIN`.
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
    /// F32 to the nearest BF16 and back.
    ThroughBF16,
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
    /// Within 3 ULP.
    Tan,
    /// Within 3 ULP; NaN outside of -1 to 1.
    Asin,
    /// As [`UnaryOp::Asin`].
    Acos,
    /// Within 3 ULP.
    Atan,
    /// Within 3 ULP.
    Sinh,
    /// Within 3 ULP.
    Cosh,
    /// Within 3 ULP.
    Asinh,
    /// Within 3 ULP; NaN below 1.
    Acosh,
    /// Within 3 ULP; NaN outside of -1 to 1.
    Atanh,
    /// Rounds to the nearest integer, ties away from zero.
    Round,
    /// -1, 0 or 1 of an F32; 0 for NaN.
    Sign,
    /// F32 to I32 towards zero; saturates, NaN becomes 0 (reliability 4).
    SaturateToInt,
    /// Converts to a number type (reliability 4). A float becomes an integer towards zero and saturates, and NaN becomes 0.
    /// Integers wrap. A conversion to a float rounds once, to the nearest.
    To(ScalarType),
    /// The same as [`UnaryOp::To`] a narrower float type, of which the float is known to be a number: nothing is rounded.
    ToExact(ScalarType),
}

impl UnaryOp {
    /// How far the result of a function of floats may lie from the exact one; `None` for operations that are not approximated.
    pub fn ulps(self) -> Option<f64> {
        match self {
            UnaryOp::Exp | UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Log10 | UnaryOp::Rsqrt | UnaryOp::Sigmoid => Some(2.0),
            UnaryOp::Tanh | UnaryOp::Erf | UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan => Some(3.0),
            UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atan => Some(3.0),
            UnaryOp::Sinh | UnaryOp::Cosh | UnaryOp::Asinh | UnaryOp::Acosh | UnaryOp::Atanh => Some(3.0),
            _ => None,
        }
    }
}

/// Binary functions of two values of one lane type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// Floats only.
    Div,
    /// The machine's maximum: the second operand if one is NaN or both are zero. I32: the greater.
    MaxSecond,
    /// As [`BinaryOp::MaxSecond`].
    MinSecond,
    /// Bitwise, for any lane type.
    And,
    Or,
    Xor,
    /// Shifts integers; the amount is less than their width.
    Shl,
    /// As [`BinaryOp::Shl`], to the right; fills with copies of the sign.
    ShrSigned,
    /// As [`BinaryOp::Shl`], to the right; fills with zeros.
    ShrUnsigned,
    /// `x·2^y` of F32, rounded once, for an integer `y` from -400 to 400 or NaN. Primitive where the machine supports it.
    Scale,
    /// Joins two halves into a whole vector: the low 32 bits of integers, or a comparison.
    JoinLow,
    /// Joins two halves of F64 into a vector of F32, rounded to the nearest.
    JoinFloat,
    /// NaN wins, and -0 < +0 (reliability 4). I32: the greater.
    Max,
    /// As [`BinaryOp::Max`].
    Min,
    /// `x^y`, within 8 ULP.
    Pow,
    /// The remainder with the sign of the dividend. For the integer divisions, the divisor is not 0; otherwise the result is
    /// unspecified.
    Mod,
    /// `x - y·⌊x/y⌋`.
    FloorMod,
    /// `⌊x/y⌋`.
    FloorDiv,
    /// The quotient of integers, rounded towards zero.
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

/// How displacements of a gather change from one element of a table to the next, where they are the sum of this element and of
/// numbers that are equal meanwhile. The table is the read with this number. Vectors of near elements are faster than gathers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Steps {
    Any,
    /// By 0 or 1.
    Rising(u16),
    /// By -1, 0 or 1.
    Small(u16),
}

impl Steps {
    /// The steps of the table with these elements, which is a read with this number.
    pub fn of(table: &[u32], read: u16) -> Steps {
        let steps = || table.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]) as i32);
        match () {
            () if steps().all(|step| matches!(step, 0 | 1)) => Steps::Rising(read),
            () if steps().all(|step| matches!(step, -1..=1)) => Steps::Small(read),
            () => Steps::Any,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Instr {
    /// The element that the kernel's read with this number loads.
    Read(u16),
    /// As [`Instr::Read`], displaced by an I32 number of elements. The creator ensures that the elements lie inside.
    Gather(u16, Val, Steps),
    /// Half of the lanes of a 64-bit read: the lower (0) or the upper (1).
    ReadHalf(u16, u8),
    /// The result of the reduction with this number, from an earlier stage.
    Reduced(u16),
    /// The number of points of the reduced dimensions inside the data, as an F32; smaller where a window is clipped.
    Count,
    /// A constant by its bits; the bits above those of its lane are zero. A Bool is all ones of 32 bits, or zero.
    Const(u64, ScalarType),
    Unary(UnaryOp, Val),
    Binary(BinaryOp, Val, Val),
    /// `a·b + c`, rounded once.
    Fma(Val, Val, Val),
    Cmp(Cmp, Val, Val),
    /// `b` if the Bool `a` holds, else `c`.
    Select(Val, Val, Val),
}

impl Instr {
    /// The values that it uses.
    pub fn operands(self) -> impl Iterator<Item = Val> {
        let list = match self {
            Instr::Read(_) | Instr::ReadHalf(..) | Instr::Reduced(_) | Instr::Count | Instr::Const(..) => [None; 3],
            Instr::Unary(_, a) | Instr::Gather(_, a, _) => [Some(a), None, None],
            Instr::Binary(_, a, b) | Instr::Cmp(_, a, b) => [Some(a), Some(b), None],
            Instr::Fma(a, b, c) | Instr::Select(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        list.into_iter().flatten()
    }

    /// The same instruction on other values.
    pub fn map(self, mut f: impl FnMut(Val) -> Val) -> Instr {
        match self {
            Instr::Read(_) | Instr::ReadHalf(..) | Instr::Reduced(_) | Instr::Count | Instr::Const(..) => self,
            Instr::Gather(read, a, steps) => Instr::Gather(read, f(a), steps),
            Instr::Unary(op, a) => Instr::Unary(op, f(a)),
            Instr::Binary(op, a, b) => Instr::Binary(op, f(a), f(b)),
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

    /// Adds an instruction, or reuses an equal one.
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

    pub fn pick(&mut self, read: usize, at: Val, steps: Steps) -> Val {
        self.push(Instr::Gather(read as u16, at, steps))
    }

    pub fn folded(&mut self, fold: usize) -> Val {
        self.push(Instr::Reduced(fold as u16))
    }

    pub fn f32(&mut self, value: f32) -> Val {
        self.push(Instr::Const(value.to_bits().into(), ScalarType::F32))
    }

    pub fn i32(&mut self, value: i32) -> Val {
        self.push(Instr::Const((value as u32).into(), ScalarType::I32))
    }

    pub fn un(&mut self, op: UnaryOp, a: Val) -> Val {
        self.push(Instr::Unary(op, a))
    }

    pub fn bin(&mut self, op: BinaryOp, a: Val, b: Val) -> Val {
        self.push(Instr::Binary(op, a, b))
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

    /// Appends another body, with its reads replaced by `reads`. Returns the new value for `result`.
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

    /// The type of each value; `reads` are the types of reads, and reductions give F32.
    pub fn lanes(&self, reads: &[ScalarType]) -> Vec<ScalarType> {
        self.lanes_of(reads, &[])
    }

    /// As [`Body::lanes`], where `folded` are the types of reductions.
    pub fn lanes_of(&self, reads: &[ScalarType], folded: &[ScalarType]) -> Vec<ScalarType> {
        let mut lanes: Vec<ScalarType> = Vec::with_capacity(self.instrs.len());
        for instr in &self.instrs {
            let of = |val: Val| lanes[val.0 as usize];
            let lane = match *instr {
                Instr::Read(read) | Instr::Gather(read, ..) => reads[usize::from(read)],
                Instr::Reduced(fold) => folded.get(usize::from(fold)).copied().unwrap_or(ScalarType::F32),
                Instr::Count => ScalarType::F32,
                Instr::Const(_, lane) => lane,
                Instr::ReadHalf(read, _) if reads[usize::from(read)] == ScalarType::F64 => ScalarType::HalfF64,
                Instr::ReadHalf(..) => ScalarType::HalfI64,
                Instr::Unary(UnaryOp::Bits, a) if of(a).is_half() => ScalarType::HalfI64,
                Instr::Unary(UnaryOp::FromBits, a) if of(a).is_half() => ScalarType::HalfF64,
                Instr::Unary(
                    UnaryOp::TruncToInt | UnaryOp::NearestToInt | UnaryOp::Bits | UnaryOp::BoolToInt | UnaryOp::SaturateToInt,
                    _,
                ) => ScalarType::I32,
                Instr::Unary(UnaryOp::ToFloat | UnaryOp::FromBits | UnaryOp::BoolToFloat, _) => ScalarType::F32,
                Instr::Unary(UnaryOp::To(lane) | UnaryOp::ToExact(lane), _) => lane,
                Instr::Unary(UnaryOp::Widen(Widening::Signed, _), a) if of(a) == ScalarType::Bool => ScalarType::HalfBool,
                Instr::Unary(UnaryOp::Widen(Widening::Signed | Widening::Unsigned, _), _) => ScalarType::HalfI64,
                Instr::Unary(UnaryOp::Widen(..), _) => ScalarType::HalfF64,
                Instr::Binary(BinaryOp::JoinLow, a, _) if of(a) == ScalarType::HalfBool => ScalarType::Bool,
                Instr::Binary(BinaryOp::JoinLow, ..) => ScalarType::I32,
                Instr::Binary(BinaryOp::JoinFloat, ..) => ScalarType::F32,
                Instr::Unary(_, a) | Instr::Binary(_, a, _) | Instr::Fma(a, ..) => of(a),
                Instr::Select(_, then, _) => of(then),
                Instr::Cmp(_, a, _) if of(a).is_half() => ScalarType::HalfBool,
                Instr::Cmp(..) => ScalarType::Bool,
            };
            lanes.push(lane);
        }
        lanes
    }
}
