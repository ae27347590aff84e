//! Scans: combines each element of a line with all elements before it.

use super::integer::put;
use super::number::{Number, int, narrowed, widened};
use super::words::Words;
use core::ops::Range;

/// Sums or products along lines of `length` elements, `inner` apart. Integers wrap; floats keep their dtype, those of 16 bits are summed in
/// float32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scan {
    pub n_lines: usize,
    pub length: usize,
    pub inner: usize,
    pub product: bool,
    /// Whether the element itself is left out.
    pub exclusive: bool,
    /// Bytes of an element, and what they mean.
    pub from: (usize, Number),
    pub to: (usize, Number),
}

/// The number of words of a scan.
const WORDS: usize = 11;

impl Scan {
    /// The words that [`Scan::read`] reads.
    pub fn words(&self) -> [u64; WORDS] {
        let [n_lines, length, inner] = [self.n_lines, self.length, self.inner].map(|n| n as u64);
        let ([a, b, c], [d, e, f]) = (Number::words(self.from), Number::words(self.to));
        [n_lines, length, inner, self.product.into(), self.exclusive.into(), a, b, c, d, e, f]
    }

    pub(crate) fn read(words: &mut Words) -> Scan {
        let [n_lines, length, inner] = core::array::from_fn(|_| words.number());
        let [product, exclusive] = core::array::from_fn(|_| words.word() != 0);
        Scan { n_lines, length, inner, product, exclusive, from: Number::read(words), to: Number::read(words) }
    }

    /// Scans lines.
    ///
    /// # Safety
    /// The data has all lines, and the result has room for them. No other thread uses the results of these lines.
    pub unsafe fn lines(&self, lines: Range<usize>, data: *const u8, result: *mut u8) {
        let (from, to) = (self.from.0, self.to.0);
        // SAFETY: as the caller says: every element is one of the line.
        unsafe {
            match self.to.1 {
                Number::Float(23) => self.of_lines(
                    lines,
                    |at| data.cast::<f32>().wrapping_add(at).read_unaligned(),
                    |at, x| result.cast::<f32>().wrapping_add(at).write_unaligned(x),
                ),
                Number::Float(fraction @ (7 | 10)) => self.of_lines(
                    lines,
                    |at| widened(data.cast::<u16>().wrapping_add(at).read_unaligned(), fraction),
                    |at, x| result.cast::<u16>().wrapping_add(at).write_unaligned(narrowed(x, fraction)),
                ),
                Number::Float(_) => self.of_lines(
                    lines,
                    |at| data.cast::<f64>().wrapping_add(at).read_unaligned(),
                    |at, x| result.cast::<f64>().wrapping_add(at).write_unaligned(x),
                ),
                number => self.of_lines(
                    lines,
                    |at| int(data.wrapping_add(at * from), self.from) as i64,
                    |at, x: i64| {
                        let x = if number == Number::Bool { i64::from(x != 0) } else { x };
                        put(result.wrapping_add(at * to), to, x);
                    },
                ),
            }
        }
    }

    /// Lines beside each other are scanned together.
    fn of_lines<N: Sum>(&self, lines: Range<usize>, read: impl Fn(usize) -> N, write: impl Fn(usize, N)) {
        let mut line = lines.start;
        while line < lines.end {
            let at = line % self.inner;
            let start = (line - at) * self.length + at;
            if (self.inner - at).min(lines.end - line) >= TOGETHER {
                self.together::<N, TOGETHER>(start, &read, &write);
                line += TOGETHER;
            } else {
                self.together::<N, 1>(start, &read, &write);
                line += 1;
            }
        }
    }

    fn together<N: Sum, const LINES: usize>(&self, start: usize, read: &impl Fn(usize) -> N, write: &impl Fn(usize, N)) {
        let joined = |before: N, x: N| if self.product { before.times(x) } else { before.plus(x) };
        let mut before = [if self.product { N::ONE } else { N::ZERO }; LINES];
        for at in 0..self.length {
            let first = start + at * self.inner;
            let elements: [N; LINES] = core::array::from_fn(|line| read(first + line));
            // Without one before it the first element is as it is: a sum with +0 would lose the sign of -0.
            let as_it_is = at == 0 && !self.exclusive;
            let with: [N; LINES] = core::array::from_fn(|line| {
                let x = elements[line];
                if as_it_is { x } else { joined(before[line], x) }
            });
            let results = if self.exclusive { before } else { with };
            results.into_iter().enumerate().for_each(|(line, x)| write(first + line, x));
            before = with;
        }
    }
}

/// Number of lines that are scanned together.
const TOGETHER: usize = 16;

/// The type in which a scan sums. Integers wrap; the low bits are right in any type that is as wide.
pub(crate) trait Sum: Copy {
    const ZERO: Self;
    const ONE: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

impl Sum for i64 {
    const ZERO: i64 = 0;
    const ONE: i64 = 1;

    fn plus(self, other: i64) -> i64 {
        self.wrapping_add(other)
    }

    fn times(self, other: i64) -> i64 {
        self.wrapping_mul(other)
    }
}

macro_rules! floats {
    ($($float:ty),*) => {$(
        impl Sum for $float {
            const ZERO: $float = 0.0;
            const ONE: $float = 1.0;

            fn plus(self, other: $float) -> $float {
                self + other
            }

            fn times(self, other: $float) -> $float {
                self * other
            }
        }
    )*};
}

floats!(f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_together_give_what_each_alone_gives() {
        let (n_lines, length, inner) = (42, 3, 21);
        let data: Vec<f32> = (0..n_lines * length).map(|at| if at % 5 == 0 { -0.0 } else { at as f32 * 0.3 - 7.0 }).collect();
        for (product, exclusive) in [(false, false), (false, true), (true, false), (true, true)] {
            let number = (4, Number::Float(23));
            let scan = Scan { n_lines, length, inner, product, exclusive, from: number, to: number };
            let scanned = |lines: &[Range<usize>]| {
                let mut result = vec![0f32; data.len()];
                for lines in lines {
                    // SAFETY: both have all lines.
                    unsafe { scan.lines(lines.clone(), data.as_ptr().cast(), result.as_mut_ptr().cast()) };
                }
                result.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            let alone: Vec<Range<usize>> = (0..n_lines).map(|line| line..line + 1).collect();
            assert_eq!(scanned(&[0..40, 40..42]), scanned(&alone));
            assert_eq!(scanned(&[0..19, 19..42]), scanned(&alone));
            if !product {
                let first: Vec<f32> = scanned(&alone)[..inner].iter().map(|&bits| f32::from_bits(bits)).collect();
                assert_eq!(first, if exclusive { vec![0.0; inner] } else { data[..inner].to_vec() });
            }
        }
    }

    #[test]
    fn words_are_read_as_they_were_written() {
        let (from, to) = ((1, Number::Bool), (8, Number::Signed));
        let scan = Scan { n_lines: 6, length: 5, inner: 3, product: true, exclusive: false, from, to };
        let words = scan.words();
        // SAFETY: as many words are read as were written.
        assert_eq!(Scan::read(&mut unsafe { Words::at(words.as_ptr().cast(), 0) }), scan);
    }
}
