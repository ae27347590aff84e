//! Integers in memory, by their width.

/// Reads an integer of `width` bytes.
///
/// # Safety
/// `at` has 1, 2, 4 or 8 readable bytes: `width` of them.
#[inline]
pub unsafe fn index(at: *const u8, width: usize, signed: bool) -> i128 {
    // SAFETY: as the caller says.
    unsafe {
        match (width, signed) {
            (1, true) => at.cast::<i8>().read_unaligned().into(),
            (2, true) => at.cast::<i16>().read_unaligned().into(),
            (4, true) => at.cast::<i32>().read_unaligned().into(),
            (_, true) => at.cast::<i64>().read_unaligned().into(),
            (1, false) => at.read_unaligned().into(),
            (2, false) => at.cast::<u16>().read_unaligned().into(),
            (4, false) => at.cast::<u32>().read_unaligned().into(),
            (_, false) => at.cast::<u64>().read_unaligned().into(),
        }
    }
}

/// Writes the low bits of an integer.
///
/// # Safety
/// There is room for so many bytes.
pub(crate) unsafe fn put(to: *mut u8, width: usize, x: i64) {
    // SAFETY: as the caller says.
    unsafe {
        match width {
            1 => to.write(x as u8),
            2 => to.cast::<u16>().write_unaligned(x as u16),
            4 => to.cast::<u32>().write_unaligned(x as u32),
            _ => to.cast::<u64>().write_unaligned(x as u64),
        }
    }
}
