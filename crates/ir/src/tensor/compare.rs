//! Compares two tensors with a tolerance: counts the elements that differ and finds the worst one.
//!
//! Floats agree if `|got − expected| ≤ atol + rtol·|expected|`, as in `numpy.allclose`. In addition, NaN equals NaN, and an
//! infinity agrees only with itself. Integers and bool agree if they are equal, whatever the tolerance.

use super::Tensor;
use super::chunks::{CHUNK, Wide};
use super::text::element_text;
use crate::types::DType;

/// The largest allowed difference of two floats: `atol + rtol·|expected|`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    pub rtol: f64,
    pub atol: f64,
}

impl Tolerance {
    /// Requires equal bits, except that NaN equals NaN and −0 equals 0.
    pub(crate) const EXACT: Tolerance = Tolerance { rtol: 0.0, atol: 0.0 };
}

impl Default for Tolerance {
    /// The defaults of the command line: 1e-5 relative, 1e-6 absolute.
    fn default() -> Tolerance {
        Tolerance { rtol: 1e-5, atol: 1e-6 }
    }
}

/// Why two tensors cannot be compared element by element.
#[derive(Clone, PartialEq, Debug)]
pub enum Incomparable {
    Shape { got: Vec<usize>, expected: Vec<usize> },
    DType { got: DType, expected: DType },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    pub n_elements: usize,
    pub n_mismatches: usize,
    /// The worst element: a mismatch if there is one, else the largest difference within the tolerance. `None` if no element
    /// differs.
    pub worst: Option<Worst>,
    /// The largest difference relative to the expected element. It is infinite if only the expected element is 0, or if only one
    /// of the two is finite.
    pub max_rel: f64,
}

impl Comparison {
    pub fn agrees(&self) -> bool {
        self.n_mismatches == 0
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Worst {
    pub index: Vec<usize>,
    /// As [`Tensor::preview`] prints it, so that 64-bit integers stay exact.
    pub got: String,
    pub expected: String,
    /// `|got − expected|`; infinite if only one is NaN.
    pub abs: f64,
    /// `abs / |expected|`.
    pub rel: f64,
}

/// Compares two tensors of one dtype and shape.
pub fn compare(got: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Result<Comparison, Incomparable> {
    if got.dtype() != expected.dtype() {
        return Err(Incomparable::DType { got: got.dtype(), expected: expected.dtype() });
    }
    if got.shape() != expected.shape() {
        return Err(Incomparable::Shape { got: got.shape().to_vec(), expected: expected.shape().to_vec() });
    }
    Ok(if got.dtype().is_float() {
        elements(got, expected, distance, |x: f64| x.abs(), tolerance)
    } else {
        elements(got, expected, |a: i128, b: i128| a.abs_diff(b) as f64, |x| (x as f64).abs(), Tolerance::EXACT)
    })
}

/// The comparison by the distance of two elements and the size of one, in the numbers that elements are converted to.
fn elements<W: Wide>(
    got: &Tensor,
    expected: &Tensor,
    distance: fn(W, W) -> f64,
    size: fn(W) -> f64,
    tolerance: Tolerance,
) -> Comparison {
    let (mut n_elements, mut n_mismatches, mut max_rel) = (0, 0, 0.0f64);
    let mut worst: Option<(bool, f64, usize, f64)> = None;
    let mut others = [W::ZERO; CHUNK];
    got.each_chunk(|chunk| {
        let others = &mut others[..chunk.len()];
        expected.load(n_elements, others);
        for (&got, &mut expected) in chunk.iter().zip(others) {
            let abs = distance(got, expected);
            let allowed = tolerance.atol + tolerance.rtol * size(expected);
            // A tolerance that is not finite (the expectation is infinite) allows nothing but equality.
            let mismatch = abs > 0.0 && !(allowed.is_finite() && abs <= allowed);
            n_mismatches += usize::from(mismatch);
            if abs > 0.0 {
                // A difference as a share of the expected element; infinite where one of the two is not finite.
                let rel = if abs.is_infinite() { f64::INFINITY } else { abs / size(expected) };
                max_rel = max_rel.max(rel);
                if worst.is_none_or(|(m, a, ..)| (mismatch, abs) > (m, a)) {
                    worst = Some((mismatch, abs, n_elements, rel));
                }
            }
            n_elements += 1;
        }
        true
    });
    let worst = worst.map(|(_, abs, position, rel)| Worst {
        index: index_of(position, got.shape()),
        got: element_text(got, position),
        expected: element_text(expected, position),
        abs,
        rel,
    });
    Comparison { n_elements, n_mismatches, worst, max_rel }
}

/// `|got − expected|`: 0 for two NaNs and equal infinities, infinite where only one is NaN.
fn distance(got: f64, expected: f64) -> f64 {
    if got == expected || (got.is_nan() && expected.is_nan()) {
        0.0
    } else if got.is_nan() || expected.is_nan() {
        f64::INFINITY
    } else {
        (got - expected).abs()
    }
}

/// The indices of a row-major position.
fn index_of(mut position: usize, shape: &[usize]) -> Vec<usize> {
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&dim| {
            let at = position % dim.max(1);
            position /= dim.max(1);
            at
        })
        .collect();
    index.reverse();
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOSE: Tolerance = Tolerance { rtol: 0.0, atol: 0.1 };

    fn of(got: f32, expected: f32, tolerance: Tolerance) -> bool {
        compare(&Tensor::scalar(got), &Tensor::scalar(expected), tolerance).expect("one type").agrees()
    }

    #[test]
    fn special_values() {
        assert!(of(f32::NAN, f32::NAN, Tolerance::EXACT));
        assert!(!of(f32::NAN, 0.0, Tolerance { rtol: 1.0, atol: f64::MAX }));
        assert!(of(f32::INFINITY, f32::INFINITY, Tolerance::EXACT));
        assert!(!of(f32::INFINITY, f32::NEG_INFINITY, LOOSE));
        assert!(!of(1.0, f32::INFINITY, Tolerance { rtol: 1.0, atol: 0.0 }));
        assert!(of(-0.0, 0.0, Tolerance::EXACT));
    }

    #[test]
    fn a_number_is_infinitely_far_from_what_is_none() {
        for (got, expected) in [(1.0, f32::INFINITY), (1.0, f32::NAN), (f32::NAN, 1.0), (f32::NEG_INFINITY, f32::INFINITY)] {
            let report = compare(&Tensor::scalar(got), &Tensor::scalar(expected), LOOSE).expect("one type");
            let worst = report.worst.expect("they differ");
            assert_eq!([worst.abs, worst.rel, report.max_rel], [f64::INFINITY; 3], "{got} for {expected}");
        }
    }

    #[test]
    fn the_tolerance_is_relative_to_the_expectation() {
        let tolerance = Tolerance { rtol: 0.1, atol: 0.0 };
        assert!(of(110.0, 100.0, tolerance));
        assert!(!of(111.0, 100.0, tolerance));
        assert!(!of(0.01, 0.0, tolerance));
        assert!(of(0.05, 0.0, LOOSE));
    }

    #[test]
    fn integers_are_exact() {
        let (a, b) = (Tensor::scalar(i64::MAX), Tensor::scalar(i64::MAX - 1));
        let report = compare(&a, &b, LOOSE).expect("one type");
        assert!(!report.agrees());
        let worst = report.worst.expect("they differ");
        assert_eq!((worst.got.as_str(), worst.expected.as_str()), ("9223372036854775807", "9223372036854775806"));
        assert_eq!(worst.abs, 1.0);
    }

    #[test]
    fn the_worst_element_is_named() {
        let a = Tensor::from_vec(&[2, 2], vec![1.0f32, 2.0, 3.5, 4.25]);
        let b = Tensor::from_vec(&[2, 2], vec![1.0f32, 2.0, 3.0, 4.0]);
        let report = compare(&a, &b, Tolerance::EXACT).expect("one type");
        let worst = report.worst.expect("they differ");
        assert_eq!((report.n_elements, report.n_mismatches), (4, 2));
        assert_eq!((worst.index.as_slice(), worst.abs), ([1, 0].as_slice(), 0.5));
    }

    #[test]
    fn shapes_and_dtypes_must_agree() {
        let x = Tensor::from_fn(&[2], |i| i as f32);
        assert!(matches!(compare(&x, &Tensor::scalar(0f32), LOOSE), Err(Incomparable::Shape { .. })));
        assert!(matches!(compare(&x, &Tensor::from_fn(&[2], |i| i as f64), LOOSE), Err(Incomparable::DType { .. })));
    }
}
