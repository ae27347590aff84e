//! A cursor over the words of an image.

use core::marker::PhantomData;

/// A position among immutable words.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    at: *const u64,
    of: PhantomData<&'a [u64]>,
}

// SAFETY: words are only read.
unsafe impl Send for Words<'_> {}
// SAFETY: as above.
unsafe impl Sync for Words<'_> {}

impl<'a> Words<'a> {
    /// The words from a byte after `start` on.
    ///
    /// # Safety
    /// There are as many words as are read, here or [behind](Words::behind).
    pub const unsafe fn at(start: *const u8, byte: u64) -> Words<'a> {
        Words { at: start.wrapping_add(byte as usize).cast(), of: PhantomData }
    }

    /// The words `bytes` bytes after these.
    pub fn behind(self, bytes: u64) -> Words<'a> {
        Words { at: self.at.wrapping_byte_add(bytes as usize), of: PhantomData }
    }

    pub(crate) fn word(&mut self) -> u64 {
        // SAFETY: there is a word more, as `at` was promised.
        let word = unsafe { self.at.read() };
        self.at = self.at.wrapping_add(1);
        word
    }

    pub(crate) fn number(&mut self) -> usize {
        self.word() as usize
    }

    pub(crate) fn signed(&mut self) -> i64 {
        self.word() as i64
    }

    /// Reads a list: its length and as many words.
    pub(crate) fn list(&mut self) -> &'a [i64] {
        let n = self.number();
        // SAFETY: as above.
        let list = unsafe { core::slice::from_raw_parts(self.at.cast(), n) };
        self.at = self.at.wrapping_add(n);
        list
    }

    /// Like [`Words::list`], for unsigned numbers.
    pub(crate) fn sizes(&mut self) -> &'a [u64] {
        let n = self.number();
        // SAFETY: as above.
        let list = unsafe { core::slice::from_raw_parts(self.at, n) };
        self.at = self.at.wrapping_add(n);
        list
    }
}

/// The bytes of a text, given its start and length.
///
/// # Safety
/// The image contains it.
pub(crate) unsafe fn text<'a>(image: *const u8, place: [u64; 2]) -> &'a [u8] {
    // SAFETY: the caller promises it.
    unsafe { core::slice::from_raw_parts(image.wrapping_add(place[0] as usize), place[1] as usize) }
}
