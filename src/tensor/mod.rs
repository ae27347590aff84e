//! Run-time tensors: values of every dtype over `ndarray`, cheap to clone and to view.
//!
//! Element types hide in here: an operator's evaluator speaks of `f64` and `i128` scalars ([`Tensor::map`],
//! [`Tensor::zip`]), of accumulators ([`Acc`]) or of positions ([`Tensor::pick`]), never of thirteen dtypes.
//!
//! Arithmetic: a float function is computed in f64 and rounded once to the storage type, which for single + − × ÷ √ is the
//! correctly rounded f32 result; an integer function is computed exactly in i128 and wraps to the storage type.

mod acc;
pub mod binary;
pub mod compare;
mod element;
mod movement;
pub mod npy;
mod random;
mod reduce;
mod scale;
mod scatter;
pub mod size;
pub mod text;

pub use crate::base::{float_max, float_min};
pub use acc::{Acc, Float, Real};
pub use element::{ArrayT, Element};
pub use movement::broadcast_shape;
pub use reduce::{Fold, Product, Sum};
pub use scale::RowFactors;

use crate::types::DType;
use half::{bf16, f16};

/// Applies an expression, generic over the element type `$T`, to the array inside a tensor.
macro_rules! with_array {
    ($tensor:expr, |$array:ident $(: $T:ident)?| $body:expr) => {
        match &$tensor.data {
            $crate::tensor::Data::Bool($array) => {
                $(type $T = bool;)?
                $body
            }
            $crate::tensor::Data::I8($array) => {
                $(type $T = i8;)?
                $body
            }
            $crate::tensor::Data::I16($array) => {
                $(type $T = i16;)?
                $body
            }
            $crate::tensor::Data::I32($array) => {
                $(type $T = i32;)?
                $body
            }
            $crate::tensor::Data::I64($array) => {
                $(type $T = i64;)?
                $body
            }
            $crate::tensor::Data::U8($array) => {
                $(type $T = u8;)?
                $body
            }
            $crate::tensor::Data::U16($array) => {
                $(type $T = u16;)?
                $body
            }
            $crate::tensor::Data::U32($array) => {
                $(type $T = u32;)?
                $body
            }
            $crate::tensor::Data::U64($array) => {
                $(type $T = u64;)?
                $body
            }
            $crate::tensor::Data::F16($array) => {
                $(type $T = half::f16;)?
                $body
            }
            $crate::tensor::Data::BF16($array) => {
                $(type $T = half::bf16;)?
                $body
            }
            $crate::tensor::Data::F32($array) => {
                $(type $T = f32;)?
                $body
            }
            $crate::tensor::Data::F64($array) => {
                $(type $T = f64;)?
                $body
            }
        }
    };
}
pub(crate) use with_array;

/// Applies an expression, generic over the element type `$T`, to a dtype; `None` where no tensor can hold it.
macro_rules! with_dtype {
    ($dtype:expr, |$T:ident| $body:expr) => {
        match $dtype {
            $crate::types::DType::BOOL => {
                type $T = bool;
                Some($body)
            }
            $crate::types::DType::I8 => {
                type $T = i8;
                Some($body)
            }
            $crate::types::DType::I16 => {
                type $T = i16;
                Some($body)
            }
            $crate::types::DType::I32 => {
                type $T = i32;
                Some($body)
            }
            $crate::types::DType::I64 => {
                type $T = i64;
                Some($body)
            }
            $crate::types::DType::U8 => {
                type $T = u8;
                Some($body)
            }
            $crate::types::DType::U16 => {
                type $T = u16;
                Some($body)
            }
            $crate::types::DType::U32 => {
                type $T = u32;
                Some($body)
            }
            $crate::types::DType::U64 => {
                type $T = u64;
                Some($body)
            }
            $crate::types::DType::F16 => {
                type $T = half::f16;
                Some($body)
            }
            $crate::types::DType::BF16 => {
                type $T = half::bf16;
                Some($body)
            }
            $crate::types::DType::F32 => {
                type $T = f32;
                Some($body)
            }
            $crate::types::DType::F64 => {
                type $T = f64;
                Some($body)
            }
            _ => None,
        }
    };
}
pub(crate) use with_dtype;

/// A tensor. Cloning shares the elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub(crate) data: Data,
}

/// The elements, by dtype.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Bool(ArrayT<bool>),
    I8(ArrayT<i8>),
    I16(ArrayT<i16>),
    I32(ArrayT<i32>),
    I64(ArrayT<i64>),
    U8(ArrayT<u8>),
    U16(ArrayT<u16>),
    U32(ArrayT<u32>),
    U64(ArrayT<u64>),
    F16(ArrayT<f16>),
    BF16(ArrayT<bf16>),
    F32(ArrayT<f32>),
    F64(ArrayT<f64>),
}

impl Tensor {
    /// A tensor of these elements in row-major order. Panics if their number is not the shape's product.
    pub fn from_vec<T: Element>(shape: &[usize], elements: Vec<T>) -> Tensor {
        ArrayT::from_shape_vec(ndarray::IxDyn(shape), elements).expect("as many elements as the shape says").into()
    }

    /// Every element made from its row-major position.
    pub fn from_fn<T: Element>(shape: &[usize], f: impl FnMut(usize) -> T) -> Tensor {
        let n = shape.iter().product();
        Tensor::from_vec(shape, (0..n).map(f).collect())
    }

    /// `value` everywhere, converted as `cast` does. `None` where no tensor can hold the dtype.
    pub fn full(dtype: DType, shape: &[usize], value: f64) -> Option<Tensor> {
        with_dtype!(dtype, |T| ArrayT::from_elem(ndarray::IxDyn(shape), <T as Element>::from_f64(value)).into())
    }

    pub fn scalar<T: Element>(value: T) -> Tensor {
        Tensor::from_vec(&[], vec![value])
    }

    pub fn dtype(&self) -> DType {
        with_array!(self, |_array: T| T::DTYPE)
    }

    pub fn shape(&self) -> &[usize] {
        with_array!(self, |array| array.shape())
    }

    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        with_array!(self, |array| array.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The array inside, if the dtype is `T`'s.
    pub fn as_array<T: Element>(&self) -> Option<&ArrayT<T>> {
        T::unwrap(&self.data)
    }

    /// The elements in row-major order, if the dtype is `T`'s.
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        self.as_array::<T>().map(|array| array.iter().copied().collect())
    }

    /// The elements in row-major order as f64 (64-bit integers are rounded).
    pub fn to_f64s(&self) -> Vec<f64> {
        with_array!(self, |array| array.iter().map(|x| x.to_f64()).collect())
    }

    /// The elements in row-major order as exact integers; floats are truncated towards zero.
    pub fn to_ints(&self) -> Vec<i128> {
        with_array!(self, |array| array.iter().map(|x| x.to_int()).collect())
    }

    /// `f` of every element: `float` for float dtypes, `int` for integers and bool.
    pub fn map(&self, float: fn(f64) -> f64, int: fn(i128) -> i128) -> Tensor {
        self.map_with(&float, &int)
    }

    /// As [`Tensor::map`], for functions that carry a value.
    pub fn map_with(&self, float: &dyn Fn(f64) -> f64, int: &dyn Fn(i128) -> i128) -> Tensor {
        with_array!(self, |array| array.map(|&x| x.apply(float, int)).into_shared().into())
    }

    /// `f` of every pair of elements of two tensors of one dtype, broadcast to one shape.
    /// `None` if the dtypes differ or the shapes do not broadcast.
    pub fn zip(&self, other: &Tensor, float: fn(f64, f64) -> f64, int: fn(i128, i128) -> i128) -> Option<Tensor> {
        let (lhs, rhs) = self.broadcast_pair(other)?;
        with_array!(lhs, |a: T| {
            let b = T::unwrap(&rhs.data)?;
            Some(ndarray::Zip::from(a).and(b).map_collect(|&x, &y| x.apply2(y, float, int)).into_shared().into())
        })
    }

    /// As [`Tensor::zip`], with a bool tensor as result.
    pub fn compare(&self, other: &Tensor, float: fn(f64, f64) -> bool, int: fn(i128, i128) -> bool) -> Option<Tensor> {
        let (lhs, rhs) = self.broadcast_pair(other)?;
        with_array!(lhs, |a: T| {
            let b = T::unwrap(&rhs.data)?;
            let of = |&x: &T, &y: &T| if T::IS_FLOAT { float(x.to_f64(), y.to_f64()) } else { int(x.to_int(), y.to_int()) };
            Some(ndarray::Zip::from(a).and(b).map_collect(of).into_shared().into())
        })
    }

    /// Every element converted (reliability 4): float to integer saturates and takes NaN to 0, integers wrap, anything is
    /// `true` unless it is 0. `None` where no tensor can hold the dtype.
    pub fn cast(&self, dtype: DType) -> Option<Tensor> {
        if dtype == self.dtype() {
            return Some(self.clone());
        }
        with_dtype!(dtype, |To| with_array!(self, |array: T| array
            .map(|x| { if T::IS_FLOAT { <To as Element>::from_f64(x.to_f64()) } else { To::from_int(x.to_int()) } })
            .into_shared()
            .into()))
    }

    /// Whether `f` holds for an element: `float` for float dtypes, `int` for integers and bool.
    pub fn any(&self, float: fn(f64) -> bool, int: fn(i128) -> bool) -> bool {
        with_array!(self, |array: T| array.iter().any(|x| if T::IS_FLOAT { float(x.to_f64()) } else { int(x.to_int()) }))
    }

    /// A bool tensor of `f` of every element.
    pub fn test(&self, float: fn(f64) -> bool, int: fn(i128) -> bool) -> Tensor {
        with_array!(self, |array: T| array
            .map(|x| if T::IS_FLOAT { float(x.to_f64()) } else { int(x.to_int()) })
            .into_shared()
            .into())
    }

    /// The elements as accumulators: f16, bf16 and f32 in f32, f64 in f64, integers and bool in i64 (u64 wraps).
    pub fn to_acc(&self) -> Acc {
        match &self.data {
            Data::F64(array) => Acc::F64(array.clone()),
            Data::F32(array) => Acc::F32(array.clone()),
            Data::F16(array) => Acc::F32(array.map(|x| x.to_f32()).into_shared()),
            Data::BF16(array) => Acc::F32(array.map(|x| x.to_f32()).into_shared()),
            _ => Acc::I64(with_array!(self, |array| array.map(|x| x.to_int() as i64).into_shared())),
        }
    }
}

impl<T: Element> From<ArrayT<T>> for Tensor {
    fn from(array: ArrayT<T>) -> Tensor {
        Tensor { data: T::wrap(array) }
    }
}
