//! Accumulators: the three number types in which sums are computed.
//!
//! f16, bf16 and f32 sum in f32, f64 in f64. Integers sum in wrapping i64: modulo 2^n the result is the same as in the storage
//! type, so it is exact for every integer dtype.

use super::{Array, Element, Tensor};
use crate::types::DType;
use rayon::prelude::*;
use relayc_base::{float_max, float_max_f32};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A tensor's elements as accumulators.
#[derive(Clone, Debug)]
pub enum Acc {
    F32(Array<f32>),
    F64(Array<f64>),
    I64(Array<i64>),
}

/// The arithmetic of an accumulator.
pub trait Real: Element {
    const ZERO: Self;
    const ONE: Self;

    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;

    /// Divides a sum by a count: nearest for floats, towards zero for integers.
    fn div(self, other: Self) -> Self;

    /// The larger; NaN wins and −0 < +0 (reliability 4).
    fn max(self, other: Self) -> Self;

    /// Packs a result of this arithmetic.
    fn acc(array: Array<Self>) -> Acc;

    /// The array of `acc`, converted if it is another arithmetic's.
    fn of(acc: &Acc) -> Array<Self>;

    /// The elements of [`Real::of`] in row-major order.
    fn elements(acc: &Acc) -> Vec<Self> {
        Self::of(acc).to_vec()
    }

    /// Calls `f` with parts of `length` elements and their numbers, on the threads there are. The last part may be shorter.
    fn each_part(elements: &mut [Self], length: usize, f: &(dyn Fn(usize, &mut [Self]) + Sync));

    /// Adds to each of `n` sums the products of the factors with its elements in the columns, `n` for each factor, in their order.
    fn add_products(sums: &mut [Self], factors: &[Self], columns: &[Self]);

    /// Packs a result's elements in row-major order.
    fn from_elements(shape: &[usize], elements: Vec<Self>) -> Acc {
        Self::acc(Array::new(shape, elements))
    }
}

/// Float accumulators, with Rust's operators. Each step rounds as TVM's does, which determines where a result jumps.
pub trait Float:
    Real + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Rounds a number to nearest.
    fn at(value: f64) -> Self {
        <Self as Element>::from_f64(value)
    }

    /// The smaller; `other` if either is NaN.
    #[inline]
    fn least(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    /// The larger; `other` if either is NaN.
    #[inline]
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

            #[inline]
            fn div(self, other: Self) -> Self {
                $div(self, other)
            }

            #[inline]
            fn max(self, other: Self) -> Self {
                $max(self, other)
            }

            fn each_part(elements: &mut [Self], length: usize, f: &(dyn Fn(usize, &mut [Self]) + Sync)) {
                // No elements have no parts, of whatever length.
                crate::threads::ready();
                elements.par_chunks_mut(length.max(1)).enumerate().for_each(|(at, part)| f(at, part));
            }

            // Here rather than where sums are needed, because this crate is compiled for speed.
            fn add_products(sums: &mut [Self], factors: &[Self], columns: &[Self]) {
                let (n, mut column) = (sums.len(), 0);
                let plus = |sum: Self, factor: Self, x: Self| Real::add(sum, Real::mul(factor, x));
                // Four at a time: a sum is loaded and stored once for all of them.
                for factors in factors.chunks(4) {
                    let columns = &columns[column * n..][..factors.len() * n];
                    column += factors.len();
                    if let &[p, q, r, s] = factors {
                        let (first, rest) = columns.split_at(n);
                        let (second, rest) = rest.split_at(n);
                        let (third, fourth) = (&rest[..n], &rest[n..][..n]);
                        for (i, sum) in sums.iter_mut().enumerate() {
                            *sum = plus(plus(plus(plus(*sum, p, first[i]), q, second[i]), r, third[i]), s, fourth[i]);
                        }
                    } else {
                        for (&factor, column) in factors.iter().zip(columns.chunks(n)) {
                            sums.iter_mut().zip(column).for_each(|(sum, &x)| *sum = plus(*sum, factor, x));
                        }
                    }
                }
            }

            fn acc(array: Array<Self>) -> Acc {
                Acc::$variant(array)
            }

            fn of(acc: &Acc) -> Array<Self> {
                match acc {
                    Acc::$variant(array) => array.clone(),
                    other => other.clone().into_tensor(<$ty>::DTYPE).as_array::<$ty>().expect("converted to it").clone(),
                }
            }
        }
    };
}

real!(f32, F32, 0.0, 1.0, |a, b| a + b, |a, b| a * b, |a, b| a / b, float_max_f32);
real!(f64, F64, 0.0, 1.0, |a, b| a + b, |a, b| a * b, |a, b| a / b, float_max);
real!(i64, I64, 0, 1, i64::wrapping_add, i64::wrapping_mul, i64::wrapping_div, Ord::max);

impl Acc {
    /// Converts the result to a storage type: rounds once, integers wrap.
    pub fn into_tensor(self, dtype: DType) -> Tensor {
        Tensor::from(self).cast(dtype).expect("a storage type")
    }
}

impl From<Acc> for Tensor {
    fn from(acc: Acc) -> Tensor {
        match acc {
            Acc::F32(array) => array.into(),
            Acc::F64(array) => array.into(),
            Acc::I64(array) => array.into(),
        }
    }
}
