//! Tensors in layouts: their axes in another order, or in blocks.

use super::{OnnxCx, ValueId};
use crate::layout::Layout;
use relayc_ir::types::{Dim, dims_of};

impl OnnxCx<'_> {
    /// A tensor of these dimensions in a layout, with one axis for each of the letters, in their order. Refused if there are blocks
    /// and a dimension is unknown.
    pub(crate) fn unpacked(&mut self, value: ValueId, dims: &[Dim], layout: &Layout, letters: &str) -> Result<ValueId, String> {
        let axes: Vec<usize> = letters.chars().flat_map(|letter| layout.axes_of(letter)).collect();
        let moved = self.transposed(value, &axes);
        if axes.len() == letters.len() {
            return Ok(moved);
        }
        let whole = whole(dims, layout, letters)?;
        Ok(self.reshaped(moved, &whole))
    }

    /// The inverse of [`OnnxCx::unpacked`]; the dimensions are those in the layout.
    pub(crate) fn packed(&mut self, value: ValueId, dims: &[Dim], layout: &Layout, letters: &str) -> Result<ValueId, String> {
        let from: Vec<usize> = letters.chars().flat_map(|letter| layout.axes_of(letter)).collect();
        let mut split = value;
        if from.len() > letters.len() {
            let shape = known(dims)?;
            let pieces: Vec<i64> = from.iter().map(|&axis| shape[axis]).collect();
            split = self.reshaped(value, &pieces);
        }
        let mut axes = vec![0; from.len()];
        for (at, axis) in from.into_iter().enumerate() {
            axes[axis] = at;
        }
        Ok(self.transposed(split, &axes))
    }
}

/// The total dimensions of these letters in a tensor of this layout. Refused if one is unknown.
pub(crate) fn whole(dims: &[Dim], layout: &Layout, letters: &str) -> Result<Vec<i64>, String> {
    let shape = known(dims)?;
    let whole = |letter| layout.axes_of(letter).into_iter().try_fold(1i64, |whole, axis| whole.checked_mul(shape[axis]));
    letters.chars().map(|letter| whole(letter).ok_or_else(|| "blocks of more than an int64".into())).collect()
}

fn known(dims: &[Dim]) -> Result<Vec<i64>, String> {
    dims_of(dims).ok_or_else(|| "blocks of a shape that is not known before running".into())
}
