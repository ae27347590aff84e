//! `--timeout` where a run does not come to test it: inside of an operator.
//!
//! A run tests its deadline before each operator and each call ([`crate::interp::check_deadline`]), and one operator may take any
//! time. So the command line watches the clock beside it: where the test does not come, it says what the test would say and ends the
//! process, as Ctrl-C does. Files are written when a run is over, so nothing is left half-written. Deliberately not in the library,
//! which must not end a process that is not its own.

use super::{Console, exit, progress};
use crate::base::Sources;
use crate::diag::Diagnostic;
use crate::driver::run::Limits;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How late a run may be to test its deadline: its own test is preferred, since it ends the run in order.
const GRACE: Duration = Duration::from_millis(20);

/// Whom a run that fails is told to.
pub struct Teller<'a> {
    pub console: &'a Console,
    pub sources: &'a Sources,
    /// What is to be done about a run that fails, and all there is to say of it then.
    pub failed: &'a (dyn Fn(Diagnostic) -> Vec<Diagnostic> + Sync),
}

/// Does the work of a run. Where that is not done in time, this does not return: what the run fails with is told, and the process
/// ends. Errors: those of the work, E0805 where its time is over when it begins or when it is done.
pub fn within<T>(teller: &Teller, limits: &Limits, work: impl FnOnce() -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
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
