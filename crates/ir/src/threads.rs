//! The threads that share loops over large tensors: those of rayon, made for the process at the first such loop.
//!
//! Promises that such a loop runs on its caller alone where the system refuses a thread (a limit of processes or of memory), instead
//! of the panic of rayon's own start. Absent: the threads of compiled code (`codegen`'s pool).

use rayon::ThreadPoolBuilder;
use std::error::Error;
use std::sync::OnceLock;

/// Whether the system refused one of the threads.
static REFUSED: OnceLock<bool> = OnceLock::new();

/// Makes the threads, as many as processors for 0. Only the first call in a process counts, and none after a loop.
pub fn start(n_threads: usize) {
    REFUSED.get_or_init(|| {
        let made = ThreadPoolBuilder::new().num_threads(n_threads).build_global();
        // Without a source it only says that somebody else made them.
        made.is_err_and(|error| error.source().is_some())
    });
}

/// Makes sure that there is a thread for the loops of the caller. Before each such loop.
pub fn ready() {
    if rayon::current_thread_index().is_some() {
        return;
    }
    start(0);
    if REFUSED.get() == Some(&true) {
        // The only thread of this pool is the caller, who stays in it for good.
        std::mem::forget(ThreadPoolBuilder::new().num_threads(1).use_current_thread().build());
    }
}
