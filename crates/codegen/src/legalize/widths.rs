//! Legalizes scalar types that registers do not hold directly: a body on tensor elements becomes one on machine lanes.
//!
//! * Narrow integers are I32 within their range; operations that may leave it are wrapped.
//! * F16 and BF16 are F32 that hold such numbers exactly; operations that may leave them are rounded. After one operation in
//!   F32 this equals rounding once (Figueroa, *When is double rounding innocuous?*, 1995).
//! * U32 is the bits in an I32.
//! * 64-bit values are two halves of a vector; the results of their comparisons are joined to a Bool.
//!
//! Absent: functions of F32, which are legalized afterwards, and operations without a kernel: `None`.

mod convert;
mod divide;
mod double;

use super::builder::BodyBuilder;
use half::{bf16, f16};
use relayc_ir::kernel::{BinaryOp, Body, Cmp, Instr, Reduction, ScalarType, Stage, UnaryOp, Val, Widening};

/// How many instructions before a wrap are looked at for others that it makes unnecessary.
const WRAPS: u32 = 6;

/// A value as registers hold it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LaneValue {
    One(Val),
    Two([Val; 2]),
}

/// A store of a vector, or of half of one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LaneStore {
    pub(crate) val: Val,
    pub(crate) write: usize,
    pub(crate) half: u8,
}

/// A reduction of an earlier stage: its scalar type and kind, and the number of the first reduction that replaces it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneReduction {
    pub(crate) lane: ScalarType,
    pub(crate) fold: Reduction,
    pub(crate) first: usize,
}

/// A stage on the lanes of a machine.
pub(crate) struct LegalizedStage {
    pub(crate) body: Body,
    pub(crate) folds: Vec<(Val, Reduction)>,
    pub(crate) stores: Vec<LaneStore>,
}

/// The machine scalar type that holds a read or a reduction.
pub(crate) fn machine(lane: ScalarType) -> ScalarType {
    match lane {
        ScalarType::F16 => ScalarType::F32,
        ScalarType::I8 | ScalarType::I16 | ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::BF16 => {
            ScalarType::I32
        }
        _ => lane,
    }
}

/// The scalar types of the registers that hold a reduction.
pub(crate) fn fold_lanes(lane: ScalarType) -> Vec<ScalarType> {
    match lane {
        ScalarType::F64 => vec![ScalarType::HalfF64; 2],
        ScalarType::I64 | ScalarType::U64 => vec![ScalarType::HalfI64; 2],
        ScalarType::BF16 => vec![ScalarType::F32],
        ScalarType::Bool => vec![ScalarType::I32],
        _ => vec![machine(lane)],
    }
}

/// Legalizes a stage with values of types `lanes` and earlier reductions `folded`; `None` if that is impossible.
///
/// `has_wide_shifts` tells whether the machine shifts signed 64-bit lanes.
pub(crate) fn machined(
    stage: &Stage,
    lanes: &[ScalarType],
    folded: &[LaneReduction],
    has_wide_shifts: bool,
) -> Option<LegalizedStage> {
    if is_plain(stage, lanes) && folded.iter().all(|fold| fold.lane.is_plain() && fold.lane != ScalarType::Bool) {
        let stores = stage.stores.iter().map(|store| LaneStore { val: store.val, write: store.write, half: 0 }).collect();
        return Some(LegalizedStage { body: renumbered(&stage.body, folded), folds: stage.reductions.clone(), stores });
    }
    let mut widths = Widths { make: BodyBuilder::new(true), has_wide_shifts };
    let mut map: Vec<LaneValue> = Vec::with_capacity(lanes.len());
    for (at, &instr) in stage.body.instrs.iter().enumerate() {
        let of = |val: Val| (map[val.0 as usize], lanes[val.0 as usize]);
        let held = match instr {
            Instr::Read(read) => widths.read(read, lanes[at]),
            Instr::Const(bits, lane) => widths.constant(bits, lane),
            Instr::Reduced(fold) => widths.folded(folded.get(usize::from(fold))?)?,
            Instr::Gather(read, place, steps) if !lanes[at].is_wide() => {
                let val = widths.make.push(Instr::Gather(read, of(place).0.one()?, steps));
                widths.held(val, lanes[at])
            }
            Instr::Count => LaneValue::One(widths.make.push(instr)),
            Instr::Unary(UnaryOp::To(to), a) => widths.convert(of(a).0, of(a).1, to)?,
            // Registers hold either as F32.
            Instr::Unary(UnaryOp::ToExact(_), a) => of(a).0,
            Instr::Unary(op, a) => widths.unary(op, of(a).0, of(a).1)?,
            Instr::Binary(op, a, b) => widths.binary(op, of(a).0, of(b).0, of(a).1)?,
            Instr::Fma(a, b, c) if of(a).1 == ScalarType::F32 => {
                LaneValue::One(widths.make.fma(of(a).0.one()?, of(b).0.one()?, of(c).0.one()?))
            }
            Instr::Cmp(op, a, b) => LaneValue::One(widths.compare(op, of(a).0, of(b).0, of(a).1)?),
            Instr::Select(condition, a, b) => widths.select(of(condition).0.one()?, of(a).0, of(b).0)?,
            Instr::Fma(..) | Instr::ReadHalf(..) | Instr::Gather(..) => return None,
        };
        map.push(held);
    }
    let mut folds = vec![];
    for &(val, fold) in &stage.reductions {
        let (held, lane) = (map[val.0 as usize], lanes[val.0 as usize]);
        folds.extend(widths.fold(held, lane, fold)?);
    }
    let mut stores = vec![];
    for store in &stage.stores {
        let (held, lane) = (map[store.val.0 as usize], lanes[store.val.0 as usize]);
        match held {
            LaneValue::One(val) => stores.push(LaneStore { val: widths.stored(val, lane), write: store.write, half: 0 }),
            LaneValue::Two(halves) => {
                stores.extend((0..2).map(|half| LaneStore { val: halves[usize::from(half)], write: store.write, half }));
            }
        }
    }
    Some(LegalizedStage { body: widths.make.finish(), folds, stores })
}

/// Whether registers hold every value directly and the machine has every operation.
fn is_plain(stage: &Stage, lanes: &[ScalarType]) -> bool {
    let divides = |op: BinaryOp| matches!(op, BinaryOp::TruncDiv | BinaryOp::Mod | BinaryOp::FloorDiv | BinaryOp::FloorMod);
    lanes.iter().all(|lane| lane.is_plain())
        && stage.reductions.iter().all(|fold| lanes[fold.0.0 as usize] != ScalarType::Bool)
        && !stage.body.instrs.iter().any(|instr| match *instr {
            Instr::Unary(UnaryOp::To(_) | UnaryOp::ToExact(_), _) => true,
            Instr::Binary(op, a, _) => divides(op) && lanes[a.0 as usize] == ScalarType::I32,
            _ => false,
        })
}

/// Renumbers reads of reductions.
fn renumbered(body: &Body, folded: &[LaneReduction]) -> Body {
    let instrs = body.instrs.iter().map(|&instr| match instr {
        Instr::Reduced(fold) => Instr::Reduced(folded.get(usize::from(fold)).map_or(fold, |known| known.first as u16)),
        _ => instr,
    });
    Body { instrs: instrs.collect() }
}

impl LaneValue {
    fn one(self) -> Option<Val> {
        match self {
            LaneValue::One(val) => Some(val),
            LaneValue::Two(_) => None,
        }
    }

    fn two(self) -> Option<[Val; 2]> {
        match self {
            LaneValue::One(_) => None,
            LaneValue::Two(halves) => Some(halves),
        }
    }

    /// Applies `f` to each register.
    fn map(self, mut f: impl FnMut(Val) -> Val) -> LaneValue {
        match self {
            LaneValue::One(val) => LaneValue::One(f(val)),
            LaneValue::Two([low, high]) => LaneValue::Two([f(low), f(high)]),
        }
    }

    /// Applies `f` to each pair of registers.
    fn zip(self, other: LaneValue, mut f: impl FnMut(Val, Val) -> Val) -> Option<LaneValue> {
        Some(match (self, other) {
            (LaneValue::One(a), LaneValue::One(b)) => LaneValue::One(f(a, b)),
            (LaneValue::Two(a), LaneValue::Two(b)) => LaneValue::Two([f(a[0], b[0]), f(a[1], b[1])]),
            _ => return None,
        })
    }
}

/// A body under construction.
struct Widths {
    make: BodyBuilder,
    has_wide_shifts: bool,
}

impl Widths {
    fn read(&mut self, read: u16, lane: ScalarType) -> LaneValue {
        if lane.is_wide() {
            return LaneValue::Two([0, 1].map(|half| self.make.push(Instr::ReadHalf(read, half))));
        }
        let val = self.make.push(Instr::Read(read));
        self.held(val, lane)
    }

    /// The value of a read that is not of 64 bits.
    fn held(&mut self, val: Val, lane: ScalarType) -> LaneValue {
        if lane == ScalarType::BF16 {
            let place = self.make.i32(16);
            let bits = self.make.bin(BinaryOp::Shl, val, place);
            return LaneValue::One(self.make.un(UnaryOp::FromBits, bits));
        }
        LaneValue::One(val)
    }

    fn constant(&mut self, bits: u64, lane: ScalarType) -> LaneValue {
        let make = &mut self.make;
        match lane {
            ScalarType::F16 => LaneValue::One(make.f32(f16::from_bits(bits as u16).to_f32())),
            ScalarType::BF16 => LaneValue::One(make.f32(bf16::from_bits(bits as u16).to_f32())),
            ScalarType::I8 => LaneValue::One(make.i32((bits as u8 as i8).into())),
            ScalarType::I16 => LaneValue::One(make.i32((bits as u16 as i16).into())),
            ScalarType::U8 | ScalarType::U16 | ScalarType::U32 => LaneValue::One(make.i32(bits as u32 as i32)),
            ScalarType::F64 => LaneValue::Two([make.push(Instr::Const(bits, ScalarType::HalfF64)); 2]),
            ScalarType::I64 | ScalarType::U64 => LaneValue::Two([self.quad(bits as i64); 2]),
            _ => LaneValue::One(make.push(Instr::Const(bits, lane))),
        }
    }

    /// An integer in lanes of 64 bits.
    fn quad(&mut self, value: i64) -> Val {
        self.make.push(Instr::Const(value as u64, ScalarType::HalfI64))
    }

    fn double(&mut self, value: f64) -> Val {
        self.make.push(Instr::Const(value.to_bits(), ScalarType::HalfF64))
    }

    /// What is stored for a register.
    ///
    /// A store of a narrow integer takes the low bits, so that what wraps it is left out.
    fn stored(&mut self, val: Val, lane: ScalarType) -> Val {
        if lane != ScalarType::BF16 {
            return match lane.int_bits() {
                Some((bits @ (8 | 16), _)) => self.low_bits(val, bits, WRAPS),
                _ => val,
            };
        }
        let (bits, place) = (self.make.un(UnaryOp::Bits, val), self.make.i32(16));
        self.make.bin(BinaryOp::ShrUnsigned, bits, place)
    }

    /// An I32 with the same low bits, without the last `depth` instructions that change others only.
    fn low_bits(&mut self, val: Val, bits: u32, depth: u32) -> Val {
        let Some(depth) = depth.checked_sub(1) else { return val };
        let number = |val: Val| match self.make.instr(val) {
            Instr::Const(bits, ScalarType::I32) => Some(bits as u32),
            _ => None,
        };
        match self.make.instr(val) {
            Instr::Binary(BinaryOp::And, a, mask) if number(mask).is_some_and(|mask| mask.trailing_ones() >= bits) => {
                self.low_bits(a, bits, depth)
            }
            Instr::Binary(BinaryOp::ShrSigned, up, place) => match (self.make.instr(up), number(place)) {
                (Instr::Binary(BinaryOp::Shl, a, by), Some(place)) if number(by) == Some(place) && place + bits <= 32 => {
                    self.low_bits(a, bits, depth)
                }
                _ => val,
            },
            Instr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
                let (low_a, low_b) = (self.low_bits(a, bits, depth), self.low_bits(b, bits, depth));
                if (low_a, low_b) == (a, b) { val } else { self.make.bin(op, low_a, low_b) }
            }
            _ => val,
        }
    }

    /// Wraps an I32 to a narrower integer.
    fn wrap(&mut self, val: Val, lane: ScalarType) -> Val {
        let val = match lane.int_bits() {
            Some((bits, _)) if bits < 32 => self.low_bits(val, bits, WRAPS),
            _ => val,
        };
        match lane.int_bits() {
            Some((bits, true)) if bits < 32 => {
                let place = self.make.i32(32 - bits as i32);
                let up = self.make.bin(BinaryOp::Shl, val, place);
                self.make.bin(BinaryOp::ShrSigned, up, place)
            }
            Some((bits, false)) if bits < 32 => {
                let mask = self.make.i32((1 << bits) - 1);
                self.make.and(val, mask)
            }
            _ => val,
        }
    }

    /// Rounds an F32 to the nearest number of a narrower float type.
    fn round(&mut self, val: Val, lane: ScalarType) -> Val {
        match lane {
            ScalarType::F16 => self.make.un(UnaryOp::ThroughF16, val),
            ScalarType::BF16 => self.make.un(UnaryOp::ThroughBF16, val),
            _ => val,
        }
    }

    /// Maps the order of unsigned integers to that of signed ones, and back.
    fn flip(&mut self, held: LaneValue) -> LaneValue {
        match held {
            LaneValue::One(val) => {
                let sign = self.make.i32(i32::MIN);
                LaneValue::One(self.make.bin(BinaryOp::Xor, val, sign))
            }
            LaneValue::Two(_) => {
                let sign = self.quad(i64::MIN);
                held.map(|half| self.make.bin(BinaryOp::Xor, half, sign))
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, x: LaneValue, lane: ScalarType) -> Option<LaneValue> {
        let exact = matches!(
            op,
            UnaryOp::Neg
                | UnaryOp::Abs
                | UnaryOp::Floor
                | UnaryOp::Ceil
                | UnaryOp::Trunc
                | UnaryOp::RoundEven
                | UnaryOp::Round
                | UnaryOp::Sign
        );
        match lane {
            ScalarType::F32 | ScalarType::I32 | ScalarType::Bool => Some(LaneValue::One(self.make.un(op, x.one()?))),
            ScalarType::F16 | ScalarType::BF16 => {
                (exact || op == UnaryOp::Sqrt || op.ulps().is_some()).then_some(())?;
                let val = self.make.un(op, x.one()?);
                Some(LaneValue::One(if exact { val } else { self.round(val, lane) }))
            }
            ScalarType::F64 => self.unary_f64(op, x),
            _ => {
                let signed = lane.int_bits()?.1;
                match op {
                    UnaryOp::Abs if !signed => Some(x),
                    UnaryOp::Neg => {
                        let zero = self.constant(0, lane);
                        self.binary(BinaryOp::Sub, zero, x, lane)
                    }
                    UnaryOp::Abs => {
                        let zero = self.constant(0, lane);
                        let minus = self.binary(BinaryOp::Sub, zero, x, lane)?;
                        let below = self.compare(Cmp::Lt, x, zero, lane)?;
                        self.select(below, minus, x)
                    }
                    _ => None,
                }
            }
        }
    }

    fn unary_f64(&mut self, op: UnaryOp, x: LaneValue) -> Option<LaneValue> {
        Some(match op {
            UnaryOp::Neg | UnaryOp::Abs => {
                let (op, bits) = if op == UnaryOp::Neg { (BinaryOp::Xor, 1 << 63) } else { (BinaryOp::And, u64::MAX >> 1) };
                let bits = self.make.push(Instr::Const(bits, ScalarType::HalfF64));
                x.map(|half| self.make.bin(op, half, bits))
            }
            UnaryOp::Sqrt | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::RoundEven => {
                x.map(|half| self.make.un(op, half))
            }
            // As of F32: the greatest number below a half is added, away from zero.
            UnaryOp::Round => {
                let (below, sign) = (self.double(0.5f64.next_down()), self.double(-0.0));
                x.map(|half| {
                    let sign = self.make.and(half, sign);
                    let signed = self.make.or(below, sign);
                    let sum = self.make.add(half, signed);
                    self.make.un(UnaryOp::Trunc, sum)
                })
            }
            UnaryOp::Sign => {
                let (zero, one, minus) = (self.double(0.0), self.double(1.0), self.double(-1.0));
                x.map(|half| {
                    let (above, below) = (self.make.cmp(Cmp::Gt, half, zero), self.make.cmp(Cmp::Lt, half, zero));
                    let down = self.make.select(below, minus, zero);
                    self.make.select(above, one, down)
                })
            }
            _ => {
                let [low, high] = x.two()?;
                LaneValue::Two([self.function_f64(op, low)?, self.function_f64(op, high)?])
            }
        })
    }

    fn binary(&mut self, op: BinaryOp, x: LaneValue, y: LaneValue, lane: ScalarType) -> Option<LaneValue> {
        match lane {
            _ if matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) => x.zip(y, |x, y| self.make.bin(op, x, y)),
            ScalarType::F32 => Some(LaneValue::One(self.make.bin(op, x.one()?, y.one()?))),
            ScalarType::F16 | ScalarType::BF16 => {
                let val = self.make.bin(op, x.one()?, y.one()?);
                let exact = matches!(op, BinaryOp::Max | BinaryOp::Min | BinaryOp::MaxSecond | BinaryOp::MinSecond);
                Some(LaneValue::One(if exact { val } else { self.round(val, lane) }))
            }
            ScalarType::F64 => self.binary_f64(op, x, y),
            ScalarType::Bool => None,
            _ => self.binary_int(op, x, y, lane),
        }
    }

    fn binary_f64(&mut self, op: BinaryOp, x: LaneValue, y: LaneValue) -> Option<LaneValue> {
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::MaxSecond | BinaryOp::MinSecond => {
                x.zip(y, |x, y| self.make.bin(op, x, y))
            }
            // As of F32, where it is said why.
            BinaryOp::Max => {
                let rest = self.make.push(Instr::Const(u64::MAX >> 1, ScalarType::HalfF64));
                x.zip(y, |x, y| {
                    let make = &mut self.make;
                    let (a, b) = (make.bin(BinaryOp::MaxSecond, x, y), make.bin(BinaryOp::MaxSecond, y, x));
                    let (both, either) = (make.and(a, b), make.or(a, b));
                    let either = make.and(either, rest);
                    make.or(both, either)
                })
            }
            BinaryOp::Min => x.zip(y, |x, y| {
                let make = &mut self.make;
                let (a, b) = (make.bin(BinaryOp::MinSecond, x, y), make.bin(BinaryOp::MinSecond, y, x));
                make.or(a, b)
            }),
            BinaryOp::FloorDiv => x.zip(y, |x, y| {
                let quotient = self.make.div(x, y);
                self.make.un(UnaryOp::Floor, quotient)
            }),
            _ => None,
        }
    }

    fn binary_int(&mut self, op: BinaryOp, x: LaneValue, y: LaneValue, lane: ScalarType) -> Option<LaneValue> {
        let (bits, signed) = lane.int_bits()?;
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl => {
                let result = x.zip(y, |x, y| self.make.bin(op, x, y))?;
                Some(result.map(|val| self.wrap(val, lane)))
            }
            BinaryOp::ShrUnsigned if !signed || bits >= 32 => x.zip(y, |x, y| self.make.bin(op, x, y)),
            BinaryOp::ShrSigned if signed && bits < 64 => x.zip(y, |x, y| self.make.bin(op, x, y)),
            BinaryOp::ShrSigned if signed => x.zip(y, |x, y| self.shift_signed(x, y)),
            BinaryOp::Max | BinaryOp::Min if lane.is_wide() || !signed => {
                let greater = self.compare(Cmp::Gt, x, y, lane)?;
                if op == BinaryOp::Max { self.select(greater, x, y) } else { self.select(greater, y, x) }
            }
            BinaryOp::Max | BinaryOp::Min => {
                let op = if op == BinaryOp::Max { BinaryOp::MaxSecond } else { BinaryOp::MinSecond };
                x.zip(y, |x, y| self.make.bin(op, x, y))
            }
            BinaryOp::TruncDiv | BinaryOp::Mod | BinaryOp::FloorDiv | BinaryOp::FloorMod => self.divided(op, x, y, lane),
            _ => None,
        }
    }

    /// Shifts in zeros, then extends the sign bit from its new position: `(t ^ m) - m`.
    fn shift_signed(&mut self, x: Val, by: Val) -> Val {
        if self.has_wide_shifts {
            return self.make.bin(BinaryOp::ShrSigned, x, by);
        }
        let sign = self.quad(i64::MIN);
        let make = &mut self.make;
        let (shifted, place) = (make.bin(BinaryOp::ShrUnsigned, x, by), make.bin(BinaryOp::ShrUnsigned, sign, by));
        let turned = make.bin(BinaryOp::Xor, shifted, place);
        make.sub(turned, place)
    }

    fn compare(&mut self, op: Cmp, x: LaneValue, y: LaneValue, lane: ScalarType) -> Option<Val> {
        if matches!(lane, ScalarType::U32 | ScalarType::U64) && !matches!(op, Cmp::Eq | Cmp::Ne) {
            let (x, y) = (self.flip(x), self.flip(y));
            let signed = if lane == ScalarType::U32 { ScalarType::I32 } else { ScalarType::I64 };
            return self.compare(op, x, y, signed);
        }
        match (x, y) {
            (LaneValue::One(x), LaneValue::One(y)) => Some(self.make.cmp(op, x, y)),
            (LaneValue::Two(x), LaneValue::Two(y)) => {
                let halves = [0, 1].map(|half| self.compare_halves(op, x[half], y[half], lane));
                Some(self.make.bin(BinaryOp::JoinLow, halves[0], halves[1]))
            }
            _ => None,
        }
    }

    /// For integers the machine has only "equal" and "greater".
    fn compare_halves(&mut self, op: Cmp, x: Val, y: Val, lane: ScalarType) -> Val {
        let make = &mut self.make;
        let holds = match op {
            _ if lane == ScalarType::F64 => return make.cmp(op, x, y),
            Cmp::Eq | Cmp::Ne => make.cmp(Cmp::Eq, x, y),
            Cmp::Gt | Cmp::Le => make.cmp(Cmp::Gt, x, y),
            Cmp::Lt | Cmp::Ge => make.cmp(Cmp::Gt, y, x),
        };
        if matches!(op, Cmp::Ne | Cmp::Le | Cmp::Ge) { make.un(UnaryOp::Not, holds) } else { holds }
    }

    /// A Bool for each half.
    fn conditions(&mut self, condition: Val) -> [Val; 2] {
        match self.make.instr(condition) {
            Instr::Binary(BinaryOp::JoinLow, low, high) => [low, high],
            _ => [0, 1].map(|half| self.make.un(UnaryOp::Widen(Widening::Signed, half), condition)),
        }
    }

    fn select(&mut self, condition: Val, x: LaneValue, y: LaneValue) -> Option<LaneValue> {
        Some(match (x, y) {
            (LaneValue::One(x), LaneValue::One(y)) => LaneValue::One(self.make.select(condition, x, y)),
            (LaneValue::Two(x), LaneValue::Two(y)) => {
                let holds = self.conditions(condition);
                LaneValue::Two([0, 1].map(|half| self.make.select(holds[half], x[half], y[half])))
            }
            _ => return None,
        })
    }

    /// The reductions that registers compute for a value.
    fn fold(&mut self, held: LaneValue, lane: ScalarType, fold: Reduction) -> Option<Vec<(Val, Reduction)>> {
        if lane == ScalarType::Bool {
            // A sum of Bools is "or", a product "and".
            let fold = if matches!(fold, Reduction::Sum | Reduction::Max) { Reduction::Max } else { Reduction::Min };
            return Some(vec![(self.make.un(UnaryOp::BoolToInt, held.one()?), fold)]);
        }
        let unsigned = matches!(lane, ScalarType::U32 | ScalarType::U64) && matches!(fold, Reduction::Max | Reduction::Min);
        let held = if unsigned { self.flip(held) } else { held };
        Some(match held {
            LaneValue::One(val) => vec![(val, fold)],
            LaneValue::Two(halves) => halves.map(|half| (half, fold)).to_vec(),
        })
    }

    /// The result of a reduction: sums are wrapped or rounded last; an extreme of no elements is that of its type.
    fn folded(&mut self, folded: &LaneReduction) -> Option<LaneValue> {
        let &LaneReduction { lane, fold, first } = folded;
        let number = |at: usize| u16::try_from(first + at).ok();
        let extreme = matches!(fold, Reduction::Max | Reduction::Min);
        if lane.is_wide() {
            let halves = LaneValue::Two([self.make.push(Instr::Reduced(number(0)?)), self.make.push(Instr::Reduced(number(1)?))]);
            return Some(if lane == ScalarType::U64 && extreme { self.flip(halves) } else { halves });
        }
        let val = self.make.push(Instr::Reduced(number(0)?));
        Some(match lane {
            ScalarType::Bool => {
                let zero = self.make.i32(0);
                LaneValue::One(self.make.cmp(Cmp::Gt, val, zero))
            }
            ScalarType::U32 if extreme => self.flip(LaneValue::One(val)),
            ScalarType::F16 | ScalarType::BF16 if !extreme => LaneValue::One(self.round(val, lane)),
            ScalarType::I8 | ScalarType::I16 | ScalarType::U8 | ScalarType::U16 if extreme => {
                let (bits, signed) = lane.int_bits()?;
                let (least, span) = (if signed { -1 << (bits - 1) } else { 0 }, 1 << bits);
                let (limit, op) = match fold {
                    Reduction::Max => (least, BinaryOp::MaxSecond),
                    _ => (least + span - 1, BinaryOp::MinSecond),
                };
                let limit = self.make.i32(limit);
                LaneValue::One(self.make.bin(op, val, limit))
            }
            _ => LaneValue::One(self.wrap(val, lane)),
        })
    }
}
