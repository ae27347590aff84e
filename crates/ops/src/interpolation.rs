//! Interpolation: the elements along an axis around a coordinate, and their weights.
//!
//! An interpolated value is the sum over all combinations of the axes' elements, the last axis innermost: `sum over z of wz * sum
//! over y of wy * sum over x of wx * data[z, y, x]`.

use crate::eval::Work;
use relayc_ir::tensor::Float;
use smallvec::{SmallVec, smallvec};

/// The work of an operator that interpolates: what each position of the result along an axis takes of the data.
pub(crate) const TAPS: Work = Work::Elements { float: 64, other: 96 };

/// Positions along an axis with their weights. An empty list gives 0.
pub(crate) type Taps<T> = SmallVec<[(usize, T); 4]>;

/// The positions and weights on one to three axes.
pub(crate) type Point<'a, T> = SmallVec<[&'a Taps<T>; 3]>;

/// The integer below a coordinate, and how far above it lies.
fn split<T: Float>(x: T) -> (i64, T) {
    let floor = x.to_f64().floor();
    (floor as i64, x - T::at(floor))
}

/// The two neighbours of linear interpolation; positions may be outside the data.
pub(crate) fn linear<T: Float>(x: T) -> [(i64, T); 2] {
    let (below, t) = split(x);
    [(below, T::ONE - t), (below.saturating_add(1), t)]
}

/// The four neighbours by the cubic convolution of Keys (*Cubic convolution interpolation for digital image processing*, 1981),
/// with the coefficient `alpha`.
pub(crate) fn cubic<T: Float>(x: T, alpha: f64) -> [(i64, T); 4] {
    let (below, t) = split(x);
    let (a, n) = (T::at(alpha), T::at);
    let (t2, t3) = (t * t, t * t * t);
    let weights = [
        a * (t3 - n(2.0) * t2 + t),
        (a + n(2.0)) * t3 - (n(3.0) + a) * t2 + n(1.0),
        -(a + n(2.0)) * t3 + (n(3.0) + n(2.0) * a) * t2 - a * t,
        -a * t3 + a * t2,
    ];
    [-1, 0, 1, 2].map(|step: i64| (below.saturating_add(step), weights[(step + 1) as usize]))
}

/// Clamps positions outside an axis to its ends.
pub(crate) fn clamped<T: Float>(points: &[(i64, T)], n: usize) -> Taps<T> {
    let Some(last) = n.checked_sub(1) else { return smallvec![] };
    points.iter().map(|&(at, weight)| (at.clamp(0, last as i64) as usize, weight)).collect()
}

/// Drops positions outside an axis.
pub(crate) fn inside<T: Float>(points: &[(i64, T)], n: usize) -> Taps<T> {
    let place = |&(at, weight): &(i64, T)| usize::try_from(at).ok().filter(|&at| at < n).map(|at| (at, weight));
    points.iter().filter_map(place).collect()
}

/// The interpolated value of a point in data of these dimensions.
pub(crate) fn interpolate<T: Float>(data: &[T], dims: &[usize], point: &[&Taps<T>]) -> T {
    let sum = |taps: &Taps<T>, value: &dyn Fn(usize) -> T| {
        taps.iter().map(|&(at, weight)| value(at) * weight).reduce(|a, b| a + b).unwrap_or(T::ZERO)
    };
    match (point, dims) {
        (&[x], _) => sum(x, &|x| data[x]),
        (&[y, x], &[_, w]) => sum(y, &|y| sum(x, &|x| data[y * w + x])),
        (&[z, y, x], &[_, h, w]) => sum(z, &|z| sum(y, &|y| sum(x, &|x| data[(z * h + y) * w + x]))),
        _ => T::ZERO,
    }
}

/// The row-major position of a point with a single position on each axis.
pub(crate) fn only<T: Float>(dims: &[usize], point: &[&Taps<T>]) -> Option<usize> {
    point.iter().zip(dims).try_fold(0, |position, (taps, &dim)| Some(position * dim + taps.first()?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one() {
        for x in [-1.25, 0.0, 0.75, 3.5] {
            for alpha in [-0.5, -0.75] {
                assert_eq!(cubic(x, alpha).iter().map(|&(_, w)| w).sum::<f64>(), 1.0);
            }
            assert_eq!(linear(x).iter().map(|&(at, w)| at as f64 * w).sum::<f64>(), x);
        }
    }

    #[test]
    fn wild_coordinates_stay_inside() {
        for x in [f32::NAN, f32::INFINITY, -f32::INFINITY, 1e30, -1e30] {
            assert!(clamped(&linear(x), 3).iter().all(|&(at, _)| at < 3));
            assert!(inside(&cubic(x, -0.5), 3).iter().all(|&(at, _)| at < 3));
        }
        assert!(clamped(&linear(0.5f32), 0).is_empty());
    }

    #[test]
    fn the_middle_of_a_cube() {
        let data: Vec<f64> = (0..8).map(f64::from).collect();
        let half = clamped(&linear(0.5), 2);
        assert_eq!(interpolate(&data, &[2, 2, 2], &[&half; 3]), 3.5);
        assert_eq!(only::<f64>(&[2, 4], &[&clamped(&[(1, 1.0)], 2), &clamped(&[(2, 1.0)], 4)]), Some(6));
    }
}
