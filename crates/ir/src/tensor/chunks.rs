//! Elements as wider numbers, a chunk at a time.
//!
//! For each of thirteen element types only the loops that convert are compiled; what is computed in between is compiled once, as a
//! loop over a chunk. i64 holds every integer dtype modulo 2^64, so results of integers that are stored again need nothing wider.

use super::array::Array;
use super::bytes::{Pending, pending};
use super::{Element, Tensor, with_data};
use crate::types::DType;
use std::ops::Range;

/// So many elements are converted at once: they stay in the first cache.
pub(super) const CHUNK: usize = 256;

/// The positions of so many elements, a chunk at a time.
pub(super) fn chunks(n: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(CHUNK).map(move |start| start..n.min(start + CHUNK))
}

/// A number that elements are converted to: f64 for floats, i64 or i128 for integers and bool.
pub(super) trait Wide: Copy {
    const ZERO: Self;

    /// The elements from a position on.
    fn load(from: &Tensor, at: usize, out: &mut [Self]);

    /// Appends elements: floats are rounded once, integers wrap.
    fn store(to: &mut dyn Pending, values: &[Self]);
}

macro_rules! wide {
    ($ty:ty, $zero:expr, |$x:ident| $load:expr, $store:ident) => {
        impl Wide for $ty {
            const ZERO: $ty = $zero;

            fn load(from: &Tensor, at: usize, out: &mut [$ty]) {
                with_data!(&from.data, |array| load(array, at, out, |$x| $load))
            }

            fn store(to: &mut dyn Pending, values: &[$ty]) {
                to.$store(values)
            }
        }
    };
}

wide!(f64, 0.0, |x| x.to_f64(), extend_floats);
wide!(i64, 0, |x| x.to_int() as i64, extend_ints);
wide!(i128, 0, |x| x.to_int(), extend_wide_ints);

fn load<T: Element, W>(array: &Array<T>, at: usize, out: &mut [W], of: impl Fn(T) -> W) {
    let from = &array[at..at + out.len()];
    out.iter_mut().zip(from).for_each(|(out, &x)| *out = of(x));
}

/// Fills a chunk of bools from a pair of chunks.
type Decide<'a, W> = &'a dyn Fn(&[W], &[W], &mut [bool]);

impl Tensor {
    /// As many elements as `out` has, from a position on.
    pub(super) fn load<W: Wide>(&self, at: usize, out: &mut [W]) {
        W::load(self, at, out)
    }

    /// The element at a position.
    pub(super) fn at<W: Wide>(&self, at: usize) -> W {
        let mut out = [W::ZERO];
        self.load(at, &mut out);
        out[0]
    }

    /// Every element.
    pub(super) fn all<W: Wide>(&self) -> Vec<W> {
        let mut out = Vec::with_capacity(self.len());
        self.each_chunk(|chunk| {
            out.extend_from_slice(chunk);
            true
        });
        out
    }

    /// Calls `f` with the elements, a chunk at a time, until it says that it has seen enough.
    pub(super) fn each_chunk<W: Wide>(&self, mut f: impl FnMut(&[W]) -> bool) {
        let mut chunk = [W::ZERO; CHUNK];
        for range in chunks(self.len()) {
            let chunk = &mut chunk[..range.len()];
            self.load(range.start, chunk);
            if !f(chunk) {
                return;
            }
        }
    }

    /// A tensor of numbers that `f` writes a chunk at a time, in row-major order.
    pub(super) fn of_chunks<W: Wide>(dtype: DType, shape: &[usize], mut f: impl FnMut(&mut [W])) -> Option<Tensor> {
        let n = shape.iter().product();
        let mut out = pending(dtype)?;
        out.reserve(n).unwrap_or_else(|error| panic!("no memory for {n} elements: {error}"));
        let mut chunk = [W::ZERO; CHUNK];
        for range in chunks(n) {
            let chunk = &mut chunk[..range.len()];
            f(chunk);
            W::store(&mut *out, chunk);
        }
        Some(out.finish(shape))
    }

    /// The elements as `f` changes them, stored as a dtype.
    pub(super) fn convert<W: Wide>(&self, dtype: DType, f: &dyn Fn(&mut [W])) -> Option<Tensor> {
        let mut at = 0;
        Tensor::of_chunks(dtype, self.shape(), |chunk: &mut [W]| {
            self.load(at, chunk);
            at += chunk.len();
            f(chunk);
        })
    }

    /// The elements as `f` changes them by those of a tensor of the same shape and dtype.
    pub(super) fn join<W: Wide>(&self, other: &Tensor, f: &dyn Fn(&mut [W], &[W])) -> Option<Tensor> {
        let (mut at, mut others) = (0, [W::ZERO; CHUNK]);
        Tensor::of_chunks(self.dtype(), self.shape(), |chunk: &mut [W]| {
            let others = &mut others[..chunk.len()];
            self.load(at, chunk);
            other.load(at, others);
            at += chunk.len();
            f(chunk, others);
        })
    }

    /// A bool tensor that `f` fills for the elements of two tensors of one shape and dtype.
    pub(super) fn decide<W: Wide>(&self, other: &Tensor, f: Decide<W>) -> Tensor {
        let (mut others, mut holds) = ([W::ZERO; CHUNK], [false; CHUNK]);
        let mut out = Vec::with_capacity(self.len());
        self.each_chunk(|chunk| {
            let (others, holds) = (&mut others[..chunk.len()], &mut holds[..chunk.len()]);
            other.load(out.len(), others);
            f(chunk, others, holds);
            out.extend_from_slice(holds);
            true
        });
        Tensor::from_vec(self.shape(), out)
    }
}
