//! Tensors as little-endian bytes in row-major order, and back; bool is one byte.

use super::{Element, Tensor, with_array, with_dtype};
use crate::types::DType;
use std::collections::TryReserveError;
use std::io::Write;

/// So many bytes are written at once.
const PIECE: usize = 64 << 10;

impl Tensor {
    /// The elements' bytes.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len() * self.dtype().bytes() as usize);
        self.push_le(0, self.len(), &mut out);
        out
    }

    /// Writes the bytes of [`Tensor::to_le_bytes`], few at a time, so that they are never in memory beside the elements.
    pub fn write_le_to(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let step = PIECE / self.dtype().bytes() as usize;
        let mut piece = Vec::with_capacity(PIECE);
        for at in (0..self.len()).step_by(step) {
            piece.clear();
            self.push_le(at, step.min(self.len() - at), &mut piece);
            out.write_all(&piece)?;
        }
        Ok(())
    }

    /// Appends the bytes of `n` elements from a position on.
    fn push_le(&self, at: usize, n: usize, out: &mut Vec<u8>) {
        with_array!(self, |array| array[at..at + n].iter().for_each(|x| x.write_le(out)))
    }

    /// The tensor of these bytes. `None` where the dtype is no tensor's or the length is wrong.
    pub fn from_le_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Option<Tensor> {
        let width = dtype.bytes() as usize;
        let n = shape.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim))?;
        if n.checked_mul(width)? != bytes.len() {
            return None;
        }
        let mut pending = pending(dtype)?;
        pending.extend_le(bytes);
        Some(pending.finish(shape))
    }
}

/// The elements of a tensor that is being read or computed.
pub(super) trait Pending {
    fn reserve(&mut self, n: usize) -> Result<(), TryReserveError>;

    /// Appends the elements of these bytes.
    fn extend_le(&mut self, bytes: &[u8]);

    /// Appends numbers, each rounded once.
    fn extend_floats(&mut self, values: &[f64]);

    /// Appends integers, which wrap; floats are rounded once.
    fn extend_ints(&mut self, values: &[i64]);

    /// As [`Pending::extend_ints`].
    fn extend_wide_ints(&mut self, values: &[i128]);

    /// Panics if the number of elements is not the shape's product.
    fn finish(self: Box<Self>, shape: &[usize]) -> Tensor;
}

/// A tensor without elements yet; `None` where no tensor can hold the dtype.
pub(super) fn pending(dtype: DType) -> Option<Box<dyn Pending>> {
    with_dtype!(dtype, |T| Box::new(Vec::<T>::new()) as Box<dyn Pending>)
}

impl<T: Element> Pending for Vec<T> {
    fn reserve(&mut self, n: usize) -> Result<(), TryReserveError> {
        self.try_reserve_exact(n)
    }

    fn extend_le(&mut self, bytes: &[u8]) {
        self.extend(bytes.chunks_exact(size_of::<T>()).map(T::read_le));
    }

    fn extend_floats(&mut self, values: &[f64]) {
        self.extend(values.iter().map(|&value| <T as Element>::from_f64(value)));
    }

    fn extend_ints(&mut self, values: &[i64]) {
        self.extend(values.iter().map(|&value| T::from_int(value.into())));
    }

    fn extend_wide_ints(&mut self, values: &[i128]) {
        self.extend(values.iter().map(|&value| T::from_int(value)));
    }

    fn finish(self: Box<Self>, shape: &[usize]) -> Tensor {
        Tensor::from_vec(shape, *self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip_for_every_dtype() {
        for dtype in DType::RUNTIME {
            let x = Tensor::from_fn(&[3], |i| i as f64).cast(dtype).expect("a tensor's dtype");
            assert_eq!(Tensor::from_le_bytes(dtype, &[3], &x.to_le_bytes()).expect("its own bytes"), x);
        }
    }
}
