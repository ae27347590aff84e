//! Gradients of pools over two axes: gives the gradient of each window to the elements that it covers.

use super::number::{Number, int, narrowed, widened};
use super::operands::Operands;
use super::scan::Sum;
use super::words::Words;

/// A line is a plane along the two pooled axes. The operands are the gradient, the data, and the result, all of one dtype. Sums of
/// 16-bit floats are float32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolGradient {
    /// The elements of the axes before, between, and behind the pooled ones.
    pub others: [usize; 3],
    /// Along the pooled axes, in the order in memory.
    pub windows: [Window; 2],
    /// Whether the second pooled axis is that of rows, by which the first of equal elements is found.
    pub columns_first: bool,
    /// Means, and whether these count the padding; otherwise the gradient is that of the largest element.
    pub mean: Option<bool>,
    /// Bytes of an element, and what they mean.
    pub element: (usize, Number),
}

/// The windows along an axis: number `o` covers the inputs `o · stride + k · dilation - before`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    pub input: usize,
    pub output: usize,
    pub size: usize,
    pub stride: usize,
    pub dilation: usize,
    pub before: usize,
    pub after: usize,
}

/// The inputs that a window covers.
#[derive(Clone, Copy)]
struct Cover {
    first: usize,
    n: usize,
    /// The points in the data or its padding.
    padded: i64,
}

impl Window {
    fn cover(&self, o: usize) -> Cover {
        let (dilation, start) = (self.dilation as i128, o as i128 * self.stride as i128 - self.before as i128);
        // The points below an input.
        let below = |end: i128| (-((start - end).div_euclid(dilation))).clamp(0, self.size as i128);
        let (from, to) = (below(0), below(self.input as i128));
        let first = if from < to { start + from * dilation } else { 0 };
        Cover { first: first as usize, n: (to - from) as usize, padded: below((self.input + self.after) as i128) as i64 }
    }
}

/// The type in which gradients are added.
trait Gradient: Sum {
    /// Whether it is larger than another one; NaN is larger than any number.
    fn is_above(self, other: Self) -> bool;
    fn over(self, n: i64) -> Self;
}

impl Gradient for i64 {
    fn is_above(self, other: i64) -> bool {
        self > other
    }

    fn over(self, n: i64) -> i64 {
        self / n
    }
}

impl Gradient for f32 {
    fn is_above(self, other: f32) -> bool {
        self > other || self.is_nan() && !other.is_nan()
    }

    fn over(self, n: i64) -> f32 {
        self / n as f32
    }
}

impl Gradient for f64 {
    fn is_above(self, other: f64) -> bool {
        self > other || self.is_nan() && !other.is_nan()
    }

    fn over(self, n: i64) -> f64 {
        self / n as f64
    }
}

impl PoolGradient {
    pub(super) fn write(&self, word: &mut impl FnMut(u64)) {
        self.others.into_iter().for_each(|size| word(size as u64));
        for Window { input, output, size, stride, dilation, before, after } in self.windows {
            [input, output, size, stride, dilation, before, after].into_iter().for_each(|size| word(size as u64));
        }
        word(self.columns_first.into());
        word(self.mean.map_or(0, |includes| 1 + u64::from(includes)));
        Number::words(self.element).into_iter().for_each(word);
    }

    pub(super) fn read(words: &mut Words) -> PoolGradient {
        let others = core::array::from_fn(|_| words.number());
        let windows = core::array::from_fn(|_| {
            let [input, output, size, stride, dilation, before, after] = core::array::from_fn(|_| words.number());
            Window { input, output, size, stride, dilation, before, after }
        });
        let (columns_first, mean) = (words.word() != 0, words.word());
        let mean = (mean > 0).then_some(mean > 1);
        PoolGradient { others, windows, columns_first, mean, element: Number::read(words) }
    }

    pub(super) fn n_lines(&self) -> usize {
        self.others.iter().product()
    }

    /// The sums of a plane.
    pub(super) fn scratch_bytes(&self) -> u64 {
        (self.windows[0].input * self.windows[1].input * 8) as u64
    }

    /// # Safety
    /// The operands hold all planes, and the scratch memory the sums of one, aligned to 8 bytes. Nobody else uses the result of this one.
    pub(super) unsafe fn line(&self, line: usize, operands: &Operands, scratch: *mut u8) {
        let width = self.element.0;
        // SAFETY: as the caller says: every element is one of the plane.
        unsafe {
            match self.element.1 {
                Number::Float(23) => self.plane(
                    line,
                    scratch.cast::<f32>(),
                    |operand, at| operands[operand].cast::<f32>().wrapping_add(at).read_unaligned(),
                    |at, x| operands[2].cast::<f32>().wrapping_add(at).write_unaligned(x),
                ),
                Number::Float(52) => self.plane(
                    line,
                    scratch.cast::<f64>(),
                    |operand, at| operands[operand].cast::<f64>().wrapping_add(at).read_unaligned(),
                    |at, x| operands[2].cast::<f64>().wrapping_add(at).write_unaligned(x),
                ),
                Number::Float(fraction) => self.plane(
                    line,
                    scratch.cast::<f32>(),
                    |operand, at| widened(operands[operand].cast::<u16>().wrapping_add(at).read_unaligned(), fraction),
                    |at, x| operands[2].cast::<u16>().wrapping_add(at).write_unaligned(narrowed(x, fraction)),
                ),
                _ => self.plane(
                    line,
                    scratch.cast::<i64>(),
                    |operand, at| int(operands[operand].wrapping_add(at * width), self.element) as i64,
                    |at, x| super::integer::put(operands[2].wrapping_add(at * width), width, x),
                ),
            }
        }
    }

    /// # Safety
    /// As [`PoolGradient::line`].
    unsafe fn plane<N: Gradient>(&self, line: usize, sums: *mut N, read: impl Fn(usize, usize) -> N, write: impl Fn(usize, N)) {
        let [_, between, behind] = self.others;
        let [outer, inner] = self.windows;
        let part = [line / (between * behind), line / behind % between, line % behind];
        // The place of an element of the plane in a tensor of such lengths along the pooled axes.
        let place = |[first, second]: [usize; 2], lengths: [usize; 2]| {
            (((part[0] * lengths[0] + first) * between + part[1]) * lengths[1] + second) * behind + part[2]
        };
        let (inputs, outputs) = ([outer.input, inner.input], [outer.output, inner.output]);
        let sum = |at: [usize; 2]| sums.wrapping_add(at[0] * inputs[1] + at[1]);
        // SAFETY: as the caller says.
        let add = |at: [usize; 2], x: N| unsafe { sum(at).write(sum(at).read().plus(x)) };
        let all = |lengths: [usize; 2]| (0..lengths[0]).flat_map(move |a| (0..lengths[1]).map(move |b| [a, b]));
        // SAFETY: as the caller says.
        all(inputs).for_each(|at| unsafe { sum(at).write(N::ZERO) });
        for [o, p] in all(outputs) {
            let (gradient, covers) = (read(0, place([o, p], outputs)), [outer.cover(o), inner.cover(p)]);
            let [a, b] = covers.map(|cover| cover.n);
            let at = |[i, j]: [usize; 2]| [covers[0].first + i * outer.dilation, covers[1].first + j * inner.dilation];
            match self.mean {
                Some(includes) => {
                    let n = if includes { covers[0].padded * covers[1].padded } else { (a * b) as i64 };
                    all([a, b]).for_each(|tap| add(at(tap), gradient.over(n)));
                }
                None => {
                    let mut best: Option<([usize; 2], N)> = None;
                    let [rows, columns] = if self.columns_first { [b, a] } else { [a, b] };
                    for [row, column] in all([rows, columns]) {
                        let at = at(if self.columns_first { [column, row] } else { [row, column] });
                        let x = read(1, place(at, inputs));
                        if best.is_none_or(|(_, largest)| x.is_above(largest)) {
                            best = Some((at, x));
                        }
                    }
                    if let Some((at, _)) = best {
                        add(at, gradient);
                    }
                }
            }
        }
        // SAFETY: as the caller says.
        all(inputs).for_each(|at| write(place(at, inputs), unsafe { sum(at).read() }));
    }
}
