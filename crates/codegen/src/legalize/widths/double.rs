//! Functions of F64, on halves of a vector. The machine's halves have no fused product, so sums are kept exact by splitting constants.
//!
//! Polynomials are Taylor series, cut where a term no longer reaches the last place.

use super::Widths;
use relayc_ir::kernel::{BinaryOp, Cmp, UnaryOp, Val};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LOG2_E, LOG10_2, LOG10_E, PI};

/// Around this number, doubles are consecutive whole numbers.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// ln 2 without its last 21 bits, so that products with exponents are exact; and the rest.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// The bits of √½.
const ROOT_HALF: i64 = 0x3fe6_a09e_667f_3bcd;

/// π minus its nearest double.
const PI_LOW: f64 = 1.224_646_799_147_353_2e-16;

/// From here on, `1 + x²` rounds to `x²`.
const LARGE: f64 = (1u64 << 28) as f64;

/// Coefficients `1/(n!)` from `first` on, every `step`-th.
fn factorials(first: u32, step: usize, n: usize) -> Vec<f64> {
    let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
    (first..).step_by(step).take(n).map(|n| 1.0 / factorial(n)).collect()
}

/// Those of `(atan y - y) / y³` by powers of `y²`.
fn of_atan() -> Vec<f64> {
    (1..23).map(|n| if n % 2 == 0 { 1.0 } else { -1.0 } / f64::from(2 * n + 1)).collect()
}

/// Those of `(asin y - y) / y³` by powers of `y²`.
fn of_asin() -> Vec<f64> {
    let factor = |product: &mut f64, n: u32| {
        *product *= f64::from(2 * n - 1) / f64::from(2 * n);
        Some(*product / f64::from(2 * n + 1))
    };
    (1..28).scan(1.0, factor).collect()
}

impl Widths {
    /// The function of each half; `None` if there is none.
    pub(super) fn function_f64(&mut self, op: UnaryOp, x: Val) -> Option<Val> {
        Some(match op {
            UnaryOp::Exp => self.exp_f64(x, 1.0),
            UnaryOp::Log => self.log_f64(x, None, [LN_2_HIGH, LN_2_LOW, 1.0]),
            UnaryOp::Log2 => self.log_f64(x, None, [1.0, 0.0, LOG2_E]),
            UnaryOp::Log10 => {
                let high = f64::from_bits(LOG10_2.to_bits() & !0x1f_ffff);
                self.log_f64(x, None, [high, LOG10_2 - high, LOG10_E])
            }
            UnaryOp::Rsqrt => {
                let (one, root) = (self.double(1.0), self.make.un(UnaryOp::Sqrt, x));
                self.make.div(one, root)
            }
            UnaryOp::Sigmoid => self.sigmoid_f64(x),
            UnaryOp::Tanh => self.tanh_f64(x),
            UnaryOp::Sinh | UnaryOp::Cosh => self.sinh_or_cosh_f64(x, op == UnaryOp::Cosh),
            UnaryOp::Asinh | UnaryOp::Acosh | UnaryOp::Atanh => self.inverse_hyperbolic_f64(op, x),
            UnaryOp::Atan => self.atan_f64(x),
            UnaryOp::Asin | UnaryOp::Acos => self.asin_or_acos_f64(x, op == UnaryOp::Acos),
            _ => return None,
        })
    }

    fn abs_f64(&mut self, x: Val) -> Val {
        let bits = self.double(f64::from_bits(u64::MAX >> 1));
        self.make.and(x, bits)
    }

    /// `magnitude`, which is not negative, with the sign of `x`.
    fn signed_f64(&mut self, magnitude: Val, x: Val) -> Val {
        let bit = self.double(-0.0);
        let sign = self.make.and(x, bit);
        self.make.or(magnitude, sign)
    }

    fn polynomial_f64(&mut self, x: Val, coefficients: &[f64]) -> Val {
        let (&last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
        let mut sum = self.double(last);
        for &c in rest.iter().rev() {
            let (product, c) = (self.make.mul(sum, x), self.double(c));
            sum = self.make.add(product, c);
        }
        sum
    }

    /// `x` within these limits; NaN stays.
    fn limited_f64(&mut self, x: Val, least: f64, most: f64) -> Val {
        let (least, most) = (self.double(least), self.double(most));
        let x = self.make.bin(BinaryOp::MinSecond, most, x);
        self.make.bin(BinaryOp::MaxSecond, least, x)
    }

    /// `n` and `r` with `x = n·ln 2 + r`, `n` the whole number nearest to `x / ln 2`.
    fn by_ln_2(&mut self, x: Val) -> (Val, Val) {
        let (factor, high, low) = (self.double(LOG2_E), self.double(LN_2_HIGH), self.double(LN_2_LOW));
        let quotient = self.make.mul(x, factor);
        let n = self.make.un(UnaryOp::RoundEven, quotient);
        let (high, low) = (self.make.mul(n, high), self.make.mul(n, low));
        let r = self.make.sub(x, high);
        (n, self.make.sub(r, low))
    }

    /// `2^n` for a whole number from -1022 to 1023.
    fn power_of_two_f64(&mut self, n: Val) -> Val {
        let (shift, one, place) = (self.double(SHIFT), self.quad(1f64.to_bits() as i64), self.quad(52));
        let shifted = self.make.add(n, shift);
        let bits = self.make.un(UnaryOp::Bits, shifted);
        let bits = self.make.bin(BinaryOp::Shl, bits, place);
        let bits = self.make.add(bits, one);
        self.make.un(UnaryOp::FromBits, bits)
    }

    /// `c·e^x` for `c` of 1 or ½.
    fn exp_f64(&mut self, x: Val, c: f64) -> Val {
        let x = self.limited_f64(x, -746.0, 711.0);
        let (n, r) = self.by_ln_2(x);
        let coefficients: Vec<f64> = factorials(0, 1, 14).iter().map(|x| c * x).collect();
        let power = self.polynomial_f64(r, &coefficients);
        // Two factors of about half the exponent each: the first product is exact.
        let half = self.double(0.5);
        let first = self.make.mul(n, half);
        let first = self.make.un(UnaryOp::Floor, first);
        let second = self.make.sub(n, first);
        [first, second].into_iter().fold(power, |power, n| {
            let factor = self.power_of_two_f64(n);
            self.make.mul(power, factor)
        })
    }

    /// `e·k + ln(m)·c` with `x = m·2^e` and `m` from √½ to √2, for `k` in two parts. `more` are a part below the last place of `x`,
    /// relative to `x`, and a number that is added to `e`.
    fn log_f64(&mut self, x: Val, more: Option<(Val, Val)>, [k_high, k_low, c]: [f64; 3]) -> Val {
        let [zero, one, two, half, normal, factor] =
            [0.0, 1.0, 2.0, 0.5, f64::MIN_POSITIVE, 2f64.powi(54)].map(|value| self.double(value));
        let is_subnormal = self.make.cmp(Cmp::Lt, x, normal);
        let larger = self.make.mul(x, factor);
        let size = self.make.select(is_subnormal, larger, x);
        let (root, fraction, place) = (self.quad(ROOT_HALF), self.quad((1 << 52) - 1), self.quad(52));
        let bits = self.make.un(UnaryOp::Bits, size);
        let above = self.make.sub(bits, root);
        let e = self.shift_signed(above, place);
        let shift = self.quad(SHIFT.to_bits() as i64);
        let e = self.make.add(e, shift);
        let (e, shift) = (self.make.un(UnaryOp::FromBits, e), self.double(SHIFT));
        let e = self.make.sub(e, shift);
        let down = self.double(-54.0);
        let down = self.make.select(is_subnormal, down, zero);
        let mut e = self.make.add(e, down);
        let m = self.make.and(above, fraction);
        let m = self.make.add(m, root);
        let m = self.make.un(UnaryOp::FromBits, m);
        // ln(1+f) = f - f²/2 + s·(f²/2 + R(s²)) with s = f/(2+f).
        let f = self.make.sub(m, one);
        let under = self.make.add(f, two);
        let s = self.make.div(f, under);
        let z = self.make.mul(s, s);
        let coefficients: Vec<f64> = (1..13).map(|n| 2.0 / f64::from(2 * n + 1)).collect();
        let r = self.polynomial_f64(z, &coefficients);
        let r = self.make.mul(r, z);
        let square = self.make.mul(f, f);
        let square = self.make.mul(square, half);
        let sum = self.make.add(square, r);
        let mut tail = self.make.mul(s, sum);
        if let Some((low, doublings)) = more {
            e = self.make.add(e, doublings);
            tail = self.make.add(tail, low);
        }
        let tail = self.make.sub(tail, square);
        let (high, low, c) = (self.double(k_high), self.double(k_low), (c != 1.0).then(|| self.double(c)));
        let (high, low) = (self.make.mul(e, high), self.make.mul(e, low));
        let [f, tail] = [f, tail].map(|part| c.map_or(part, |c| self.make.mul(part, c)));
        let tail = self.make.add(tail, low);
        let sum = self.make.add(f, tail);
        let sum = self.make.add(high, sum);
        let (infinite, nan, minus) = (self.double(f64::INFINITY), self.double(f64::NAN), self.double(f64::NEG_INFINITY));
        let is_finite = self.make.cmp(Cmp::Lt, x, infinite);
        let result = self.make.select(is_finite, sum, x);
        let is_zero = self.make.cmp(Cmp::Eq, x, zero);
        let outside = self.make.select(is_zero, minus, nan);
        let is_positive = self.make.cmp(Cmp::Gt, x, zero);
        self.make.select(is_positive, result, outside)
    }

    /// With `t = e^-|x|`: `t/(1+t)` for negative `x`, else `1/(1+t)`.
    fn sigmoid_f64(&mut self, x: Val) -> Val {
        let (bit, zero, one) = (self.double(-0.0), self.double(0.0), self.double(1.0));
        let below = self.make.or(x, bit);
        let t = self.exp_f64(below, 1.0);
        let is_below = self.make.cmp(Cmp::Lt, x, zero);
        let (above, under) = (self.make.select(is_below, t, one), self.make.add(t, one));
        self.make.div(above, under)
    }

    /// As of F32: `u/(u+2)` with `u = e^(2x) - 1`, far from zero `1 - 2/(u+2)`.
    fn tanh_f64(&mut self, x: Val) -> Val {
        let (one, two) = (self.double(1.0), self.double(2.0));
        let size = self.abs_f64(x);
        let size = self.limited_f64(size, 0.0, 20.0);
        let double = self.make.add(size, size);
        let (n, r) = self.by_ln_2(double);
        let square = self.make.mul(r, r);
        let q = self.polynomial_f64(r, &factorials(2, 1, 13));
        let q = self.make.mul(q, square);
        let less_one = self.make.add(r, q);
        let power = self.power_of_two_f64(n);
        let (part, whole) = (self.make.mul(power, less_one), self.make.sub(power, one));
        let u = self.make.add(part, whole);
        let under = self.make.add(u, two);
        let is_far = self.make.cmp(Cmp::Gt, u, two);
        let above = self.make.select(is_far, two, u);
        let quotient = self.make.div(above, under);
        let complement = self.make.sub(one, quotient);
        let size = self.make.select(is_far, complement, quotient);
        self.signed_f64(size, x)
    }

    fn sinh_or_cosh_f64(&mut self, x: Val, is_cosh: bool) -> Val {
        let (size, quarter, one) = (self.abs_f64(x), self.double(0.25), self.double(1.0));
        let up = self.exp_f64(size, 0.5);
        let down = self.make.div(quarter, up);
        if is_cosh {
            return self.make.add(up, down);
        }
        let far = self.make.sub(up, down);
        let square = self.make.mul(size, size);
        let rest = self.polynomial_f64(square, &factorials(3, 2, 10));
        let cube = self.make.mul(square, size);
        let rest = self.make.mul(cube, rest);
        let near = self.make.add(size, rest);
        let is_near = self.make.cmp(Cmp::Lt, size, one);
        let size = self.make.select(is_near, near, far);
        self.signed_f64(size, x)
    }

    /// By `ln(1 + y)`, as of F32.
    fn inverse_hyperbolic_f64(&mut self, op: UnaryOp, x: Val) -> Val {
        let [zero, one, two, large, infinite] = [0.0, 1.0, 2.0, LARGE, f64::INFINITY].map(|value| self.double(value));
        let size = if op == UnaryOp::Acosh { x } else { self.abs_f64(x) };
        let y = match op {
            UnaryOp::Asinh => {
                let square = self.make.mul(size, size);
                let sum = self.make.add(square, one);
                let root = self.make.un(UnaryOp::Sqrt, sum);
                let under = self.make.add(root, one);
                let more = self.make.div(square, under);
                self.make.add(size, more)
            }
            UnaryOp::Acosh => {
                let t = self.make.sub(x, one);
                let sum = self.make.add(t, two);
                let product = self.make.mul(t, sum);
                let root = self.make.un(UnaryOp::Sqrt, product);
                self.make.add(t, root)
            }
            _ => {
                let (above, under) = (self.make.add(size, size), self.make.sub(one, size));
                self.make.div(above, under)
            }
        };
        let (sum, low) = self.make.two_sum(one, y);
        let is_finite = self.make.cmp(Cmp::Lt, sum, infinite);
        let low = self.make.select(is_finite, low, zero);
        let low = self.make.div(low, sum);
        let (sum, low, doublings) = if op == UnaryOp::Atanh {
            (sum, low, zero)
        } else {
            let is_large = self.make.cmp(Cmp::Ge, size, large);
            let (sum, low) = (self.make.select(is_large, size, sum), self.make.select(is_large, zero, low));
            (sum, low, self.make.select(is_large, one, zero))
        };
        let log = self.log_f64(sum, Some((low, doublings)), [LN_2_HIGH, LN_2_LOW, 1.0]);
        match op {
            UnaryOp::Acosh => {
                let (is_inside, nan) = (self.make.cmp(Cmp::Ge, x, one), self.double(f64::NAN));
                self.make.select(is_inside, log, nan)
            }
            UnaryOp::Atanh => {
                let half = self.double(0.5);
                let log = self.make.mul(log, half);
                self.signed_f64(log, x)
            }
            _ => self.signed_f64(log, x),
        }
    }

    /// As of F32: `a + atan y` for `a` of 0, π/4 or π/2.
    fn atan_f64(&mut self, x: Val) -> Val {
        let size = self.abs_f64(x);
        let [zero, one, minus] = [0.0, 1.0, -1.0].map(|value| self.double(value));
        let [first, second] = [2f64.sqrt() - 1.0, 2f64.sqrt() + 1.0].map(|value| self.double(value));
        let (is_middle, is_large) = (self.make.cmp(Cmp::Gt, size, first), self.make.cmp(Cmp::Gt, size, second));
        let (above, under) = (self.make.sub(size, one), self.make.add(size, one));
        let [quarter, quarter_low] = [FRAC_PI_4, PI_LOW / 4.0].map(|value| self.double(value));
        let [half, half_low] = [FRAC_PI_2, PI_LOW / 2.0].map(|value| self.double(value));
        let choices = [[size, above, minus], [one, under, size], [zero, quarter, half], [zero, quarter_low, half_low]];
        let [above, under, base, base_low] = choices.map(|[near, middle, large]| {
            let others = self.make.select(is_middle, middle, near);
            self.make.select(is_large, large, others)
        });
        let y = self.make.div(above, under);
        let square = self.make.mul(y, y);
        let rest = self.polynomial_f64(square, &of_atan());
        let cube = self.make.mul(square, y);
        let rest = self.make.mul(cube, rest);
        let tail = self.make.add(rest, base_low);
        let tail = self.make.add(y, tail);
        let angle = self.make.add(base, tail);
        self.signed_f64(angle, x)
    }

    /// As of F32: by `asin` of `|x|` below ½, else by that of `√((1-|x|)/2)`.
    fn asin_or_acos_f64(&mut self, x: Val, is_acos: bool) -> Val {
        let size = self.abs_f64(x);
        let [zero, half, one] = [0.0, 0.5, 1.0].map(|value| self.double(value));
        let [half_pi, half_pi_low, pi, pi_low] = [FRAC_PI_2, PI_LOW / 2.0, PI, PI_LOW].map(|value| self.double(value));
        let is_near = self.make.cmp(Cmp::Lt, size, half);
        let missing = self.make.sub(one, size);
        let missing = self.make.mul(missing, half);
        let root = self.make.un(UnaryOp::Sqrt, missing);
        let square = self.make.mul(size, size);
        let (y, square) = (self.make.select(is_near, size, root), self.make.select(is_near, square, missing));
        let rest = self.polynomial_f64(square, &of_asin());
        let cube = self.make.mul(square, y);
        let rest = self.make.mul(cube, rest);
        let sum = self.make.add(y, rest);
        let twice = self.make.add(rest, rest);
        let twice_y = self.make.add(y, y);
        if !is_acos {
            let tail = self.make.sub(half_pi_low, twice);
            let tail = self.make.sub(tail, twice_y);
            let far = self.make.add(half_pi, tail);
            let angle = self.make.select(is_near, sum, far);
            return self.signed_f64(angle, x);
        }
        let (signed, signed_rest) = (self.signed_f64(y, x), self.signed_f64(rest, x));
        let tail = self.make.sub(half_pi_low, signed_rest);
        let tail = self.make.sub(tail, signed);
        let near = self.make.add(half_pi, tail);
        let above = self.make.add(sum, sum);
        let tail = self.make.sub(pi_low, twice);
        let tail = self.make.sub(tail, twice_y);
        let below = self.make.add(pi, tail);
        let is_below = self.make.cmp(Cmp::Lt, x, zero);
        let far = self.make.select(is_below, below, above);
        self.make.select(is_near, near, far)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::builder::BodyBuilder;
    use super::*;
    use relayc_ir::kernel::{Instr, ScalarType};

    #[test]
    fn constants_are_split_without_loss() {
        assert_eq!(LN_2_HIGH + LN_2_LOW, std::f64::consts::LN_2);
        assert_eq!(LN_2_HIGH.to_bits() & 0x1f_ffff, 0);
    }

    fn unary(op: UnaryOp, x: u64) -> u64 {
        let float = f64::from_bits(x);
        match op {
            UnaryOp::Bits | UnaryOp::FromBits => x,
            UnaryOp::Sqrt => float.sqrt().to_bits(),
            UnaryOp::Floor => float.floor().to_bits(),
            UnaryOp::RoundEven => float.round_ties_even().to_bits(),
            _ => unreachable!("{op:?} is not used"),
        }
    }

    fn binary(op: BinaryOp, is_float: bool, a: u64, b: u64) -> u64 {
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        match op {
            BinaryOp::And => a & b,
            BinaryOp::Or => a | b,
            BinaryOp::Xor => a ^ b,
            BinaryOp::Shl => a << b,
            BinaryOp::ShrUnsigned => a >> b,
            BinaryOp::Add if !is_float => a.wrapping_add(b),
            BinaryOp::Sub if !is_float => a.wrapping_sub(b),
            BinaryOp::Add => (x + y).to_bits(),
            BinaryOp::Sub => (x - y).to_bits(),
            BinaryOp::Mul => (x * y).to_bits(),
            BinaryOp::Div => (x / y).to_bits(),
            BinaryOp::MaxSecond => {
                if x > y {
                    a
                } else {
                    b
                }
            }
            BinaryOp::MinSecond => {
                if x < y {
                    a
                } else {
                    b
                }
            }
            _ => unreachable!("{op:?} is not used"),
        }
    }

    /// The function of a number, computed by its body.
    fn value(op: UnaryOp, x: f64) -> f64 {
        let mut widths = Widths { make: BodyBuilder::new(true), has_wide_shifts: false };
        let read = widths.make.push(Instr::ReadHalf(0, 0));
        let result = widths.function_f64(op, read).expect("a function of F64");
        let body = widths.make.finish();
        let lanes = body.lanes(&[ScalarType::F64]);
        let mut values: Vec<u64> = vec![];
        for &instr in &body.instrs {
            let of = |val: Val| values[val.0 as usize];
            let is_float = |val: Val| lanes[val.0 as usize] == ScalarType::HalfF64;
            values.push(match instr {
                Instr::ReadHalf(..) => x.to_bits(),
                Instr::Const(bits, _) => bits,
                Instr::Unary(op, a) => unary(op, of(a)),
                Instr::Binary(op, a, b) => binary(op, is_float(a), of(a), of(b)),
                Instr::Cmp(op, a, b) => {
                    let (a, b) = (f64::from_bits(of(a)), f64::from_bits(of(b)));
                    let holds = match op {
                        Cmp::Eq => a == b,
                        Cmp::Lt => a < b,
                        Cmp::Gt => a > b,
                        Cmp::Ge => a >= b,
                        Cmp::Ne | Cmp::Le => unreachable!("{op:?} is not used"),
                    };
                    u64::from(holds)
                }
                Instr::Select(holds, a, b) => of(if of(holds) != 0 { a } else { b }),
                _ => unreachable!("{instr:?} is not used"),
            });
        }
        f64::from_bits(values[result.0 as usize])
    }

    fn check(op: UnaryOp, reference: fn(f64) -> f64) {
        let bound = op.ulps().expect("an approximated function");
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let exponents = (0..4096u64).flat_map(|top| [top; 6]);
        let mut inputs: Vec<f64> = exponents
            .map(|top| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                f64::from_bits(top << 52 | state >> 12)
            })
            .collect();
        let special = [0.0, 0.5, 1.0, 2.0, 20.0, 709.78, 710.4, 745.13, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY];
        inputs.extend(special.iter().flat_map(|&x| [x, -x, x.next_down(), -x.next_up()]));
        inputs.push(f64::NAN);
        for x in inputs {
            let (got, want) = (value(op, x), reference(x));
            let place = f64::from_bits(want.abs().clamp(f64::MIN_POSITIVE, f64::MAX).to_bits() & 0x7ff << 52) * f64::EPSILON;
            let is_near = got == want || got.is_nan() && want.is_nan() || (got - want).abs() <= bound * place;
            let has_sign = want != 0.0 || got.is_sign_negative() == want.is_sign_negative();
            assert!(is_near && has_sign, "{op:?}({x:e}) is {got:e}, not {want:e}");
        }
    }

    #[test]
    fn functions_are_near() {
        check(UnaryOp::Exp, f64::exp);
        check(UnaryOp::Log, f64::ln);
        check(UnaryOp::Log2, f64::log2);
        check(UnaryOp::Log10, f64::log10);
        check(UnaryOp::Rsqrt, |x| 1.0 / x.sqrt());
        check(UnaryOp::Sigmoid, |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) });
        check(UnaryOp::Tanh, f64::tanh);
        check(UnaryOp::Sinh, f64::sinh);
        check(UnaryOp::Cosh, f64::cosh);
        check(UnaryOp::Atan, f64::atan);
        check(UnaryOp::Asin, f64::asin);
        check(UnaryOp::Acos, f64::acos);
        check(UnaryOp::Asinh, |x| if x.abs() < 1e8 { x.asinh() } else { (x.abs().ln() + std::f64::consts::LN_2).copysign(x) });
        check(UnaryOp::Acosh, |x| if x < 1e8 { x.acosh() } else { x.ln() + std::f64::consts::LN_2 });
        check(UnaryOp::Atanh, f64::atanh);
    }
}
