//! A spinner for what takes longer than half a second, on a terminal only (design 3.11).

use super::Console;
use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(100);

/// Does the work, showing `what` while it takes longer than half a second.
pub fn spin<T>(console: &Console, what: &'static str, work: impl FnOnce() -> T) -> T {
    if console.quiet || !std::io::stderr().is_terminal() {
        return work();
    }
    let (done, wait) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message(what);
            bar.enable_steady_tick(TICK);
            // The sender goes when the work is done, whether it returned or panicked.
            let _ = wait.recv();
            bar.finish_and_clear();
        });
        let result = work();
        drop(done);
        result
    })
}
