//! Moves elements: broadcasting, permuting, reshaping, gathering. Absent: arithmetic.

use super::chunks::{CHUNK, chunks};
use super::size::count;
use super::strided::Strided;
use super::{Tensor, with_array, with_data};
use std::hint::select_unpredictable;

/// The shape to which two shapes broadcast, aligned right; `None` if they do not.
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
    /// Both tensors in the shape to which they broadcast. `None` if they do not, or if the dtypes differ.
    pub(super) fn broadcast_pair(&self, other: &Tensor) -> Option<(Tensor, Tensor)> {
        if self.dtype() != other.dtype() {
            return None;
        }
        let shape = broadcast_shape(self.shape(), other.shape())?;
        Some((self.broadcast_to(&shape)?, other.broadcast_to(&shape)?))
    }

    pub fn broadcast_to(&self, shape: &[usize]) -> Option<Tensor> {
        if self.shape() == shape {
            return Some(self.clone());
        }
        Some(self.copied(&Strided::of(self.shape()).broadcast(shape)?))
    }

    /// The same elements in row-major order under another shape with the same number of elements.
    pub fn reshape(&self, shape: &[usize]) -> Option<Tensor> {
        with_array!(self, |array| Some(array.reshaped(shape)?.into()))
    }

    /// Permutes axes: axis `i` of the result is axis `axes[i]`. `axes` must be a permutation.
    pub fn permute(&self, axes: &[usize]) -> Tensor {
        if axes.is_sorted() {
            return self.clone();
        }
        self.copied(&Strided::of(self.shape()).permuted(axes))
    }

    /// The elements that lie so.
    fn copied(&self, strided: &Strided) -> Tensor {
        with_array!(self, |array| Tensor::from_vec(&strided.dims, strided.copy(array)))
    }

    /// Joins tensors along an axis. They have one dtype and agree in all other dimensions.
    pub fn concat(tensors: &[Tensor], axis: usize) -> Option<Tensor> {
        let first = tensors.first()?;
        let mut shape = first.shape().to_vec();
        let (before, after) = (shape.get(..axis)?.to_vec(), shape.get(axis + 1..)?.to_vec());
        let fits = |t: &Tensor| {
            t.dtype() == first.dtype()
                && t.rank() == shape.len()
                && t.shape()[..axis] == before[..]
                && t.shape()[axis + 1..] == after[..]
        };
        if !tensors.iter().all(fits) {
            return None;
        }
        shape[axis] = tensors.iter().try_fold(0usize, |sum, t| sum.checked_add(t.shape()[axis]))?;
        count(&shape)?;
        // Of each position before the axis, every tensor has a run of elements.
        let (turns, after): (usize, usize) = (before.iter().product(), after.iter().product());
        let runs: Vec<usize> = tensors.iter().map(|t| t.shape()[axis] * after).collect();
        with_array!(first, |_first: T| {
            let mut out: Vec<T> = Vec::with_capacity(turns * runs.iter().sum::<usize>());
            for turn in 0..turns {
                for (tensor, run) in tensors.iter().zip(&runs) {
                    out.extend_from_slice(&tensor.as_array::<T>()?[turn * run..][..*run]);
                }
            }
            Some(Tensor::from_vec(&shape, out))
        })
    }

    /// Takes the positions `begin`, `begin + step`, … (`n` of them) of an axis.
    pub fn take_range(&self, axis: usize, begin: i64, step: i64, n: usize) -> Tensor {
        let mut strided = Strided::of(self.shape());
        strided.dims[axis] = n;
        if n > 0 {
            strided.start += begin as isize * strided.steps[axis];
        }
        if n > 1 {
            strided.steps[axis] *= step as isize;
        }
        self.copied(&strided)
    }

    /// Selects the element of `x` where `condition` is not 0, else that of `y`. `None` unless all have one shape, and `x` and `y`
    /// one dtype.
    pub fn select(condition: &Tensor, x: &Tensor, y: &Tensor) -> Option<Tensor> {
        let condition = condition.cast(crate::types::DType::BOOL)?;
        if condition.shape() != x.shape() || x.shape() != y.shape() {
            return None;
        }
        let condition = condition.as_array::<bool>()?;
        with_array!(x, |x: T| {
            let elements = condition.iter().zip(x.iter().zip(y.as_array::<T>()?.iter()));
            // An `if` would become a branch, which random conditions make slow.
            let chosen = elements.map(|(&condition, (&x, &y))| select_unpredictable(condition, x, y));
            Some(Tensor::from_vec(x.shape(), chosen.collect()))
        })
    }

    /// Gathers elements: element `i` of the result, in row-major order, is element `source(i)` of this one. `fill` stands for
    /// `None`.
    pub fn pick(&self, shape: &[usize], fill: f64, mut source: impl FnMut(usize) -> Option<usize>) -> Tensor {
        let mut out = Tensor::full(self.dtype(), shape, fill).expect("the dtype of a tensor");
        let mut sources = [NOWHERE; CHUNK];
        for range in chunks(out.len()) {
            let sources = &mut sources[..range.len()];
            sources.iter_mut().zip(range.clone()).for_each(|(to, i)| *to = source(i).unwrap_or(NOWHERE));
            out.put(range.start, self, sources);
        }
        out
    }

    /// Puts chosen elements of a tensor of the same dtype from a position on; leaves what is there where none is chosen.
    fn put(&mut self, at: usize, from: &Tensor, sources: &[usize]) {
        with_data!(&mut self.data, |array: T| {
            let from = from.as_array::<T>().expect("one dtype");
            for (to, &source) in array.elements_mut()[at..].iter_mut().zip(sources) {
                if source != NOWHERE {
                    *to = from[source];
                }
            }
        })
    }
}

/// A position that no tensor has.
const NOWHERE: usize = usize::MAX;

#[cfg(test)]
mod tests {
    use super::*;

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
}
