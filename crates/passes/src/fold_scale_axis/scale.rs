//! A factor for each channel of a tensor.

use crate::build::rounded;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;

/// Factors that are the same along most axes of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Scale {
    /// The lengths of the axes, as many as the tensor has; each is 1 or the tensor's.
    pub(crate) shape: Vec<usize>,
    /// The factors in row-major order.
    pub(crate) factors: Vec<f64>,
}

impl Scale {
    /// The factors by which a constant multiplies a tensor of this shape; `None` if the product has another shape.
    pub(crate) fn of(constant: &Tensor, shape: &[i64]) -> Option<Scale> {
        let missing = shape.len().checked_sub(constant.rank())?;
        let own = [vec![1; missing], constant.shape().to_vec()].concat();
        let fits = own.iter().zip(shape).all(|(&own, &dim)| own == 1 || own as i64 == dim);
        fits.then(|| Scale { shape: own, factors: constant.to_f64s() })
    }

    /// The inverse factors.
    pub(crate) fn inverse(mut self) -> Scale {
        self.factors.iter_mut().for_each(|factor| *factor = 1.0 / *factor);
        self
    }

    /// Whether weights and constants can be multiplied or divided by the factors without leaving the range of a dtype; float16
    /// has a small range. False for a factor of 0, because it changes the signs of zeros.
    pub(crate) fn is_moderate(&self, dtype: DType) -> bool {
        let limit = if dtype == DType::F16 { 16.0 } else { 2f64.powi(40) };
        self.factors.iter().all(|factor| (1.0 / limit..=limit).contains(&factor.abs()))
    }

    /// Whether `max(x, 0) * s == max(x * s, 0)`.
    pub(crate) fn is_positive(&self) -> bool {
        self.factors.iter().all(|factor| *factor >= 0.0)
    }

    /// Whether the factors are constant along all of these axes.
    pub(crate) fn is_even_along(&self, axes: impl IntoIterator<Item = usize>) -> bool {
        axes.into_iter().all(|axis| self.shape.get(axis) == Some(&1))
    }

    /// Whether all factors are equal.
    pub(crate) fn is_uniform(&self) -> bool {
        self.factors.len() == 1
    }

    /// The same factor for a tensor of another rank; requires equal factors.
    pub(crate) fn uniform(&self, rank: usize) -> Scale {
        Scale { shape: vec![1; rank], factors: self.factors.clone() }
    }

    /// A factor for each channel. The channels lie along `axes`, the outermost first, and `dims` are the lengths of these axes.
    /// `None` where the factors differ along other axes.
    pub(crate) fn channels(&self, axes: &[usize], dims: &[usize]) -> Option<Vec<f64>> {
        if !self.is_even_along((0..self.shape.len()).filter(|axis| !axes.contains(axis))) {
            return None;
        }
        let stride = |axis: usize| self.shape[axis + 1..].iter().product::<usize>();
        let steps: Vec<usize> = axes.iter().map(|&axis| if self.shape[axis] == 1 { 0 } else { stride(axis) }).collect();
        let n: usize = dims.iter().product();
        let at = |channel: usize| {
            let digits = dims.iter().rev().scan(channel, |rest, &dim| {
                let digit = *rest % dim;
                *rest /= dim;
                Some(digit)
            });
            digits.zip(steps.iter().rev()).map(|(digit, step)| digit * step).sum::<usize>()
        };
        (0..n).map(|channel| self.factors.get(at(channel)).copied()).collect()
    }

    /// The inverse of [`Scale::channels`], for a tensor of `rank` axes.
    pub(crate) fn from_channels(rank: usize, axes: &[usize], dims: &[usize], factors: &[f64]) -> Scale {
        if let [first, rest @ ..] = factors
            && rest.iter().all(|factor| factor == first)
        {
            return Scale { shape: vec![1; rank], factors: vec![*first] };
        }
        let mut shape = vec![1; rank];
        axes.iter().zip(dims).for_each(|(&axis, &dim)| shape[axis] = dim);
        // Channel numbers laid out with the outermost axis first, moved to where the axes are.
        let mut order: Vec<usize> = (0..axes.len()).collect();
        order.sort_by_key(|&at| axes[at]);
        let by_axes = Tensor::from_vec(dims, factors.to_vec());
        Scale { shape, factors: by_axes.permute(&order).to_f64s() }
    }

    /// The factors of the transposed tensor: its axis `i` is axis `axes[i]` of this one.
    pub(crate) fn permuted(&self, axes: &[usize]) -> Scale {
        let moved = self.tensor().permute(axes);
        Scale { shape: moved.shape().to_vec(), factors: moved.to_f64s() }
    }

    /// The inverse of [`Scale::permuted`].
    pub(crate) fn permuted_back(&self, axes: &[usize]) -> Scale {
        let mut back = vec![0; axes.len()];
        axes.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
        self.permuted(&back)
    }

    /// The factors of a slice of the tensor along an axis.
    pub(crate) fn part(&self, axis: usize, start: usize, n: usize) -> Scale {
        if self.shape[axis] == 1 {
            return self.clone();
        }
        let part = self.tensor().take_range(axis, start as i64, 1, n);
        Scale { shape: part.shape().to_vec(), factors: part.to_f64s() }
    }

    /// The factors of a longer tensor whose slice along `axis` from `start` has these factors; the rest get 1. `None` where the
    /// factors differ along other axes.
    pub(crate) fn whole(&self, axis: usize, start: usize, n: usize, length: usize) -> Option<Scale> {
        let own = self.channels(&[axis], &[n])?;
        let mut factors = vec![1.0; length];
        factors.get_mut(start..start + n)?.copy_from_slice(&own);
        Some(Scale::from_channels(self.shape.len(), &[axis], &[length], &factors))
    }

    /// The factors as a tensor that broadcasts.
    pub(crate) fn tensor(&self) -> Tensor {
        Tensor::from_vec(&self.shape, self.factors.clone())
    }

    /// A constant times the factors, rounded once to its own dtype; `None` if it leaves the range of that, or is larger than both.
    pub(crate) fn times(&self, constant: &Tensor) -> Option<Tensor> {
        let product = constant.cast(DType::F64)?.zip(&self.tensor(), |x, s| x * s, |x, _| x)?;
        if product.len() > constant.len().max(self.factors.len()) {
            return None;
        }
        rounded(&product, constant.dtype())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_in_blocks() {
        let constant = Tensor::from_fn(&[2, 1, 1, 3], |i| i as f32);
        let scale = Scale::of(&constant, &[5, 2, 7, 7, 3]).expect("it broadcasts");
        let channels = scale.channels(&[1, 4], &[2, 3]).expect("along these axes only");
        assert_eq!(channels, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(Scale::from_channels(5, &[1, 4], &[2, 3], &channels), scale);
        assert_eq!(scale.channels(&[1], &[2]), None);
        let inner_first = Scale::from_channels(2, &[1, 0], &[2, 3], &channels);
        assert_eq!(
            (inner_first.shape.as_slice(), inner_first.factors.as_slice()),
            (&[3, 2][..], &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0][..])
        );
        assert_eq!(inner_first.channels(&[1, 0], &[2, 3]), Some(channels));
        assert_eq!(Scale::of(&constant, &[2, 7, 7, 1]), None);
    }

    #[test]
    fn parts_of_wholes() {
        let scale = Scale { shape: vec![1, 4], factors: vec![1.0, 2.0, 3.0, 4.0] };
        let part = scale.part(1, 1, 2);
        assert_eq!(part.factors, [2.0, 3.0]);
        assert_eq!(part.whole(1, 1, 2, 4).map(|whole| whole.factors), Some(vec![1.0, 2.0, 3.0, 1.0]));
        assert_eq!(scale.permuted(&[1, 0]).permuted_back(&[1, 0]), scale);
    }

    #[test]
    fn constants_stay_in_range() {
        let scale = Scale { shape: vec![2], factors: vec![2.0, 4.0] };
        assert_eq!(scale.times(&Tensor::scalar(3f32)).map(|x| x.to_f64s()), Some(vec![6.0, 12.0]));
        assert_eq!(scale.times(&Tensor::scalar(f32::MAX)), None);
        let smaller = Scale { shape: vec![1], factors: vec![0.5] };
        assert_eq!(smaller.times(&Tensor::scalar(f32::MIN_POSITIVE)), None);
        assert_eq!(smaller.times(&Tensor::scalar(0f32)).map(|x| x.to_f64s()), Some(vec![0.0]));
        assert_eq!(scale.times(&Tensor::from_fn(&[3, 1], |i| i as f32)), None);
    }
}
