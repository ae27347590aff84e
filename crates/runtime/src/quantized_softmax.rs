//! The softmax of quantized numbers in integers alone, after algorithm 1 of *I-ViT* (arXiv 2207.01405).

use super::operands::{Operands, Wrong};
use super::requantize::{fixed_point, scaled};
use super::words::Words;

/// Softmax along lines of `length` elements, `inner` apart. The operands are the data (I8), its scale (F32) and zero point (I32), those
/// of the result, and the result (I8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuantizedSoftmax {
    pub n_lines: usize,
    pub length: usize,
    pub inner: usize,
}

/// The powers of a line.
struct Powers {
    one: i32,
    largest: i32,
    most: i32,
}

impl Powers {
    /// The logarithm of an element, base two: its whole part, and the rest. `x · log2(e)` is about `x + x / 2 - x / 16`.
    fn logarithm(&self, x: i32) -> (i32, i32) {
        let x = x.wrapping_sub(self.largest);
        let x = x.wrapping_add(x >> 1).wrapping_sub(x >> 4);
        let minus_one = self.one.wrapping_neg();
        let whole = x.wrapping_div(minus_one).clamp(0, 20);
        (whole, x.wrapping_sub(whole.wrapping_mul(minus_one)))
    }

    /// The rest is taken as a straight line.
    fn power(&self, x: i32) -> i32 {
        let (whole, rest) = self.logarithm(x);
        (rest >> 1).wrapping_add(self.one) << (self.most - whole)
    }
}

impl QuantizedSoftmax {
    pub(super) fn write(&self, word: &mut impl FnMut(u64)) {
        [self.n_lines, self.length, self.inner].into_iter().for_each(|size| word(size as u64));
    }

    pub(super) fn read(words: &mut Words) -> QuantizedSoftmax {
        let [n_lines, length, inner] = core::array::from_fn(|_| words.number());
        QuantizedSoftmax { n_lines, length, inner }
    }

    fn place(&self, line: usize, at: usize) -> usize {
        (line / self.inner * self.length + at) * self.inner + line % self.inner
    }

    /// # Safety
    /// The operands hold all lines.
    unsafe fn element(&self, line: usize, at: usize, operands: &Operands) -> i32 {
        // SAFETY: as the caller says.
        unsafe {
            let x = operands[0].cast::<i8>().wrapping_add(self.place(line, at)).read();
            i32::from(x).wrapping_sub(operands[2].cast::<i32>().read_unaligned())
        }
    }

    /// The powers of a line, and their sum. `None` if it is 0, or the number that stands for 1.
    ///
    /// # Safety
    /// The operands hold all lines.
    unsafe fn powers(&self, line: usize, operands: &Operands) -> Option<(Powers, i32)> {
        // SAFETY: as the caller says.
        let (elements, scale) = unsafe {
            let elements = || (0..self.length).map(|at| self.element(line, at, operands));
            (elements, operands[1].cast::<f32>().read_unaligned())
        };
        let largest = elements().max().unwrap_or(0);
        let mut powers = Powers { one: Some(rounded(1.0 / scale)).filter(|&one| one != 0)?, largest, most: 0 };
        powers.most = elements().map(|x| powers.logarithm(x).0).max().unwrap_or(0);
        let sum = elements().map(|x| powers.power(x)).fold(0, i32::wrapping_add);
        Some((powers, sum)).filter(|_| sum != 0)
    }

    /// Errors: an input scale that is not at most 1 (0), powers that add up to 0 (1), and an output scale without a quotient (2).
    ///
    /// # Safety
    /// The operands hold all lines.
    pub(super) unsafe fn check(&self, operands: &Operands) -> Result<(), Wrong> {
        // SAFETY: as the caller says.
        let [scale, out_scale] = [1, 3].map(|at| unsafe { operands[at].cast::<f32>().read_unaligned() });
        let wrong = |message: usize| Err(Wrong { message, number: None });
        if scale.is_nan() || scale > 1.0 {
            return wrong(0);
        }
        // SAFETY: as the caller says.
        if (0..self.n_lines).any(|line| unsafe { self.powers(line, operands) }.is_none()) {
            return wrong(1);
        }
        if quotient(out_scale).is_finite() { Ok(()) } else { wrong(2) }
    }

    /// # Safety
    /// The operands hold all lines and were checked, and nobody else uses the results of this one.
    pub(super) unsafe fn line(&self, line: usize, operands: &Operands) {
        // SAFETY: as the caller says.
        unsafe {
            // The memory may be a caller's, and another thread of it may have changed it since.
            let Some((powers, sum)) = self.powers(line, operands) else { return };
            let part = (1i32 << 30).wrapping_div(sum);
            let (multiplier, shift) = fixed_point(quotient(operands[3].cast::<f32>().read_unaligned()));
            let zero = operands[4].cast::<i32>().read_unaligned();
            for at in 0..self.length {
                let share = part.wrapping_mul(powers.power(self.element(line, at, operands))) >> 23;
                let y = times(share, multiplier, shift).wrapping_add(zero).clamp(-128, 127);
                operands[5].cast::<i8>().wrapping_add(self.place(line, at)).write(y as i8);
            }
        }
    }
}

/// Shares come in 128ths.
fn quotient(out_scale: f32) -> f64 {
    f64::from(1.0f32 / 128.0) / f64::from(out_scale)
}

/// `x · multiplier · 2^(shift - 31)`, rounded. As in TVM, powers of two shift in 32 bits.
fn times(x: i32, multiplier: i32, shift: i32) -> i32 {
    match i64::from(shift) - 1 {
        _ if multiplier != 1 << 30 => scaled(x, multiplier, shift, false),
        left @ 0.. => u32::try_from(left).ok().and_then(|left| x.checked_shl(left)).unwrap_or(0),
        right @ -31.. => x.wrapping_add(1 << (-right - 1)) >> -right,
        _ => 0,
    }
}

/// The nearest integer, halves away from zero.
fn rounded(x: f32) -> i32 {
    let whole = x as i32;
    // From 2^23 on, floats are integers.
    if x.abs() >= 8_388_608.0 {
        return whole;
    }
    match x - whole as f32 {
        rest if rest >= 0.5 => whole + 1,
        rest if rest <= -0.5 => whole - 1,
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn halves_go_away_from_zero() {
        for x in [0.0f32, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8_388_607.5, 1e30, -1e30, f32::INFINITY] {
            assert_eq!(rounded(x), x.round() as i32, "{x}");
        }
    }
}
