//! Fast Fourier transforms of rows of any length, in f64.
//!
//! A length whose prime factors are small is split by them, in Stockham's order. Another becomes a convolution whose length is a
//! power of two (Bluestein). So the work for `n` numbers is of the order `n log n`.

use std::f64::consts::FRAC_PI_2;
use std::mem::swap;

/// A number's real and imaginary part.
pub(super) type Complex = (f64, f64);

/// The largest factor that a length is split by.
const MAX_RADIX: usize = 31;

/// The forward transform of rows of one length: `out[n] = sum(row[k] * exp(-2πi n k / length))`.
pub(super) enum Fft {
    Split {
        radices: Vec<usize>,
        /// `exp(-2πi k / length)` for every `k` below the length.
        roots: Vec<Complex>,
    },
    Convolve {
        /// `exp(-πi k² / length)`.
        chirp: Vec<Complex>,
        /// The transform of the conjugate chirp, over the length of `inner`.
        filter: Vec<Complex>,
        inner: Box<Fft>,
    },
}

impl Fft {
    /// Plans the transform of rows of `length` numbers, at least one.
    pub(super) fn new(length: usize) -> Fft {
        if let Some(radices) = radices(length) {
            return Fft::Split { radices, roots: (0..length).map(|k| root(k, length)).collect() };
        }
        // As kn = (k² + n² - (n - k)²) / 2, each result is a sum of products of what depends on k, on n and on n - k.
        let square = |k: usize| (k as u128 * k as u128 % (2 * length as u128)) as usize;
        let chirp: Vec<Complex> = (0..length).map(|k| root(square(k), 2 * length)).collect();
        let wide = (2 * length - 1).next_power_of_two();
        let mut filter = vec![(0.0, 0.0); wide];
        for (k, &(re, im)) in chirp.iter().enumerate() {
            let conjugate = (re / wide as f64, -im / wide as f64);
            filter[k] = conjugate;
            filter[(wide - k) % wide] = conjugate;
        }
        let inner = Fft::new(wide);
        inner.transform(&mut filter);
        Fft::Convolve { chirp, filter, inner: Box::new(inner) }
    }

    /// Transforms a row in place.
    pub(super) fn transform(&self, row: &mut [Complex]) {
        match self {
            Fft::Split { radices, roots } => split(radices, roots, row),
            Fft::Convolve { chirp, filter, inner } => {
                let mut wide: Vec<Complex> = row.iter().zip(chirp).map(|(&x, &chirp)| times(x, chirp)).collect();
                wide.resize(filter.len(), (0.0, 0.0));
                inner.transform(&mut wide);
                // The inverse transform is the forward one with real and imaginary parts exchanged.
                for (x, &filter) in wide.iter_mut().zip(filter) {
                    let (re, im) = times(*x, filter);
                    *x = (im, re);
                }
                inner.transform(&mut wide);
                for (out, (&(im, re), &chirp)) in row.iter_mut().zip(wide.iter().zip(chirp)) {
                    *out = times((re, im), chirp);
                }
            }
        }
    }
}

/// The factors of a length, none over [`MAX_RADIX`]; `None` if it has a larger prime factor.
fn radices(mut length: usize) -> Option<Vec<usize>> {
    let mut radices = vec![];
    for radix in [4, 2].into_iter().chain((3..=MAX_RADIX).step_by(2)) {
        while length.is_multiple_of(radix) {
            radices.push(radix);
            length /= radix;
        }
    }
    (length == 1).then_some(radices)
}

/// `exp(-2πi k / n)`, exact at quarters of a turn.
fn root(k: usize, n: usize) -> Complex {
    let (sin, cos) = (FRAC_PI_2 * ((4 * k % n) as f64 / n as f64)).sin_cos();
    match 4 * k / n {
        0 => (cos, -sin),
        1 => (-sin, -cos),
        2 => (-cos, sin),
        _ => (sin, cos),
    }
}

fn times((a, b): Complex, (c, d): Complex) -> Complex {
    (a * c - b * d, a * d + b * c)
}

fn split(radices: &[usize], roots: &[Complex], row: &mut [Complex]) {
    let mut other = vec![(0.0, 0.0); row.len()];
    let (mut from, mut to) = (row, &mut other[..]);
    let mut done = 1;
    for &radix in radices {
        pass(from, to, roots, done, radix);
        done *= radix;
        swap(&mut from, &mut to);
    }
    // After an odd number of passes the row is the other buffer.
    if !radices.len().is_multiple_of(2) {
        to.copy_from_slice(from);
    }
}

/// Joins transforms of `done` numbers, of which `from` has many that alternate, to transforms of `radix` times as many.
fn pass(from: &[Complex], to: &mut [Complex], roots: &[Complex], done: usize, radix: usize) {
    // The usual factors are constants in loops of their own.
    match radix {
        2 => pass_by(from, to, roots, done, 2),
        3 => pass_by(from, to, roots, done, 3),
        4 => pass_by(from, to, roots, done, 4),
        5 => pass_by(from, to, roots, done, 5),
        _ => pass_by(from, to, roots, done, radix),
    }
}

#[inline(always)]
fn pass_by(from: &[Complex], to: &mut [Complex], roots: &[Complex], done: usize, radix: usize) {
    let (inner, whole) = (from.len() / (done * radix), from.len() / radix);
    let (mut terms, mut turns) = ([(0.0, 0.0); MAX_RADIX], [(0.0, 0.0); MAX_RADIX]);
    let (terms, turns) = (&mut terms[..radix], &mut turns[..radix]);
    for at in 0..done {
        turns.iter_mut().enumerate().for_each(|(r, turn)| *turn = roots[at * inner * r]);
        for k in 0..inner {
            let from = &from[at * inner * radix + k..];
            for (r, (term, &turn)) in terms.iter_mut().zip(turns.iter()).enumerate() {
                *term = times(from[r * inner], turn);
            }
            let to = &mut to[at * inner + k..];
            join(terms, roots, |q, x| to[q * whole] = x);
        }
    }
}

/// The transform of a few numbers, which are overwritten.
#[inline(always)]
fn join(terms: &mut [Complex], roots: &[Complex], mut put: impl FnMut(usize, Complex)) {
    match *terms {
        [a, b] => {
            put(0, (a.0 + b.0, a.1 + b.1));
            put(1, (a.0 - b.0, a.1 - b.1));
        }
        [a, b, c, d] => {
            let (even, odd) = ((a.0 + c.0, a.1 + c.1), (b.0 + d.0, b.1 + d.1));
            put(0, (even.0 + odd.0, even.1 + odd.1));
            put(2, (even.0 - odd.0, even.1 - odd.1));
            let (even, odd) = ((a.0 - c.0, a.1 - c.1), (b.0 - d.0, b.1 - d.1));
            put(1, (even.0 + odd.1, even.1 - odd.0));
            put(3, (even.0 - odd.1, even.1 + odd.0));
        }
        _ => join_odd(terms, roots, put),
    }
}

/// As [`join`], for an odd number. Terms `r` and `-r` turn by conjugate roots: their sum takes the real part and their difference the
/// imaginary part.
#[inline(always)]
fn join_odd(terms: &mut [Complex], roots: &[Complex], mut put: impl FnMut(usize, Complex)) {
    let (radix, half, first) = (terms.len(), terms.len() / 2, terms[0]);
    let mut sum = first;
    for r in 1..=half {
        let (x, y) = (terms[r], terms[radix - r]);
        terms[r] = (x.0 + y.0, x.1 + y.1);
        terms[radix - r] = (x.0 - y.0, x.1 - y.1);
        sum = (sum.0 + terms[r].0, sum.1 + terms[r].1);
    }
    put(0, sum);
    let step = roots.len() / radix;
    for q in 1..=half {
        let (mut even, mut odd, mut turn) = (first, (0.0, 0.0), 0);
        for r in 1..=half {
            turn += q;
            if turn >= radix {
                turn -= radix;
            }
            let ((cos, sin), sum, difference) = (roots[turn * step], terms[r], terms[radix - r]);
            even = (even.0 + cos * sum.0, even.1 + cos * sum.1);
            odd = (odd.0 + sin * difference.0, odd.1 + sin * difference.1);
        }
        put(q, (even.0 - odd.1, even.1 + odd.0));
        put(radix - q, (even.0 + odd.1, even.1 - odd.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_agree_with_the_sum_that_defines_them() {
        // Powers of two, small factors, a small prime, and lengths that become convolutions.
        for length in [1, 2, 3, 4, 8, 30, 31, 37, 64, 74, 100, 961, 1009] {
            let row: Vec<Complex> = (0..length).map(|i| ((i * i % 7) as f64 - 3.0, (i % 5) as f64 - 2.0)).collect();
            let mut found = row.clone();
            Fft::new(length).transform(&mut found);
            for (n, (re, im)) in found.into_iter().enumerate() {
                let term = |(k, &x): (usize, &Complex)| times(x, root(n * k % length, length));
                let sum = row.iter().enumerate().map(term).fold((0.0, 0.0), |sum, x| (sum.0 + x.0, sum.1 + x.1));
                assert!((re - sum.0).hypot(im - sum.1) < 1e-11, "{n} of {length}: {re} {im} for {sum:?}");
            }
        }
    }
}
