//! Words one after the other.

/// A place among the words of an image.
#[derive(Clone, Copy)]
pub struct Words {
    at: *const u64,
}

impl Words {
    /// The words from a byte of an image on.
    ///
    /// # Safety
    /// Words are there, and as many as are asked for.
    pub unsafe fn at(image: *const u8, byte: u64) -> Words {
        Words { at: image.wrapping_add(byte as usize).cast() }
    }

    pub fn word(&mut self) -> u64 {
        // SAFETY: there is a word more, as `at` was promised.
        let word = unsafe { self.at.read() };
        self.at = self.at.wrapping_add(1);
        word
    }

    pub fn number(&mut self) -> usize {
        self.word() as usize
    }

    pub fn signed(&mut self) -> i64 {
        self.word() as i64
    }

    /// A list: its length and so many words.
    pub fn list(&mut self) -> &'static [i64] {
        let n = self.number();
        // SAFETY: as above; an image outlives its instances.
        let list = unsafe { core::slice::from_raw_parts(self.at.cast(), n) };
        self.at = self.at.wrapping_add(n);
        list
    }

    /// As [`Words::list`], of numbers without a sign.
    pub fn sizes(&mut self) -> &'static [u64] {
        let n = self.number();
        // SAFETY: as above.
        let list = unsafe { core::slice::from_raw_parts(self.at, n) };
        self.at = self.at.wrapping_add(n);
        list
    }
}

/// The bytes of a text: where it begins, and its length.
///
/// # Safety
/// The image has it.
pub unsafe fn text(image: *const u8, place: [u64; 2]) -> &'static [u8] {
    // SAFETY: the caller promises it.
    unsafe { core::slice::from_raw_parts(image.wrapping_add(place[0] as usize), place[1] as usize) }
}
