//! Reductions: the elements along some axes become one.
//!
//! A reduction sees rows: the kept axes come first, in order, and the reduced ones lie side by side. Results keep the kept
//! axes only; an operator that keeps dimensions reshapes.

use super::{Acc, ArrayT, Element, Real, Tensor, with_array};
use ndarray::IxDyn;

/// How a row of accumulators becomes one.
pub trait Fold {
    fn fold<T: Real>(row: &[T]) -> T;
}

/// The sum, in halves: the rounding error grows with the logarithm of the length.
pub struct Sum;

impl Fold for Sum {
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

impl Fold for Product {
    fn fold<T: Real>(row: &[T]) -> T {
        row.iter().fold(T::ONE, |product, &x| product.mul(x))
    }
}

/// The kept dimensions and the array as rows of `n` elements.
fn rows<T: Element>(array: &ArrayT<T>, axes: &[usize]) -> (Vec<usize>, usize, Vec<T>) {
    let kept: Vec<usize> = (0..array.ndim()).filter(|axis| !axes.contains(axis)).collect();
    let shape: Vec<usize> = kept.iter().map(|&axis| array.shape()[axis]).collect();
    let n = axes.iter().map(|&axis| array.shape()[axis]).product();
    let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
    let moved = array.view().permuted_axes(IxDyn(&order));
    (shape, n, moved.as_standard_layout().iter().copied().collect())
}

/// Every row's result. Rows of no elements are many all the same: as many as the kept dimensions say.
fn reduce_rows<T: Element, U: Element>(array: &ArrayT<T>, axes: &[usize], f: impl Fn(&[T]) -> U) -> ArrayT<U> {
    let (shape, n, elements) = rows(array, axes);
    let count = shape.iter().product::<usize>();
    let results: Vec<U> = (0..count).map(|row| f(&elements[row * n..(row + 1) * n])).collect();
    ArrayT::from_shape_vec(IxDyn(&shape), results).expect("a result for each row")
}

impl Acc {
    /// Reduces the axes, each named once.
    pub fn fold<F: Fold>(&self, axes: &[usize]) -> Acc {
        match self {
            Acc::F32(array) => Acc::F32(reduce_rows(array, axes, F::fold)),
            Acc::F64(array) => Acc::F64(reduce_rows(array, axes, F::fold)),
            Acc::I64(array) => Acc::I64(reduce_rows(array, axes, F::fold)),
        }
    }

    /// Every element divided by a count: nearest for floats, towards zero for integers.
    pub fn div(&self, count: f64) -> Acc {
        match self {
            Acc::F32(array) => Acc::F32(array.map(|x| x / count as f32).into_shared()),
            Acc::F64(array) => Acc::F64(array.map(|x| x / count).into_shared()),
            Acc::I64(array) => {
                Acc::I64(array.map(|&x| if count == 0.0 { 0 } else { x.wrapping_div(count as i64) }).into_shared())
            }
        }
    }
}

impl Tensor {
    /// Combines the elements along the axes two by two, in the storage type. `None` where there are none to combine.
    pub fn combine(&self, axes: &[usize], float: fn(f64, f64) -> f64, int: fn(i128, i128) -> i128) -> Option<Tensor> {
        with_array!(self, |array: T| {
            let n: usize = axes.iter().map(|&axis| array.shape()[axis]).product();
            let both = |a: T, b: T| a.apply2(b, float, int);
            let row = |row: &[T]| row.iter().copied().reduce(both).unwrap_or(T::from_int(0));
            (n > 0 || self.is_empty_without(axes)).then(|| reduce_rows(array, axes, row).into())
        })
    }

    /// For each row, the position of the element that is `better` than all before it. `None` where rows have no elements.
    pub fn position_of(&self, axes: &[usize], float: fn(f64, f64) -> bool, int: fn(i128, i128) -> bool) -> Option<Tensor> {
        with_array!(self, |array: T| {
            let n: usize = axes.iter().map(|&axis| array.shape()[axis]).product();
            let better = |a: T, b: T| if T::IS_FLOAT { float(a.to_f64(), b.to_f64()) } else { int(a.to_int(), b.to_int()) };
            let row = |row: &[T]| (1..row.len()).fold(0, |best, i| if better(row[i], row[best]) { i } else { best }) as i64;
            (n > 0 || self.is_empty_without(axes)).then(|| reduce_rows(array, axes, row).into())
        })
    }

    /// Whether the dimensions other than the axes hold no elements, so that there is nothing to reduce to.
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
