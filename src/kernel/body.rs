//! Straight-line code on one element: what a fused group computes between its loads and its stores.
//!
//! A body is in static single assignment: instruction `n` makes value `n`, from values before it. Every value is one lane of
//! 32 bits. The instructions from [`Un::Exp`] and [`Bin::Max`] on are functions that a machine lacks; `jit` expands them into
//! the others, which are called primitive.

use crate::index_type;

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
}

/// Functions of two values of one lane type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bin {
    Add,
    Sub,
    Mul,
    /// Of F32 only.
    Div,
    /// The machine's own maximum: the second operand where one is NaN or both are zero. I32: the greater.
    MaxSecond,
    /// As [`Bin::MaxSecond`].
    MinSecond,
    /// Bitwise, of any lane type.
    And,
    Or,
    Xor,
    /// I32 only; the amount is in 0..32.
    Shl,
    /// I32 only, copies of the sign come in.
    ShrSigned,
    /// I32 only, zeros come in.
    ShrUnsigned,
    /// `x·2^y` of F32, rounded once, for `y` a whole number from -400 to 400 or NaN. Primitive where the machine has it.
    Scale,
    /// NaN wins, -0 < +0 (reliability 4). I32: the greater.
    Max,
    /// As [`Bin::Max`].
    Min,
    /// `x^y`, within 8 ULP.
    Pow,
    /// The remainder with the sign of the dividend, of F32.
    Mod,
    /// `x - y·⌊x/y⌋`, of F32.
    FloorMod,
    /// `⌊x/y⌋`, of F32.
    FloorDiv,
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
    /// The result of the fold of this number of an earlier stage.
    Folded(u16),
    /// How many points of the reduced dimensions are inside, as an F32; less than all where a window is clipped.
    Count,
    /// A constant by its bits, those that a lane has: all or none of a Bool.
    Const(u32, Lane),
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
            Instr::Read(_) | Instr::Folded(_) | Instr::Count | Instr::Const(..) => [None; 3],
            Instr::Un(_, a) | Instr::Pick(_, a) => [Some(a), None, None],
            Instr::Bin(_, a, b) | Instr::Cmp(_, a, b) => [Some(a), Some(b), None],
            Instr::Fma(a, b, c) | Instr::Select(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        list.into_iter().flatten()
    }

    /// The same instruction of other values.
    pub fn map(self, mut f: impl FnMut(Val) -> Val) -> Instr {
        match self {
            Instr::Read(_) | Instr::Folded(_) | Instr::Count | Instr::Const(..) => self,
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
        self.push(Instr::Const(value.to_bits(), Lane::F32))
    }

    pub fn i32(&mut self, value: i32) -> Val {
        self.push(Instr::Const(value as u32, Lane::I32))
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
                Instr::Un(Un::TruncToInt | Un::NearestToInt | Un::Bits | Un::BoolToInt | Un::SaturateToInt, _) => Lane::I32,
                Instr::Un(Un::ToFloat | Un::FromBits | Un::BoolToFloat, _) => Lane::F32,
                Instr::Un(_, a) | Instr::Bin(_, a, _) | Instr::Fma(a, ..) => of(a),
                Instr::Select(_, then, _) => of(then),
                Instr::Cmp(..) => Lane::Bool,
            };
            lanes.push(lane);
        }
        lanes
    }
}
