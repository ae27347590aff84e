//! Random tensors that are the same on every machine.
//!
//! A stream is chosen by a seed and a name, so that two parameters filled from one seed get different numbers.

use super::size::{SizeError, checked_size};
use super::{Element, Tensor, with_dtype};
use crate::base::SplitMix64;
use crate::types::DType;

impl Tensor {
    /// Uniform numbers: floats in [0, 1), as fine as the dtype holds exactly (so none rounds to 1), integers from 0 to 9
    /// (as indices they stay small), bool either way.
    pub fn random(dtype: DType, shape: &[i64], seed: u64, name: &str) -> Result<Tensor, SizeError> {
        let (shape, _) = checked_size(shape, dtype)?;
        let mut stream = SplitMix64::new(seed, name);
        let bits = match dtype {
            DType::F64 => 53,
            DType::F32 => 24,
            DType::F16 => 11,
            _ => 8,
        };
        let tensor = with_dtype!(dtype, |T| Tensor::from_fn(&shape, |_| match dtype {
            DType::BOOL => T::from_int(i128::from(stream.next_u64() >> 63)),
            _ if T::IS_FLOAT => T::from_f64(stream.next_unit(bits)),
            _ => T::from_int(i128::from(stream.next_u64() % 10)),
        }));
        tensor.ok_or(SizeError::DType(dtype))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_never_change() {
        let x = Tensor::random(DType::F32, &[2], 0, "data").expect("a small tensor");
        assert_eq!(x, Tensor::random(DType::F32, &[2], 0, "data").expect("a small tensor"));
        assert_ne!(x, Tensor::random(DType::F32, &[2], 1, "data").expect("a small tensor"));
        assert_ne!(x, Tensor::random(DType::F32, &[2], 0, "weight").expect("a small tensor"));
    }

    #[test]
    fn every_dtype_stays_in_range() {
        for dtype in DType::RUNTIME {
            let x = Tensor::random(dtype, &[4096], 7, "x").expect("a small tensor");
            let end = if dtype.is_float() { 1.0 } else { 10.0 };
            assert!(x.to_f64s().iter().all(|&v| (0.0..end).contains(&v)), "{dtype}");
        }
    }
}
