//! Margins: the elements around a tensor that windows read beside it. They get their value before the tensor is written.
//!
//! Promises that every margin is filled once, whatever shares its rows are filled in, and nothing else is touched.

use core::ops::Range;

/// A buffer that holds a tensor with margins.
#[derive(Clone, Copy)]
pub struct Margins<'a> {
    /// For each axis up to the last one with margins: the extent of the margin before the tensor, of the tensor, and of the margin
    /// after it.
    pub axes: &'a [[i64; 3]],
    /// Number of elements of the axes behind these.
    pub piece: usize,
    /// Bytes of an element.
    pub width: usize,
    /// The bits of the value, in the low bits.
    pub bits: u64,
}

impl Margins<'_> {
    /// Number of rows: of indices along all axes but the last.
    pub fn n_rows(&self) -> usize {
        self.axes.split_last().map_or(0, |(_, outer)| outer.iter().map(extent).product::<i64>() as usize)
    }

    /// Number of elements of all margins.
    pub fn n_elements(&self) -> usize {
        let product = |of: &dyn Fn(&[i64; 3]) -> i64| self.axes.iter().map(of).product::<i64>() as usize;
        (product(&extent) - product(&|axis| axis[1])) * self.piece
    }

    /// Fills the margins of some rows of the buffer at an address.
    ///
    /// # Safety
    /// The rows lie in the buffer, and nobody else uses their margins meanwhile.
    pub unsafe fn fill(&self, at: *mut u8, rows: Range<usize>) {
        let Some((last, others)) = self.axes.split_last() else { return };
        let (rows_of_plane, planes) = others.split_last().unwrap_or((&[0, 1, 0], &[]));
        let [before, inner, after] = last.map(|elements| elements as usize * self.piece * self.width);
        let [above, height, below] = rows_of_plane.map(|rows| rows as usize);
        let plane = Plane { above, height, before, after, line: before + inner + after, value: self.value() };
        let n_rows = (above + height + below).max(1);
        let all_inside = planes.iter().all(|axis| axis[0] + axis[2] == 0);
        let (mut number, mut first, mut left) = (rows.start / n_rows, rows.start % n_rows, rows.len());
        while left > 0 {
            let end = (first + left).min(n_rows);
            let start = at.wrapping_add(number * n_rows * plane.line);
            // SAFETY: as the caller says; the plane begins there.
            unsafe { plane.fill(start, all_inside || inside(number, planes), first..end) };
            left -= end - first;
            (number, first) = (number + 1, 0);
        }
    }

    /// The value as often as it fits 64 bits.
    fn value(&self) -> u64 {
        match self.width {
            1 => u64::from_ne_bytes([self.bits as u8; 8]),
            2 => u64::from(self.bits as u16) * 0x0001_0001_0001_0001,
            4 => u64::from(self.bits as u32) * 0x0000_0001_0000_0001,
            _ => self.bits,
        }
    }
}

/// Rows of margins and of a tensor, which have their own margins at both ends.
struct Plane {
    /// Number of rows above the tensor, and of its rows.
    above: usize,
    height: usize,
    /// Bytes before and after a row of the tensor, and of the whole row.
    before: usize,
    after: usize,
    line: usize,
    /// The value that margins get.
    value: u64,
}

impl Plane {
    /// Fills the margins of some rows of the plane at an address. All of one beside the tensor is margin.
    ///
    /// # Safety
    /// As [`Margins::fill`].
    unsafe fn fill(&self, at: *mut u8, inside: bool, rows: Range<usize>) {
        let &Plane { above, height, before, after, line, value } = self;
        let tensor = above.clamp(rows.start, rows.end)..(above + height).clamp(rows.start, rows.end);
        let set = |from: usize, to: usize| {
            // SAFETY: as the caller says.
            unsafe { set(at.wrapping_add(from), to - from, value) };
        };
        if !inside || tensor.is_empty() {
            return set(rows.start * line, rows.end * line);
        }
        // A margin after a row and the one before the next row are one stretch.
        set(rows.start * line, tensor.start * line + before);
        if before + after > 0 {
            let mut end = tensor.start * line;
            for _ in tensor.start + 1..tensor.end {
                end += line;
                set(end - after, end + before);
            }
        }
        set(tensor.end * line - after, rows.end * line);
    }
}

/// Sets bytes to a value, again and again.
///
/// # Safety
/// There are so many bytes, and nobody else uses them meanwhile.
#[inline(always)]
unsafe fn set(mut at: *mut u8, mut n_bytes: usize, value: u64) {
    /// So many are worth a call.
    const MANY: usize = 256;
    // SAFETY: as the caller says.
    unsafe {
        if value == 0 && n_bytes >= MANY {
            return core::ptr::write_bytes(at, 0, n_bytes);
        }
        while n_bytes >= 8 {
            at.cast::<u64>().write_unaligned(value);
            (at, n_bytes) = (at.wrapping_add(8), n_bytes - 8);
        }
        if n_bytes & 4 != 0 {
            at.cast::<u32>().write_unaligned(value as u32);
            at = at.wrapping_add(4);
        }
        if n_bytes & 2 != 0 {
            at.cast::<u16>().write_unaligned(value as u16);
            at = at.wrapping_add(2);
        }
        if n_bytes & 1 != 0 {
            at.write(value as u8);
        }
    }
}

/// Whether the tensor is at an index, which counts along all of these axes.
fn inside(index: usize, axes: &[[i64; 3]]) -> bool {
    let mut rest = index as i64;
    axes.iter().rev().all(|axis| {
        let at = rest % extent(axis);
        rest /= extent(axis);
        (axis[0]..axis[0] + axis[1]).contains(&at)
    })
}

/// The extent of an axis with its margins.
fn extent(axis: &[i64; 3]) -> i64 {
    axis.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_the_tensor_is_filled_in_any_shares() {
        let cases: [&[[i64; 3]]; 4] =
            [&[[1, 2, 1], [2, 3, 0]], &[[0, 2, 0], [1, 3, 1], [1, 1, 1]], &[[0, 4, 2]], &[[0, 0, 1], [3, 1, 0]]];
        for (axes, piece) in cases.into_iter().flat_map(|axes| [(axes, 1), (axes, 3)]) {
            for (width, bits) in [(1, 0x7f_u64), (2, 0x7fff), (4, 0), (4, 0xff80_0000), (8, 1 << 63)] {
                let margins = Margins { axes, piece, width, bits };
                let total = axes.iter().map(extent).product::<i64>() as usize * piece;
                let is_inside = |element: usize| inside(element / piece, axes);
                let wanted: Vec<u8> = (0..total)
                    .flat_map(|element| if is_inside(element) { vec![9; width] } else { bits.to_le_bytes()[..width].to_vec() })
                    .collect();
                assert_eq!((0..total).filter(|&element| !is_inside(element)).count(), margins.n_elements());
                for n_shares in 1..4 {
                    let mut found = vec![9; total * width];
                    for share in 0..n_shares {
                        // SAFETY: the buffer has all elements.
                        unsafe { margins.fill(found.as_mut_ptr(), crate::split::part(margins.n_rows(), share, n_shares)) };
                    }
                    assert_eq!(found, wanted, "{axes:?} {piece} {width} {n_shares}");
                }
            }
        }
    }
}
