//! Summarises a tensor in a line: its type, least and greatest element, their mean, NaN and infinity, the first elements.

use relayc_base::text::format_g;
use relayc_ir::tensor::Tensor;

/// The number of elements shown.
const SHOWN: usize = 6;

/// Statistics of a tensor. Least, mean and greatest cover the finite elements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Census {
    pub(crate) min: f64,
    pub(crate) mean: f64,
    pub(crate) max: f64,
    pub(crate) n_finite: usize,
    pub(crate) n_nan: usize,
    pub(crate) n_infinite: usize,
    /// The row-major position of the first element that is not finite.
    pub(crate) first: Option<usize>,
}

impl Census {
    pub(crate) fn of(tensor: &Tensor) -> Census {
        let mut census =
            Census { min: f64::INFINITY, mean: 0.0, max: f64::NEG_INFINITY, n_finite: 0, n_nan: 0, n_infinite: 0, first: None };
        let mut sum = 0.0;
        for (at, x) in tensor.to_f64s().into_iter().enumerate() {
            if x.is_finite() {
                census.n_finite += 1;
                (census.min, census.max) = (census.min.min(x), census.max.max(x));
                sum += x;
                continue;
            }
            census.first = census.first.or(Some(at));
            if x.is_nan() { census.n_nan += 1 } else { census.n_infinite += 1 }
        }
        census.mean = sum / census.n_finite as f64;
        census
    }

    /// `1 NaN, 2 infinite`.
    pub(crate) fn not_finite(&self) -> String {
        format!("{} NaN, {} infinite", self.n_nan, self.n_infinite)
    }
}

/// `Tensor[(2), float32], min -1, mean 0.75, max 2.5, 0 NaN, 0 infinite: [-1.0, 2.5]`.
pub(crate) fn summary(tensor: &Tensor) -> String {
    let (ty, first) = (tensor.type_text(), tensor.first(SHOWN));
    let census = Census::of(tensor);
    if census.n_finite == 0 {
        return format!("{ty}, {}: {first}", census.not_finite());
    }
    let [min, mean, max] = [census.min, census.mean, census.max].map(format_g);
    format!("{ty}, min {min}, mean {mean}, max {max}, {}: {first}", census.not_finite())
}

/// The index of a row-major position.
pub(crate) fn index_of(tensor: &Tensor, mut at: usize) -> Vec<usize> {
    let mut index: Vec<usize> = tensor
        .shape()
        .iter()
        .rev()
        .map(|&dim| {
            let here = at % dim.max(1);
            at /= dim.max(1);
            here
        })
        .collect();
    index.reverse();
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_is_counted_apart() {
        let tensor = Tensor::from_vec(&[2, 3], vec![1f32, f32::NAN, -3.0, f32::INFINITY, f32::NEG_INFINITY, 5.0]);
        let census = Census::of(&tensor);
        assert_eq!((census.min, census.mean, census.max), (-3.0, 1.0, 5.0));
        assert_eq!((census.n_finite, census.n_nan, census.n_infinite, census.first), (3, 1, 2, Some(1)));
        assert_eq!(
            summary(&tensor),
            "Tensor[(2, 3), float32], min -3, mean 1, max 5, 1 NaN, 2 infinite: [1.0, nan, -3.0, inf, -inf, 5.0]"
        );
        assert_eq!(index_of(&tensor, 4), [1, 1]);
    }

    #[test]
    fn there_may_be_nothing_to_sum_up() {
        assert_eq!(summary(&Tensor::from_vec(&[0], Vec::<i32>::new())), "Tensor[(0), int32], 0 NaN, 0 infinite: []");
        let long = Tensor::from_fn(&[100], |i| i as i64);
        assert_eq!(summary(&long), "Tensor[(100), int64], min 0, mean 49.5, max 99, 0 NaN, 0 infinite: [0, 1, 2, 3, 4, 5, ...]");
    }
}
