//! Random tensors that are the same on every machine: the SplitMix64 generator (Steele, Lea, Flood, 2014).
//!
//! A stream is chosen by a seed and a name, so that two parameters filled from one seed get different numbers.

use super::size::{SizeError, checked_size};
use super::{Element, Tensor, with_dtype};
use crate::types::DType;

/// The generator: a counter that is scrambled.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The stream of a seed and a name; the name is hashed with FNV-1a.
    pub fn new(seed: u64, name: &str) -> SplitMix64 {
        let hash =
            name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        let mut mixed = SplitMix64 { state: hash };
        SplitMix64 { state: seed ^ mixed.next_u64() }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next multiple of 2^-bits in [0, 1), from the highest bits; `bits` is at most 53.
    pub fn next_unit(&mut self, bits: u32) -> f64 {
        (self.next_u64() >> (64 - bits)) as f64 / (1u64 << bits) as f64
    }
}

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
        // The reference values of SplitMix64 from state 0.
        let mut stream = SplitMix64 { state: 0 };
        assert_eq!([stream.next_u64(), stream.next_u64()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
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
