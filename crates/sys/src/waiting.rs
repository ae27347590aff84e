//! Opening named pipes, which waits until somebody writes to them.
//!
//! Promises that it is told what is waited for, once that takes longer than a second.

use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const SILENCE: Duration = Duration::from_secs(1);

type Tell = Box<dyn Fn(&Path) + Send + Sync>;

static TELL: OnceLock<Tell> = OnceLock::new();

/// Has the path of a named pipe told that nobody has written to for a second. Only the first call for a process counts.
pub fn when_waiting(tell: impl Fn(&Path) + Send + Sync + 'static) {
    let _ = TELL.set(Box::new(tell));
}

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> std::io::Result<File> {
    // Devices are opened at once.
    let is_pipe = std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    let Some(tell) = TELL.get().filter(|_| is_pipe) else { return File::open(path) };
    let (opened, waits) = channel::<()>();
    let to_tell = path.to_owned();
    // Where the system has no thread left, nothing is told.
    let _ = std::thread::Builder::new().spawn(move || {
        if waits.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
            tell(&to_tell);
        }
    });
    let file = File::open(path);
    drop(opened);
    file
}
