//! Checks every tensor size from outside: shapes from files or flags become positions and bytes only here, before anything is
//! allocated.
//!
//! The limits are those of reliability 2: rank 32, 16 GiB.

use crate::types::{DType, checked_bytes};
use relayc_base::text::thousands;

/// The largest rank of a tensor from outside.
pub const MAX_RANK: usize = 32;

/// The largest size of one tensor: 16 GiB.
pub const MAX_BYTES: u64 = 16 << 30;

/// Why a shape is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SizeError {
    /// More than [`MAX_RANK`] dimensions.
    Rank(usize),
    Negative(i64),
    /// More than [`MAX_BYTES`]. A dimension of 0 does not hide the others, even if the tensor is `empty` by it.
    TooLarge {
        empty: bool,
    },
    /// No tensor can hold the dtype.
    DType(DType),
    /// The system does not give so many bytes.
    NoMemory(u64),
}

impl std::fmt::Display for SizeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SizeError::Rank(rank) => write!(f, "rank {rank}, the limit is {MAX_RANK}"),
            SizeError::Negative(dim) => write!(f, "a negative dimension {dim}"),
            SizeError::TooLarge { empty: false } => write!(f, "a tensor over the limit of 16 GiB"),
            SizeError::TooLarge { empty: true } => {
                write!(f, "no elements, but without its 0 the shape is over the limit of 16 GiB")
            }
            SizeError::DType(dtype) => write!(f, "dtype {dtype}, which no tensor can hold"),
            SizeError::NoMemory(bytes) => write!(f, "the system has no memory for {} bytes", thousands(*bytes)),
        }
    }
}

/// The shape as positions and the size of its elements in bytes, if the limits allow such a tensor.
pub fn checked_size(shape: &[i64], dtype: DType) -> Result<(Vec<usize>, usize), SizeError> {
    if shape.len() > MAX_RANK {
        return Err(SizeError::Rank(shape.len()));
    }
    if let Some(&dim) = shape.iter().find(|&&dim| dim < 0) {
        return Err(SizeError::Negative(dim));
    }
    if !DType::RUNTIME.contains(&dtype) {
        return Err(SizeError::DType(dtype));
    }
    // Strides are computed from the other dimensions even where one is 0, so their product is limited too.
    let without_zeros: Vec<i64> = shape.iter().map(|&dim| dim.max(1)).collect();
    let largest = checked_bytes(&without_zeros, dtype).filter(|&bytes| bytes <= MAX_BYTES);
    let bytes = largest.and(checked_bytes(shape, dtype)).and_then(|bytes| usize::try_from(bytes).ok());
    // As long as it must be: files of many tensors keep many shapes.
    let mut dims = Vec::with_capacity(shape.len());
    dims.extend(shape.iter().filter_map(|&dim| usize::try_from(dim).ok()));
    bytes
        .filter(|_| dims.len() == shape.len())
        .map(|bytes| (dims, bytes))
        .ok_or(SizeError::TooLarge { empty: shape.contains(&0) })
}

/// The shape of a tensor that is made at once, as positions: the limits allow it, and the system has memory for it.
pub fn size_to_make(shape: &[i64], dtype: DType) -> Result<Vec<usize>, SizeError> {
    let (shape, bytes) = checked_size(shape, dtype)?;
    if has_memory(bytes as u64) { Ok(shape) } else { Err(SizeError::NoMemory(bytes as u64)) }
}

/// From how many bytes on the system is asked whether it has them.
const LARGE: u64 = 1 << 20;

/// Whether the system gives so many bytes. Tensors are made without asking: a process whose allocation fails is ended.
pub fn has_memory(bytes: u64) -> bool {
    bytes < LARGE || usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok())
}

/// How many elements a shape has; `None` where its dimensions other than 0 have a product that no memory has room for.
pub(super) fn count(shape: &[usize]) -> Option<usize> {
    let product = shape.iter().filter(|&&dim| dim != 0).try_fold(1usize, |n, &dim| n.checked_mul(dim))?;
    isize::try_from(product).ok()?;
    Some(if shape.contains(&0) { 0 } else { product })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_both_sides() {
        assert_eq!(checked_size(&[2, 3], DType::F32), Ok((vec![2, 3], 24)));
        assert_eq!(checked_size(&[], DType::BOOL), Ok((vec![], 1)));
        assert_eq!(checked_size(&[0, 7], DType::F64), Ok((vec![0, 7], 0)));
        assert_eq!(checked_size(&[1; 32], DType::I8), Ok((vec![1; 32], 1)));
        assert_eq!(checked_size(&[1; 33], DType::I8), Err(SizeError::Rank(33)));
        assert_eq!(checked_size(&[0, -1], DType::I8), Err(SizeError::Negative(-1)));
        assert_eq!(checked_size(&[1 << 32], DType::F32), Ok((vec![1 << 32], 16 << 30)));
        assert_eq!(checked_size(&[(1 << 32) + 1], DType::F32), Err(SizeError::TooLarge { empty: false }));
        assert_eq!(checked_size(&[i64::MAX, i64::MAX], DType::F32), Err(SizeError::TooLarge { empty: false }));
        assert_eq!(checked_size(&[0, i64::MAX, i64::MAX], DType::F32), Err(SizeError::TooLarge { empty: true }));
        assert!(matches!(checked_size(&[1], DType { lanes: 4, ..DType::F32 }), Err(SizeError::DType(_))));
    }
}
