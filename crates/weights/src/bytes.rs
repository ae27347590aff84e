//! The bytes of a file, wherever they are, and reading pieces of them.
//!
//! A file is read, not mapped: a mapped file that somebody shortens meanwhile kills the process at the next touch of a page
//! that is gone, a read one comes back short.

use super::errors;
use super::stream::Stream;
use relayc_base::diag::Diagnostic;
use relayc_base::{u64_of, usize_of};
use std::io::{BufReader, Error, ErrorKind, Read, Result as IoResult};

/// The bytes of a file, wherever they are.
pub trait Bytes {
    /// How many there are.
    fn size(&self) -> u64;

    /// Fills `out` with those from `at` on. An error of the kind `UnexpectedEof` says that the file has become shorter.
    fn read_at(&self, at: u64, out: &mut [u8]) -> IoResult<()>;

    /// What to say where the system failed to read them.
    fn failed(&self, error: &Error) -> Diagnostic;
}

impl Bytes for &[u8] {
    fn size(&self) -> u64 {
        u64_of(self.len())
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> IoResult<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..out.len()));
        out.copy_from_slice(from.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn failed(&self, error: &Error) -> Diagnostic {
        errors::unsound("memory", error)
    }
}

/// The bytes of a file from one to another, one after the other.
pub(super) struct Section<'a> {
    bytes: &'a dyn Bytes,
    at: u64,
    end: u64,
}

impl<'a> Section<'a> {
    /// Those from `at` up to `end`, which lie in the file.
    pub(crate) fn new(bytes: &'a dyn Bytes, at: u64, end: u64) -> Section<'a> {
        Section { bytes, at, end }
    }
}

impl Read for Section<'_> {
    fn read(&mut self, out: &mut [u8]) -> IoResult<usize> {
        let left = usize_of(self.end.saturating_sub(self.at));
        let n = out.len().min(left);
        let Some(out) = out.get_mut(..n) else { return Ok(0) };
        self.bytes.read_at(self.at, out)?;
        self.at = self.at.saturating_add(u64_of(n));
        Ok(n)
    }
}

/// Fields from `at` to the end of the file, read in pieces of `piece` bytes.
pub(super) fn fields(bytes: &dyn Bytes, at: u64, piece: usize) -> Stream<BufReader<Section<'_>>> {
    let section = Section::new(bytes, at, bytes.size());
    Stream::at(BufReader::with_capacity(piece, section), at, bytes.size())
}

/// What was read of fields; where the system failed, its word in place of what is missing then.
pub(super) fn checked<T, R: Read>(bytes: &dyn Bytes, fields: &Stream<R>, read: Result<T, Diagnostic>) -> Result<T, Diagnostic> {
    match (read, fields.failure()) {
        (Err(_), Some(failure)) => Err(bytes.failed(failure)),
        (read, _) => read,
    }
}

/// Reads bytes that were there when the file was opened.
pub(super) fn read_at(name: &str, bytes: &dyn Bytes, at: u64, out: &mut [u8]) -> Result<(), Diagnostic> {
    bytes.read_at(at, out).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => {
            let at = usize_of(at);
            errors::malformed(name, at, "the file has become shorter while it was read")
        }
        _ => bytes.failed(&error),
    })
}
