//! Run-time tensors: values of every dtype, cheap to clone.
//!
//! This module hides the thirteen element types. An operator's evaluator uses `f64` and `i128` scalars ([`Tensor::map`],
//! [`Tensor::zip`]), accumulators ([`Acc`]) or positions ([`Tensor::pick`]).
//!
//! A float function is computed in f64 and rounded once to the storage type. For a single + − × ÷ √ this is the correctly rounded
//! f32 result. An integer function is computed exactly in i128 and wraps to the storage type.

mod acc;
mod array;
pub mod binary;
mod bytes;
mod chunks;
pub mod compare;
mod element;
mod movement;
pub mod npy;
mod random;
mod reduce;
mod scale;
mod scatter;
pub mod size;
mod strided;
pub mod text;

pub use acc::{Acc, Float, Real};
pub use array::{Array, Storage};
pub use element::Element;
pub use movement::broadcast_shape;
pub use reduce::{Product, RowReduction, Sum};
pub use relayc_base::{float_max, float_min};
pub use scale::RowFactors;

use crate::types::DType;
pub use half::{bf16, f16};

/// Applies an expression, generic over the element type `$T`, to the array inside a tensor. The expression is compiled for each of
/// thirteen types: it should be a loop over a slice, or less.
#[macro_export]
macro_rules! with_array {
    ($tensor:expr, |$array:ident $(: $T:ident)?| $body:expr) => {
        $crate::with_data!($tensor.data(), |$array $(: $T)?| $body)
    };
}
pub use with_array;

/// As [`with_array!`], for the elements by dtype, borrowed or borrowed mutably.
#[macro_export]
macro_rules! with_data {
    ($data:expr, |$array:ident| $body:expr) => {
        $crate::with_data!($data, |$array: T| $body)
    };
    ($data:expr, |$array:ident: $T:ident| $body:expr) => {
        $crate::each_dtype!(data_arms, ($data), $array, $T, ($body))
    };
}
pub use with_data;

/// Applies an expression, generic over the element type `$T`, to a dtype; `None` if no tensor can hold it.
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, |$T:ident| $body:expr) => {
        $crate::each_dtype!(dtype_arms, ($dtype), $T, ($body))
    };
}
pub use with_dtype;

/// Calls a macro with some arguments and the dtypes of tensors: the variant of [`Data`], the dtype and the element type of each.
#[doc(hidden)]
#[macro_export]
macro_rules! each_dtype {
    ($arms:ident, $($args:tt),*) => {
        $crate::$arms! {
            $($args),*;
            Bool BOOL bool, I8 I8 i8, I16 I16 i16, I32 I32 i32, I64 I64 i64, U8 U8 u8, U16 U16 u16, U32 U32 u32, U64 U64 u64,
            F16 F16 $crate::tensor::f16, BF16 BF16 $crate::tensor::bf16, F32 F32 f32, F64 F64 f64
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! data_arms {
    (($data:expr), $array:ident, $T:ident, ($body:expr); $($variant:ident $dtype:ident $ty:ty),*) => {
        match $data {
            $($crate::tensor::Data::$variant($array) => {
                #[allow(dead_code, reason = "not every expression names the type")]
                type $T = $ty;
                $body
            })*
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! dtype_arms {
    (($dtype:expr), $T:ident, ($body:expr); $($variant:ident $name:ident $ty:ty),*) => {
        match $dtype {
            $($crate::types::DType::$name => {
                type $T = $ty;
                Some($body)
            })*
            _ => None,
        }
    };
}

/// A tensor. Cloning shares the elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub(crate) data: Data,
}

/// The elements, by dtype.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Bool(Array<bool>),
    I8(Array<i8>),
    I16(Array<i16>),
    I32(Array<i32>),
    I64(Array<i64>),
    U8(Array<u8>),
    U16(Array<u16>),
    U32(Array<u32>),
    U64(Array<u64>),
    F16(Array<f16>),
    BF16(Array<bf16>),
    F32(Array<f32>),
    F64(Array<f64>),
}

impl Tensor {
    /// The elements, by dtype.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The elements, by dtype, for changes in place.
    pub fn data_mut(&mut self) -> &mut Data {
        &mut self.data
    }

    /// A tensor of these elements in row-major order. Panics if their number is not the shape's product.
    pub fn from_vec<T: Element>(shape: &[usize], elements: Vec<T>) -> Tensor {
        Array::new(shape, elements).into()
    }

    /// Computes every element from its row-major position.
    pub fn from_fn<T: Element>(shape: &[usize], f: impl FnMut(usize) -> T) -> Tensor {
        let n = shape.iter().product();
        Tensor::from_vec(shape, (0..n).map(f).collect())
    }

    /// A tensor filled with `value`, converted as `cast` does. `None` if no tensor can hold the dtype.
    pub fn full(dtype: DType, shape: &[usize], value: f64) -> Option<Tensor> {
        let n = shape.iter().product();
        with_dtype!(dtype, |T| Tensor::from_vec(shape, vec![<T as Element>::from_f64(value); n]))
    }

    pub fn scalar<T: Element>(value: T) -> Tensor {
        Tensor::from_vec(&[], vec![value])
    }

    pub fn dtype(&self) -> DType {
        with_array!(self, |_array: T| T::DTYPE)
    }

    /// The memory of the elements, which clones share.
    pub fn storage(&self) -> Storage {
        with_array!(self, |array| array.storage())
    }

    pub fn shape(&self) -> &[usize] {
        with_array!(self, |array| array.shape())
    }

    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    pub fn len(&self) -> usize {
        with_array!(self, |array| array.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The array inside, if the dtype is `T`'s.
    pub fn as_array<T: Element>(&self) -> Option<&Array<T>> {
        T::unwrap(&self.data)
    }

    /// The elements in row-major order, if `T` is the element type.
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        self.as_array::<T>().map(|array| array.to_vec())
    }

    /// The elements in row-major order as f64 (64-bit integers are rounded).
    pub fn to_f64s(&self) -> Vec<f64> {
        self.all()
    }

    /// The elements in row-major order as exact integers; floats are truncated towards zero.
    pub fn to_ints(&self) -> Vec<i128> {
        self.all()
    }

    /// Applies a function to every element: `float` for float dtypes, `int` for integers and bool.
    pub fn map(&self, float: impl Fn(f64) -> f64, int: impl Fn(i128) -> i128) -> Tensor {
        fn each<W: Copy>(elements: &mut [W], f: impl Fn(W) -> W) {
            for x in elements {
                *x = f(*x);
            }
        }
        let dtype = self.dtype();
        let mapped = match Number::of(dtype) {
            Number::Float => self.convert(dtype, &|chunk| each(chunk, &float)),
            Number::Signed => self.convert(dtype, &|chunk| each(chunk, |x: i64| int(x.into()) as i64)),
            Number::Unsigned => self.convert(dtype, &|chunk| each(chunk, |x: i64| int((x as u64).into()) as i64)),
        };
        mapped.expect("the dtype of a tensor")
    }

    /// Applies a function to every pair of elements of two tensors of one dtype, broadcast to one shape. `None` if the dtypes
    /// differ or the shapes do not broadcast.
    pub fn zip(&self, other: &Tensor, float: impl Fn(f64, f64) -> f64, int: impl Fn(i128, i128) -> i128) -> Option<Tensor> {
        fn each<W: Copy>(elements: &mut [W], others: &[W], f: impl Fn(W, W) -> W) {
            for (x, &y) in elements.iter_mut().zip(others) {
                *x = f(*x, y);
            }
        }
        let (lhs, rhs) = self.broadcast_pair(other)?;
        match Number::of(lhs.dtype()) {
            Number::Float => lhs.join(&rhs, &|chunk, others| each(chunk, others, &float)),
            Number::Signed => {
                lhs.join(&rhs, &|chunk, others| each(chunk, others, |x: i64, y: i64| int(x.into(), y.into()) as i64))
            }
            Number::Unsigned => lhs.join(&rhs, &|chunk, others| {
                each(chunk, others, |x: i64, y: i64| int((x as u64).into(), (y as u64).into()) as i64)
            }),
        }
    }

    /// As [`Tensor::zip`], with a bool tensor as the result.
    pub fn compare(&self, other: &Tensor, float: impl Fn(f64, f64) -> bool, int: impl Fn(i128, i128) -> bool) -> Option<Tensor> {
        fn each<W: Copy>(elements: &[W], others: &[W], out: &mut [bool], f: impl Fn(W, W) -> bool) {
            for (out, (&x, &y)) in out.iter_mut().zip(elements.iter().zip(others)) {
                *out = f(x, y);
            }
        }
        let (lhs, rhs) = self.broadcast_pair(other)?;
        Some(match Number::of(lhs.dtype()) {
            Number::Float => lhs.decide(&rhs, &|chunk, others, out| each(chunk, others, out, &float)),
            Number::Signed => lhs.decide(&rhs, &|chunk, others, out| {
                each(chunk, others, out, |x: i64, y: i64| int(x.into(), y.into()));
            }),
            Number::Unsigned => lhs.decide(&rhs, &|chunk, others, out| {
                each(chunk, others, out, |x: i64, y: i64| int((x as u64).into(), (y as u64).into()));
            }),
        })
    }

    /// Converts every element (reliability 4). Float to integer saturates and maps NaN to 0; integers wrap; bool is `true` unless
    /// the element is 0. `None` if no tensor can hold the dtype.
    pub fn cast(&self, dtype: DType) -> Option<Tensor> {
        fn converted<A: Element, B: Element>(from: &[A]) -> Vec<B> {
            let of = |&x: &A| if A::IS_FLOAT { <B as Element>::from_f64(x.to_f64()) } else { B::from_int(x.to_int()) };
            from.iter().map(of).collect()
        }
        if self.dtype() == dtype {
            return Some(self.clone());
        }
        with_dtype!(dtype, |To| with_array!(self, |array: T| Tensor::from_vec(self.shape(), converted::<T, To>(array))))
    }

    /// Whether the predicate holds for any element: `float` for float dtypes, `int` for integers and bool.
    pub fn any(&self, float: impl Fn(f64) -> bool, int: impl Fn(i128) -> bool) -> bool {
        let mut found = false;
        if self.dtype().is_float() {
            self.each_chunk(|chunk: &[f64]| {
                found = chunk.iter().any(|&x| float(x));
                !found
            });
        } else {
            self.each_chunk(|chunk: &[i128]| {
                found = chunk.iter().any(|&x| int(x));
                !found
            });
        }
        found
    }

    /// Applies a predicate to every element; the result is a bool tensor.
    pub fn test(&self, float: impl Fn(f64) -> bool, int: impl Fn(i128) -> bool) -> Tensor {
        self.compare(self, |x, _| float(x), |x, _| int(x)).expect("one shape and one dtype")
    }

    /// The elements as accumulators: f16, bf16 and f32 in f32, f64 in f64, integers and bool in i64 (u64 wraps).
    pub fn to_acc(&self) -> Acc {
        let shape = self.shape();
        match &self.data {
            Data::F64(array) => Acc::F64(array.clone()),
            Data::F32(array) => Acc::F32(array.clone()),
            Data::I64(array) => Acc::I64(array.clone()),
            Data::F16(array) => Acc::F32(Array::new(shape, array.iter().map(|x| x.to_f32()).collect())),
            Data::BF16(array) => Acc::F32(Array::new(shape, array.iter().map(|x| x.to_f32()).collect())),
            _ => {
                let mut elements = Vec::with_capacity(self.len());
                self.each_chunk(|chunk: &[i64]| {
                    elements.extend_from_slice(chunk);
                    true
                });
                Acc::I64(Array::new(shape, elements))
            }
        }
    }
}

/// The number by which a function sees elements.
enum Number {
    Float,
    /// Any integer or bool whose numbers i64 holds.
    Signed,
    /// u64, whose numbers i64 holds modulo 2^64.
    Unsigned,
}

impl Number {
    fn of(dtype: DType) -> Number {
        match dtype {
            DType::U64 => Number::Unsigned,
            _ if dtype.is_float() => Number::Float,
            _ => Number::Signed,
        }
    }
}

impl<T: Element> From<Array<T>> for Tensor {
    fn from(array: Array<T>) -> Tensor {
        Tensor { data: T::wrap(array) }
    }
}
