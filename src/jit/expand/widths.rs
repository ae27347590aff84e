//! Elements that registers do not hold as they are: a body on the lanes of tensors becomes one on those of a machine.
//!
//! Integers of fewer bits are I32 that lie in their range: what may leave it is wrapped. F16 and BF16 are F32 that are exactly
//! such numbers: what may not be is rounded, which after one operation in F32 is as if rounded once (Figueroa, *When is double
//! rounding innocuous?*, 1995). U32 is the bits in an I32. What has 64 bits is two halves of a vector; its comparisons are joined
//! to a Bool. Deliberately not here: functions of F32, which are expanded afterwards, and what has no kernel: `None`.

mod convert;
mod divide;

use super::make::Make;
use crate::kernel::{Bin, Body, Cmp, Fold, Instr, Lane, Stage, Un, Val, Widening};
use half::{bf16, f16};

/// A value as registers hold it.
#[derive(Clone, Copy, Debug)]
pub enum Held {
    One(Val),
    Two([Val; 2]),
}

/// A store of a vector, or of half of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Put {
    pub val: Val,
    pub write: usize,
    pub half: u8,
}

/// A fold of an earlier stage: what is folded, how, and the number of the first of the folds that it has become.
#[derive(Clone, Copy, Debug)]
pub struct Folded {
    pub lane: Lane,
    pub fold: Fold,
    pub first: usize,
}

/// A stage on the lanes of a machine.
pub struct Machined {
    pub body: Body,
    pub folds: Vec<(Val, Fold)>,
    pub stores: Vec<Put>,
}

/// What a register holds of a read or a fold of a lane.
pub fn machine(lane: Lane) -> Lane {
    match lane {
        Lane::F16 => Lane::F32,
        Lane::I8 | Lane::I16 | Lane::U8 | Lane::U16 | Lane::U32 | Lane::BF16 => Lane::I32,
        _ => lane,
    }
}

/// What the registers of a fold hold.
pub fn fold_lanes(lane: Lane) -> Vec<Lane> {
    match lane {
        Lane::F64 => vec![Lane::HalfF64; 2],
        Lane::I64 | Lane::U64 => vec![Lane::HalfI64; 2],
        Lane::BF16 => vec![Lane::F32],
        Lane::Bool => vec![Lane::I32],
        _ => vec![machine(lane)],
    }
}

/// A stage whose values are `lanes`, where the folds of earlier stages are `folded`; `has_wide_shifts` says whether the machine
/// shifts signed lanes of 64 bits. `None` for what cannot be computed so.
pub fn machined(stage: &Stage, lanes: &[Lane], folded: &[Folded], has_wide_shifts: bool) -> Option<Machined> {
    if is_plain(stage, lanes) && folded.iter().all(|fold| fold.lane.is_plain() && fold.lane != Lane::Bool) {
        let stores = stage.stores.iter().map(|store| Put { val: store.val, write: store.write, half: 0 }).collect();
        return Some(Machined { body: renumbered(&stage.body, folded), folds: stage.folds.clone(), stores });
    }
    let mut widths = Widths { make: Make::new(true), has_wide_shifts };
    let mut map: Vec<Held> = Vec::with_capacity(lanes.len());
    for (at, &instr) in stage.body.instrs.iter().enumerate() {
        let of = |val: Val| (map[val.0 as usize], lanes[val.0 as usize]);
        let held = match instr {
            Instr::Read(read) => widths.read(read, lanes[at]),
            Instr::Const(bits, lane) => widths.constant(bits, lane),
            Instr::Folded(fold) => widths.folded(folded.get(usize::from(fold))?)?,
            Instr::Pick(read, place) if !lanes[at].is_wide() => {
                let val = widths.make.push(Instr::Pick(read, of(place).0.one()?));
                widths.held(val, lanes[at])
            }
            Instr::Count => Held::One(widths.make.push(instr)),
            Instr::Un(Un::To(to), a) => widths.convert(of(a).0, of(a).1, to)?,
            Instr::Un(op, a) => widths.unary(op, of(a).0, of(a).1)?,
            Instr::Bin(op, a, b) => widths.binary(op, of(a).0, of(b).0, of(a).1)?,
            Instr::Fma(a, b, c) if of(a).1 == Lane::F32 => {
                Held::One(widths.make.fma(of(a).0.one()?, of(b).0.one()?, of(c).0.one()?))
            }
            Instr::Cmp(op, a, b) => Held::One(widths.compare(op, of(a).0, of(b).0, of(a).1)?),
            Instr::Select(condition, a, b) => widths.select(of(condition).0.one()?, of(a).0, of(b).0)?,
            Instr::Fma(..) | Instr::ReadHalf(..) | Instr::Pick(..) => return None,
        };
        map.push(held);
    }
    let mut folds = vec![];
    for &(val, fold) in &stage.folds {
        let (held, lane) = (map[val.0 as usize], lanes[val.0 as usize]);
        folds.extend(widths.fold(held, lane, fold)?);
    }
    let mut stores = vec![];
    for store in &stage.stores {
        let (held, lane) = (map[store.val.0 as usize], lanes[store.val.0 as usize]);
        match held {
            Held::One(val) => stores.push(Put { val: widths.stored(val, lane), write: store.write, half: 0 }),
            Held::Two(halves) => {
                stores.extend((0..2).map(|half| Put { val: halves[usize::from(half)], write: store.write, half }));
            }
        }
    }
    Some(Machined { body: widths.make.finish(), folds, stores })
}

/// Whether registers hold everything as it is, and machines have all that is done with it.
fn is_plain(stage: &Stage, lanes: &[Lane]) -> bool {
    let divides = |op: Bin| matches!(op, Bin::TruncDiv | Bin::Mod | Bin::FloorDiv | Bin::FloorMod);
    lanes.iter().all(|lane| lane.is_plain())
        && stage.folds.iter().all(|fold| lanes[fold.0.0 as usize] != Lane::Bool)
        && !stage.body.instrs.iter().any(|instr| match *instr {
            Instr::Un(Un::To(_), _) => true,
            Instr::Bin(op, a, _) => divides(op) && lanes[a.0 as usize] == Lane::I32,
            _ => false,
        })
}

/// Folds by the numbers they have become.
fn renumbered(body: &Body, folded: &[Folded]) -> Body {
    let instrs = body.instrs.iter().map(|&instr| match instr {
        Instr::Folded(fold) => Instr::Folded(folded.get(usize::from(fold)).map_or(fold, |known| known.first as u16)),
        _ => instr,
    });
    Body { instrs: instrs.collect() }
}

impl Held {
    fn one(self) -> Option<Val> {
        match self {
            Held::One(val) => Some(val),
            Held::Two(_) => None,
        }
    }

    fn two(self) -> Option<[Val; 2]> {
        match self {
            Held::One(_) => None,
            Held::Two(halves) => Some(halves),
        }
    }

    /// The same of each register.
    fn map(self, mut f: impl FnMut(Val) -> Val) -> Held {
        match self {
            Held::One(val) => Held::One(f(val)),
            Held::Two([low, high]) => Held::Two([f(low), f(high)]),
        }
    }

    /// The same of each pair of registers.
    fn zip(self, other: Held, mut f: impl FnMut(Val, Val) -> Val) -> Option<Held> {
        Some(match (self, other) {
            (Held::One(a), Held::One(b)) => Held::One(f(a, b)),
            (Held::Two(a), Held::Two(b)) => Held::Two([f(a[0], b[0]), f(a[1], b[1])]),
            _ => return None,
        })
    }
}

/// A body being made.
struct Widths {
    make: Make,
    has_wide_shifts: bool,
}

impl Widths {
    fn read(&mut self, read: u16, lane: Lane) -> Held {
        if lane.is_wide() {
            return Held::Two([0, 1].map(|half| self.make.push(Instr::ReadHalf(read, half))));
        }
        let val = self.make.push(Instr::Read(read));
        self.held(val, lane)
    }

    /// What a read gives that is not of 64 bits.
    fn held(&mut self, val: Val, lane: Lane) -> Held {
        if lane == Lane::BF16 {
            let place = self.make.i32(16);
            let bits = self.make.bin(Bin::Shl, val, place);
            return Held::One(self.make.un(Un::FromBits, bits));
        }
        Held::One(val)
    }

    fn constant(&mut self, bits: u64, lane: Lane) -> Held {
        let make = &mut self.make;
        match lane {
            Lane::F16 => Held::One(make.f32(f16::from_bits(bits as u16).to_f32())),
            Lane::BF16 => Held::One(make.f32(bf16::from_bits(bits as u16).to_f32())),
            Lane::I8 => Held::One(make.i32((bits as u8 as i8).into())),
            Lane::I16 => Held::One(make.i32((bits as u16 as i16).into())),
            Lane::U8 | Lane::U16 | Lane::U32 => Held::One(make.i32(bits as u32 as i32)),
            Lane::F64 => Held::Two([make.push(Instr::Const(bits, Lane::HalfF64)); 2]),
            Lane::I64 | Lane::U64 => Held::Two([self.quad(bits as i64); 2]),
            _ => Held::One(make.push(Instr::Const(bits, lane))),
        }
    }

    /// An integer in lanes of 64 bits.
    fn quad(&mut self, value: i64) -> Val {
        self.make.push(Instr::Const(value as u64, Lane::HalfI64))
    }

    fn double(&mut self, value: f64) -> Val {
        self.make.push(Instr::Const(value.to_bits(), Lane::HalfF64))
    }

    /// What is stored of a register.
    fn stored(&mut self, val: Val, lane: Lane) -> Val {
        if lane != Lane::BF16 {
            return val;
        }
        let (bits, place) = (self.make.un(Un::Bits, val), self.make.i32(16));
        self.make.bin(Bin::ShrUnsigned, bits, place)
    }

    /// An I32 as a number of a narrower integer, wrapped.
    fn wrap(&mut self, val: Val, lane: Lane) -> Val {
        match lane.int_bits() {
            Some((bits, true)) if bits < 32 => {
                let place = self.make.i32(32 - bits as i32);
                let up = self.make.bin(Bin::Shl, val, place);
                self.make.bin(Bin::ShrSigned, up, place)
            }
            Some((bits, false)) if bits < 32 => {
                let mask = self.make.i32((1 << bits) - 1);
                self.make.and(val, mask)
            }
            _ => val,
        }
    }

    /// An F32 as the nearest number of a float type of fewer bits.
    fn round(&mut self, val: Val, lane: Lane) -> Val {
        let make = &mut self.make;
        match lane {
            Lane::F16 => make.un(Un::ThroughF16, val),
            Lane::BF16 => {
                // Added to what is cut off: a half less one, and one more where what stays is odd.
                let (bits, place, one) = (make.un(Un::Bits, val), make.i32(16), make.i32(1));
                let (half, kept) = (make.i32(0x7fff), make.i32(-0x1_0000));
                let shifted = make.bin(Bin::ShrUnsigned, bits, place);
                let odd = make.and(shifted, one);
                let sum = make.add(bits, half);
                let sum = make.add(sum, odd);
                let cut = make.and(sum, kept);
                let (near, nan) = (make.un(Un::FromBits, cut), make.f32(f32::NAN));
                let number = make.cmp(Cmp::Eq, val, val);
                make.select(number, near, nan)
            }
            _ => val,
        }
    }

    /// Turns the order of unsigned integers into that of signed ones, and back.
    fn flip(&mut self, held: Held) -> Held {
        match held {
            Held::One(val) => {
                let sign = self.make.i32(i32::MIN);
                Held::One(self.make.bin(Bin::Xor, val, sign))
            }
            Held::Two(_) => {
                let sign = self.quad(i64::MIN);
                held.map(|half| self.make.bin(Bin::Xor, half, sign))
            }
        }
    }

    fn unary(&mut self, op: Un, x: Held, lane: Lane) -> Option<Held> {
        let exact = matches!(op, Un::Neg | Un::Abs | Un::Floor | Un::Ceil | Un::Trunc | Un::RoundEven | Un::Round | Un::Sign);
        match lane {
            Lane::F32 | Lane::I32 | Lane::Bool => Some(Held::One(self.make.un(op, x.one()?))),
            Lane::F16 | Lane::BF16 => {
                let function = exact
                    || matches!(
                        op,
                        Un::Sqrt
                            | Un::Exp
                            | Un::Log
                            | Un::Log2
                            | Un::Log10
                            | Un::Rsqrt
                            | Un::Sigmoid
                            | Un::Tanh
                            | Un::Erf
                            | Un::Sin
                            | Un::Cos
                    );
                function.then_some(())?;
                let val = self.make.un(op, x.one()?);
                Some(Held::One(if exact { val } else { self.round(val, lane) }))
            }
            Lane::F64 => self.unary_f64(op, x),
            _ => {
                let signed = lane.int_bits()?.1;
                match op {
                    Un::Abs if !signed => Some(x),
                    Un::Neg => {
                        let zero = self.constant(0, lane);
                        self.binary(Bin::Sub, zero, x, lane)
                    }
                    Un::Abs => {
                        let zero = self.constant(0, lane);
                        let minus = self.binary(Bin::Sub, zero, x, lane)?;
                        let below = self.compare(Cmp::Lt, x, zero, lane)?;
                        self.select(below, minus, x)
                    }
                    _ => None,
                }
            }
        }
    }

    fn unary_f64(&mut self, op: Un, x: Held) -> Option<Held> {
        Some(match op {
            Un::Neg | Un::Abs => {
                let (op, bits) = if op == Un::Neg { (Bin::Xor, 1 << 63) } else { (Bin::And, u64::MAX >> 1) };
                let bits = self.make.push(Instr::Const(bits, Lane::HalfF64));
                x.map(|half| self.make.bin(op, half, bits))
            }
            Un::Sqrt | Un::Floor | Un::Ceil | Un::Trunc | Un::RoundEven => x.map(|half| self.make.un(op, half)),
            // As of F32: the greatest number below a half is added, away from zero.
            Un::Round => {
                let (below, sign) = (self.double(0.5f64.next_down()), self.double(-0.0));
                x.map(|half| {
                    let sign = self.make.and(half, sign);
                    let signed = self.make.or(below, sign);
                    let sum = self.make.add(half, signed);
                    self.make.un(Un::Trunc, sum)
                })
            }
            Un::Sign => {
                let (zero, one, minus) = (self.double(0.0), self.double(1.0), self.double(-1.0));
                x.map(|half| {
                    let (above, below) = (self.make.cmp(Cmp::Gt, half, zero), self.make.cmp(Cmp::Lt, half, zero));
                    let down = self.make.select(below, minus, zero);
                    self.make.select(above, one, down)
                })
            }
            _ => return None,
        })
    }

    fn binary(&mut self, op: Bin, x: Held, y: Held, lane: Lane) -> Option<Held> {
        match lane {
            _ if matches!(op, Bin::And | Bin::Or | Bin::Xor) => x.zip(y, |x, y| self.make.bin(op, x, y)),
            Lane::F32 => Some(Held::One(self.make.bin(op, x.one()?, y.one()?))),
            Lane::F16 | Lane::BF16 => {
                let val = self.make.bin(op, x.one()?, y.one()?);
                let exact = matches!(op, Bin::Max | Bin::Min | Bin::MaxSecond | Bin::MinSecond);
                Some(Held::One(if exact { val } else { self.round(val, lane) }))
            }
            Lane::F64 => self.binary_f64(op, x, y),
            Lane::Bool => None,
            _ => self.binary_int(op, x, y, lane),
        }
    }

    fn binary_f64(&mut self, op: Bin, x: Held, y: Held) -> Option<Held> {
        match op {
            Bin::Add | Bin::Sub | Bin::Mul | Bin::Div | Bin::MaxSecond | Bin::MinSecond => {
                x.zip(y, |x, y| self.make.bin(op, x, y))
            }
            // As of F32, where it is said why.
            Bin::Max => {
                let rest = self.make.push(Instr::Const(u64::MAX >> 1, Lane::HalfF64));
                x.zip(y, |x, y| {
                    let make = &mut self.make;
                    let (a, b) = (make.bin(Bin::MaxSecond, x, y), make.bin(Bin::MaxSecond, y, x));
                    let (both, either) = (make.and(a, b), make.or(a, b));
                    let either = make.and(either, rest);
                    make.or(both, either)
                })
            }
            Bin::Min => x.zip(y, |x, y| {
                let make = &mut self.make;
                let (a, b) = (make.bin(Bin::MinSecond, x, y), make.bin(Bin::MinSecond, y, x));
                make.or(a, b)
            }),
            Bin::FloorDiv => x.zip(y, |x, y| {
                let quotient = self.make.div(x, y);
                self.make.un(Un::Floor, quotient)
            }),
            _ => None,
        }
    }

    fn binary_int(&mut self, op: Bin, x: Held, y: Held, lane: Lane) -> Option<Held> {
        let (bits, signed) = lane.int_bits()?;
        match op {
            Bin::Add | Bin::Sub | Bin::Mul | Bin::Shl => {
                let result = x.zip(y, |x, y| self.make.bin(op, x, y))?;
                Some(result.map(|val| self.wrap(val, lane)))
            }
            Bin::ShrUnsigned if !signed || bits >= 32 => x.zip(y, |x, y| self.make.bin(op, x, y)),
            Bin::ShrSigned if signed && bits < 64 => x.zip(y, |x, y| self.make.bin(op, x, y)),
            Bin::ShrSigned if signed => x.zip(y, |x, y| self.shift_signed(x, y)),
            Bin::Max | Bin::Min if lane.is_wide() || !signed => {
                let greater = self.compare(Cmp::Gt, x, y, lane)?;
                if op == Bin::Max { self.select(greater, x, y) } else { self.select(greater, y, x) }
            }
            Bin::Max | Bin::Min => {
                let op = if op == Bin::Max { Bin::MaxSecond } else { Bin::MinSecond };
                x.zip(y, |x, y| self.make.bin(op, x, y))
            }
            Bin::TruncDiv | Bin::Mod | Bin::FloorDiv | Bin::FloorMod => self.divided(op, x, y, lane),
            _ => None,
        }
    }

    /// Zeros come in, then the sign is copied down from where it has come to: `(t ^ m) - m`.
    fn shift_signed(&mut self, x: Val, by: Val) -> Val {
        if self.has_wide_shifts {
            return self.make.bin(Bin::ShrSigned, x, by);
        }
        let sign = self.quad(i64::MIN);
        let make = &mut self.make;
        let (shifted, place) = (make.bin(Bin::ShrUnsigned, x, by), make.bin(Bin::ShrUnsigned, sign, by));
        let turned = make.bin(Bin::Xor, shifted, place);
        make.sub(turned, place)
    }

    fn compare(&mut self, op: Cmp, x: Held, y: Held, lane: Lane) -> Option<Val> {
        if matches!(lane, Lane::U32 | Lane::U64) && !matches!(op, Cmp::Eq | Cmp::Ne) {
            let (x, y) = (self.flip(x), self.flip(y));
            let signed = if lane == Lane::U32 { Lane::I32 } else { Lane::I64 };
            return self.compare(op, x, y, signed);
        }
        match (x, y) {
            (Held::One(x), Held::One(y)) => Some(self.make.cmp(op, x, y)),
            (Held::Two(x), Held::Two(y)) => {
                let halves = [0, 1].map(|half| self.compare_halves(op, x[half], y[half], lane));
                Some(self.make.bin(Bin::JoinLow, halves[0], halves[1]))
            }
            _ => None,
        }
    }

    /// Of integers there are only "equal" and "greater".
    fn compare_halves(&mut self, op: Cmp, x: Val, y: Val, lane: Lane) -> Val {
        let make = &mut self.make;
        let holds = match op {
            _ if lane == Lane::F64 => return make.cmp(op, x, y),
            Cmp::Eq | Cmp::Ne => make.cmp(Cmp::Eq, x, y),
            Cmp::Gt | Cmp::Le => make.cmp(Cmp::Gt, x, y),
            Cmp::Lt | Cmp::Ge => make.cmp(Cmp::Gt, y, x),
        };
        if matches!(op, Cmp::Ne | Cmp::Le | Cmp::Ge) { make.un(Un::Not, holds) } else { holds }
    }

    /// A Bool for each half.
    fn conditions(&mut self, condition: Val) -> [Val; 2] {
        match self.make.instr(condition) {
            Instr::Bin(Bin::JoinLow, low, high) => [low, high],
            _ => [0, 1].map(|half| self.make.un(Un::Widen(Widening::Signed, half), condition)),
        }
    }

    fn select(&mut self, condition: Val, x: Held, y: Held) -> Option<Held> {
        Some(match (x, y) {
            (Held::One(x), Held::One(y)) => Held::One(self.make.select(condition, x, y)),
            (Held::Two(x), Held::Two(y)) => {
                let holds = self.conditions(condition);
                Held::Two([0, 1].map(|half| self.make.select(holds[half], x[half], y[half])))
            }
            _ => return None,
        })
    }

    /// What registers fold of a value.
    fn fold(&mut self, held: Held, lane: Lane, fold: Fold) -> Option<Vec<(Val, Fold)>> {
        if lane == Lane::Bool {
            // A sum of Bools is "or", a product "and".
            let fold = if matches!(fold, Fold::Sum | Fold::Max) { Fold::Max } else { Fold::Min };
            return Some(vec![(self.make.un(Un::BoolToInt, held.one()?), fold)]);
        }
        let unsigned = matches!(lane, Lane::U32 | Lane::U64) && matches!(fold, Fold::Max | Fold::Min);
        let held = if unsigned { self.flip(held) } else { held };
        Some(match held {
            Held::One(val) => vec![(val, fold)],
            Held::Two(halves) => halves.map(|half| (half, fold)).to_vec(),
        })
    }

    /// The result of a fold: sums are wrapped or rounded at last, and an extreme of nothing is that of its type.
    fn folded(&mut self, folded: &Folded) -> Option<Held> {
        let &Folded { lane, fold, first } = folded;
        let number = |at: usize| u16::try_from(first + at).ok();
        let extreme = matches!(fold, Fold::Max | Fold::Min);
        if lane.is_wide() {
            let halves = Held::Two([self.make.push(Instr::Folded(number(0)?)), self.make.push(Instr::Folded(number(1)?))]);
            return Some(if lane == Lane::U64 && extreme { self.flip(halves) } else { halves });
        }
        let val = self.make.push(Instr::Folded(number(0)?));
        Some(match lane {
            Lane::Bool => {
                let zero = self.make.i32(0);
                Held::One(self.make.cmp(Cmp::Gt, val, zero))
            }
            Lane::U32 if extreme => self.flip(Held::One(val)),
            Lane::F16 | Lane::BF16 if !extreme => Held::One(self.round(val, lane)),
            Lane::I8 | Lane::I16 | Lane::U8 | Lane::U16 if extreme => {
                let (bits, signed) = lane.int_bits()?;
                let (least, span) = (if signed { -1 << (bits - 1) } else { 0 }, 1 << bits);
                let (limit, op) = match fold {
                    Fold::Max => (least, Bin::MaxSecond),
                    _ => (least + span - 1, Bin::MinSecond),
                };
                let limit = self.make.i32(limit);
                Held::One(self.make.bin(op, val, limit))
            }
            _ => Held::One(self.wrap(val, lane)),
        })
    }
}
