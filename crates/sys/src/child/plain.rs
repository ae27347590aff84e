//! A command alone is killed, not what it started; its pipe is read by a thread; an interrupt ends this process at once.

use super::KEPT;
use std::io::{ErrorKind, Read};
use std::process::{Child, ChildStderr, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Leaves a command as it is.
pub(super) fn prepare(_: &mut Command) {}

/// Whether a command has ended.
pub(super) fn has_ended(child: &mut Child) -> std::io::Result<bool> {
    child.try_wait().map(|status| status.is_some())
}

/// Ends a command.
pub(super) fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    // A command that has ended cannot be killed any more, and need not.
    let _ = child.kill();
    child.wait()
}

/// The standard error of a command.
pub(super) struct Words {
    /// Pieces from the thread that reads the pipe; it is gone when the pipe has ended.
    pieces: Receiver<Vec<u8>>,
    kept: Vec<u8>,
}

/// How long the last words of a command that has ended may take through the thread, if another process holds the pipe open.
const LAST: Duration = Duration::from_millis(100);

impl Words {
    pub(super) fn of(pipe: Option<ChildStderr>) -> std::io::Result<Words> {
        let (sender, pieces) = sync_channel(16);
        if let Some(pipe) = pipe {
            std::thread::Builder::new().name("standard error".into()).spawn(move || forward(pipe, &sender))?;
        }
        Ok(Words { pieces, kept: vec![] })
    }

    fn keep(&mut self, piece: &[u8]) {
        self.kept.extend_from_slice(&piece[..piece.len().min(KEPT - self.kept.len())]);
    }

    /// Takes what there is; what is not taken would stop the command. Never more than so much at a time, since there may be no end.
    pub(super) fn read(&mut self) {
        let mut n_read = 0;
        while let Some(piece) = (n_read < KEPT).then(|| self.pieces.try_recv().ok()).flatten() {
            n_read += piece.len();
            self.keep(&piece);
        }
    }

    /// Waits until there is something to read, at most for `time`.
    pub(super) fn wait(&mut self, time: Duration) {
        match self.pieces.recv_timeout(time) {
            Ok(piece) => self.keep(&piece),
            Err(RecvTimeoutError::Timeout) => {}
            // It writes no more, but has not ended.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(time),
        }
    }

    /// All that was kept, with what the command said before it ended.
    pub(super) fn last(mut self) -> Vec<u8> {
        let mut n_read = 0;
        while let Some(piece) = (n_read < KEPT).then(|| self.pieces.recv_timeout(LAST).ok()).flatten() {
            n_read += piece.len();
            self.keep(&piece);
        }
        self.kept
    }
}

/// Sends the pieces of a pipe until it ends, or nobody takes them.
fn forward(mut pipe: ChildStderr, pieces: &SyncSender<Vec<u8>>) {
    let mut buffer = [0; 1 << 14];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) if pieces.send(buffer[..n].to_vec()).is_err() => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Does nothing: the standard library knows no signals, so an interrupt ends the process at once.
pub fn note_interrupts() {}

/// Does the work.
pub fn interruptible<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// Whether the process was asked to stop: never, since it would have ended.
pub fn interrupted() -> Option<u8> {
    None
}
