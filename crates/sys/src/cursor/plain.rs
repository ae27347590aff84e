//! The cursor is moved, and back; nobody else moves it meanwhile.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

/// Where reading a file has come to: held while it is moved.
#[derive(Default)]
pub(crate) struct Cursor(Mutex<()>);

impl Cursor {
    /// Fills `out` with the bytes of the file from `at` on.
    pub(crate) fn read_at(&self, mut file: &File, at: u64, out: &mut [u8]) -> std::io::Result<()> {
        let _moved = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = file.stream_position()?;
        let done = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(out));
        file.seek(SeekFrom::Start(before))?;
        done
    }
}
