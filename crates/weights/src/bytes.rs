//! The bytes of a file, wherever they are, and reading pieces of them.
//!
//! A file is read, not mapped: a mapped file that somebody shortens meanwhile kills the process at the next touch of a page
//! that is gone, a read one comes back short.

use super::stream::Stream;
use super::{MAX_NAME, errors};
use relayc_base::diag::Diagnostic;
use relayc_base::{u64_of, usize_of};
use relayc_ir::tensor::binary::{BinaryError, Source};
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

/// All bytes of a file.
pub(super) fn whole(name: &str, bytes: &dyn Bytes) -> Result<Vec<u8>, Diagnostic> {
    let size = usize_of(bytes.size());
    let mut whole = Vec::new();
    whole.try_reserve_exact(size).map_err(|_| errors::no_memory(name, size))?;
    whole.resize(size, 0);
    read_at(name, bytes, 0, &mut whole)?;
    Ok(whole)
}

/// Reads the number of entries, called `what`: at most `most`, each of at least `smallest` bytes. Errors: E0703, E0804.
pub(super) fn count(name: &str, source: &mut impl Source, what: &str, most: usize, smallest: u64) -> Result<u64, Diagnostic> {
    let at = source.offset();
    let count = source.u64(&format!("the number of {what}")).map_err(|error| errors::binary(name, &error))?;
    if count > u64_of(most) {
        return Err(errors::entry_limit(name, at, format_args!("{count} {what}, the limit is {most}")));
    }
    if count.saturating_mul(smallest) > source.remaining() {
        return Err(errors::malformed(name, at, format_args!("{count} {what}, more than the file has room for")));
    }
    Ok(count)
}

/// Reads a tensor's name: a u64 length and the bytes. Errors: E0703, E0804.
pub(super) fn entry_name(file: &str, source: &mut impl Source) -> Result<String, Diagnostic> {
    let named = |error: BinaryError| errors::binary(file, &error);
    let at = source.offset();
    let length = source.u64("the length of a name").map_err(named)?;
    if length > u64_of(MAX_NAME) {
        return Err(errors::entry_limit(file, at, format_args!("a name of {length} bytes, the limit is {MAX_NAME}")));
    }
    let at = source.offset();
    source.expect(length, "a name").map_err(named)?;
    let mut text = vec![0; usize_of(length)];
    source.fill(&mut text, "a name").map_err(named)?;
    String::from_utf8(text).map_err(|_| errors::malformed(file, at, "a name that is not UTF-8"))
}
