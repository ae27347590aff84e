//! Boxes as rows of fields: counts the valid ones, and suppresses those that overlap a better one of their class.

use super::kept::{Kept, sides};
use super::real::{Real, value};
use super::{Operands, Wrong};
use crate::number::{Number, int, narrowed};
use crate::sort::Key;
use crate::words::Words;

/// Rows of all images.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rows {
    pub n_images: usize,
    pub n_boxes: usize,
    pub n_fields: usize,
    /// Bytes of a field, and what they mean.
    pub element: (usize, Number),
    /// The fields of the score and of the class.
    pub score: usize,
    pub class: Option<usize>,
}

impl Rows {
    fn words(&self) -> impl Iterator<Item = u64> {
        let class = self.class.map_or(0, |class| class + 1);
        let numbers = [self.n_images, self.n_boxes, self.n_fields, self.score, class].map(|n| n as u64);
        numbers.into_iter().chain(Number::words(self.element))
    }

    fn read(words: &mut Words) -> Rows {
        let [n_images, n_boxes, n_fields, score, class] = core::array::from_fn(|_| words.number());
        Rows { n_images, n_boxes, n_fields, score, class: class.checked_sub(1), element: Number::read(words) }
    }

    /// # Safety
    /// There are such a row and such a field.
    unsafe fn field<T: Real>(&self, data: *const u8, row: usize, field: usize) -> T {
        // SAFETY: as the caller says.
        unsafe { T::element(data, row * self.n_fields + field, self.element) }
    }

    /// Copies a row; without one all fields become -1.
    ///
    /// # Safety
    /// The data has the row, and the result has room at `to`.
    unsafe fn put(&self, data: *const u8, row: Option<usize>, result: *mut u8, to: usize) {
        let (width, n) = (self.element.0, self.n_fields);
        // SAFETY: as the caller says; the result is another tensor than the data.
        unsafe {
            match row {
                Some(row) => {
                    let (from, to) = (data.wrapping_add(row * n * width), result.wrapping_add(to * n * width));
                    core::ptr::copy_nonoverlapping(from, to, n * width);
                }
                None => (to * n..(to + 1) * n).for_each(|at| match self.element {
                    (8, _) => result.cast::<f64>().wrapping_add(at).write_unaligned(-1.0),
                    (2, Number::Float(fraction)) => {
                        result.cast::<u16>().wrapping_add(at).write_unaligned(narrowed(-1.0, fraction));
                    }
                    _ => result.cast::<f32>().wrapping_add(at).write_unaligned(-1.0),
                }),
            }
        }
    }
}

/// Moves the rows with a score above the limit and a class that is not negative to the begin of their image, with their numbers,
/// and counts them. The operands are data, limit, counts, rows, and numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValidRows {
    pub rows: Rows,
    /// Bytes of the limit, and what they mean.
    pub limit: (usize, Number),
}

impl ValidRows {
    pub(super) fn write(&self, word: &mut impl FnMut(u64)) {
        self.rows.words().chain(Number::words(self.limit)).for_each(word);
    }

    pub(super) fn read(words: &mut Words) -> ValidRows {
        ValidRows { rows: Rows::read(words), limit: Number::read(words) }
    }

    /// # Safety
    /// The operands hold all images, and nobody else uses the results of this one.
    pub(super) unsafe fn image(&self, image: usize, operands: &Operands) {
        let rows = &self.rows;
        let [data, limit, counts, result, numbers, ..] = *operands;
        let (first, end) = (image * rows.n_boxes, (image + 1) * rows.n_boxes);
        let mut to = first;
        // SAFETY: the rows are there, and as many results.
        unsafe {
            let limit = value(limit, self.limit);
            let number = |at: usize| numbers.cast::<i32>().wrapping_add(at);
            for row in first..end {
                let has_class = rows.class.is_none_or(|class| rows.field::<f64>(data, row, class) >= 0.0);
                if has_class && rows.field::<f64>(data, row, rows.score) > limit {
                    rows.put(data, Some(row), result, to);
                    number(to).write_unaligned((row - first) as i32);
                    to += 1;
                }
            }
            counts.cast::<i32>().wrapping_add(image).write_unaligned((to - first) as i32);
            for to in to..end {
                rows.put(data, None, result, to);
                number(to).write_unaligned(-1);
            }
        }
    }
}

/// Suppression among the first rows of each image. The operands are data, counts, numbers, the largest number of boxes, the overlap
/// from which a box is suppressed, the result, and how many numbers it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SuppressRows {
    pub rows: Rows,
    /// The first of the four fields of two opposite corners.
    pub corners: usize,
    /// Bytes of a count, a number and both limits, and what they mean.
    pub count: (usize, Number),
    pub number: (usize, Number),
    pub limits: [(usize, Number); 2],
    /// The number of boxes to consider; 0 for all.
    pub top: usize,
    /// Whether boxes of other classes also suppress a box.
    pub any_class: bool,
    pub result: Chosen,
}

/// What becomes of the chosen rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chosen {
    /// They stay where the order of scores has them.
    InPlace,
    /// Those whose first field is not negative move to the begin of their image.
    Together,
    /// Their numbers that are not negative.
    Numbers,
}

impl SuppressRows {
    pub(super) fn write(&self, word: &mut impl FnMut(u64)) {
        let [most, overlap] = self.limits;
        self.rows
            .words()
            .chain([self.count, self.number, most, overlap].into_iter().flat_map(Number::words))
            .for_each(&mut *word);
        let result = match self.result {
            Chosen::InPlace => 0,
            Chosen::Together => 1,
            Chosen::Numbers => 2,
        };
        [self.corners as u64, self.top as u64, self.any_class.into(), result].into_iter().for_each(word);
    }

    pub(super) fn read(words: &mut Words) -> SuppressRows {
        let rows = Rows::read(words);
        let [count, number, most, overlap] = core::array::from_fn(|_| Number::read(words));
        let [corners, top] = core::array::from_fn(|_| words.number());
        let any_class = words.word() != 0;
        let result = match words.word() {
            0 => Chosen::InPlace,
            1 => Chosen::Together,
            _ => Chosen::Numbers,
        };
        SuppressRows { rows, corners, count, number, limits: [most, overlap], top, any_class, result }
    }

    /// Errors: the first count of boxes that are not there.
    ///
    /// # Safety
    /// The operands hold all images.
    pub(super) unsafe fn check(&self, operands: &Operands) -> Result<(), Wrong> {
        // SAFETY: each image has a count.
        let count = |image: usize| unsafe { int(operands[1].wrapping_add(image * self.count.0), self.count) };
        let wrong = |count: &i128| !(0..=self.rows.n_boxes as i128).contains(count);
        (0..self.rows.n_images).map(count).find(wrong).map_or(Ok(()), |number| Err(Wrong { message: 0, number: Some(number) }))
    }

    /// # Safety
    /// The operands hold all images, whose counts were [checked](SuppressRows::check), and nobody else uses the results of this one
    /// or the scratch memory, which has room for its boxes.
    pub(super) unsafe fn image<T: Real>(&self, image: usize, operands: &Operands, scratch: *mut u8) {
        let (data, n, first) = (operands[0], self.rows.n_boxes, image * self.rows.n_boxes);
        let mut out = Out { work: self, operands, first, end: first + n, to: first };
        // SAFETY: as the caller says: rows and fields are there, and at most as many rows come out as there are boxes.
        unsafe {
            let [most, overlap] = core::array::from_fn(|at| value(operands[3 + at], self.limits[at]));
            let field = |row: usize, field: usize| self.rows.field::<T>(data, row, field);
            // Checked, but another thread of the caller may have changed it since.
            let count = int(operands[1].wrapping_add(image * self.count.0), self.count).clamp(0, n as i128) as usize;
            if overlap > 0.0 {
                let keys = Kept::<T>::keys(scratch, n);
                let keys = &mut keys[..count];
                for (at, key) in keys.iter_mut().enumerate() {
                    *key = T::descending(field(first + at, self.rows.score), at);
                }
                let n_considered = if self.top == 0 { count } else { self.top.min(count) };
                if n_considered < count {
                    keys.select_nth_unstable(n_considered);
                }
                let keys = &mut keys[..n_considered];
                keys.sort_unstable();
                let sides_of = |row: usize| sides([0, 1, 2, 3].map(|at| field(row, self.corners + at)));
                let boxes = keys.iter().map(|key| sides_of(first + key.at()));
                let mut kept = Kept::of(scratch, n, boxes, T::at(overlap));
                let mut n_kept = 0;
                for row in keys.iter().map(|key| first + key.at()) {
                    if f64::from(n_kept) == most {
                        out.put(None);
                        continue;
                    }
                    let is_scored = field(row, self.rows.score) > T::ZERO;
                    if !is_scored {
                        out.put(Some(row));
                        continue;
                    }
                    let own = sides_of(row);
                    let own_class = self.rows.class.map(|class| field(row, class));
                    let class = own_class.filter(|_| !self.any_class).unwrap_or(T::ZERO);
                    let is_kept = !kept.any_overlaps(&own, class, T::at(overlap));
                    out.put(is_kept.then_some(row));
                    n_kept += u32::from(is_kept);
                    // A box without a class suppresses none.
                    if is_kept && own_class.is_none_or(|class| class >= T::ZERO) {
                        kept.push(&own, class);
                    }
                }
            } else {
                (first..first + count).for_each(|row| out.put(Some(row)));
            }
            out.finish(image);
        }
    }
}

/// The results of an image, from the first to the last.
struct Out<'a> {
    work: &'a SuppressRows,
    operands: &'a Operands,
    first: usize,
    end: usize,
    to: usize,
}

impl Out<'_> {
    /// # Safety
    /// The row is there, and there is room.
    unsafe fn put(&mut self, row: Option<usize>) {
        let (work, [data, _, numbers, _, _, result, ..]) = (self.work, *self.operands);
        // SAFETY: as the caller says.
        unsafe {
            match (work.result, row) {
                (Chosen::InPlace, row) => work.rows.put(data, row, result, self.to),
                (Chosen::Together, Some(row)) if work.rows.field::<f64>(data, row, 0) >= 0.0 => {
                    work.rows.put(data, Some(row), result, self.to);
                }
                (Chosen::Numbers, Some(row)) => {
                    let number = int(numbers.wrapping_add(row * work.number.0), work.number) as i32;
                    if number < 0 {
                        return;
                    }
                    result.cast::<i32>().wrapping_add(self.to).write_unaligned(number);
                }
                _ => return,
            }
        }
        self.to += 1;
    }

    /// # Safety
    /// Like [`SuppressRows::image`].
    unsafe fn finish(self, image: usize) {
        let (work, [data, .., result, n_found, _]) = (self.work, *self.operands);
        // SAFETY: there is room for a row of each box, and for a number of each image.
        unsafe {
            if work.result == Chosen::Numbers {
                n_found.cast::<i32>().wrapping_add(image).write_unaligned((self.to - self.first) as i32);
                (self.to..self.end).for_each(|to| result.cast::<i32>().wrapping_add(to).write_unaligned(-1));
            } else {
                (self.to..self.end).for_each(|to| work.rows.put(data, None, result, to));
            }
        }
    }
}
