//! Keeps the box with the largest score among overlapping boxes of a class. Only boxes that may be kept are sorted.

use super::Operands;
use super::kept::{Kept, sides};
use super::real::{Real, value};
use crate::number::Number;
use crate::sort::Key;
use crate::words::Words;

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

impl AllClassNms {
    /// Lines with a box.
    pub(super) fn n_lines(&self) -> usize {
        if self.n_boxes == 0 { 0 } else { self.n_images * self.n_classes }
    }

    pub(super) fn is_wide(&self) -> bool {
        [self.corner, self.score].iter().any(|element| element.0 == 8)
    }

    pub(super) fn write(&self, word: &mut impl FnMut(u64)) {
        let sizes = [self.n_images, self.n_classes, self.n_boxes, usize::from(self.by_image)].map(|n| n as u64);
        let [most, overlap, least] = self.limits;
        let elements = [self.corner, self.score, most, overlap, least].into_iter().flat_map(Number::words);
        sizes.into_iter().chain(elements).for_each(word);
    }

    pub(super) fn read(words: &mut Words) -> AllClassNms {
        let [n_images, n_classes, n_boxes, by_image] = core::array::from_fn(|_| words.number());
        let [corner, score, most, overlap, least] = core::array::from_fn(|_| Number::read(words));
        AllClassNms { n_images, n_classes, n_boxes, corner, score, limits: [most, overlap, least], by_image: by_image != 0 }
    }

    /// Writes the rows of a line to the line's own place among the rows, and ends them with a negative number if there is room.
    ///
    /// # Safety
    /// Like [`Work::line`].
    pub(super) unsafe fn line<T: Real>(&self, line: usize, operands: &Operands, scratch: *mut u8) {
        let n = self.n_boxes;
        let (image, class) = (line / self.n_classes, line % self.n_classes);
        // SAFETY: each limit has an element.
        let [most, overlap, least] = core::array::from_fn(|at| unsafe { value(operands[2 + at], self.limits[at]) });
        // SAFETY: the box is one of the line.
        let score = |number: usize| unsafe { T::element(operands[1], line * n + number, self.score) };
        // SAFETY: as above.
        let corner = |number: usize, at: usize| unsafe { T::element(operands[0], (image * n + number) * 4 + at, self.corner) };
        // SAFETY: the caller promises the memory.
        let keys = unsafe { Kept::<T>::keys(scratch, n) };
        // A score of -1 stands for a suppressed box, and without an overlap there is none to keep.
        let is_candidate = |&number: &usize| score(number) > T::at(least) && score(number) > -T::ONE;
        let candidates = (0..if overlap > 0.0 { n } else { 0 }).filter(is_candidate);
        let n_candidates =
            keys.iter_mut().zip(candidates).map(|(key, number)| *key = T::descending(score(number), number)).count();
        let keys = &mut keys[..n_candidates];
        keys.sort_unstable();
        let sides_of = |number: usize| sides([0, 1, 2, 3].map(|at| corner(number, at)));
        // SAFETY: as above.
        let mut kept = unsafe { Kept::of(scratch, n, keys.iter().map(|key| sides_of(key.at())), T::at(overlap)) };
        for number in keys.iter().map(|key| key.at()) {
            if most > 0.0 && kept.n as f64 >= most {
                break;
            }
            let own = sides_of(number);
            if score(number) <= T::ZERO || !kept.any_overlaps(&own, T::ZERO, T::at(overlap)) {
                // SAFETY: a line has room for all of its boxes.
                unsafe { self.put(line * n + kept.n, [image, class, number], score(number).to_f32(), operands) };
                kept.push(&own, T::ZERO);
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
    pub(super) unsafe fn gather(&self, operands: &Operands) {
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
