//! Boxes that were kept, which suppress others.
//!
//! A box is compared with those near it ([`Strips`]): detectors move the boxes of each class to a place of its own, so most are far
//! away.

use super::real::Real;
use core::ops::Range;

/// A box, given by two opposite corners: the begins of both axes, their ends, and its area.
pub(super) fn sides<T: Real>(corners: [T; 4]) -> [T; 5] {
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

/// Strips across the first axis, in which boxes begin. A box overlaps with those alone that begin before its end, and not further
/// before its begin than the widest box reaches.
struct Strips<T> {
    start: T,
    width: T,
    /// More than the width of any box.
    widest: T,
    /// Where the boxes that begin in each strip are, and where there is room for the next one.
    begin: [usize; N_STRIPS],
    end: [usize; N_STRIPS],
}

/// At most this many strips.
const N_STRIPS: usize = 512;

/// The number of strips in the width of the widest box, if boxes begin so near each other that there are enough.
const N_OF_WIDEST: f64 = 4.0;

impl<T: Real> Strips<T> {
    /// Strips of boxes that overlap by more than nothing if they overlap at all, else a single one.
    fn new(boxes: impl Iterator<Item = [T; 5]> + Clone, least: T) -> Strips<T> {
        // A box with a NaN has no area that compares, so it overlaps with none, wherever it is.
        let start = boxes.clone().fold(T::INFINITY, |start, sides| sides[0].least(start));
        let widest = boxes.clone().fold(T::ZERO, |widest, sides| (sides[2] - sides[0]).most(widest));
        // The margin is larger than any error of rounding.
        let widest = if least > T::ZERO { widest * T::at(1.01) } else { T::INFINITY };
        let last = boxes.clone().fold(start, |last, sides| sides[0].most(last));
        let width = (widest / T::at(N_OF_WIDEST)).most((last - start) / T::at(N_STRIPS as f64));
        let mut strips = Strips { start, width, widest, begin: [0; N_STRIPS], end: [0; N_STRIPS] };
        boxes.for_each(|sides| strips.end[strips.of(sides[0])] += 1);
        let mut n = 0;
        for (begin, end) in strips.begin.iter_mut().zip(&mut strips.end) {
            n += core::mem::replace(end, n);
            *begin = *end;
        }
        strips
    }

    /// The strip in which a box begins; further strips begin further away.
    fn of(&self, begin: T) -> usize {
        ((begin - self.start) / self.width).floor().min(N_STRIPS - 1)
    }

    /// Where the boxes of a strip are.
    fn filled(&self, strip: usize) -> Range<usize> {
        self.begin[strip]..self.end[strip]
    }
}

/// Kept boxes, by list and strip: their sides, and their classes.
pub(super) struct Kept<'a, T> {
    lists: [&'a mut [T]; 6],
    strips: Strips<T>,
    pub(super) n: usize,
}

/// How many boxes are compared before the result is looked at.
const TOGETHER: usize = 64;

impl<'a, T: Real> Kept<'a, T> {
    /// Bytes of scratch memory for each box, with its key.
    pub(super) const BYTES: usize = size_of::<T::Key>() + 6 * size_of::<T>();

    /// Room for `n` keys.
    ///
    /// # Safety
    /// The memory has as many bytes for each, is aligned for keys, and nobody else uses it.
    pub(super) unsafe fn keys(scratch: *mut u8, n: usize) -> &'a mut [T::Key] {
        // SAFETY: as the caller says.
        unsafe { core::slice::from_raw_parts_mut(scratch.cast(), n) }
    }

    /// Room for boxes after `n` keys: for those that may be kept, which overlap if they share at least this part.
    ///
    /// # Safety
    /// Like [`Kept::keys`], and there are at most `n` boxes.
    pub(super) unsafe fn of(scratch: *mut u8, n: usize, boxes: impl Iterator<Item = [T; 5]> + Clone, least: T) -> Kept<'a, T> {
        let lists = scratch.cast::<T::Key>().wrapping_add(n).cast::<T>();
        // SAFETY: as the caller says; keys and lists lie one after the other.
        let list = |at: usize| unsafe { core::slice::from_raw_parts_mut(lists.wrapping_add(at * n), n) };
        Kept { lists: core::array::from_fn(list), strips: Strips::new(boxes, least), n: 0 }
    }

    pub(super) fn push(&mut self, sides: &[T; 5], class: T) {
        self.n += 1;
        let strip = self.strips.of(sides[0]);
        let at = self.strips.filled(strip).end;
        // There is room for those that were counted; other threads of the caller may have moved boxes since.
        if at < self.lists[0].len() {
            self.lists.iter_mut().zip(sides.iter().chain([&class])).for_each(|(list, &side)| list[at] = side);
            self.strips.end[strip] += 1;
        }
    }

    /// Whether any of a class overlaps with a box by at least this part.
    pub(super) fn any_overlaps(&self, other: &[T; 5], class: T, least: T) -> bool {
        let [first, own, last] = [other[0] - self.strips.widest, other[0], other[2]].map(|begin| self.strips.of(begin));
        // Most boxes that overlap by much begin beside each other.
        let any = |strip: usize| self.any_in(self.strips.filled(strip), other, class, least);
        any(own) || (first..own).any(any) || (own + 1..last + 1).any(any)
    }

    fn any_in(&self, filled: Range<usize>, other: &[T; 5], class: T, least: T) -> bool {
        let end = filled.end;
        filled.step_by(TOGETHER).any(|begin| {
            let lists = self.lists.each_ref().map(|list| &list[begin..end.min(begin + TOGETHER)]);
            let [x, y, right, bottom, area, classes] = lists;
            let sides = x.iter().zip(y).zip(right.iter().zip(bottom).zip(area));
            let mut any = false;
            for (((&x, &y), ((&right, &bottom), &area)), &own) in sides.zip(classes) {
                // All of them are looked at, so that the compiler makes vectors of them.
                any |= (own == class) & (overlap([x, y, right, bottom, area], *other) >= least);
            }
            any
        })
    }
}
