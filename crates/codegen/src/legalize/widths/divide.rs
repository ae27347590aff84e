//! Quotients and remainders of integers. A divisor of 0 gives an arbitrary number; the caller has checked for it.

use super::{LaneValue, Widths};
use relayc_ir::kernel::{BinaryOp, Cmp, ScalarType, UnaryOp, Val};

impl Widths {
    /// Division towards zero or downwards, with its remainder. `MIN / -1` wraps to `MIN`.
    pub(super) fn divided(&mut self, op: BinaryOp, x: LaneValue, y: LaneValue, lane: ScalarType) -> Option<LaneValue> {
        let quotient = self.quotient(x, y, lane)?;
        if op == BinaryOp::TruncDiv {
            return Some(quotient);
        }
        let (_, signed) = lane.int_bits()?;
        let product = self.binary(BinaryOp::Mul, quotient, y, lane)?;
        let rest = self.binary(BinaryOp::Sub, x, product, lane)?;
        if op == BinaryOp::Mod || !signed {
            return Some(if op == BinaryOp::FloorDiv { quotient } else { rest });
        }
        // Downwards: one less where something is left whose sign is not the divisor's.
        let zero = self.constant(0, lane);
        let turned = self.binary(BinaryOp::Xor, rest, y, lane)?;
        let (left, differs) = (self.compare(Cmp::Ne, rest, zero, lane)?, self.compare(Cmp::Lt, turned, zero, lane)?);
        let down = self.make.and(left, differs);
        if op == BinaryOp::FloorMod {
            let more = self.select(down, y, zero)?;
            return self.binary(BinaryOp::Add, rest, more, lane);
        }
        let one = self.constant(1, lane);
        let less = self.select(down, one, zero)?;
        self.binary(BinaryOp::Sub, quotient, less, lane)
    }

    /// The quotient towards zero. Up to 32 bits F64 is exact enough: a fractional quotient is further from the next whole
    /// number than its rounding error.
    fn quotient(&mut self, x: LaneValue, y: LaneValue, lane: ScalarType) -> Option<LaneValue> {
        if !lane.is_wide() {
            let (x, y) = (self.int_to_f64(x, lane)?, self.int_to_f64(y, lane)?);
            let [low, high] = x
                .zip(y, |x, y| {
                    let quotient = self.make.div(x, y);
                    let whole = self.make.un(UnaryOp::Trunc, quotient);
                    self.whole_to_quads(whole)
                })?
                .two()?;
            let val = self.make.bin(BinaryOp::JoinLow, low, high);
            return Some(LaneValue::One(self.wrap(val, lane)));
        }
        if lane == ScalarType::U64 {
            return x.zip(y, |x, y| self.quads_divided(x, y));
        }
        let (sizes, zero) = (|own: &mut Self, x: LaneValue| own.unary(UnaryOp::Abs, x, ScalarType::I64), self.constant(0, lane));
        let (size_x, size_y) = (sizes(self, x)?, sizes(self, y)?);
        let size = size_x.zip(size_y, |x, y| self.quads_divided(x, y))?;
        let minus = self.binary(BinaryOp::Sub, zero, size, lane)?;
        let signs = self.binary(BinaryOp::Xor, x, y, lane)?;
        let differs = self.compare(Cmp::Lt, signs, zero, lane)?;
        self.select(differs, minus, size)
    }

    /// Divides unsigned 64-bit numbers: a quotient in F64, the quotient of the remainder, and a correction by one. Divisors
    /// from `2^63` on divide once or not at all.
    fn quads_divided(&mut self, x: Val, y: Val) -> Val {
        let (zero, one, sign) = (self.quad(0), self.quad(1), self.quad(i64::MIN));
        let (fx, fy) = (self.quads_to_f64(x, false), self.quads_to_f64(y, false));
        let first = self.make.div(fx, fy);
        let first = self.f64_to_quads(first, false);
        let taken = self.make.mul(first, y);
        let rest = self.make.sub(x, taken);
        let fr = self.quads_to_f64(rest, true);
        let second = self.make.div(fr, fy);
        let second = self.f64_to_quads(second, true);
        let taken = self.make.mul(second, y);
        let make = &mut self.make;
        let (rest, sum) = (make.sub(rest, taken), make.add(first, second));
        // What is left is between -y and 2·y.
        let below = make.cmp(Cmp::Gt, zero, rest);
        let less = make.sub(sum, one);
        let enough = make.cmp(Cmp::Gt, y, rest);
        let more = make.add(sum, one);
        let sum = make.select(enough, sum, more);
        let quotient = make.select(below, less, sum);
        let (turned_x, turned_y) = (make.bin(BinaryOp::Xor, x, sign), make.bin(BinaryOp::Xor, y, sign));
        let smaller = make.cmp(Cmp::Gt, turned_y, turned_x);
        let once = make.select(smaller, zero, one);
        let large = make.cmp(Cmp::Gt, zero, y);
        make.select(large, once, quotient)
    }
}
