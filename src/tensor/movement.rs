//! Moving elements: broadcasting, permuting, reshaping, picking. No arithmetic.

use super::{Tensor, with_array};
use ndarray::{Axis, IxDyn, Slice};

/// The shape two shapes broadcast to, aligned right; `None` where they do not.
pub fn broadcast_shape(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let dim = |shape: &[usize], i: usize| (i + shape.len()).checked_sub(rank).map_or(1, |j| shape[j]);
    (0..rank)
        .map(|i| match (dim(a, i), dim(b, i)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

impl Tensor {
    /// Both as views of the shape they broadcast to.
    pub(super) fn broadcast_pair(&self, other: &Tensor) -> Option<(Tensor, Tensor)> {
        let shape = broadcast_shape(self.shape(), other.shape())?;
        Some((self.broadcast_to(&shape)?, other.broadcast_to(&shape)?))
    }

    /// The same elements under a shape they broadcast to.
    pub fn broadcast_to(&self, shape: &[usize]) -> Option<Tensor> {
        if self.shape() == shape {
            return Some(self.clone());
        }
        with_array!(self, |array| Some(array.broadcast(IxDyn(shape))?.to_owned().into_shared().into()))
    }

    /// The same elements in row-major order under another shape of as many elements.
    pub fn reshape(&self, shape: &[usize]) -> Option<Tensor> {
        with_array!(self, |array| {
            let standard =
                if array.is_standard_layout() { array.clone() } else { array.as_standard_layout().into_owned().into_shared() };
            Some(standard.into_shape_with_order(IxDyn(shape)).ok()?.into())
        })
    }

    /// Axis `i` of the result is axis `axes[i]`, which must be a permutation.
    pub fn permute(&self, axes: &[usize]) -> Tensor {
        with_array!(self, |array| array.view().permuted_axes(IxDyn(axes)).as_standard_layout().into_owned().into_shared().into())
    }

    /// The tensors one after the other along an axis; they have one dtype and agree in all other dimensions.
    pub fn concat(tensors: &[Tensor], axis: usize) -> Option<Tensor> {
        with_array!(tensors.first()?, |_first: T| {
            let views: Option<Vec<_>> = tensors.iter().map(|t| t.as_array::<T>().map(|a| a.view())).collect();
            Some(ndarray::concatenate(Axis(axis), &views?).ok()?.into_shared().into())
        })
    }

    /// The positions `begin`, `begin + step`, … (`n` of them) of an axis.
    pub fn take_range(&self, axis: usize, begin: i64, step: i64, n: usize) -> Tensor {
        // A slice runs upwards from its lowest position; one that runs downwards is turned round.
        let span = if n > 1 { (n as i64 - 1) * step } else { 0 };
        let (low, high) = if n == 0 { (0, 0) } else { (begin.min(begin + span), begin.max(begin + span) + 1) };
        let stride = if n > 1 { step.unsigned_abs() as isize } else { 1 };
        with_array!(self, |array| {
            let mut view = array.view();
            view.slice_axis_inplace(Axis(axis), Slice::new(low as isize, Some(high as isize), stride));
            if step < 0 {
                view.invert_axis(Axis(axis));
            }
            view.as_standard_layout().into_owned().into_shared().into()
        })
    }

    /// The element of `x` where `condition` is not 0, else that of `y`. `None` unless all have one shape, and `x` and `y` one
    /// dtype.
    pub fn select(condition: &Tensor, x: &Tensor, y: &Tensor) -> Option<Tensor> {
        let condition = condition.cast(crate::types::DType::BOOL)?;
        if condition.shape() != x.shape() || x.shape() != y.shape() {
            return None;
        }
        with_array!(x, |x: T| {
            let choose = |&condition: &bool, &x: &T, &y: &T| if condition { x } else { y };
            let zip = ndarray::Zip::from(condition.as_array::<bool>()?).and(x).and(y.as_array::<T>()?);
            Some(zip.map_collect(choose).into_shared().into())
        })
    }

    /// Element `i` of the result, in row-major order, is element `source(i)` of this one, or `fill` where it is `None`.
    pub fn pick(&self, shape: &[usize], fill: f64, mut source: impl FnMut(usize) -> Option<usize>) -> Tensor {
        use super::Element;
        with_array!(self, |array: T| {
            let standard = array.as_standard_layout();
            let elements = standard.as_slice().expect("standard layout is contiguous");
            let fill = <T as Element>::from_f64(fill);
            let n: usize = shape.iter().product();
            Tensor::from_vec(shape, (0..n).map(|i| source(i).map_or(fill, |at| elements[at])).collect())
        })
    }

    /// The elements' bytes, little-endian, in row-major order; bool is one byte.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        use super::Element;
        let mut out = Vec::with_capacity(self.len() * self.dtype().bytes() as usize);
        with_array!(self, |array| array.iter().for_each(|x| x.write_le(&mut out)));
        out
    }

    /// Writes the bytes of [`Tensor::to_le_bytes`], few at a time, so that they are never in memory beside the elements.
    pub fn write_le_to(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        use super::Element;
        let mut piece = Vec::with_capacity(PIECE + 8);
        with_array!(self, |array| {
            for x in array.iter() {
                x.write_le(&mut piece);
                if piece.len() >= PIECE {
                    out.write_all(&piece)?;
                    piece.clear();
                }
            }
        });
        out.write_all(&piece)
    }

    /// A tensor of little-endian bytes in row-major order. `None` where the dtype is no tensor's or the length is wrong.
    pub fn from_le_bytes(dtype: crate::types::DType, shape: &[usize], bytes: &[u8]) -> Option<Tensor> {
        use super::{Element, with_dtype};
        let width = dtype.bytes() as usize;
        let n = shape.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim))?;
        if n.checked_mul(width)? != bytes.len() {
            return None;
        }
        with_dtype!(dtype, |T| Tensor::from_vec(shape, bytes.chunks_exact(width).map(T::read_le).collect()))
    }
}

/// So many bytes are written at once.
const PIECE: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DType;

    #[test]
    fn permute_moves() {
        let x = Tensor::from_fn(&[2, 3], |i| i as f32);
        let y = x.permute(&[1, 0]);
        assert_eq!(y.to_vec::<f32>().expect("f32"), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    }

    #[test]
    fn ranges_run_both_ways() {
        let x = Tensor::from_fn(&[5], |i| i as i32);
        let range = |begin, step, n| x.take_range(0, begin, step, n).to_vec::<i32>().expect("i32");
        assert_eq!(range(1, 2, 2), [1, 3]);
        assert_eq!(range(4, -2, 3), [4, 2, 0]);
        assert_eq!(range(2, i64::MIN, 1), [2]);
        assert_eq!(range(5, 1, 0), [0i32; 0]);
    }

    #[test]
    fn bytes_round_trip_for_every_dtype() {
        for dtype in DType::RUNTIME {
            let x = Tensor::from_fn(&[3], |i| i as f64).cast(dtype).expect("a tensor's dtype");
            assert_eq!(Tensor::from_le_bytes(dtype, &[3], &x.to_le_bytes()).expect("its own bytes"), x);
        }
    }
}
