//! A cursor over the bytes of a file that cannot leave them.

use super::errors;
use crate::diag::Diagnostic;

/// Reads little-endian fields one after the other; each failure names the file and the byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub name: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(name: &'a str, bytes: &'a [u8]) -> Reader<'a> {
        Reader { name, bytes, at: 0 }
    }

    /// The same file from another byte on.
    pub fn at(self, at: u64) -> Result<Reader<'a>, Diagnostic> {
        match usize::try_from(at) {
            Ok(at) if at <= self.bytes.len() => Ok(Reader { at, ..self }),
            _ => Err(self.error(format_args!("an offset of {at} leads outside of the file"))),
        }
    }

    pub fn offset(&self) -> usize {
        self.at
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// The next `n` bytes, which are `what`.
    pub fn take(&mut self, n: u64, what: &str) -> Result<&'a [u8], Diagnostic> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        match usize::try_from(n).ok().and_then(|n| rest.get(..n)) {
            Some(bytes) => {
                self.at = self.at.saturating_add(bytes.len());
                Ok(bytes)
            }
            None => Err(self.error(format_args!("{what} takes {n} bytes, the file has {} more", rest.len()))),
        }
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Diagnostic> {
        let at = *self;
        let bytes = self.take(u64::try_from(N).unwrap_or(u64::MAX), what)?;
        bytes.try_into().map_err(|_| at.error(what))
    }

    pub fn u8(&mut self, what: &str) -> Result<u8, Diagnostic> {
        self.array(what).map(u8::from_le_bytes)
    }

    pub fn u16(&mut self, what: &str) -> Result<u16, Diagnostic> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub fn u32(&mut self, what: &str) -> Result<u32, Diagnostic> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub fn u64(&mut self, what: &str) -> Result<u64, Diagnostic> {
        self.array(what).map(u64::from_le_bytes)
    }

    pub fn i32(&mut self, what: &str) -> Result<i32, Diagnostic> {
        self.array(what).map(i32::from_le_bytes)
    }

    pub fn i64(&mut self, what: &str) -> Result<i64, Diagnostic> {
        self.array(what).map(i64::from_le_bytes)
    }

    /// A complaint about the next byte.
    pub fn error(&self, words: impl std::fmt::Display) -> Diagnostic {
        errors::malformed(self.name, self.at, words)
    }
}
