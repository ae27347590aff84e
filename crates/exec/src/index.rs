//! Prepares data for gather kernels: indices as positions, and tables as tensors.

use crate::plan::{IndexMode, Positions, Table};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, DTypeCode};
use relayc_runtime::layout::outside as words;
use relayc_runtime::step;

/// Converts integers of any dtype to positions inside their axes.
///
/// Errors: the first index out of range, with the length of its axis, if the operator traps on it.
pub(crate) fn positions(work: &Positions, dtype: DType, from: &[u8], to: &mut [i32]) -> Result<(), (i128, u64)> {
    let (width, signed) = (usize::from(dtype.bits.div_ceil(8)), dtype.code == DTypeCode::Int);
    let (part, outside) = ((to.len() / work.lengths.len().max(1)).max(1), outside(work.outside));
    for ((from, to), &length) in from.chunks(part * width).zip(to.chunks_mut(part)).zip(&work.lengths) {
        let n = to.len().min(from.len() / width);
        // SAFETY: both have so many.
        let done = unsafe { step::positions(from.as_ptr(), (width, signed), to.as_mut_ptr(), n, length, outside) };
        done.map_err(|index| (index, length))?;
    }
    Ok(())
}

/// The runtime's code for the treatment of an index out of range.
pub(crate) fn outside(outside: IndexMode) -> u64 {
    match outside {
        IndexMode::Nearest => words::NEAREST,
        IndexMode::Round => words::ROUND,
        IndexMode::Nowhere => words::NOWHERE,
        IndexMode::Trap => words::TRAP,
    }
}

/// A table as the constant that kernels read.
pub(crate) fn tensor(table: &Table) -> Tensor {
    let n = [table.bits.len()];
    match table.dtype {
        DType::BOOL => Tensor::from_vec(&n, table.bits.iter().map(|&bits| bits != 0).collect()),
        DType::I32 => Tensor::from_vec(&n, table.bits.iter().map(|&bits| bits as i32).collect()),
        _ => Tensor::from_vec(&n, table.bits.iter().map(|&bits| f32::from_bits(bits)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_ir::ExprId;

    fn of(values: &[i64], lengths: &[u64], outside: IndexMode) -> Result<Vec<i32>, (i128, u64)> {
        let work = Positions { lengths: lengths.to_vec(), outside, call: ExprId(0) };
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut to = vec![0; values.len()];
        positions(&work, DType::I64, &bytes, &mut to).map(|()| to)
    }

    #[test]
    fn every_index_has_a_place() {
        let wild = [i64::MIN, -1, 0, 2, 3, i64::MAX];
        assert_eq!(of(&wild, &[3], IndexMode::Nearest), Ok(vec![0, 0, 0, 2, 2, 2]));
        assert_eq!(of(&wild, &[3], IndexMode::Round), Ok(vec![1, 2, 0, 2, 0, 1]));
        assert_eq!(of(&wild, &[3], IndexMode::Nowhere), Ok(vec![-1, -1, 0, 2, -1, -1]));
        assert_eq!(of(&[0, 2, 3, 4], &[3, 5], IndexMode::Trap), Ok(vec![0, 2, 3, 4]));
        assert_eq!(of(&[0, 2, 3, 5], &[3, 5], IndexMode::Trap), Err((5, 5)));
        let work = Positions { lengths: vec![3], outside: IndexMode::Nearest, call: ExprId(0) };
        let mut to = [7];
        assert_eq!(positions(&work, DType::U64, &u64::MAX.to_le_bytes(), &mut to), Ok(()));
        assert_eq!(to, [2]);
    }
}
