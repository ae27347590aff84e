//! The operating system: reads files within a limit, writes files completely or not at all, writes standard output, runs
//! commands, and reports memory.
//!
//! Promises: a file is written to a temporary beside it, flushed to the disk, then renamed over the old one (reliability 9).
//! Several files of one call are all on the disk before the first is renamed. Devices, pipes and everything under `/dev` and
//! `/proc` are written directly. Absent: what the bytes mean.
//!
//! There are two forms. With the feature `linux`, which machine code brings, processes, folders and memory are in the hands of
//! the Linux system; without it everything is the standard library's, for any system. `child`, `confined`, `cursor`, `memory` and
//! `output` have a file for each form, and say what the plain one cannot promise. `private` is for compiled programs alone.

#![allow(unsafe_code, reason = "the bytes of numbers are seen through pointers, and the allocator is told how to behave")]

mod bytes;
mod child;
mod confined;
mod cursor;
mod errors;
mod memory;
mod output;
mod private;
mod signals;
mod waiting;
mod write;

pub use bytes::{Number, bytes_of, bytes_of_mut};
pub use child::{Ended, interrupted, interruptible, note_interrupts, run};
pub use confined::read_inside;
use cursor::Cursor;
pub use errors::{reason, unreadable};
#[cfg(feature = "linux")]
pub use memory::LargePages;
pub use memory::{
    cores, default_memory_limit, give_back_code, give_back_free_memory, give_back_pages, is_short_of_memory, own_process,
    peak_memory,
};
pub use output::terminal_width;
#[cfg(feature = "linux")]
pub use private::{Identity, PrivateFolder};
pub use waiting::{Awaited, when_waiting};
pub use write::{Content, Version, is_stream, replaces_none, rewrite, write_all, write_atomic};

use relayc_base::diag::{Code, Diagnostic, codes};
use relayc_base::limits;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The largest size of a file, and the code of the error for a larger one.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub bytes: u64,
    pub code: Code,
    /// What sets it, if anything does.
    pub set_by: Option<&'static limits::Limit>,
}

impl Limit {
    /// Of a source text.
    pub fn source() -> Limit {
        Limit::of(&limits::SOURCE_BYTES, codes::E0801)
    }

    /// Of weights, arrays and images.
    pub fn data() -> Limit {
        Limit::of(&limits::DATA_BYTES, codes::E0804)
    }

    /// Of a model in another format.
    pub fn model() -> Limit {
        Limit::of(&limits::MODEL_BYTES, codes::E0804)
    }

    fn of(limit: &'static limits::Limit, code: Code) -> Limit {
        Limit { bytes: limit.get(), code, set_by: Some(limit) }
    }
}

/// A pipe or device states no size before it is read, and may never end: 1 GiB.
const PIPE_LIMIT: u64 = 1 << 30;

/// The first bytes of a file say what it is: so many are enough for every format, and to tell a text from others.
const START: u64 = 4096;

/// Refuses a file by its first bytes, before the rest is read, which may be without an end.
pub type Judge<'a> = &'a dyn Fn(&[u8]) -> Result<(), Diagnostic>;

/// An open file, not read yet.
pub struct Opened {
    path: PathBuf,
    file: std::fs::File,
    cursor: Cursor,
    /// Its size in bytes, for a regular file that states one.
    pub len: Option<u64>,
    limit: Limit,
}

/// Opens a file for reading. Errors: as [`read_file`].
pub fn open_file(path: &Path, limit: Limit) -> Result<Opened, Diagnostic> {
    let failed = |error: std::io::Error| errors::unreadable(path, &error);
    let file = waiting::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(errors::unreadable(path, &ErrorKind::IsADirectory.into()));
    }
    let bytes = if metadata.is_file() { limit.bytes } else { limit.bytes.min(PIPE_LIMIT) };
    let limit = Limit { bytes, ..limit };
    if metadata.len() > bytes {
        return Err(errors::too_large(path, Some(metadata.len()), limit));
    }
    // Files of the kernel say that they are empty.
    let len = Some(metadata.len()).filter(|&len| metadata.is_file() && len > 0);
    Ok(Opened { path: path.to_owned(), file, cursor: Cursor::default(), len, limit })
}

impl Opened {
    /// Fills `out` with the bytes from offset `at`; the position of other reads does not matter.
    pub fn read_at(&self, at: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.cursor.read_at(&self.file, at, out)
    }

    /// The first bytes, up to `N`, of a regular file; none of a pipe or device, which cannot be read twice.
    pub fn start<const N: usize>(&self) -> Result<Vec<u8>, Diagnostic> {
        let mut bytes = vec![0; usize::try_from(self.len.unwrap_or(0)).unwrap_or(N).min(N)];
        self.read_at(0, &mut bytes).map_err(|error| self.failed(&error))?;
        Ok(bytes)
    }

    /// The file itself, for mapping it into memory.
    pub fn file(&self) -> &std::fs::File {
        &self.file
    }

    /// E0701 with the reason.
    pub fn failed(&self, error: &std::io::Error) -> Diagnostic {
        errors::unreadable(&self.path, error)
    }

    /// Reads the whole file.
    pub fn whole(self) -> Result<Vec<u8>, Diagnostic> {
        self.whole_if(&|_| Ok(()))
    }

    /// As [`Opened::whole`], unless its first bytes are refused.
    pub fn whole_if(self, judge: Judge) -> Result<Vec<u8>, Diagnostic> {
        whole(&self.file, &self.path, self.len, self.limit, judge)
    }
}

/// Reads to the end; `path` is for messages.
fn whole(mut from: impl Read, path: &Path, len: Option<u64>, limit: Limit, judge: Judge) -> Result<Vec<u8>, Diagnostic> {
    let failed = |error: std::io::Error| errors::unreadable(path, &error);
    let mut bytes = Vec::new();
    // One byte more, so that reading to the end does not grow the buffer only to find the end.
    let capacity = usize::try_from(len.unwrap_or(0) + 1).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(capacity).map_err(|_| failed(ErrorKind::OutOfMemory.into()))?;
    // A file may grow while it is read.
    let most = limit.bytes + 1;
    from.by_ref().take(most.min(START)).read_to_end(&mut bytes).map_err(failed)?;
    judge(&bytes)?;
    let rest = most - bytes.len() as u64;
    from.take(rest).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit.bytes {
        return Err(errors::too_large(path, None, limit));
    }
    Ok(bytes)
}

/// What standard input is called in messages.
pub const STDIN: &str = "<stdin>";

/// Whether a path is `-`, which stands for standard input where a file is read, and for standard output where one is written.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether standard input was read.
static STDIN_READ: AtomicBool = AtomicBool::new(false);

/// Reads standard input, once; not by its path, as it may be a socket, which has none that could be opened. Errors: as
/// [`read_file_if`], and E0701 if it was read before.
pub fn read_stdin(limit: Limit, judge: Judge) -> Result<Vec<u8>, Diagnostic> {
    if STDIN_READ.swap(true, Ordering::Relaxed) {
        return Err(errors::read_twice());
    }
    let limit = Limit { bytes: limit.bytes.min(PIPE_LIMIT), ..limit };
    whole(std::io::stdin().lock(), Path::new(STDIN), None, limit, judge)
}

/// Reads a file; `-` is standard input. Errors: E0701 with the reason; the limit's code if the file is larger.
pub fn read_file(path: &Path, limit: Limit) -> Result<Vec<u8>, Diagnostic> {
    read_file_if(path, limit, &|_| Ok(()))
}

/// As [`read_file`], unless the first bytes are refused.
pub fn read_file_if(path: &Path, limit: Limit, judge: Judge) -> Result<Vec<u8>, Diagnostic> {
    if is_standard(path) { read_stdin(limit, judge) } else { open_file(path, limit)?.whole_if(judge) }
}

/// Writes text to standard output. Every command writes with this function or the next two; clippy rejects `print!`, which panics
/// if the write fails. Errors: E0702, except for a closed pipe, whose reader wants no more: [`reader_left`].
pub fn stdout(text: &str) -> Result<(), Diagnostic> {
    stdout_bytes(text.as_bytes())
}

/// As [`stdout`], for bytes.
pub fn stdout_bytes(bytes: &[u8]) -> Result<(), Diagnostic> {
    stdout_with(|| std::io::stdout().write_all(bytes))
}

/// As [`stdout`], for a library that writes there itself.
pub fn stdout_with(write: impl FnOnce() -> std::io::Result<()>) -> Result<(), Diagnostic> {
    signals::prepare();
    if output::stdout_was_closed() {
        return Err(errors::refused("standard output", "it is closed"));
    }
    let written = unless_broken_pipe(write().and_then(|()| std::io::stdout().flush()));
    written.map_err(|error| errors::unwritable("standard output", &error))
}

/// Whether a write to a pipe found it closed.
static READER_LEFT: AtomicBool = AtomicBool::new(false);

/// Whether the reader of what was written so far has closed its pipe.
pub fn reader_left() -> bool {
    READER_LEFT.load(Ordering::Relaxed)
}

/// The result of a write to a stream; a closed pipe is no error.
fn unless_broken_pipe(written: std::io::Result<()>) -> std::io::Result<()> {
    written.or_else(|error| match error.kind() {
        ErrorKind::BrokenPipe => {
            READER_LEFT.store(true, Ordering::Relaxed);
            Ok(())
        }
        _ => Err(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        std::fs::write(&path, b"hello").expect("written");
        assert_eq!(read_file(&path, Limit { bytes: 5, ..Limit::source() }), Ok(b"hello".to_vec()));
        assert_eq!(read_file(Path::new("/dev/null"), Limit::data()), Ok(vec![]));
    }

    #[test]
    fn reading_elsewhere_leaves_the_rest_to_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        std::fs::write(&path, b"0123456789").expect("written");
        let file = open_file(&path, Limit::data()).expect("opened");
        std::thread::scope(|scope| {
            for at in 0..8 {
                let file = &file;
                scope.spawn(move || {
                    let mut found = [0; 3];
                    (0..100).for_each(|_| file.read_at(at, &mut found).expect("read"));
                    assert_eq!(found, [0, 1, 2].map(|n| b'0' + at as u8 + n));
                });
            }
        });
        assert_eq!(file.read_at(9, &mut [0; 3]).map_err(|error| error.kind()), Err(ErrorKind::UnexpectedEof));
        assert_eq!(file.start::<4>(), Ok(b"0123".to_vec()));
        assert_eq!(file.whole(), Ok(b"0123456789".to_vec()));
    }

    #[test]
    fn what_cannot_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = |path: &Path| read_file(path, Limit::source()).expect_err("unreadable");
        let missing = error(&folder.path().join("x"));
        assert_eq!(missing.code, codes::E0701);
        assert!(missing.message.contains("no such file"), "{}", missing.message);
        assert!(error(folder.path()).message.contains("is a directory"));
        assert_eq!(error(Path::new("a\0b")).code, codes::E0701);
    }

    #[test]
    fn a_limit_has_its_own_code() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        std::fs::write(&path, b"hello").expect("written");
        assert_eq!(read_file(&path, Limit { bytes: 4, ..Limit::source() }).expect_err("too long").code, codes::E0801);
        assert_eq!(
            read_file(Path::new("/dev/zero"), Limit { bytes: 100, ..Limit::data() }).expect_err("endless").code,
            codes::E0804
        );
    }
}
