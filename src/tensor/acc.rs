//! Accumulators: the three number types in which sums are taken.
//!
//! f16, bf16 and f32 sum in f32, f64 in f64. Integers sum in wrapping i64: modulo 2^n the result is the same as in the
//! storage type, so it is exact for every integer dtype.

use super::{ArrayT, Element, Tensor};
use crate::base::float_max;
use crate::types::DType;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A tensor's elements as accumulators.
#[derive(Clone, Debug)]
pub enum Acc {
    F32(ArrayT<f32>),
    F64(ArrayT<f64>),
    I64(ArrayT<i64>),
}

/// The arithmetic of an accumulator.
pub trait Real: Element {
    const ZERO: Self;
    const ONE: Self;

    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;

    /// The division of a sum by a count: nearest for floats, towards zero for integers.
    fn div(self, other: Self) -> Self;

    /// The larger; NaN wins and −0 < +0 (reliability 4).
    fn max(self, other: Self) -> Self;

    /// Packs a result of this arithmetic.
    fn acc(array: ArrayT<Self>) -> Acc;

    /// The array of `acc`, converted if it is another arithmetic's.
    fn of(acc: &Acc) -> ArrayT<Self>;

    /// The elements of [`Real::of`] in row-major order.
    fn elements(acc: &Acc) -> Vec<Self> {
        Self::of(acc).iter().copied().collect()
    }

    /// Packs a result's elements in row-major order.
    fn from_elements(shape: &[usize], elements: Vec<Self>) -> Acc {
        Self::acc(ArrayT::from_shape_vec(shape, elements).expect("as many elements as the shape says"))
    }
}

/// The floats among the accumulators, with the operators of their language. A step of theirs is rounded as TVM's is, which
/// decides where a result jumps.
pub trait Float:
    Real + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// A number, rounded to nearest.
    fn at(value: f64) -> Self {
        <Self as Element>::from_f64(value)
    }

    /// The smaller; `other` if either is NaN.
    fn least(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    /// The larger; `other` if either is NaN.
    fn most(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
}

impl Float for f32 {}
impl Float for f64 {}

macro_rules! real {
    ($ty:ty, $variant:ident, $zero:expr, $one:expr, $add:expr, $mul:expr, $div:expr, $max:expr) => {
        impl Real for $ty {
            const ZERO: Self = $zero;
            const ONE: Self = $one;

            #[inline]
            fn add(self, other: Self) -> Self {
                $add(self, other)
            }

            #[inline]
            fn mul(self, other: Self) -> Self {
                $mul(self, other)
            }

            fn div(self, other: Self) -> Self {
                $div(self, other)
            }

            fn max(self, other: Self) -> Self {
                $max(self, other)
            }

            fn acc(array: ArrayT<Self>) -> Acc {
                Acc::$variant(array)
            }

            fn of(acc: &Acc) -> ArrayT<Self> {
                match acc {
                    Acc::$variant(array) => array.clone(),
                    other => other.clone().into_tensor(<$ty>::DTYPE).as_array::<$ty>().expect("converted to it").clone(),
                }
            }
        }
    };
}

real!(f32, F32, 0.0, 1.0, |a, b| a + b, |a, b| a * b, |a, b| a / b, |a, b| float_max(f64::from(a), f64::from(b)) as f32);
real!(f64, F64, 0.0, 1.0, |a, b| a + b, |a, b| a * b, |a, b| a / b, float_max);
real!(i64, I64, 0, 1, i64::wrapping_add, i64::wrapping_mul, i64::wrapping_div, Ord::max);

impl Acc {
    /// The result in a storage type: rounded once, integers wrap.
    pub fn into_tensor(self, dtype: DType) -> Tensor {
        let tensor: Tensor = match self {
            Acc::F32(array) => array.into(),
            Acc::F64(array) => array.into(),
            Acc::I64(array) => array.into(),
        };
        tensor.cast(dtype).expect("a storage type")
    }
}
