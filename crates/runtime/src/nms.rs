//! Non-maximum suppression: keeps the box with the largest score among overlapping boxes.
//!
//! Only boxes that may be kept are sorted, and a box is compared with those near it ([`Strips`]): detectors move the boxes of each
//! class to a place of its own, so most are far away. Elements of 16 bits are computed with as float32, as operators do.

use super::number::{Number, int, widened};
use super::sort::Key;
use super::words::Words;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// Suppression among the boxes of each class of each image. A line is the scores of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AllClassNms {
    pub n_images: usize,
    pub n_classes: usize,
    pub n_boxes: usize,
    /// Bytes of an element, and what they mean.
    pub corner: (usize, Number),
    pub score: (usize, Number),
    /// The same of the largest number of boxes of a line, the overlap from which a box is suppressed, and the score to exceed.
    pub limits: [(usize, Number); 3],
    /// Whether the rows of each image begin at a place of their own, and have their scores beside them.
    pub by_image: bool,
}

/// Addresses of boxes, scores, the three limits, rows, the scores of rows, and the number of rows.
pub type Operands = [*mut u8; 8];

/// The number of words of a suppression.
const WORDS: usize = 19;

impl AllClassNms {
    /// Lines with a box.
    pub fn n_lines(&self) -> usize {
        if self.n_boxes == 0 { 0 } else { self.n_images * self.n_classes }
    }

    /// Bytes of scratch memory for each thread.
    pub fn scratch_bytes(&self) -> u64 {
        let each = if self.is_wide() { Boxes::<f64>::BYTES } else { Boxes::<f32>::BYTES };
        (self.n_boxes * each) as u64
    }

    fn is_wide(&self) -> bool {
        [self.corner, self.score].iter().any(|element| element.0 == 8)
    }

    /// The words that [`AllClassNms::read`] reads.
    pub fn words(&self) -> [u64; WORDS] {
        let sizes = [self.n_images, self.n_classes, self.n_boxes, usize::from(self.by_image)].map(|n| n as u64);
        let [most, overlap, least] = self.limits;
        let mut elements = [self.corner, self.score, most, overlap, least].into_iter().flat_map(Number::words);
        core::array::from_fn(|at| sizes.get(at).copied().or_else(|| elements.next()).unwrap_or(0))
    }

    pub(crate) fn read(words: &mut Words) -> AllClassNms {
        let [n_images, n_classes, n_boxes, by_image] = core::array::from_fn(|_| words.number());
        let [corner, score, most, overlap, least] = core::array::from_fn(|_| Number::read(words));
        AllClassNms { n_images, n_classes, n_boxes, corner, score, limits: [most, overlap, least], by_image: by_image != 0 }
    }

    /// Writes the rows of a line to the line's own place among the rows, and ends them with a negative number if there is room.
    ///
    /// # Safety
    /// The operands hold all lines, and the scratch memory has [`AllClassNms::scratch_bytes`], aligned to 16 bytes. No other
    /// thread uses the line's rows or this scratch memory.
    pub unsafe fn line(&self, line: usize, operands: &Operands, scratch: *mut u8) {
        // SAFETY: as the caller says.
        unsafe {
            if self.is_wide() {
                self.of_line::<f64>(line, operands, scratch);
            } else {
                self.of_line::<f32>(line, operands, scratch);
            }
        }
    }

    /// # Safety
    /// Like [`AllClassNms::line`].
    unsafe fn of_line<T: Real>(&self, line: usize, operands: &Operands, scratch: *mut u8) {
        let n = self.n_boxes;
        let (image, class) = (line / self.n_classes, line % self.n_classes);
        // SAFETY: each limit has an element.
        let [most, overlap, least] = core::array::from_fn(|at| unsafe { value(operands[2 + at], self.limits[at]) });
        // SAFETY: the box is one of the line.
        let score = |number: usize| unsafe { T::element(operands[1], line * n + number, self.score) };
        // SAFETY: as above.
        let corner = |number: usize, at: usize| unsafe { T::element(operands[0], (image * n + number) * 4 + at, self.corner) };
        // SAFETY: the caller promises the memory.
        let keys = unsafe { Boxes::<T>::keys(scratch, n) };
        // A score of -1 stands for a suppressed box, and without an overlap there is none to keep.
        let is_candidate = |&number: &usize| score(number) > T::at(least) && score(number) > -T::ONE;
        let candidates = (0..if overlap > 0.0 { n } else { 0 }).filter(is_candidate);
        let n_candidates =
            keys.iter_mut().zip(candidates).map(|(key, number)| *key = T::descending(score(number), number)).count();
        let keys = &mut keys[..n_candidates];
        keys.sort_unstable();
        let sides_of = |number: usize| sides([0, 1, 2, 3].map(|at| corner(number, at)));
        // SAFETY: as above.
        let mut kept = unsafe { Boxes::of(scratch, n, keys.iter().map(|key| sides_of(key.at())), T::at(overlap)) };
        for number in keys.iter().map(|key| key.at()) {
            if most > 0.0 && kept.n as f64 >= most {
                break;
            }
            let own = sides_of(number);
            if score(number) <= T::ZERO || !kept.any_overlaps(&own, T::at(overlap)) {
                // SAFETY: a line has room for all of its boxes.
                unsafe { self.put(line * n + kept.n, [image, class, number], score(number).to_f32(), operands) };
                kept.push(&own);
            }
        }
        if kept.n < n {
            // SAFETY: there is room for another row.
            unsafe { self.row(line * n + kept.n, operands).write_unaligned(-1) };
        }
    }

    /// Numbers of a row.
    fn width(&self) -> usize {
        if self.by_image { 2 } else { 3 }
    }

    fn row(&self, at: usize, operands: &Operands) -> *mut i64 {
        operands[5].cast::<i64>().wrapping_add(at * self.width())
    }

    /// # Safety
    /// There is such a row.
    unsafe fn put(&self, at: usize, numbers: [usize; 3], score: f32, operands: &Operands) {
        for (column, &number) in numbers[3 - self.width()..].iter().enumerate() {
            // SAFETY: as the caller says.
            unsafe { self.row(at, operands).wrapping_add(column).write_unaligned(number as i64) };
        }
        if self.by_image {
            // SAFETY: as above; each row has a score then.
            unsafe { operands[6].cast::<f32>().wrapping_add(at).write_unaligned(score) };
        }
    }

    /// Moves the rows of all lines together, clears what lies behind them, and counts them.
    ///
    /// # Safety
    /// Each line has written its rows, and nobody else uses the results meanwhile.
    pub unsafe fn gather(&self, operands: &Operands) {
        let n_groups = if self.by_image { self.n_images } else { 1 };
        let lines = if self.n_lines() == 0 { 0 } else { self.n_lines() / n_groups };
        let best = |at: usize| operands[6].cast::<f32>().wrapping_add(at);
        for group in 0..n_groups {
            let (first, end) = (group * lines * self.n_boxes, (group + 1) * lines * self.n_boxes);
            let mut to = first;
            for line in 0..lines {
                let start = first + line * self.n_boxes;
                for at in start..start + self.n_boxes {
                    let (from, row) = (self.row(at, operands), self.row(to, operands));
                    // SAFETY: both rows are there, and `to` does not exceed `at`.
                    unsafe {
                        if from.read_unaligned() < 0 {
                            break;
                        }
                        core::ptr::copy(from.cast::<u8>(), row.cast(), 8 * self.width());
                        if self.by_image {
                            best(to).write_unaligned(best(at).read_unaligned());
                        }
                    }
                    to += 1;
                }
            }
            // SAFETY: the rows of the group end there, and each group has a count.
            unsafe {
                core::ptr::write_bytes(self.row(to, operands).cast::<u8>(), 0, 8 * self.width() * (end - to));
                if self.by_image {
                    core::ptr::write_bytes(best(to).cast::<u8>(), 0, 4 * (end - to));
                }
                operands[7].cast::<i64>().wrapping_add(group).write_unaligned((to - first) as i64);
            }
        }
    }
}

/// The value of a number.
///
/// # Safety
/// There is one.
unsafe fn value(at: *const u8, (width, number): (usize, Number)) -> f64 {
    // SAFETY: as the caller says.
    unsafe {
        match number {
            Number::Float(_) => f64::element(at, 0, (width, number)),
            Number::Signed => int(at, (width, number)) as i64 as f64,
            Number::Bool | Number::Unsigned => int(at, (width, number)) as u64 as f64,
        }
    }
}

/// A box, given by two opposite corners: the begins of both axes, their ends, and its area.
fn sides<T: Real>(corners: [T; 4]) -> [T; 5] {
    let low = [0, 1].map(|i| corners[i].least(corners[i + 2]));
    let high = [0, 1].map(|i| corners[i].most(corners[i + 2]));
    [low[0], low[1], high[0], high[1], (high[0] - low[0]) * (high[1] - low[1])]
}

/// The part that two boxes share of what both cover; 0 where they cover nothing.
#[inline(always)]
fn overlap<T: Real>(a: [T; 5], b: [T; 5]) -> T {
    let shared = |i: usize| (a[i + 2].least(b[i + 2]) - a[i].most(b[i])).most(T::ZERO);
    let both = shared(0) * shared(1);
    let all = a[4] + b[4] - both;
    if all <= T::ZERO { T::ZERO } else { both / all }
}

/// Strips across the first axis, each at least as wide as any box: boxes that overlap begin in the same strip or in neighbours.
struct Strips<T> {
    start: T,
    width: T,
    /// Where the boxes that begin in each strip are, and where there is room for the next one.
    begin: [usize; N_STRIPS],
    end: [usize; N_STRIPS],
}

/// At most this many strips; what lies beyond the last belongs to it.
const N_STRIPS: usize = 128;

impl<T: Real> Strips<T> {
    /// Strips of boxes that overlap by more than nothing if they overlap at all, else a single one.
    fn new(boxes: impl Iterator<Item = [T; 5]> + Clone, least: T) -> Strips<T> {
        // A box with a NaN has no area that compares, so it overlaps with none, wherever it is.
        let start = boxes.clone().fold(T::INFINITY, |start, sides| sides[0].least(start));
        let widest = boxes.clone().fold(T::ZERO, |widest, sides| (sides[2] - sides[0]).most(widest));
        // The margin is larger than any error of rounding in `of`.
        let width = if least > T::ZERO { widest * T::at(1.01) } else { T::INFINITY };
        let mut strips = Strips { start, width, begin: [0; N_STRIPS], end: [0; N_STRIPS] };
        boxes.for_each(|sides| strips.end[strips.of(sides[0])] += 1);
        let mut n = 0;
        for (begin, end) in strips.begin.iter_mut().zip(&mut strips.end) {
            n += core::mem::replace(end, n);
            *begin = *end;
        }
        strips
    }

    /// The strip in which a box begins.
    fn of(&self, begin: T) -> usize {
        ((begin - self.start) / self.width).floor().min(N_STRIPS - 1)
    }
}

/// Kept boxes, by list and strip.
struct Boxes<'a, T> {
    lists: [&'a mut [T]; 5],
    strips: Strips<T>,
    n: usize,
}

/// How many boxes are compared before the result is looked at.
const TOGETHER: usize = 64;

impl<'a, T: Real> Boxes<'a, T> {
    /// Bytes of scratch memory for each box, with its key.
    const BYTES: usize = size_of::<T::Key>() + 5 * size_of::<T>();

    /// Room for `n` keys.
    ///
    /// # Safety
    /// The memory has as many bytes for each, is aligned for keys, and nobody else uses it.
    unsafe fn keys(scratch: *mut u8, n: usize) -> &'a mut [T::Key] {
        // SAFETY: as the caller says.
        unsafe { core::slice::from_raw_parts_mut(scratch.cast(), n) }
    }

    /// Room for boxes after `n` keys: for those that may be kept, which overlap if they share at least this part.
    ///
    /// # Safety
    /// Like [`Boxes::keys`], and there are at most `n` boxes.
    unsafe fn of(scratch: *mut u8, n: usize, boxes: impl Iterator<Item = [T; 5]> + Clone, least: T) -> Boxes<'a, T> {
        let lists = scratch.cast::<T::Key>().wrapping_add(n).cast::<T>();
        // SAFETY: as the caller says; keys and lists lie one after the other.
        let list = |at: usize| unsafe { core::slice::from_raw_parts_mut(lists.wrapping_add(at * n), n) };
        Boxes { lists: core::array::from_fn(list), strips: Strips::new(boxes, least), n: 0 }
    }

    fn push(&mut self, sides: &[T; 5]) {
        let at = &mut self.strips.end[self.strips.of(sides[0])];
        self.lists.iter_mut().zip(sides).for_each(|(list, &side)| list[*at] = side);
        *at += 1;
        self.n += 1;
    }

    /// Whether any of them overlaps with a box by at least this part.
    fn any_overlaps(&self, other: &[T; 5], least: T) -> bool {
        let strip = self.strips.of(other[0]);
        (strip.saturating_sub(1)..N_STRIPS.min(strip + 2)).any(|strip| {
            let (first, end) = (self.strips.begin[strip], self.strips.end[strip]);
            (first..end).step_by(TOGETHER).any(|begin| {
                let [x, y, right, bottom, area] = self.lists.each_ref().map(|list| &list[begin..end.min(begin + TOGETHER)]);
                let mut any = false;
                for ((&x, &y), ((&right, &bottom), &area)) in x.iter().zip(y).zip(right.iter().zip(bottom).zip(area)) {
                    // All of them are looked at, so that the compiler makes vectors of them.
                    any |= overlap([x, y, right, bottom, area], *other) >= least;
                }
                any
            })
        })
    }
}

/// The type in which boxes are compared.
trait Real:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    const INFINITY: Self;
    type Key: Key;

    fn at(value: f64) -> Self;
    fn to_f32(self) -> f32;

    /// The number of whole ones in it; 0 for a NaN and below 0.
    fn floor(self) -> usize;

    /// The key of a score that is no NaN, and its position: a larger score comes first, and equal scores keep their order.
    fn descending(self, at: usize) -> Self::Key;

    /// A float of a tensor.
    ///
    /// # Safety
    /// It is there.
    unsafe fn element(data: *const u8, at: usize, element: (usize, Number)) -> Self;

    /// The smaller; `other` if either is NaN.
    fn least(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    /// The larger; `other` if either is NaN.
    fn most(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
}

macro_rules! real {
    ($float:ty, $key:ty, $fraction:expr) => {
        impl Real for $float {
            const ZERO: $float = 0.0;
            const ONE: $float = 1.0;
            const INFINITY: $float = <$float>::INFINITY;
            type Key = $key;

            fn at(value: f64) -> $float {
                value as $float
            }

            fn to_f32(self) -> f32 {
                self as f32
            }

            fn floor(self) -> usize {
                self as usize
            }

            fn descending(self, at: usize) -> $key {
                let order = Number::Float($fraction).order(self.to_bits().into(), 8 * size_of::<$float>() as u32);
                <$key>::new(<$key as Key>::MAX - order, at)
            }

            unsafe fn element(data: *const u8, at: usize, (width, number): (usize, Number)) -> $float {
                // SAFETY: as the caller says.
                unsafe {
                    match (width, number) {
                        (4, _) => data.cast::<f32>().wrapping_add(at).read_unaligned() as $float,
                        (8, _) => data.cast::<f64>().wrapping_add(at).read_unaligned() as $float,
                        (_, number) => {
                            let fraction = if number == Number::Float(7) { 7 } else { 10 };
                            widened(data.cast::<u16>().wrapping_add(at).read_unaligned(), fraction) as $float
                        }
                    }
                }
            }
        }
    };
}

real!(f32, u64, 23);
real!(f64, u128, 52);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_were_written() {
        let [half, single, double] = [(2, Number::Float(10)), (4, Number::Float(23)), (8, Number::Float(52))];
        let limits = [(8, Number::Signed), single, double];
        let nms = AllClassNms { n_images: 2, n_classes: 3, n_boxes: 5, corner: single, score: half, limits, by_image: true };
        let words = nms.words();
        // SAFETY: as many words are read as were written.
        assert_eq!(AllClassNms::read(&mut unsafe { Words::at(words.as_ptr().cast(), 0) }), nms);
    }
}
