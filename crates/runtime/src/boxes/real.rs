//! The type in which boxes are computed. Elements of 16 bits are computed with as float32, as operators do.

use crate::number::{Number, int, narrowed, widened};
use crate::sort::Key;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// The value of a number.
///
/// # Safety
/// There is one.
pub(super) unsafe fn value(at: *const u8, (width, number): (usize, Number)) -> f64 {
    // SAFETY: as the caller says.
    unsafe {
        match number {
            Number::Float(_) => f64::element(at, 0, (width, number)),
            Number::Signed => int(at, (width, number)) as i64 as f64,
            Number::Bool | Number::Unsigned => int(at, (width, number)) as u64 as f64,
        }
    }
}

/// The type in which boxes are compared.
pub(super) trait Real:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    const INFINITY: Self;
    type Key: Key;

    fn at(value: f64) -> Self;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;

    /// The number of whole ones in it; 0 for a NaN and below 0.
    fn floor(self) -> usize;

    /// The key of a score, and its position: a larger score comes first, NaN is the least, and equal scores keep their order.
    fn descending(self, at: usize) -> Self::Key;

    /// A float of a tensor.
    ///
    /// # Safety
    /// It is there.
    unsafe fn element(data: *const u8, at: usize, element: (usize, Number)) -> Self;

    /// Writes an element of a tensor, rounded to the nearest.
    ///
    /// # Safety
    /// There is room for it.
    unsafe fn put(self, data: *mut u8, at: usize, (width, number): (usize, Number)) {
        // SAFETY: as the caller says.
        unsafe {
            match (width, number) {
                (4, _) => data.cast::<f32>().wrapping_add(at).write_unaligned(self.to_f32()),
                (8, _) => data.cast::<f64>().wrapping_add(at).write_unaligned(self.to_f64()),
                (_, number) => {
                    let fraction = if number == Number::Float(7) { 7 } else { 10 };
                    data.cast::<u16>().wrapping_add(at).write_unaligned(narrowed(to_odd(self.to_f64()), fraction));
                }
            }
        }
    }

    /// The larger; NaN wins, and -0 is less than +0.
    fn largest(self, other: Self) -> Self {
        match () {
            () if self > other => self,
            () if self < other => other,
            // The bits of zeros differ in their sign alone.
            () if self == other => {
                if self.is_negative() {
                    other
                } else {
                    self
                }
            }
            () => Self::at(f64::NAN),
        }
    }

    fn is_negative(self) -> bool;

    /// The smaller; `other` if either is NaN.
    fn least(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    /// The larger; `other` if either is NaN.
    fn most(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
}

macro_rules! real {
    ($float:ty, $key:ty, $fraction:expr) => {
        impl Real for $float {
            const ZERO: $float = 0.0;
            const ONE: $float = 1.0;
            const INFINITY: $float = <$float>::INFINITY;
            type Key = $key;

            fn at(value: f64) -> $float {
                value as $float
            }

            fn to_f32(self) -> f32 {
                self as f32
            }

            fn to_f64(self) -> f64 {
                self.into()
            }

            fn floor(self) -> usize {
                self as usize
            }

            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }

            fn descending(self, at: usize) -> $key {
                let score = if self.is_nan() { Self::NEG_INFINITY } else { self };
                let order = Number::Float($fraction).order(score.to_bits().into(), 8 * size_of::<$float>() as u32);
                <$key>::new(<$key as Key>::MAX - order, at)
            }

            #[inline(always)]
            unsafe fn element(data: *const u8, at: usize, (width, number): (usize, Number)) -> $float {
                // SAFETY: as the caller says.
                unsafe {
                    match (width, number) {
                        (4, _) => data.cast::<f32>().wrapping_add(at).read_unaligned() as $float,
                        (8, _) => data.cast::<f64>().wrapping_add(at).read_unaligned() as $float,
                        (_, number) => {
                            let fraction = if number == Number::Float(7) { 7 } else { 10 };
                            widened(data.cast::<u16>().wrapping_add(at).read_unaligned(), fraction) as $float
                        }
                    }
                }
            }
        }
    };
}

/// Rounded to a float32 whose last bit is set unless it is exact, so that rounding it to fewer bits rounds the number itself.
fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || x.is_nan() {
        return near;
    }
    let towards_zero = near.to_bits() - u32::from(f64::from(near).abs() > x.abs());
    f32::from_bits(towards_zero | 1)
}

real!(f32, u64, 23);
real!(f64, u128, 52);
