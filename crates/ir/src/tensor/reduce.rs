//! Reductions: combine the elements along some axes into one.
//!
//! A reduction works on rows: the kept axes come first, in order, and the reduced axes last. Results have the kept axes only;
//! operators that keep reduced dimensions reshape the result.

use super::chunks::Wide;
use super::{Acc, Array, Element, Real, Tensor, with_array};

/// How a reduction combines a row of accumulators.
pub trait RowReduction {
    fn fold<T: Real>(row: &[T]) -> T;
}

/// The sum by halves: the rounding error grows with the logarithm of the length.
pub struct Sum;

impl RowReduction for Sum {
    fn fold<T: Real>(row: &[T]) -> T {
        if row.len() <= 32 {
            return row.iter().fold(T::ZERO, |sum, &x| sum.add(x));
        }
        let (head, tail) = row.split_at(row.len() / 2);
        Self::fold(head).add(Self::fold(tail))
    }
}

/// The product, in order.
pub struct Product;

impl RowReduction for Product {
    fn fold<T: Real>(row: &[T]) -> T {
        row.iter().fold(T::ONE, |product, &x| product.mul(x))
    }
}

/// What is kept of a shape, and how its elements become rows.
struct Rows {
    kept: Vec<usize>,
    /// How many rows there are. Rows of no elements are many all the same: as many as the kept dimensions say.
    count: usize,
    /// The elements of a row.
    n: usize,
    /// The axes of the shape, the reduced ones last.
    order: Vec<usize>,
}

impl Rows {
    fn of(shape: &[usize], axes: &[usize]) -> Rows {
        let mut order: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
        let kept: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
        order.extend(axes);
        Rows { count: kept.iter().product(), kept, n: axes.iter().map(|&axis| shape[axis]).product(), order }
    }
}

fn reduce_rows<T: Element>(array: &Array<T>, axes: &[usize], f: fn(&[T]) -> T) -> Array<T> {
    let rows = Rows::of(array.shape(), axes);
    let elements = array.permuted(&rows.order);
    Array::new(&rows.kept, (0..rows.count).map(|row| f(&elements[row * rows.n..][..rows.n])).collect())
}

impl Acc {
    /// Reduces along the axes, each given once.
    pub fn fold<F: RowReduction>(&self, axes: &[usize]) -> Acc {
        match self {
            Acc::F32(array) => Acc::F32(reduce_rows(array, axes, F::fold)),
            Acc::F64(array) => Acc::F64(reduce_rows(array, axes, F::fold)),
            Acc::I64(array) => Acc::I64(reduce_rows(array, axes, F::fold)),
        }
    }

    /// Divides every element by a count: nearest for floats, towards zero for integers.
    pub fn div(&self, count: f64) -> Acc {
        let mut out = self.clone();
        match &mut out {
            Acc::F32(array) => array.elements_mut().iter_mut().for_each(|x| *x /= count as f32),
            Acc::F64(array) => array.elements_mut().iter_mut().for_each(|x| *x /= count),
            Acc::I64(array) if count == 0.0 => array.elements_mut().fill(0),
            Acc::I64(array) => array.elements_mut().iter_mut().for_each(|x| *x = x.wrapping_div(count as i64)),
        }
        out
    }
}

impl Tensor {
    /// Combines the elements along the axes pairwise, in the storage type. `None` if there are no elements.
    pub fn combine(&self, axes: &[usize], float: fn(f64, f64) -> f64, int: fn(i128, i128) -> i128) -> Option<Tensor> {
        let rows = Rows::of(self.shape(), axes);
        if rows.n == 0 && !self.is_empty_without(axes) {
            return None;
        }
        with_array!(self, |array: T| {
            let (elements, mut out) = (array.permuted(&rows.order), Vec::with_capacity(rows.count));
            for row in 0..rows.count {
                let row = elements[row * rows.n..][..rows.n].iter().copied();
                out.push(row.reduce(|a, b| a.apply2(b, float, int)).unwrap_or(T::from_int(0)));
            }
            Some(Tensor::from_vec(&rows.kept, out))
        })
    }

    /// For each row, the position of the element that is `better` than all before it. `None` if rows are empty.
    pub fn position_of(&self, axes: &[usize], float: fn(f64, f64) -> bool, int: fn(i128, i128) -> bool) -> Option<Tensor> {
        if self.dtype().is_float() { self.positions(axes, float) } else { self.positions(axes, int) }
    }

    fn positions<W: Wide>(&self, axes: &[usize], better: fn(W, W) -> bool) -> Option<Tensor> {
        let rows = Rows::of(self.shape(), axes);
        if rows.n == 0 && !self.is_empty_without(axes) {
            return None;
        }
        let mut out = Vec::with_capacity(rows.count);
        let (mut at, mut best) = (0, (0, W::ZERO));
        self.permute(&rows.order).each_chunk(|chunk| {
            for &x in chunk {
                if at == 0 || better(x, best.1) {
                    best = (at, x);
                }
                at += 1;
                if at == rows.n {
                    out.push(best.0 as i64);
                    at = 0;
                }
            }
            true
        });
        Some(Tensor::from_vec(&rows.kept, out))
    }

    /// Whether the dimensions other than the axes hold no elements, so that the result is empty.
    fn is_empty_without(&self, axes: &[usize]) -> bool {
        self.shape().iter().enumerate().any(|(axis, &dim)| dim == 0 && !axes.contains(&axis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DType;

    #[test]
    fn reduced_axes_need_not_be_neighbours() {
        let x = Tensor::from_fn(&[2, 3, 4], |i| i as i32);
        let sum = x.to_acc().fold::<Sum>(&[0, 2]).into_tensor(DType::I32);
        assert_eq!((sum.shape(), sum.to_vec::<i32>()), (&[3usize][..], Some(vec![60, 92, 124])));
    }

    #[test]
    fn no_elements_have_a_sum_but_no_maximum() {
        let x = Tensor::from_vec::<f32>(&[2, 0], vec![]);
        assert_eq!(x.to_acc().fold::<Sum>(&[1]).into_tensor(DType::F32).to_vec::<f32>(), Some(vec![0.0, 0.0]));
        assert!(x.combine(&[1], f64::max, Ord::max).is_none());
        assert!(x.combine(&[0], f64::max, Ord::max).is_some_and(|max| max.shape() == [0]));
    }
}
