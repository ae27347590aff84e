//! What may keep this process waiting without end: named pipes that nobody writes to, and commands.
//!
//! Promises that it is told what is waited for, once that takes longer than a second or two.

use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const SILENCE: Duration = Duration::from_secs(1);

/// How long a command without a time limit runs before it is told.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// What is waited for.
pub enum Awaited<'a> {
    /// That somebody writes to a named pipe.
    Pipe(&'a Path),
    /// That a command ends.
    Command(&'a str),
}

type Tell = Box<dyn Fn(Awaited) + Send + Sync>;

static TELL: OnceLock<Tell> = OnceLock::new();

/// Has it told what this process waits for. Only the first call for a process counts.
pub fn when_waiting(tell: impl Fn(Awaited) + Send + Sync + 'static) {
    let _ = TELL.set(Box::new(tell));
}

/// Tells that a command has not ended yet.
pub(crate) fn for_command(program: &str) {
    if let Some(tell) = TELL.get() {
        tell(Awaited::Command(program));
    }
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
            tell(Awaited::Pipe(&to_tell));
        }
    });
    let file = File::open(path);
    drop(opened);
    file
}
