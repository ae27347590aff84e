//! Shows a spinner for work of more than half a second, on a terminal only (architecture 3.11).

use super::Console;
use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(100);

/// The visible spinner; other output removes it first.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Removes the spinner, if there is one.
pub(crate) fn stop() {
    if let Some(bar) = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).take() {
        bar.finish_and_clear();
    }
}

/// Does the work, and shows `what` if it takes longer than half a second.
pub(crate) fn spin<T>(console: &Console, what: &'static str, work: impl FnOnce() -> T) -> T {
    if console.quiet || !std::io::stderr().is_terminal() {
        return work();
    }
    let (done, wait) = channel::<()>();
    std::thread::scope(|scope| {
        let show = move || {
            if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message(what);
            bar.enable_steady_tick(TICK);
            *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar);
            // The sender goes when the work is done, whether it returned or panicked.
            let _ = wait.recv();
            stop();
        };
        // Where the system has no thread left, nothing is shown.
        let _ = std::thread::Builder::new().spawn_scoped(scope, show);
        let result = work();
        drop(done);
        result
    })
}
