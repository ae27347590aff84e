//! Writes a tensor to the positions of a slice of another.

use super::number::{Number, int};
use super::operands::{Operands, Wrong};
use super::words::Words;

/// The largest rank.
pub const MAX_RANK: usize = 8;

/// The operands are the data, the part, three lists (begin, end, strides), and the result. An axis without a number of a list has stride
/// 1 and is walked over whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StridedSet {
    /// Bytes of an element.
    pub width: usize,
    pub rank: usize,
    pub data: [usize; MAX_RANK],
    pub part: [usize; MAX_RANK],
    /// For each list its length, and what its elements are.
    pub lists: [(usize, (usize, Number)); 3],
}

/// The positions of an axis.
#[derive(Clone, Copy)]
struct Walk {
    first: i128,
    stride: i128,
    count: i128,
}

impl StridedSet {
    pub(super) fn write(&self, word: &mut impl FnMut(u64)) {
        [self.width, self.rank].iter().chain(&self.data).chain(&self.part).for_each(|&size| word(size as u64));
        for (n, element) in self.lists {
            word(n as u64);
            Number::words(element).into_iter().for_each(&mut *word);
        }
    }

    pub(super) fn read(words: &mut Words) -> StridedSet {
        let [width, rank] = core::array::from_fn(|_| words.number());
        let [data, part] = core::array::from_fn(|_| core::array::from_fn(|_| words.number()));
        StridedSet { width, rank, data, part, lists: core::array::from_fn(|_| (words.number(), Number::read(words))) }
    }

    /// A walk along an axis; the stride is not 0.
    ///
    /// # Safety
    /// The operands hold the lists.
    unsafe fn walk(&self, axis: usize, operands: &Operands) -> Walk {
        let at = |list: usize| {
            let (n, element) = self.lists[list];
            // SAFETY: as the caller says.
            (axis < n).then(|| unsafe { int(operands[2 + list].wrapping_add(axis * element.0), element) })
        };
        let (length, stride) = (self.data[axis] as i128, at(2).unwrap_or(1));
        let (low, high) = if stride > 0 { (0, length) } else { (-1, length - 1) };
        let limited = |at: i128| if at < 0 { at + length } else { at }.clamp(low, high);
        let (first, last) = if stride > 0 { (low, high) } else { (high, low) };
        let (begin, end) = (at(0).map_or(first, limited), at(1).map_or(last, limited));
        let distance = if stride > 0 { end - begin } else { begin - end };
        let by = stride.abs().max(1);
        Walk { first: begin, stride, count: (distance.max(0) + by - 1) / by }
    }

    /// The walk along each axis. Errors: a stride of 0 (0), and a number of positions that is not that of the part (1).
    ///
    /// # Safety
    /// The operands are as large as the numbers say.
    unsafe fn walks(&self, operands: &Operands) -> Result<[Walk; MAX_RANK], Wrong> {
        let mut walks = [Walk { first: 0, stride: 1, count: 0 }; MAX_RANK];
        for (axis, walk) in walks[..self.rank].iter_mut().enumerate() {
            // SAFETY: as the caller says.
            *walk = unsafe { self.walk(axis, operands) };
            if walk.stride == 0 {
                return Err(Wrong { message: 0, number: None });
            }
            if walk.count != self.part[axis] as i128 {
                return Err(Wrong { message: 1, number: Some(walk.count) });
            }
        }
        Ok(walks)
    }

    /// Errors: those of the walks.
    ///
    /// # Safety
    /// The operands are as large as the numbers say.
    pub(super) unsafe fn check(&self, operands: &Operands) -> Result<(), Wrong> {
        // SAFETY: as the caller says.
        unsafe { self.walks(operands) }.map(drop)
    }

    /// # Safety
    /// As [`StridedSet::check`], which found nothing; nobody else uses the result.
    pub(super) unsafe fn set(&self, operands: &Operands) {
        let count = |shape: &[usize]| shape[..self.rank].iter().product::<usize>();
        let [data, part, result] = [operands[0], operands[1], operands[5]];
        // SAFETY: as the caller says; walks stay inside of their axes.
        unsafe {
            core::ptr::copy_nonoverlapping(data, result, count(&self.data) * self.width);
            // The lists may be a caller's, and another thread of it may have changed them since.
            let Ok(walks) = self.walks(operands) else { return };
            for at in 0..count(&self.part) {
                let (mut rest, mut step, mut to) = (at, 1, 0);
                for axis in (0..self.rank).rev() {
                    let Walk { first, stride, .. } = walks[axis];
                    to += step * (first + stride * (rest % self.part[axis]) as i128) as usize;
                    rest /= self.part[axis];
                    step *= self.data[axis];
                }
                let (from, to) = (part.wrapping_add(at * self.width), result.wrapping_add(to * self.width));
                core::ptr::copy_nonoverlapping(from, to, self.width);
            }
        }
    }
}
