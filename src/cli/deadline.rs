//! `--timeout` for runs that do not test it: inside an operator.
//!
//! A run tests its deadline before each operator and each call ([`relayc_interp::check_deadline`]), and one operator may take any
//! time. So the command line watches the clock too: if the test is late, it reports the same error and ends the process, as
//! Ctrl-C does. Files are written after a run, so none is left half-written. Absent from the library, which must not end its
//! caller's process.

use super::{Console, exit, progress};
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_driver::run::Limits;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How late a run may test its deadline: its own test is preferred, since it ends the run in order.
const GRACE: Duration = Duration::from_millis(20);

/// Reports a failed run.
pub(crate) struct FailureReporter<'a> {
    pub console: &'a Console,
    pub sources: &'a Sources,
    /// Handles a failed run; returns the diagnostics to report.
    pub failed: &'a (dyn Fn(Diagnostic) -> Vec<Diagnostic> + Sync),
}

/// Runs the work of a run. If it exceeds its time, this function reports the failure and ends the process, and does not return.
/// Errors: those of the work; E0805 if the time is over at its start or end.
pub(crate) fn within<T>(
    teller: &FailureReporter,
    limits: &Limits,
    work: impl FnOnce() -> Result<T, Diagnostic>,
) -> Result<T, Diagnostic> {
    let Some(deadline) = limits.deadline else { return work() };
    if Instant::now() >= deadline {
        return Err(limits.out_of_time());
    }
    let (done, wait) = channel::<()>();
    let result = std::thread::scope(|scope| {
        let watch = move || {
            let rest = deadline.saturating_duration_since(Instant::now()) + GRACE;
            if wait.recv_timeout(rest) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let diagnostics = (teller.failed)(limits.out_of_time());
            progress::stop();
            teller.console.diagnostics(&diagnostics, teller.sources);
            std::process::exit(exit::of_run(&diagnostics).into());
        };
        // Where the system has no thread left, the run's own tests remain.
        let _ = std::thread::Builder::new().spawn_scoped(scope, watch);
        let result = work();
        // Nobody sends: the sender goes when the work is done, whether it returned or panicked.
        drop(done);
        result
    });
    if Instant::now() > deadline { result.and_then(|_| Err(limits.out_of_time())) } else { result }
}
