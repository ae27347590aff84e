//! Random tensors that are the same on every machine.
//!
//! A seed and a name choose a stream, so two parameters filled from one seed get different numbers.

use super::Tensor;
use super::size::{SizeError, size_to_make};
use crate::types::DType;
use relayc_base::SplitMix64;

impl Tensor {
    /// Uniform numbers. Floats are in [0, 1), as fine as the dtype holds exactly, so none rounds to 1. Integers are from 0 to 9,
    /// small enough for indices. Bool is either value.
    pub fn random(dtype: DType, shape: &[i64], seed: u64, name: &str) -> Result<Tensor, SizeError> {
        let shape = size_to_make(shape, dtype)?;
        let mut stream = SplitMix64::new(seed, name);
        let bits = match dtype {
            DType::F64 => 53,
            DType::F32 => 24,
            DType::F16 => 11,
            _ => 8,
        };
        let tensor = if dtype.is_float() {
            Tensor::of_chunks(dtype, &shape, |chunk| chunk.iter_mut().for_each(|x: &mut f64| *x = stream.next_unit(bits)))
        } else {
            let of = |next: u64| if dtype.is_bool() { next >> 63 } else { next % 10 };
            Tensor::of_chunks(dtype, &shape, |chunk| chunk.iter_mut().for_each(|x: &mut i128| *x = of(stream.next_u64()).into()))
        };
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
