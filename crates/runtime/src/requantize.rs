//! Requantizes integers of many scales to one, in fixed point: multiplies each by a quotient of scales, one for each position of an
//! axis.
//!
//! The arithmetic is that of `FixedPoint` in `relayc-ir`, once more because artifacts hold this crate and nothing else; a test of
//! `relayc-exec` compares the two.

use super::integer::{index, put};
use super::words::Words;
use core::ops::Range;

/// `(x - zero) · scale / out scale + out zero`, clamped. Scale and zero point are those of the element's position along an axis:
/// `length` positions of `inner` elements each, again and again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Requantize {
    /// The number of elements.
    pub n: usize,
    pub length: usize,
    pub inner: usize,
    /// The last of each is that of all positions behind it.
    pub n_scales: usize,
    pub n_zeros: usize,
    /// Bytes of an element, and whether it is signed; bytes of one of the result.
    pub from: (usize, bool),
    pub to: usize,
    pub least: i32,
    pub greatest: i32,
    /// Whether halves are rounded away from zero instead of up.
    pub to_nearest: bool,
}

/// The data, scales (F32), zero points (I32), the result's scale and zero point, and the result.
pub type Operands = [*mut u8; 6];

/// Scales that give no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    OutScaleOfZero,
    NoQuotient,
}

/// The computation at one position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    pub zero: i32,
    pub multiplier: i32,
    pub shift: i32,
}

impl Requantize {
    /// The words that [`Requantize::read`] reads.
    pub fn words(&self) -> [u64; 11] {
        let [n, length, inner, n_scales, n_zeros] =
            [self.n, self.length, self.inner, self.n_scales, self.n_zeros].map(|n| n as u64);
        let [least, greatest] = [self.least, self.greatest].map(|n| i64::from(n) as u64);
        let (from, signed) = self.from;
        [n, length, inner, n_scales, n_zeros, from as u64, signed.into(), self.to as u64, least, greatest, self.to_nearest.into()]
    }

    pub(crate) fn read(words: &mut Words) -> Requantize {
        let [n, length, inner, n_scales, n_zeros] = core::array::from_fn(|_| words.number());
        let from = (words.number(), words.word() != 0);
        let to = words.number();
        let [least, greatest] = core::array::from_fn(|_| words.signed() as i32);
        Requantize { n, length, inner, n_scales, n_zeros, from, to, least, greatest, to_nearest: words.word() != 0 }
    }

    /// Bytes of scratch memory for each thread: all positions, if they alternate with one element each.
    pub fn scratch_bytes(&self) -> u64 {
        if self.inner == 1 && self.n > self.length { (self.length * size_of::<Position>()) as u64 } else { 0 }
    }

    /// Requires all scales to have a quotient.
    ///
    /// # Safety
    /// The operands are as many as the numbers say.
    pub unsafe fn check(&self, operands: &Operands) -> Result<(), Wrong> {
        // SAFETY: as the caller says.
        unsafe {
            if operands[3].cast::<f32>().read_unaligned() == 0.0 {
                return Err(Wrong::OutScaleOfZero);
            }
            let is_right = |at| self.quotient(operands, at).is_finite();
            if (0..self.n_scales).all(is_right) { Ok(()) } else { Err(Wrong::NoQuotient) }
        }
    }

    /// # Safety
    /// Like [`Requantize::check`].
    unsafe fn quotient(&self, operands: &Operands, at: usize) -> f64 {
        // SAFETY: as the caller says.
        let read = |operand: usize, at: usize| unsafe { operands[operand].cast::<f32>().wrapping_add(at).read_unaligned() };
        let [scale, out_scale] = [read(1, at), read(3, 0)];
        f64::from(scale) / f64::from(out_scale)
    }

    /// # Safety
    /// Like [`Requantize::check`].
    unsafe fn position(&self, operands: &Operands, at: usize) -> Position {
        // SAFETY: as the caller says.
        let (quotient, zero) = unsafe {
            let zeros = operands[2].cast::<i32>();
            (self.quotient(operands, at.min(self.n_scales - 1)), zeros.wrapping_add(at.min(self.n_zeros - 1)).read_unaligned())
        };
        let (multiplier, shift) = fixed_point(quotient);
        Position { zero, multiplier, shift }
    }

    /// Computes some elements.
    ///
    /// # Safety
    /// The operands are as many as the numbers say, and [`Requantize::check`] found nothing. No other thread uses the results of these
    /// elements, or this scratch memory, which has room for [`Requantize::scratch_bytes`] at a multiple of 4.
    pub unsafe fn elements(&self, elements: Range<usize>, operands: &Operands, scratch: *mut u8) {
        let (data, result, table) = (operands[0], operands[5], scratch.cast::<Position>());
        let is_known = self.scratch_bytes() > 0;
        // SAFETY: as the caller says.
        let out_zero = unsafe {
            (0..if is_known { self.length } else { 0 }).for_each(|at| table.wrapping_add(at).write(self.position(operands, at)));
            operands[4].cast::<i32>().read_unaligned()
        };
        let mut at = elements.start;
        while at < elements.end {
            let position = at / self.inner % self.length;
            // SAFETY: as the caller says.
            let of = unsafe { if is_known { table.wrapping_add(position).read() } else { self.position(operands, position) } };
            let end = elements.end.min((at / self.inner + 1) * self.inner);
            for i in at..end {
                // SAFETY: as the caller says.
                let x = unsafe { index(data.wrapping_add(i * self.from.0), self.from.0, self.from.1) } as i32;
                let scaled = scaled(x.wrapping_sub(of.zero), of.multiplier, of.shift, self.to_nearest);
                let y = scaled.wrapping_add(out_zero).clamp(self.least, self.greatest);
                // SAFETY: as the caller says.
                unsafe { put(result.wrapping_add(i * self.to), self.to, y.into()) };
            }
            at = end;
        }
    }
}

/// The multiplier and the shift of the fixed-point number nearest to a finite one: `multiplier · 2^(shift - 31)`.
pub fn fixed_point(number: f64) -> (i32, i32) {
    const TO_NORMAL: f64 = (1u64 << 54) as f64;
    if number == 0.0 {
        return (0, 0);
    }
    let (normal, scaled) = if number.is_normal() { (number, 0) } else { (number * TO_NORMAL, -54) };
    let exponent = ((normal.to_bits() >> 52) & 0x7ff) as i32 - 1022 + scaled;
    let significand = (normal.to_bits() & ((1 << 52) - 1)) | (1 << 52);
    // Of 53 bits 31 are left; halves go away from zero.
    let (multiplier, shift) = match (significand + (1 << 21)) >> 22 {
        0x8000_0000 => (1 << 30, exponent + 1),
        multiplier => (multiplier as i32, exponent),
    };
    (if number < 0.0 { -multiplier } else { multiplier }, shift)
}

/// `x · multiplier · 2^(shift - 31)`, rounded: halves up, or away from zero. 0 where so wide a shift leaves nothing.
#[inline]
pub fn scaled(x: i32, multiplier: i32, shift: i32, to_nearest: bool) -> i32 {
    let (left, right) = (shift.max(0), i64::from(shift.min(0)).unsigned_abs());
    let shifted = i64::from(x).checked_shl(left as u32).unwrap_or(0);
    let product = shifted.wrapping_mul(multiplier.into());
    let by = right + 31;
    if by >= 64 {
        return 0;
    }
    let half = 1i64 << (by - 1);
    let half = if to_nearest && product < 0 { half.wrapping_sub(1) } else { half };
    (product.wrapping_add(half) >> by) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_up_or_away_from_zero() {
        // A half of 3 and of -3.
        let half = |x: i32, to_nearest: bool| scaled(x, 1 << 30, 0, to_nearest);
        assert_eq!([half(3, false), half(-3, false), half(3, true), half(-3, true)], [2, -1, 2, -2]);
        assert_eq!([scaled(5, 1 << 30, 3, false), scaled(5, 1 << 30, -40, false), scaled(5, 1 << 30, 64, true)], [20, 0, 0]);
    }

    #[test]
    fn numbers_have_a_multiplier_and_a_shift() {
        assert_eq!([fixed_point(0.0), fixed_point(0.5), fixed_point(-3.0)], [(0, 0), (1 << 30, 0), (-(3 << 29), 2)]);
        // The next number below 1 is rounded up to it.
        assert_eq!(fixed_point(1.0 - f64::EPSILON), (1 << 30, 1));
        assert_eq!(fixed_point(5e-324), (1 << 30, -1073));
    }

    #[test]
    fn words_are_read_as_they_were_written() {
        let work = Requantize {
            n: 24,
            length: 2,
            inner: 3,
            n_scales: 2,
            n_zeros: 1,
            from: (4, true),
            to: 1,
            least: -128,
            greatest: 127,
            to_nearest: true,
        };
        let words = work.words();
        // SAFETY: as many words are read as were written.
        assert_eq!(Requantize::read(&mut unsafe { Words::at(words.as_ptr().cast(), 0) }), work);
    }

    #[test]
    fn only_positions_that_come_again_are_kept() {
        let bytes = |n: usize, length: usize, inner: usize| {
            let (n_scales, n_zeros, from, to, least, greatest) = (length, length, (4, true), 1, -128, 127);
            Requantize { n, length, inner, n_scales, n_zeros, from, to, least, greatest, to_nearest: false }.scratch_bytes()
        };
        assert_eq!([bytes(2 * 16 * 144, 16, 144), bytes(5000, 5000, 1), bytes(288 * 16, 16, 1)], [0, 0, 16 * 12]);
    }
}
