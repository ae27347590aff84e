//! Builds primitive instructions: a body, with short names for the building blocks of expansions.

use relayc_ir::kernel::{BinaryOp, Body, Cmp, Instr, ScalarType, UnaryOp, Val};

/// A body under construction.
pub(crate) struct BodyBuilder {
    body: Body,
    /// Whether [`BinaryOp::Scale`] is primitive.
    has_scale: bool,
}

/// A whole number as a float, and the same added to [`SHIFT`].
#[derive(Clone, Copy)]
pub(crate) struct WholeNumber {
    pub(crate) float: Val,
    shifted: Val,
}

/// Around this number, floats are consecutive whole numbers.
pub(crate) const SHIFT: f32 = 12_582_912.0;

impl BodyBuilder {
    pub(crate) fn new(has_scale: bool) -> BodyBuilder {
        BodyBuilder { body: Body::new(), has_scale }
    }

    pub(crate) fn finish(self) -> Body {
        self.body
    }

    pub(crate) fn push(&mut self, instr: Instr) -> Val {
        self.body.push(instr)
    }

    /// The instruction that computes a value.
    pub(crate) fn instr(&self, val: Val) -> Instr {
        self.body.instrs[val.0 as usize]
    }

    pub(crate) fn f32(&mut self, value: f32) -> Val {
        self.body.f32(value)
    }

    pub(crate) fn i32(&mut self, value: i32) -> Val {
        self.body.i32(value)
    }

    pub(crate) fn un(&mut self, op: UnaryOp, x: Val) -> Val {
        self.body.un(op, x)
    }

    pub(crate) fn bin(&mut self, op: BinaryOp, x: Val, y: Val) -> Val {
        self.body.bin(op, x, y)
    }

    pub(crate) fn add(&mut self, x: Val, y: Val) -> Val {
        self.bin(BinaryOp::Add, x, y)
    }

    pub(crate) fn sub(&mut self, x: Val, y: Val) -> Val {
        self.bin(BinaryOp::Sub, x, y)
    }

    pub(crate) fn mul(&mut self, x: Val, y: Val) -> Val {
        self.bin(BinaryOp::Mul, x, y)
    }

    pub(crate) fn div(&mut self, x: Val, y: Val) -> Val {
        self.bin(BinaryOp::Div, x, y)
    }

    pub(crate) fn and(&mut self, x: Val, y: Val) -> Val {
        self.bin(BinaryOp::And, x, y)
    }

    pub(crate) fn or(&mut self, x: Val, y: Val) -> Val {
        self.bin(BinaryOp::Or, x, y)
    }

    pub(crate) fn fma(&mut self, x: Val, y: Val, z: Val) -> Val {
        self.body.fma(x, y, z)
    }

    pub(crate) fn cmp(&mut self, op: Cmp, x: Val, y: Val) -> Val {
        self.body.cmp(op, x, y)
    }

    pub(crate) fn select(&mut self, condition: Val, then: Val, other: Val) -> Val {
        self.body.select(condition, then, other)
    }

    pub(crate) fn abs(&mut self, x: Val) -> Val {
        self.un(UnaryOp::Abs, x)
    }

    /// `magnitude`, which is not negative, with the sign of `x`.
    pub(crate) fn with_sign(&mut self, magnitude: Val, x: Val) -> Val {
        let bit = self.f32(-0.0);
        let sign = self.and(x, bit);
        self.or(magnitude, sign)
    }

    /// `Σ c[i]·xⁱ`, by Horner's scheme.
    pub(crate) fn polynomial(&mut self, x: Val, coefficients: &[f32]) -> Val {
        let (&last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
        let mut sum = self.f32(last);
        for &c in rest.iter().rev() {
            let c = self.f32(c);
            sum = self.fma(sum, x, c);
        }
        sum
    }

    /// `Σ c[i]·xⁱ` as the even and the odd powers by themselves: one product more than [`BodyBuilder::polynomial`], in a chain half
    /// as long.
    pub(crate) fn even_and_odd(&mut self, x: Val, coefficients: &[f32]) -> Val {
        let square = self.mul(x, x);
        let [even, odd] = [0, 1].map(|first| coefficients.iter().copied().skip(first).step_by(2).collect::<Vec<f32>>());
        let [even, odd] = [even, odd].map(|coefficients| self.polynomial(square, &coefficients));
        self.fma(odd, x, even)
    }

    /// The rounded sum and its rounding error (Knuth's 2Sum); exact for any two numbers.
    pub(crate) fn two_sum(&mut self, x: Val, y: Val) -> (Val, Val) {
        let sum = self.add(x, y);
        let of_y = self.sub(sum, x);
        let of_x = self.sub(sum, of_y);
        let (error_y, error_x) = (self.sub(y, of_y), self.sub(x, of_x));
        (sum, self.add(error_x, error_y))
    }

    /// Like [`BodyBuilder::two_sum`], if `|y|` is at most `|x|` or `x` is zero (Dekker).
    pub(crate) fn fast_two_sum(&mut self, x: Val, y: Val) -> (Val, Val) {
        let sum = self.add(x, y);
        let of_y = self.sub(sum, x);
        (sum, self.sub(y, of_y))
    }

    /// The rounded product and its rounding error.
    pub(crate) fn two_product(&mut self, x: Val, y: Val) -> (Val, Val) {
        let product = self.mul(x, y);
        let minus = self.un(UnaryOp::Neg, product);
        (product, self.fma(x, y, minus))
    }

    /// The whole number nearest to `x·factor`, for products from -2^21 to 2^21 or NaN: adding 1½·2^23 leaves it in the low
    /// bits.
    pub(crate) fn nearest(&mut self, x: Val, factor: f32) -> WholeNumber {
        let shift = self.f32(SHIFT);
        let shifted = if factor == 1.0 {
            self.add(x, shift)
        } else {
            let factor = self.f32(factor);
            self.fma(x, factor, shift)
        };
        WholeNumber { float: self.sub(shifted, shift), shifted }
    }

    /// `x·2^n` for `n` from -400 to 400, or NaN if `x` is NaN.
    pub(crate) fn scale(&mut self, x: Val, n: WholeNumber) -> Val {
        if self.has_scale {
            return self.bin(BinaryOp::Scale, x, n.float);
        }
        // Two factors of about half the exponent each: the first product is exact, as x is near 1 wherever it matters.
        let (one, shift) = (self.i32(1), self.i32(SHIFT.to_bits() as i32));
        let bits = self.un(UnaryOp::Bits, n.shifted);
        let n = self.sub(bits, shift);
        let first = self.bin(BinaryOp::ShrSigned, n, one);
        let second = self.sub(n, first);
        [first, second].into_iter().fold(x, |x, half| {
            let factor = self.power_of_bits(1.0, half);
            self.mul(x, factor)
        })
    }

    /// `2^n` for `n` from -126 to 127. Unspecified if `n` is NaN.
    pub(crate) fn power_of_two(&mut self, n: WholeNumber) -> Val {
        if self.has_scale {
            let one = self.f32(1.0);
            return self.bin(BinaryOp::Scale, one, n.float);
        }
        self.times_power_of_two(1.0, n)
    }

    /// `c·2^n` for `c` a power of two, where the result is a normal number. Unspecified if `n` is NaN.
    pub(crate) fn times_power_of_two(&mut self, c: f32, n: WholeNumber) -> Val {
        let bits = self.un(UnaryOp::Bits, n.shifted);
        self.power_of_bits(c, bits)
    }

    /// `c·2^n` from the last nine bits of an I32; the shift drops the rest.
    fn power_of_bits(&mut self, c: f32, n: Val) -> Val {
        let (factor, place) = (self.i32(c.to_bits() as i32), self.i32(23));
        let bits = self.bin(BinaryOp::Shl, n, place);
        let bits = self.add(bits, factor);
        self.un(UnaryOp::FromBits, bits)
    }

    /// The constant among two values, if one is a constant other than NaN, and the other value.
    pub(crate) fn one_constant(&self, x: Val, y: Val) -> Option<((Val, f32), Val)> {
        let constant = |val: Val| match self.body.instrs[val.0 as usize] {
            Instr::Const(bits, ScalarType::F32) if !f32::from_bits(bits as u32).is_nan() => {
                Some((val, f32::from_bits(bits as u32)))
            }
            _ => None,
        };
        constant(x).map(|found| (found, y)).or_else(|| constant(y).map(|found| (found, x)))
    }
}
