//! The element types of tensors, and their conversions.

use super::{Array, Data};
use crate::types::DType;
use half::{bf16, f16};

pub trait Element: Copy + PartialEq + Send + Sync + std::fmt::Debug + 'static {
    const DTYPE: DType;
    const IS_FLOAT: bool;

    fn to_f64(self) -> f64;

    /// Converts from f64. Floats round to nearest; for integers NaN is 0 and other values saturate; bool is `true` unless 0.
    ///
    /// Write `<T as Element>::from_f64` for a concrete type, because `half` has a method of this name with another rounding.
    fn from_f64(value: f64) -> Self;

    /// Converts to an exact integer; floats are truncated as `from_f64` of an integer type does.
    fn to_int(self) -> i128;

    /// Converts from an integer. Integers wrap to their width; floats round to nearest; bool is `true` unless 0.
    fn from_int(value: i128) -> Self;

    fn wrap(array: Array<Self>) -> Data;
    fn unwrap(data: &Data) -> Option<&Array<Self>>;
    fn unwrap_mut(data: &mut Data) -> Option<&mut Array<Self>>;

    /// Appends the little-endian bytes.
    fn write_le(self, out: &mut Vec<u8>);

    /// Reads `DTYPE.bytes()` little-endian bytes.
    fn read_le(bytes: &[u8]) -> Self;

    fn apply(self, float: &dyn Fn(f64) -> f64, int: &dyn Fn(i128) -> i128) -> Self {
        if Self::IS_FLOAT { Self::from_f64(float(self.to_f64())) } else { Self::from_int(int(self.to_int())) }
    }

    fn apply2(self, other: Self, float: fn(f64, f64) -> f64, int: fn(i128, i128) -> i128) -> Self {
        if Self::IS_FLOAT {
            Self::from_f64(float(self.to_f64(), other.to_f64()))
        } else {
            Self::from_int(int(self.to_int(), other.to_int()))
        }
    }
}

macro_rules! element {
    ($ty:ty, $variant:ident, $dtype:expr, $is_float:expr, $to_f64:expr, $from_f64:expr, $to_int:expr, $from_int:expr, $to_bytes:expr, $from_bytes:expr) => {
        impl Element for $ty {
            const DTYPE: DType = $dtype;
            const IS_FLOAT: bool = $is_float;

            #[inline]
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }

            #[inline]
            fn from_f64(value: f64) -> Self {
                $from_f64(value)
            }

            #[inline]
            fn to_int(self) -> i128 {
                $to_int(self)
            }

            #[inline]
            fn from_int(value: i128) -> Self {
                $from_int(value)
            }

            fn wrap(array: Array<Self>) -> Data {
                Data::$variant(array)
            }

            fn unwrap(data: &Data) -> Option<&Array<Self>> {
                match data {
                    Data::$variant(array) => Some(array),
                    _ => None,
                }
            }

            fn unwrap_mut(data: &mut Data) -> Option<&mut Array<Self>> {
                match data {
                    Data::$variant(array) => Some(array),
                    _ => None,
                }
            }

            fn write_le(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&$to_bytes(self));
            }

            fn read_le(bytes: &[u8]) -> Self {
                $from_bytes(bytes)
            }
        }
    };
}

/// The first bytes as an array; callers give exactly the element's width.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the element's width in bytes")
}

// `as` between a float and an integer saturates and takes NaN to 0; between integers it wraps: the rules of reliability 4.
macro_rules! number {
    ($ty:ty, $variant:ident, $dtype:expr, $is_float:expr) => {
        element!(
            $ty,
            $variant,
            $dtype,
            $is_float,
            |x| x as f64,
            |v: f64| v as $ty,
            |x| x as i128,
            |v: i128| v as $ty,
            <$ty>::to_le_bytes,
            |b: &[u8]| <$ty>::from_le_bytes(fixed(b))
        );
    };
}

/// The value in f32, rounded to odd: of the two neighbours of an inexact value, the one whose last bit is set.
///
/// What then rounds to at most 22 bits is as if rounded once (Boldo and Melquiond, *Emulation of FMA and correctly rounded
/// sums*, 2008). `half` itself rounds an f64 twice, or cuts its low bits off, as the machine has it.
fn to_f32_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    if back == value || nearest.is_nan() { nearest } else { odd(nearest, back.abs() > value.abs()) }
}

/// As [`to_f32_odd`], straight from the integer: by way of f64 one beyond 2⁵³ would be rounded before.
///
/// Not inlined: the conversion of an i128 is a call in any case.
#[inline(never)]
fn int_to_f32_odd(value: i128) -> f32 {
    let nearest = value as f32;
    let back = nearest as i128;
    if back == value { nearest } else { odd(nearest, back.unsigned_abs() > value.unsigned_abs()) }
}

/// The neighbour with its last bit set, of an inexact value whose nearest neighbour is given and lies `away` from 0 or not.
fn odd(nearest: f32, away: bool) -> f32 {
    f32::from_bits((nearest.to_bits() - u32::from(away)) | 1)
}

macro_rules! half {
    ($ty:ty, $variant:ident, $dtype:expr) => {
        element!(
            $ty,
            $variant,
            $dtype,
            true,
            <$ty>::to_f64,
            |v: f64| <$ty>::from_f32(to_f32_odd(v)),
            |x: $ty| x.to_f64() as i128,
            |v: i128| <$ty>::from_f32(int_to_f32_odd(v)),
            <$ty>::to_le_bytes,
            |b: &[u8]| <$ty>::from_le_bytes(fixed(b))
        );
    };
}

number!(i8, I8, DType::I8, false);
number!(i16, I16, DType::I16, false);
number!(i32, I32, DType::I32, false);
number!(i64, I64, DType::I64, false);
number!(u8, U8, DType::U8, false);
number!(u16, U16, DType::U16, false);
number!(u32, U32, DType::U32, false);
number!(u64, U64, DType::U64, false);
number!(f32, F32, DType::F32, true);
number!(f64, F64, DType::F64, true);
half!(f16, F16, DType::F16);
half!(bf16, BF16, DType::BF16);
element!(
    bool,
    Bool,
    DType::BOOL,
    false,
    |x: bool| f64::from(u8::from(x)),
    |v: f64| v != 0.0,
    i128::from,
    |v: i128| v != 0,
    |x: bool| [u8::from(x)],
    |b: &[u8]| b[0] != 0
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_once() {
        // Just above the middle of two neighbours: any earlier rounding makes it the middle, which goes to the even one.
        let above = |middle: f64| f64::from_bits(middle.to_bits() + 1);
        for sign in [1.0, -1.0] {
            assert_eq!(<f16 as Element>::from_f64(sign * above(1.0 + 0.5f64.powi(11))).to_f64(), sign * (1.0 + 0.5f64.powi(10)));
            assert_eq!(<f16 as Element>::from_f64(sign * (1.0 + 0.5f64.powi(11))).to_f64(), sign);
            assert_eq!(<f16 as Element>::from_f64(sign * above(0.5f64.powi(25))).to_f64(), sign * 0.5f64.powi(24));
            assert_eq!(<bf16 as Element>::from_f64(sign * above(1.0 + 0.5f64.powi(8))).to_f64(), sign * (1.0 + 0.5f64.powi(7)));
            assert_eq!(<f16 as Element>::from_f64(sign * 1e300), f16::from_f64(sign * f64::INFINITY));
            assert_eq!(<f16 as Element>::from_f64(sign * 1e-300).to_f64().to_bits(), (sign * 0.0f64).to_bits());
        }
        assert!(<f16 as Element>::from_f64(f64::NAN).is_nan());
    }
}
