//! Conversions between number types, with the corner cases of reliability 4.

use super::super::builder;
use super::{LaneValue, Widths};
use relayc_ir::kernel::{BinaryOp, Cmp, Instr, ScalarType, UnaryOp, Val, Widening};

/// `1.5·2^52`: adding it to a whole number below `2^51` leaves that number in the low bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// Number of instructions behind a conversion that are looked at for bounds: an activation's two limits, a rounding, and two limits.
const BOUNDED_BY: u32 = 7;

/// Limits up to here are the same before a rounding by [`builder::SHIFT`] as after it.
const LIMIT: f32 = 4_194_304.0;

/// The bits of `2^52` and `2^84`, whose last bits are worth `1` and `2^32`.
const LOW: i64 = 0x4330_0000_0000_0000;
const HIGH: i64 = 0x4530_0000_0000_0000;

impl Widths {
    pub(super) fn convert(&mut self, x: LaneValue, from: ScalarType, to: ScalarType) -> Option<LaneValue> {
        if from == to {
            return Some(x);
        }
        if to == ScalarType::Bool {
            let zero = self.constant(0, from);
            return Some(LaneValue::One(self.compare(Cmp::Ne, x, zero, from)?));
        }
        if from == ScalarType::Bool {
            let whole = LaneValue::One(self.make.un(UnaryOp::BoolToInt, x.one()?));
            return self.convert(whole, ScalarType::I32, to);
        }
        match (from.int_bits(), to.int_bits()) {
            (Some((bits, signed)), Some((64, _))) if bits < 64 => {
                let how = if signed { Widening::Signed } else { Widening::Unsigned };
                Some(self.widen(how, x.one()?))
            }
            (Some((64, _)), Some((64, _))) => Some(x),
            (Some((64, _)), Some(_)) => {
                let [low, high] = x.two()?;
                let val = self.make.bin(BinaryOp::JoinLow, low, high);
                Some(LaneValue::One(self.wrap(val, to)))
            }
            (Some(_), Some(_)) => Some(LaneValue::One(self.wrap(x.one()?, to))),
            (Some(_), None) => self.int_to_float(x, from, to),
            (None, Some(_)) => self.float_to_int(x, from, to),
            (None, None) => self.float_to_float(x, from, to),
        }
    }

    pub(super) fn widen(&mut self, how: Widening, x: Val) -> LaneValue {
        LaneValue::Two([0, 1].map(|half| self.make.un(UnaryOp::Widen(how, half), x)))
    }

    /// Converts to F32, F16 or BF16 through F32 if that is exact, or, for F16, if inexact values are infinite. Otherwise
    /// converts through F64, rounding to odd before a second rounding.
    fn int_to_float(&mut self, x: LaneValue, from: ScalarType, to: ScalarType) -> Option<LaneValue> {
        let (bits, _) = from.int_bits()?;
        if to == ScalarType::F64 {
            return self.int_to_f64(x, from);
        }
        if bits < 32 || (from == ScalarType::I32 && to != ScalarType::BF16) {
            let val = self.make.un(UnaryOp::ToFloat, x.one()?);
            return Some(LaneValue::One(self.round(val, to)));
        }
        let double = if bits == 64 { self.int_to_f64_sticky(x, from)? } else { self.int_to_f64(x, from)? };
        self.float_to_float(double, ScalarType::F64, to)
    }

    /// Converts to the nearest F64.
    pub(super) fn int_to_f64(&mut self, x: LaneValue, from: ScalarType) -> Option<LaneValue> {
        match from {
            ScalarType::U32 => {
                let halves = self.widen(Widening::Unsigned, x.one()?);
                let (bits, base) = (self.quad(LOW), self.double(f64::from_bits(LOW as u64)));
                Some(halves.map(|half| {
                    let bits = self.make.or(half, bits);
                    let number = self.make.un(UnaryOp::FromBits, bits);
                    self.make.sub(number, base)
                }))
            }
            ScalarType::I64 | ScalarType::U64 => {
                let signed = from == ScalarType::I64;
                Some(x.map(|half| self.quads_to_f64(half, signed)))
            }
            _ => Some(self.widen(Widening::IntToFloat, x.one()?)),
        }
    }

    /// Places the upper and the lower 32 bits behind the bits of a power of two. Subtracting the powers from the upper part is
    /// exact, so the sum rounds once.
    pub(super) fn quads_to_f64(&mut self, x: Val, signed: bool) -> Val {
        let (low_bits, high_bits, mask, place) = (self.quad(LOW), self.quad(HIGH), self.quad(0xffff_ffff), self.quad(32));
        let sign = self.quad(i64::MIN);
        let powers = f64::from_bits(HIGH as u64) + f64::from_bits(LOW as u64) + if signed { 2f64.powi(63) } else { 0.0 };
        let powers = self.double(powers);
        let make = &mut self.make;
        let low = make.and(x, mask);
        let low = make.or(low, low_bits);
        let low = make.un(UnaryOp::FromBits, low);
        let x = if signed { make.bin(BinaryOp::Xor, x, sign) } else { x };
        let high = make.bin(BinaryOp::ShrUnsigned, x, place);
        let high = make.or(high, high_bits);
        let high = make.un(UnaryOp::FromBits, high);
        let high = make.sub(high, powers);
        make.add(high, low)
    }

    /// An F64 that rounds to fewer bits as the integer does: for large integers, a sticky bit replaces the last twelve bits.
    fn int_to_f64_sticky(&mut self, x: LaneValue, from: ScalarType) -> Option<LaneValue> {
        let (low, high, zero, mark) = (self.quad(0xfff), self.quad(!0xfff), self.quad(0), self.quad(0x800));
        let (most, size) = (self.double(2f64.powi(53)), self.double(f64::from_bits(u64::MAX >> 1)));
        let signed = from == ScalarType::I64;
        Some(x.map(|half| {
            let rest = self.make.and(half, low);
            let none = self.make.cmp(Cmp::Eq, rest, zero);
            let mark = self.make.select(none, zero, mark);
            let cut = self.make.and(half, high);
            let cut = self.make.or(cut, mark);
            let (near, cut) = (self.quads_to_f64(half, signed), self.quads_to_f64(cut, signed));
            let magnitude = self.make.and(near, size);
            let large = self.make.cmp(Cmp::Ge, magnitude, most);
            self.make.select(large, cut, near)
        }))
    }

    fn float_to_float(&mut self, x: LaneValue, from: ScalarType, to: ScalarType) -> Option<LaneValue> {
        match (from, to) {
            (ScalarType::F64, ScalarType::F32) => {
                let [low, high] = x.two()?;
                Some(LaneValue::One(self.make.bin(BinaryOp::JoinFloat, low, high)))
            }
            (ScalarType::F64, _) => {
                let val = self.odd(x.two()?);
                Some(LaneValue::One(self.round(val, to)))
            }
            (_, ScalarType::F64) => Some(self.widen(Widening::Float, x.one()?)),
            // A number of F16 is none of BF16, and the other way round.
            _ => Some(LaneValue::One(self.round(x.one()?, to))),
        }
    }

    /// F64 to F32, rounded to odd: an inexact value becomes the neighbour with its last bit set. A second rounding to at most
    /// 22 bits then equals a single one (Boldo and Melquiond, 2008).
    fn odd(&mut self, halves: [Val; 2]) -> Val {
        let near = self.make.bin(BinaryOp::JoinFloat, halves[0], halves[1]);
        let size = self.double(f64::from_bits(u64::MAX >> 1));
        let back = [0, 1].map(|half| self.make.un(UnaryOp::Widen(Widening::Float, half), near));
        let inexact = [0, 1].map(|half| self.make.cmp(Cmp::Ne, back[half], halves[half]));
        let away = [0, 1].map(|half| {
            let (a, b) = (self.make.and(back[half], size), self.make.and(halves[half], size));
            self.make.cmp(Cmp::Gt, a, b)
        });
        let make = &mut self.make;
        let (inexact, away) =
            (make.bin(BinaryOp::JoinLow, inexact[0], inexact[1]), make.bin(BinaryOp::JoinLow, away[0], away[1]));
        let (bits, away, one) = (make.un(UnaryOp::Bits, near), make.un(UnaryOp::BoolToInt, away), make.i32(1));
        let bits = make.sub(bits, away);
        let bits = make.or(bits, one);
        let odd = make.un(UnaryOp::FromBits, bits);
        make.select(inexact, odd, near)
    }

    fn float_to_int(&mut self, x: LaneValue, from: ScalarType, to: ScalarType) -> Option<LaneValue> {
        let (bits, signed) = to.int_bits()?;
        if from == ScalarType::F64 {
            if bits == 64 {
                return Some(x.map(|half| self.f64_to_quads(half, signed)));
            }
            let least = if signed { -(2f64.powi(bits as i32 - 1)) } else { 0.0 };
            let (low, high) = (self.double(least), self.double(least + 2f64.powi(bits as i32) - 1.0));
            let [a, b] = x
                .map(|half| {
                    let number = self.number(half);
                    let number = self.make.bin(BinaryOp::MaxSecond, number, low);
                    let number = self.make.bin(BinaryOp::MinSecond, number, high);
                    let whole = self.make.un(UnaryOp::Trunc, number);
                    self.whole_to_quads(whole)
                })
                .two()?;
            return Some(LaneValue::One(self.make.bin(BinaryOp::JoinLow, a, b)));
        }
        if to == ScalarType::I32 {
            return Some(LaneValue::One(self.make.un(UnaryOp::SaturateToInt, x.one()?)));
        }
        if bits >= 32 {
            let double = self.widen(Widening::Float, x.one()?);
            return self.float_to_int(double, ScalarType::F64, to);
        }
        let x = x.one()?;
        let least = if signed { -(2f32.powi(bits as i32 - 1)) } else { 0.0 };
        let greatest = least + 2f32.powi(bits as i32) - 1.0;
        let (lowest, highest) = self.bounds(x, BOUNDED_BY);
        if lowest >= least && highest <= greatest {
            // The low bits of what a NaN becomes are zeros, rounded either way.
            let whole = match self.unrounded(x, BOUNDED_BY) {
                Some(x) => self.make.un(UnaryOp::NearestToInt, x),
                None => self.make.un(UnaryOp::TruncToInt, x),
            };
            return Some(LaneValue::One(self.wrap(whole, to)));
        }
        let make = &mut self.make;
        let (low, high, zero) = (make.f32(least), make.f32(greatest), make.f32(0.0));
        let number = make.cmp(Cmp::Eq, x, x);
        let x = make.select(number, x, zero);
        let x = make.bin(BinaryOp::MaxSecond, x, low);
        let x = make.bin(BinaryOp::MinSecond, x, high);
        Some(LaneValue::One(make.un(UnaryOp::TruncToInt, x)))
    }

    /// The least and the greatest number that an F32 may be, if it is no NaN, as far as its last `depth` instructions say.
    fn bounds(&self, x: Val, depth: u32) -> (f32, f32) {
        let unbounded = (f32::NEG_INFINITY, f32::INFINITY);
        let known = |low: f32, high: f32| if low.is_nan() || high.is_nan() { unbounded } else { (low, high) };
        let Some(depth) = depth.checked_sub(1) else { return unbounded };
        match self.make.instr(x) {
            Instr::Const(bits, ScalarType::F32) => known(f32::from_bits(bits as u32), f32::from_bits(bits as u32)),
            Instr::Unary(UnaryOp::Trunc, a) => {
                let (low, high) = self.bounds(a, depth);
                (low.trunc(), high.trunc())
            }
            Instr::Binary(op @ (BinaryOp::Min | BinaryOp::MinSecond), first, b) => {
                let (a, b) = (self.bounds(first, depth), self.bounds(b, depth));
                let second = op == BinaryOp::MinSecond && !self.is_number(first);
                (a.0.min(b.0), if second { b.1 } else { a.1.min(b.1) })
            }
            Instr::Binary(op @ (BinaryOp::Max | BinaryOp::MaxSecond), first, b) => {
                let (a, b) = (self.bounds(first, depth), self.bounds(b, depth));
                let second = op == BinaryOp::MaxSecond && !self.is_number(first);
                (if second { b.0 } else { a.0.max(b.0) }, a.1.max(b.1))
            }
            // Rounding keeps the order.
            Instr::Binary(BinaryOp::Add, a, b) => {
                let (a, b) = (self.bounds(a, depth), self.bounds(b, depth));
                known(a.0 + b.0, a.1 + b.1)
            }
            Instr::Binary(BinaryOp::Sub, a, b) => {
                let (a, b) = (self.bounds(a, depth), self.bounds(b, depth));
                known(a.0 - b.1, a.1 - b.0)
            }
            _ => unbounded,
        }
    }

    /// What is rounded to the nearest whole number, ties to even, in the last `depth` instructions of an F32, within the same limits:
    /// whole numbers that limit a number before it is rounded limit it as they do after.
    fn unrounded(&mut self, x: Val, depth: u32) -> Option<Val> {
        let depth = depth.checked_sub(1)?;
        match self.make.instr(x) {
            Instr::Unary(UnaryOp::RoundEven, x) => Some(x),
            // Exact up to 2^22; what is larger stays so.
            Instr::Binary(BinaryOp::Sub, shifted, shift) if self.number_of(shift) == Some(builder::SHIFT) => {
                match self.make.instr(shifted) {
                    Instr::Binary(BinaryOp::Add, x, shift) if self.number_of(shift) == Some(builder::SHIFT) => Some(x),
                    Instr::Binary(BinaryOp::Add, shift, x) if self.number_of(shift) == Some(builder::SHIFT) => Some(x),
                    _ => None,
                }
            }
            Instr::Binary(op @ (BinaryOp::Min | BinaryOp::MinSecond | BinaryOp::Max | BinaryOp::MaxSecond), a, b) => {
                let limit = |val: Val| self.number_of(val).is_some_and(|limit| limit.abs() <= LIMIT && limit.trunc() == limit);
                if limit(a) {
                    let b = self.unrounded(b, depth)?;
                    Some(self.make.bin(op, a, b))
                } else if limit(b) {
                    let a = self.unrounded(a, depth)?;
                    Some(self.make.bin(op, a, b))
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    /// The number that an F32 always is.
    fn number_of(&self, x: Val) -> Option<f32> {
        match self.make.instr(x) {
            Instr::Const(bits, ScalarType::F32) => Some(f32::from_bits(bits as u32)),
            _ => None,
        }
    }

    /// Whether an F32 is surely no NaN; `MinSecond` and `MaxSecond` are their second operand if the first is one.
    fn is_number(&self, x: Val) -> bool {
        self.number_of(x).is_some_and(|number| !number.is_nan())
    }

    /// Replaces NaN by 0.
    fn number(&mut self, x: Val) -> Val {
        let zero = self.double(0.0);
        let number = self.make.cmp(Cmp::Eq, x, x);
        self.make.select(number, x, zero)
    }

    /// Converts a whole F64 below `2^51`.
    pub(super) fn whole_to_quads(&mut self, whole: Val) -> Val {
        let (shift, bits) = (self.double(SHIFT), self.quad(SHIFT.to_bits() as i64));
        let shifted = self.make.add(whole, shift);
        let whole = self.make.un(UnaryOp::Bits, shifted);
        self.make.sub(whole, bits)
    }

    /// Converts the upper and the lower 32 bits separately, each below `2^51`; towards zero, saturating.
    pub(super) fn f64_to_quads(&mut self, x: Val, signed: bool) -> Val {
        let (down, up, place) = (self.double(2f64.powi(-32)), self.double(2f64.powi(32)), self.quad(32));
        let (limit, least, zero) =
            (self.double(2f64.powi(if signed { 63 } else { 64 })), self.double(-(2f64.powi(63))), self.double(0.0));
        let (greatest, smallest) = (self.quad(if signed { i64::MAX } else { -1 }), self.quad(i64::MIN));
        let number = self.number(x);
        let number = if signed { number } else { self.make.bin(BinaryOp::MaxSecond, number, zero) };
        let whole = self.make.un(UnaryOp::Trunc, number);
        let high = self.make.mul(whole, down);
        let high = self.make.un(UnaryOp::Floor, high);
        let taken = self.make.mul(high, up);
        let low = self.make.sub(whole, taken);
        let (high, low) = (self.whole_to_quads(high), self.whole_to_quads(low));
        let high = self.make.bin(BinaryOp::Shl, high, place);
        let mut result = self.make.add(high, low);
        let large = self.make.cmp(Cmp::Ge, number, limit);
        result = self.make.select(large, greatest, result);
        if signed {
            let small = self.make.cmp(Cmp::Lt, number, least);
            result = self.make.select(small, smallest, result);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::builder::BodyBuilder;
    use super::super::super::tests::evaluate::evaluate;
    use super::*;

    const NUMBERS: [f32; 7] = [f32::NAN, f32::NEG_INFINITY, -300.0, -0.0, 5.0, 255.0, f32::INFINITY];

    /// Every number that two primitive operations on reads and constants give is within its bounds, or NaN.
    #[test]
    fn bounds_hold() {
        let ops = [BinaryOp::MinSecond, BinaryOp::MaxSecond, BinaryOp::Add, BinaryOp::Sub];
        let reads = [0, 1].map(|read| {
            let number = move |at: usize| NUMBERS[at / [1, NUMBERS.len()][read] % NUMBERS.len()].to_bits();
            (std::array::from_fn::<u32, 64, _>(number), ScalarType::F32)
        });
        let operands = || NUMBERS.map(Some).into_iter().chain([None]);
        let mut bounded = 0;
        for (inner, outer) in ops.into_iter().flat_map(|inner| ops.map(|outer| (inner, outer))) {
            for (constant, other) in operands().flat_map(|a| operands().map(move |b| (a, b))) {
                for swapped in [false, true] {
                    let mut widths = Widths { make: BodyBuilder::new(true), has_wide_shifts: true };
                    let reads_of = [0, 1].map(|read| widths.make.push(Instr::Read(read)));
                    let mut operand = |number: Option<f32>| number.map_or(reads_of[1], |number| widths.make.f32(number));
                    let (a, b) = (operand(constant), operand(other));
                    let pair = |x: Val, y: Val| if swapped { (y, x) } else { (x, y) };
                    let (x, y) = pair(reads_of[0], a);
                    let first = widths.make.bin(inner, x, y);
                    let (x, y) = pair(first, b);
                    let result = widths.make.bin(outer, x, y);
                    let (low, high) = widths.bounds(result, BOUNDED_BY);
                    bounded += u32::from(low.is_finite() || high.is_finite());
                    let values = evaluate(&widths.make.finish(), &reads, (&[], &[]), 0.0);
                    for bits in values[result.0 as usize] {
                        let value = f32::from_bits(bits);
                        let within = value.is_nan() || (low <= value && value <= high);
                        assert!(within, "{inner:?} {outer:?} {constant:?} {other:?} {swapped}: {value} of {low}..{high}");
                    }
                }
            }
        }
        assert!(bounded > 500, "{bounded}");
    }

    /// A number rounded by [`builder::SHIFT`] and limited becomes the same byte where the conversion rounds.
    #[test]
    fn conversions_round() {
        let numbers = [
            f32::NAN,
            f32::NEG_INFINITY,
            -5e9,
            -4_194_305.0,
            -1.5,
            -0.5,
            -0.0,
            0.5,
            1.5,
            2.5,
            126.5,
            127.5,
            254.5,
            255.5,
            4_194_303.5,
            3e9,
            f32::INFINITY,
        ];
        let read = (std::array::from_fn::<u32, 64, _>(|at| numbers[at % numbers.len()].to_bits()), ScalarType::F32);
        for (to, low, high) in [(ScalarType::U8, 0.0, 255.0), (ScalarType::I8, -128.0, 127.0), (ScalarType::U8, 0.0, 6.0)] {
            for constant_first in [false, true] {
                let convert = |rounds: bool| {
                    let mut widths = Widths { make: BodyBuilder::new(true), has_wide_shifts: true };
                    let x = widths.make.push(Instr::Read(0));
                    let (shift, back) = (widths.make.f32(builder::SHIFT), widths.make.f32(builder::SHIFT));
                    let (low, high) = (widths.make.f32(low), widths.make.f32(high));
                    let shifted = widths.make.add(x, shift);
                    let mut rounded = widths.make.sub(shifted, back);
                    // What is truncated is whole either way; `Trunc` hides that from the conversion.
                    if !rounds {
                        rounded = widths.make.un(UnaryOp::Trunc, rounded);
                    }
                    let pair = |limit: Val, x: Val| if constant_first { (limit, x) } else { (x, limit) };
                    let (a, b) = pair(high, rounded);
                    let limited = widths.make.bin(BinaryOp::MinSecond, a, b);
                    let (a, b) = pair(low, limited);
                    let limited = widths.make.bin(BinaryOp::MaxSecond, a, b);
                    let result = widths.float_to_int(LaneValue::One(limited), ScalarType::F32, to).and_then(LaneValue::one);
                    let body = widths.make.finish();
                    let nearest = body.instrs.iter().any(|instr| matches!(instr, Instr::Unary(UnaryOp::NearestToInt, _)));
                    assert_eq!(nearest, rounds);
                    let values = evaluate(&body, &[read], (&[], &[]), 0.0);
                    result.map(|result| values[result.0 as usize].map(|bits| bits as u8))
                };
                assert_eq!(convert(true), convert(false), "{to:?} {low} {high} {constant_first}");
            }
        }
    }
}
