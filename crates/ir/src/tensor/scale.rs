//! Multiplies the elements of a tensor by factors of their rows and columns, in parallel for large weights.

use super::{Array, Data, Element, Tensor};
use rayon::prelude::*;

/// How many elements one task multiplies at least.
const TASK: usize = 1 << 16;

/// Factors for the rows and columns of a tensor in row-major order.
pub struct RowFactors<'a> {
    /// The number of elements of a row: columns times `inner`.
    pub row: usize,
    /// The number of consecutive elements of one column.
    pub inner: usize,
    /// The factor of a row.
    pub of_row: &'a (dyn Fn(usize) -> f64 + Sync),
    /// The factors of a row's columns; `None` stands for 1.
    pub of_columns: &'a (dyn Fn(usize) -> Option<&'a [f64]> + Sync),
}

impl Tensor {
    /// Multiplies every element by the factors of its row and column, in f64, rounded once. Works in place if nothing else shares
    /// the elements. `None` for a dtype that is no float.
    pub fn scale_rows(mut self, factors: &RowFactors) -> Option<Tensor> {
        match &mut self.data {
            Data::F32(array) => scale(array, factors),
            Data::F64(array) => scale(array, factors),
            Data::F16(array) => scale(array, factors),
            Data::BF16(array) => scale(array, factors),
            _ => return None,
        }
        Some(self)
    }
}

fn scale<T: Element>(array: &mut Array<T>, factors: &RowFactors) {
    let elements = array.elements_mut();
    if factors.row == 0 || factors.inner == 0 {
        return;
    }
    let rows = TASK.div_ceil(factors.row);
    crate::threads::ready();
    elements.par_chunks_mut(rows * factors.row).enumerate().for_each(|(task, part)| {
        for (at, row) in part.chunks_mut(factors.row).enumerate() {
            let at = task * rows + at;
            let factor = (factors.of_row)(at);
            match (factors.of_columns)(at) {
                None => times(row, factor),
                Some(columns) if factors.inner == 1 => {
                    for (element, column) in row.iter_mut().zip(columns) {
                        *element = <T as Element>::from_f64(element.to_f64() * (factor * column));
                    }
                }
                Some(columns) => {
                    for (column, factor) in row.chunks_mut(factors.inner).zip(columns.iter().map(|column| factor * column)) {
                        times(column, factor);
                    }
                }
            }
        }
    });
}

fn times<T: Element>(elements: &mut [T], factor: f64) {
    elements.iter_mut().for_each(|element| *element = <T as Element>::from_f64(element.to_f64() * factor));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns() {
        let x = Tensor::from_fn(&[2, 2, 2], |i| i as f32);
        let columns = [1.0, 10.0];
        let factors = RowFactors { row: 4, inner: 2, of_row: &|row| [1.0, 100.0][row], of_columns: &|_| Some(&columns) };
        let kept = x.clone();
        assert_eq!(x.scale_rows(&factors).expect("floats").to_f64s(), [0.0, 1.0, 20.0, 30.0, 400.0, 500.0, 6000.0, 7000.0]);
        assert_eq!(kept.to_f64s()[7], 7.0);
        let turned = kept.permute(&[2, 1, 0]).scale_rows(&RowFactors { of_columns: &|_| None, ..factors });
        assert_eq!(turned.expect("floats").to_f64s(), [0.0, 4.0, 2.0, 6.0, 100.0, 500.0, 300.0, 700.0]);
    }
}
