//! Quotients and remainders of integers. Where the divisor is 0 there comes some number; whoever asks has seen to it before.

use super::{Held, Widths};
use crate::kernel::{Bin, Cmp, Lane, Un, Val};

impl Widths {
    /// Towards zero or downwards; the remainder is what the quotient leaves. `MIN / -1` wraps to `MIN`.
    pub(super) fn divided(&mut self, op: Bin, x: Held, y: Held, lane: Lane) -> Option<Held> {
        let quotient = self.quotient(x, y, lane)?;
        if op == Bin::TruncDiv {
            return Some(quotient);
        }
        let (_, signed) = lane.int_bits()?;
        let product = self.binary(Bin::Mul, quotient, y, lane)?;
        let rest = self.binary(Bin::Sub, x, product, lane)?;
        if op == Bin::Mod || !signed {
            return Some(if op == Bin::FloorDiv { quotient } else { rest });
        }
        // Downwards: one less where something is left whose sign is not the divisor's.
        let zero = self.constant(0, lane);
        let turned = self.binary(Bin::Xor, rest, y, lane)?;
        let (left, differs) = (self.compare(Cmp::Ne, rest, zero, lane)?, self.compare(Cmp::Lt, turned, zero, lane)?);
        let down = self.make.and(left, differs);
        if op == Bin::FloorMod {
            let more = self.select(down, y, zero)?;
            return self.binary(Bin::Add, rest, more, lane);
        }
        let one = self.constant(1, lane);
        let less = self.select(down, one, zero)?;
        self.binary(Bin::Sub, quotient, less, lane)
    }

    /// Towards zero. Up to 32 bits the quotient in F64 is exact enough: one that is not whole lies further from the next whole
    /// number than it is rounded.
    fn quotient(&mut self, x: Held, y: Held, lane: Lane) -> Option<Held> {
        if !lane.is_wide() {
            let (x, y) = (self.int_to_f64(x, lane)?, self.int_to_f64(y, lane)?);
            let [low, high] = x
                .zip(y, |x, y| {
                    let quotient = self.make.div(x, y);
                    let whole = self.make.un(Un::Trunc, quotient);
                    self.whole_to_quads(whole)
                })?
                .two()?;
            let val = self.make.bin(Bin::JoinLow, low, high);
            return Some(Held::One(self.wrap(val, lane)));
        }
        if lane == Lane::U64 {
            return x.zip(y, |x, y| self.quads_divided(x, y));
        }
        let (sizes, zero) = (|own: &mut Self, x: Held| own.unary(Un::Abs, x, Lane::I64), self.constant(0, lane));
        let (size_x, size_y) = (sizes(self, x)?, sizes(self, y)?);
        let size = size_x.zip(size_y, |x, y| self.quads_divided(x, y))?;
        let minus = self.binary(Bin::Sub, zero, size, lane)?;
        let signs = self.binary(Bin::Xor, x, y, lane)?;
        let differs = self.compare(Cmp::Lt, signs, zero, lane)?;
        self.select(differs, minus, size)
    }

    /// Of unsigned numbers of 64 bits: a quotient in F64, the quotient of what it leaves, and one more or less. Divisors from
    /// `2^63` on go in once or not at all.
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
        let (turned_x, turned_y) = (make.bin(Bin::Xor, x, sign), make.bin(Bin::Xor, y, sign));
        let smaller = make.cmp(Cmp::Gt, turned_y, turned_x);
        let once = make.select(smaller, zero, one);
        let large = make.cmp(Cmp::Gt, zero, y);
        make.select(large, once, quotient)
    }
}
