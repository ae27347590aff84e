//! Scatter: combines elements of one tensor into given positions of another.

use super::chunks::CHUNK;
use super::{Element, Tensor, with_data};

impl Tensor {
    /// Combines elements of `updates` into a copy of this tensor, one after the other. A pair is a row-major position in this
    /// tensor and one in `updates`. `None` if the dtypes differ.
    pub fn scatter(
        &self,
        updates: &Tensor,
        mut pairs: impl Iterator<Item = (usize, usize)>,
        float: fn(f64, f64) -> f64,
        int: fn(i128, i128) -> i128,
    ) -> Option<Tensor> {
        if updates.dtype() != self.dtype() {
            return None;
        }
        let mut out = self.clone();
        let mut chunk = Vec::with_capacity(CHUNK);
        loop {
            chunk.clear();
            chunk.extend(pairs.by_ref().take(CHUNK));
            if chunk.is_empty() {
                return Some(out);
            }
            with_data!(&mut out.data, |array: T| {
                let (elements, updates) = (array.elements_mut(), updates.as_array::<T>()?);
                for &(to, from) in &chunk {
                    elements[to] = elements[to].apply2(updates[from], float, int);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_pairs_see_what_earlier_ones_did() {
        let (x, updates) = (Tensor::from_vec(&[3], vec![1i8, 2, 3]), Tensor::from_vec(&[2], vec![100i8, 60]));
        let sum = x.scatter(&updates, [(0, 0), (0, 1), (2, 1)].into_iter(), |a, b| a + b, |a, b| a + b);
        assert_eq!(sum.and_then(|sum| sum.to_vec::<i8>()), Some(vec![-95, 2, 63]));
        assert!(x.scatter(&Tensor::scalar(1i16), std::iter::empty(), |a, _| a, |a, _| a).is_none());
    }
}
