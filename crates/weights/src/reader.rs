//! A cursor over the bytes of a file; each failure names the file and the byte.

use super::errors;
use relayc_base::diag::Diagnostic;
use relayc_ir::tensor::binary::{BinaryError, Cursor, Source};

/// Reads little-endian fields one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub(crate) name: &'a str,
    /// Offset of the bytes in the file.
    base: usize,
    cursor: Cursor<'a>,
}

impl<'a> Reader<'a> {
    /// A reader of bytes that start at `base` of a file.
    pub(crate) fn new(name: &'a str, bytes: &'a [u8], base: usize) -> Reader<'a> {
        Reader { name, base, cursor: Cursor::new(bytes) }
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.cursor.remaining()
    }

    /// Takes the next `n` bytes, called `what` in messages.
    pub(crate) fn take(&mut self, n: u64, what: &str) -> Result<&'a [u8], Diagnostic> {
        self.read(|cursor| cursor.take(n, what))
    }

    /// Like [`Reader::take`], as a reader.
    pub(crate) fn part(&mut self, n: u64, what: &str) -> Result<Reader<'a>, Diagnostic> {
        let base = self.base.saturating_add(self.cursor.offset());
        Ok(Reader::new(self.name, self.take(n, what)?, base))
    }

    pub(crate) fn u16(&mut self, what: &str) -> Result<u16, Diagnostic> {
        self.read(|cursor| cursor.u16(what))
    }

    pub(crate) fn u32(&mut self, what: &str) -> Result<u32, Diagnostic> {
        self.read(|cursor| cursor.u32(what))
    }

    pub(crate) fn u64(&mut self, what: &str) -> Result<u64, Diagnostic> {
        self.read(|cursor| cursor.u64(what))
    }

    fn read<T>(&mut self, part: impl FnOnce(&mut Cursor<'a>) -> Result<T, BinaryError>) -> Result<T, Diagnostic> {
        part(&mut self.cursor).map_err(|error| self.named(error))
    }

    /// An error at the next byte.
    pub(crate) fn error(&self, words: impl std::fmt::Display) -> Diagnostic {
        self.named(self.cursor.error(words))
    }

    fn named(&self, error: BinaryError) -> Diagnostic {
        errors::binary(self.name, &BinaryError { offset: self.base.saturating_add(error.offset), ..error })
    }
}
