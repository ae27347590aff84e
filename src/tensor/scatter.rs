//! Scattering: elements of one tensor combined into chosen places of another.

use super::{Tensor, with_array};

impl Tensor {
    /// This tensor with elements of `updates` combined into it one after the other: a pair is a row-major position here and
    /// one there. `None` if the dtypes differ.
    pub fn scatter(
        &self,
        updates: &Tensor,
        pairs: impl Iterator<Item = (usize, usize)>,
        float: fn(f64, f64) -> f64,
        int: fn(i128, i128) -> i128,
    ) -> Option<Tensor> {
        use super::Element;
        with_array!(self, |array: T| {
            let mut elements: Vec<T> = array.iter().copied().collect();
            let updates: Vec<T> = T::unwrap(&updates.data)?.iter().copied().collect();
            for (to, from) in pairs {
                elements[to] = elements[to].apply2(updates[from], float, int);
            }
            Some(Tensor::from_vec(self.shape(), elements))
        })
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
