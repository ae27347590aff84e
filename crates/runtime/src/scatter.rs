//! Scatters: writes updates into a copy of the data where indices point, one after the other.
//!
//! Indices are checked each time they are read: the memory may be a caller's, and another thread of it may change them meanwhile.

use super::integer::{index, put};
use super::number::{Number, int};
use super::words::Words;

/// Combines updates into the data at indices, in row-major order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scatter<'a> {
    /// Bytes of an element, and what they mean; 16-bit floats are only replaced.
    pub element: (usize, Number),
    pub index: (usize, Number),
    /// A code of [`join`].
    pub join: u64,
    /// The axis along which indices point, counting from the end where negative. `None`: each row of the indices has the positions
    /// along one leading axis.
    pub along: Option<usize>,
    /// Shapes.
    pub data: &'a [u64],
    pub indices: &'a [u64],
    pub updates: &'a [u64],
}

/// How an update is combined with the existing element.
pub mod join {
    pub const REPLACE: u64 = 0;
    pub const ADD: u64 = 1;
    pub const MULTIPLY: u64 = 2;
    /// NaN wins and -0 < +0.
    pub const LEAST: u64 = 3;
    pub const GREATEST: u64 = 4;
    /// Half of the sum; of integers, rounded towards zero.
    pub const MEAN: u64 = 5;
}

/// An index outside of its axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outside {
    pub axis: usize,
    pub index: i128,
}

/// Addresses of data, indices, updates and result.
pub type Operands = [*mut u8; 4];

/// Maximum rank of the data.
pub const MAX_RANK: usize = 8;

impl<'a> Scatter<'a> {
    /// Gives the words that [`Scatter::read`] reads.
    pub fn write(&self, word: &mut impl FnMut(u64)) {
        let ([a, b, c], [d, e, f]) = (Number::words(self.element), Number::words(self.index));
        let along = self.along.map_or(0, |axis| axis as u64 + 1);
        [a, b, c, d, e, f, self.join, along].into_iter().for_each(&mut *word);
        for shape in [self.data, self.indices, self.updates] {
            word(shape.len() as u64);
            shape.iter().copied().for_each(&mut *word);
        }
    }

    pub(crate) fn read(words: &mut Words<'a>) -> Scatter<'a> {
        let (element, index) = (Number::read(words), Number::read(words));
        let (join, along) = (words.word(), words.number().checked_sub(1));
        Scatter { element, index, join, along, data: words.sizes(), indices: words.sizes(), updates: words.sizes() }
    }

    /// Runs it. Errors: the first index outside of its axis; nothing is written then, unless the indices change meanwhile.
    ///
    /// # Safety
    /// The operands are as large as the shapes say; nobody else uses the result meanwhile.
    pub unsafe fn run(&self, operands: &Operands) -> Result<(), Outside> {
        // SAFETY: as the caller says.
        unsafe {
            match self.along {
                Some(axis) => self.along(axis, operands),
                None => self.places(operands),
            }
        }
    }

    /// # Safety
    /// Like [`Scatter::run`].
    unsafe fn along(&self, axis: usize, operands: &Operands) -> Result<(), Outside> {
        let length = i128::from(self.data[axis]);
        let position = |at: usize| {
            // SAFETY: as the caller says.
            let index = unsafe { self.index(operands, at) };
            let from_start = if index < 0 { index + length } else { index };
            if (0..length).contains(&from_start) { Ok(from_start as usize) } else { Err(Outside { axis, index }) }
        };
        // Runs of elements, which lie one after the other in all operands; rows of an image mostly go to one place together. Along the
        // last axis, each of a run has a place of its own.
        let each = axis + 1 == self.data.len();
        let outer = if each { axis } else { self.runs(axis) };
        let (run, step) = (count(&self.indices[outer..]), count(&self.data[axis + 1..]));
        let runs = if run == 0 { 0 } else { count(&self.indices[..outer]) };
        // SAFETY: as the caller says.
        let together = |first: usize| !each && unsafe { self.are_equal(operands, first, run) };
        for first in (0..runs).map(|at| at * run) {
            let checked = if together(first) { 1 } else { run };
            (first..first + checked).try_for_each(|at| position(at).map(drop))?;
        }
        // SAFETY: as the caller says.
        unsafe { self.copy(operands) };
        let mut place = [0u64; MAX_RANK];
        for first in (0..runs).map(|at| at * run) {
            let (mut to, mut from) = (0, 0);
            for (d, (&data, &updates)) in self.data.iter().zip(self.updates).enumerate() {
                to = to * data as usize + if d == axis { 0 } else { place[d] as usize };
                from = from * updates as usize + place[d] as usize;
            }
            // SAFETY: all places are inside, as each position is when it is read.
            unsafe {
                if together(first) {
                    self.join(operands, to + position(first)? * step, from, run);
                } else {
                    for at in 0..run {
                        let own = if each { 0 } else { at };
                        self.join(operands, to + position(first + at)? * step + own, from + at, 1);
                    }
                }
            }
            for d in (0..outer).rev() {
                place[d] += 1;
                if place[d] < self.indices[d] {
                    break;
                }
                place[d] = 0;
            }
        }
        Ok(())
    }

    /// The first axis of the longest runs behind an axis that lie one after the other in indices, data and updates.
    fn runs(&self, axis: usize) -> usize {
        let rank = self.indices.len();
        let is_whole = |at: usize| self.indices[at] == self.data[at] && self.indices[at] == self.updates[at];
        let whole = (axis + 1..rank).rev().take_while(|&at| is_whole(at)).count();
        (rank - whole).saturating_sub(1).max(axis + 1)
    }

    /// Whether so many indices are the same.
    ///
    /// # Safety
    /// They are there.
    unsafe fn are_equal(&self, operands: &Operands, first: usize, n: usize) -> bool {
        // SAFETY: as the caller says.
        unsafe {
            let start = operands[1].wrapping_add(first * self.index.0);
            match self.index.0 {
                1 => equal::<u8>(start, n),
                2 => equal::<u16>(start.cast(), n),
                4 => equal::<u32>(start.cast(), n),
                _ => equal::<u64>(start.cast(), n),
            }
        }
    }

    /// # Safety
    /// Like [`Scatter::run`].
    unsafe fn places(&self, operands: &Operands) -> Result<(), Outside> {
        let columns = self.indices[0] as usize;
        let (indexed, part) = self.data.split_at(columns);
        let (part, places) = (count(part), count(&self.indices[1..]));
        // The position of a place among those that are indexed.
        let position = |place: usize| {
            indexed.iter().enumerate().try_fold(0, |start, (axis, &length)| {
                // SAFETY: as the caller says.
                let index = unsafe { self.index(operands, axis * places + place) };
                let is_inside = (0..i128::from(length)).contains(&index);
                if is_inside { Ok(start * length as usize + index as usize) } else { Err(Outside { axis, index }) }
            })
        };
        // Without an index for it there may be any number of places for nothing.
        (0..if columns == 0 { 0 } else { places }).try_for_each(|place| position(place).map(drop))?;
        // SAFETY: as the caller says.
        unsafe { self.copy(operands) };
        for place in 0..if part == 0 { 0 } else { places } {
            // SAFETY: both places are inside, as the position is.
            unsafe { self.join(operands, position(place)? * part, place * part, part) };
        }
        Ok(())
    }

    /// # Safety
    /// There are more indices than `at`.
    unsafe fn index(&self, operands: &Operands, at: usize) -> i128 {
        let (width, number) = self.index;
        // SAFETY: as the caller says.
        unsafe { index(operands[1].wrapping_add(at * width), width, number == Number::Signed) }
    }

    /// # Safety
    /// Like [`Scatter::run`].
    unsafe fn copy(&self, operands: &Operands) {
        // SAFETY: as the caller says; the result is another tensor than the data.
        unsafe { core::ptr::copy_nonoverlapping(operands[0], operands[3], count(self.data) * self.element.0) };
    }

    /// Combines updates with as many elements of the result.
    ///
    /// # Safety
    /// All of them are there.
    unsafe fn join(&self, operands: &Operands, to: usize, from: usize, n: usize) {
        let width = self.element.0;
        let (to, from) = (operands[3].wrapping_add(to * width), operands[2].wrapping_add(from * width));
        // SAFETY: as the caller says; the result is another tensor than the updates.
        unsafe {
            if self.join == join::REPLACE {
                return match n * width {
                    // A single number needs no call.
                    4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
                    bytes => core::ptr::copy_nonoverlapping(from, to, bytes),
                };
            }
            (0..n).for_each(|at| self.join_one(to.wrapping_add(at * width), from.wrapping_add(at * width)));
        }
    }

    /// # Safety
    /// Both elements are there.
    unsafe fn join_one(&self, to: *mut u8, from: *const u8) {
        let (width, number) = self.element;
        // SAFETY: as the caller says.
        unsafe {
            match (self.join, number) {
                (join::ADD, Number::Float(23)) => {
                    let (to, from) = (to.cast::<f32>(), from.cast::<f32>());
                    to.write_unaligned(to.read_unaligned() + from.read_unaligned());
                }
                (by, Number::Float(23)) => {
                    let (to, from) = (to.cast::<f32>(), from.cast::<f32>());
                    to.write_unaligned(floats(by, to.read_unaligned().into(), from.read_unaligned().into()) as f32);
                }
                (by, Number::Float(_)) => {
                    let (to, from) = (to.cast::<f64>(), from.cast::<f64>());
                    to.write_unaligned(floats(by, to.read_unaligned(), from.read_unaligned()));
                }
                (by, number) => {
                    let x = ints(by, int(to, self.element), int(from, self.element));
                    put(to, width, if number == Number::Bool { i64::from(x != 0) } else { x as i64 });
                }
            }
        }
    }
}

/// Whether so many elements are the same. All are compared: loops that end early have no vectors.
///
/// # Safety
/// They are there.
unsafe fn equal<T: Copy + Eq>(start: *const T, n: usize) -> bool {
    // SAFETY: as the caller says.
    let element = |at: usize| unsafe { start.wrapping_add(at).read_unaligned() };
    n > 0 && {
        let first = element(0);
        (1..n).fold(true, |same, at| same & (element(at) == first))
    }
}

/// Combines floats; of two of 32 bits, the result rounded to 32 bits is that of their own arithmetic.
fn floats(by: u64, x: f64, update: f64) -> f64 {
    match by {
        join::ADD => x + update,
        join::MULTIPLY => x * update,
        join::LEAST => -greatest(-x, -update),
        join::GREATEST => greatest(x, update),
        _ => (x + update) / 2.0,
    }
}

/// The greater of two floats; NaN wins and -0 < +0.
fn greatest(a: f64, b: f64) -> f64 {
    match () {
        () if a.is_nan() || b.is_nan() => f64::NAN,
        () if a == b => {
            if a.is_sign_negative() {
                b
            } else {
                a
            }
        }
        () => {
            if a > b {
                a
            } else {
                b
            }
        }
    }
}

/// Combines integers of at most 64 bits; the result wraps to their width.
fn ints(by: u64, x: i128, update: i128) -> i128 {
    match by {
        join::ADD => x + update,
        join::MULTIPLY => x.wrapping_mul(update),
        join::LEAST => x.min(update),
        join::GREATEST => x.max(update),
        // A sum of 65 bits; a half towards zero, without a division.
        _ => (x + update + i128::from(x + update < 0)) >> 1,
    }
}

/// Number of elements of a shape.
fn count(shape: &[u64]) -> usize {
    shape.iter().product::<u64>() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_were_written() {
        let (element, index) = ((4, Number::Float(23)), (8, Number::Signed));
        for along in [None, Some(0), Some(2)] {
            let scatter = Scatter { element, index, join: join::MEAN, along, data: &[2, 3, 4], indices: &[1, 5], updates: &[] };
            let mut words = vec![];
            scatter.write(&mut |word| words.push(word));
            // SAFETY: as many words are read as were written.
            assert_eq!(Scatter::read(&mut unsafe { Words::at(words.as_ptr().cast(), 0) }), scatter);
        }
    }

    /// Each shape and axis, with indices that are the same along some axes: row by row, of parts of rows, and of none.
    #[test]
    fn runs_go_where_their_elements_would_one_by_one() {
        let shapes: [([u64; 3], [u64; 3], [u64; 3]); 5] = [
            ([5, 3, 2], [4, 3, 2], [4, 3, 2]),
            ([5, 3, 2], [4, 2, 2], [4, 3, 2]),
            ([5, 3, 4], [2, 3, 3], [2, 3, 4]),
            ([5, 3, 4], [2, 0, 3], [2, 3, 4]),
            ([1, 7, 1], [1, 6, 1], [3, 6, 2]),
        ];
        for (data, indices, updates) in shapes {
            for (axis, equal) in (0..3).flat_map(|axis| (0..4).map(move |equal| (axis, equal))) {
                if indices.iter().zip(&data).enumerate().any(|(d, (n, most))| d != axis && n > most) {
                    continue;
                }
                for join in [join::REPLACE, join::ADD] {
                    let scatter = Scatter {
                        element: (4, Number::Float(23)),
                        index: (8, Number::Signed),
                        join,
                        along: Some(axis),
                        data: &data,
                        indices: &indices,
                        updates: &updates,
                    };
                    let length = data[axis] as i64;
                    let same = |at: usize| at / count(&indices[equal.min(3)..]).max(1);
                    let at: Vec<i64> =
                        (0..count(&indices)).map(|at| (same(at) * 5 % (2 * length as usize)) as i64 - length).collect();
                    let old: Vec<f32> = (0..count(&data)).map(|at| at as f32).collect();
                    let new: Vec<f32> = (0..count(&updates)).map(|at| 100.0 + at as f32).collect();
                    let mut expected = old.clone();
                    for (number, &index) in at.iter().enumerate() {
                        let mut place = [0; 3];
                        let mut rest = number as u64;
                        for d in (0..3).rev() {
                            (place[d], rest) = (rest % indices[d], rest / indices[d]);
                        }
                        let flat =
                            |place: [u64; 3], shape: [u64; 3]| ((place[0] * shape[1] + place[1]) * shape[2] + place[2]) as usize;
                        let from = flat(place, updates);
                        place[axis] = index.rem_euclid(length) as u64;
                        let to = &mut expected[flat(place, data)];
                        *to = if join == join::ADD { *to + new[from] } else { new[from] };
                    }
                    let mut found = vec![0f32; old.len()];
                    let operands =
                        [old.as_ptr().cast(), at.as_ptr().cast(), new.as_ptr().cast(), found.as_mut_ptr().cast_const().cast()];
                    // SAFETY: the vectors are as long as the shapes say.
                    assert_eq!(unsafe { scatter.run(&operands.map(<*const u8>::cast_mut)) }, Ok(()));
                    assert_eq!(found, expected, "{data:?} {indices:?} {updates:?} along {axis}, equal from axis {equal}");
                }
            }
        }
    }

    #[test]
    fn halves_of_integers_go_towards_zero() {
        assert_eq!([5, 4, -5, -4, 1, -1].map(|x| ints(join::MEAN, x, 0)), [2, 2, -2, -2, 0, 0]);
        let (least, greatest) = (i128::from(i64::MIN), i128::from(u64::MAX));
        assert_eq!([ints(join::MEAN, least, least), ints(join::MEAN, greatest, greatest)], [least, greatest]);
    }
}
