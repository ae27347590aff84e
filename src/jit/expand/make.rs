//! Writes primitive instructions: a body with short names for what the expansions are made of.

use crate::kernel::{Bin, Body, Cmp, Instr, Lane, Un, Val};

/// A body being written.
pub struct Make {
    body: Body,
    /// Whether [`Bin::Scale`] is primitive.
    has_scale: bool,
}

/// A whole number as a float, and added to [`SHIFT`].
#[derive(Clone, Copy)]
pub struct Whole {
    pub float: Val,
    shifted: Val,
}

/// Floats around it are whole numbers one apart.
const SHIFT: f32 = 12_582_912.0;

impl Make {
    pub fn new(has_scale: bool) -> Make {
        Make { body: Body::new(), has_scale }
    }

    pub fn finish(self) -> Body {
        self.body
    }

    pub fn push(&mut self, instr: Instr) -> Val {
        self.body.push(instr)
    }

    /// The instruction that makes a value.
    pub fn instr(&self, val: Val) -> Instr {
        self.body.instrs[val.0 as usize]
    }

    pub fn f32(&mut self, value: f32) -> Val {
        self.body.f32(value)
    }

    pub fn i32(&mut self, value: i32) -> Val {
        self.body.i32(value)
    }

    pub fn un(&mut self, op: Un, x: Val) -> Val {
        self.body.un(op, x)
    }

    pub fn bin(&mut self, op: Bin, x: Val, y: Val) -> Val {
        self.body.bin(op, x, y)
    }

    pub fn add(&mut self, x: Val, y: Val) -> Val {
        self.bin(Bin::Add, x, y)
    }

    pub fn sub(&mut self, x: Val, y: Val) -> Val {
        self.bin(Bin::Sub, x, y)
    }

    pub fn mul(&mut self, x: Val, y: Val) -> Val {
        self.bin(Bin::Mul, x, y)
    }

    pub fn div(&mut self, x: Val, y: Val) -> Val {
        self.bin(Bin::Div, x, y)
    }

    pub fn and(&mut self, x: Val, y: Val) -> Val {
        self.bin(Bin::And, x, y)
    }

    pub fn or(&mut self, x: Val, y: Val) -> Val {
        self.bin(Bin::Or, x, y)
    }

    pub fn fma(&mut self, x: Val, y: Val, z: Val) -> Val {
        self.body.fma(x, y, z)
    }

    pub fn cmp(&mut self, op: Cmp, x: Val, y: Val) -> Val {
        self.body.cmp(op, x, y)
    }

    pub fn select(&mut self, condition: Val, then: Val, other: Val) -> Val {
        self.body.select(condition, then, other)
    }

    pub fn abs(&mut self, x: Val) -> Val {
        self.un(Un::Abs, x)
    }

    /// `magnitude`, which is not negative, with the sign of `x`.
    pub fn with_sign(&mut self, magnitude: Val, x: Val) -> Val {
        let bit = self.f32(-0.0);
        let sign = self.and(x, bit);
        self.or(magnitude, sign)
    }

    /// `Σ c[i]·xⁱ`, from the last coefficient down.
    pub fn polynomial(&mut self, x: Val, coefficients: &[f32]) -> Val {
        let (&last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
        let mut sum = self.f32(last);
        for &c in rest.iter().rev() {
            let c = self.f32(c);
            sum = self.fma(sum, x, c);
        }
        sum
    }

    /// The rounded sum and what rounding took from it (Knuth's 2Sum); exact for any two numbers.
    pub fn two_sum(&mut self, x: Val, y: Val) -> (Val, Val) {
        let sum = self.add(x, y);
        let of_y = self.sub(sum, x);
        let of_x = self.sub(sum, of_y);
        let (error_y, error_x) = (self.sub(y, of_y), self.sub(x, of_x));
        (sum, self.add(error_x, error_y))
    }

    /// As [`Make::two_sum`], where `y` is not the greater one, or `x` is zero (Dekker).
    pub fn fast_two_sum(&mut self, x: Val, y: Val) -> (Val, Val) {
        let sum = self.add(x, y);
        let of_y = self.sub(sum, x);
        (sum, self.sub(y, of_y))
    }

    /// The rounded product and what rounding took from it.
    pub fn two_product(&mut self, x: Val, y: Val) -> (Val, Val) {
        let product = self.mul(x, y);
        let minus = self.un(Un::Neg, product);
        (product, self.fma(x, y, minus))
    }

    /// The whole number nearest to `x·factor`, for products from -2^21 to 2^21 or NaN: added to 1½·2^23 it is the sum's last
    /// bits.
    pub fn nearest(&mut self, x: Val, factor: f32) -> Whole {
        let shift = self.f32(SHIFT);
        let shifted = if factor == 1.0 {
            self.add(x, shift)
        } else {
            let factor = self.f32(factor);
            self.fma(x, factor, shift)
        };
        Whole { float: self.sub(shifted, shift), shifted }
    }

    /// `x·2^n` for `n` from -400 to 400, or NaN where `x` is NaN.
    pub fn scale(&mut self, x: Val, n: Whole) -> Val {
        if self.has_scale {
            return self.bin(Bin::Scale, x, n.float);
        }
        // Two factors of about half the exponent each: the first product is exact, as x is near 1 wherever it matters.
        let (one, shift) = (self.i32(1), self.i32(SHIFT.to_bits() as i32));
        let bits = self.un(Un::Bits, n.shifted);
        let n = self.sub(bits, shift);
        let first = self.bin(Bin::ShrSigned, n, one);
        let second = self.sub(n, first);
        [first, second].into_iter().fold(x, |x, half| {
            let factor = self.power_of_bits(half);
            self.mul(x, factor)
        })
    }

    /// `2^n` for `n` from -126 to 127. Where `n` is NaN, anything.
    pub fn power_of_two(&mut self, n: Whole) -> Val {
        if self.has_scale {
            let one = self.f32(1.0);
            return self.bin(Bin::Scale, one, n.float);
        }
        let bits = self.un(Un::Bits, n.shifted);
        self.power_of_bits(bits)
    }

    /// `2^n` of the last nine bits of an I32, the rest of which the shift drops.
    fn power_of_bits(&mut self, n: Val) -> Val {
        let (one, place) = (self.i32(1f32.to_bits() as i32), self.i32(23));
        let bits = self.bin(Bin::Shl, n, place);
        let bits = self.add(bits, one);
        self.un(Un::FromBits, bits)
    }

    /// The constant among two values, which is no NaN, and the other value.
    pub fn one_constant(&self, x: Val, y: Val) -> Option<((Val, f32), Val)> {
        let constant = |val: Val| match self.body.instrs[val.0 as usize] {
            Instr::Const(bits, Lane::F32) if !f32::from_bits(bits as u32).is_nan() => Some((val, f32::from_bits(bits as u32))),
            _ => None,
        };
        constant(x).map(|found| (found, y)).or_else(|| constant(y).map(|found| (found, x)))
    }
}
