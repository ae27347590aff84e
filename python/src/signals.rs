//! What a process does to runs: signals end them, and a fork leaves their threads behind.
//!
//! A run asks between its operators whether it is to end ([`interrupted`]). Now and then that looks for signals, and keeps the
//! exception that a handler raised, such as `KeyboardInterrupt`, for the caller ([`Run::ended`]). A single operator is never cut.
//!
//! A forked process has none of the threads of the one it comes from. What owns threads is made anew there ([`generation`]), and the
//! work that the libraries share among threads of their own runs in a pool of that process ([`with_threads`]).

use crate::error::raised;
use pyo3::prelude::*;
use relayc_driver::error::Error;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a run goes on between two looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

thread_local! {
    /// When this thread looked for signals last, and what a handler raised.
    static LOOKED: Cell<Option<Instant>> = const { Cell::new(None) };
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether the run of this thread is to end.
pub(crate) fn interrupted() -> bool {
    let now = Instant::now();
    if LOOKED.get().is_some_and(|last| now.duration_since(last) < PATIENCE) {
        return false;
    }
    LOOKED.set(Some(now));
    let found = Python::try_attach(|py| py.check_signals());
    match found {
        Some(Err(error)) => {
            RAISED.set(Some(error));
            true
        }
        Some(Ok(())) => false,
        // The interpreter is going away, and with it whoever waits for the result.
        None => true,
    }
}

/// Begins a run of this thread.
pub(crate) fn begin() {
    LOOKED.set(Some(Instant::now()));
    RAISED.set(None);
}

/// The exception for a run that ended: what a signal handler raised, else the error itself.
pub(crate) fn ended(error: &Error) -> PyErr {
    RAISED.take().unwrap_or_else(|| raised(error))
}

static FORKS: AtomicUsize = AtomicUsize::new(0);

/// The number of forks between the process that loaded the module and this one.
pub(crate) fn generation() -> usize {
    FORKS.load(Ordering::Relaxed)
}

/// Tells that this process was forked; `os.register_at_fork` calls it.
#[pyfunction]
pub(crate) fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Has forks told to this module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let kwargs = pyo3::types::PyDict::new(module.py());
    kwargs.set_item("after_in_child", wrap_pyfunction!(forked, module)?)?;
    module.py().import("os")?.call_method("register_at_fork", (), Some(&kwargs)).map(|_| ())
}

/// Does work that the libraries may share among their threads, with the interpreter lock free.
pub(crate) fn with_threads<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    py.detach(|| match pool() {
        Some(pool) => pool.install(work),
        None => work(),
    })
}

/// The pool of a forked process.
fn pool() -> Option<Arc<rayon::ThreadPool>> {
    static POOL: Mutex<Option<(usize, Arc<rayon::ThreadPool>)>> = Mutex::new(None);
    let generation = generation();
    if generation == 0 {
        return None;
    }
    let mut kept = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pool)) = kept.as_ref().filter(|(of, _)| *of == generation) {
        return Some(pool.clone());
    }
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().build().ok()?);
    // The threads of another process cannot be waited for.
    std::mem::forget(kept.replace((generation, pool.clone())));
    Some(pool)
}

/// Sessions that no run uses.
pub(crate) struct Idle<S>(Mutex<Vec<S>>);

impl<S> Default for Idle<S> {
    fn default() -> Idle<S> {
        Idle(Mutex::default())
    }
}

impl<S> Idle<S> {
    pub(crate) fn take(&self) -> Option<S> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    pub(crate) fn give(&self, session: S) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(session);
    }
}

/// A value with threads, made anew in each forked process that asks for it.
pub(crate) struct PerProcess<T> {
    /// In the process that made it.
    own: Option<Arc<T>>,
    made_in: usize,
    /// In a process forked from that one.
    forked: Mutex<Option<(usize, Arc<T>)>>,
}

impl<T> PerProcess<T> {
    pub(crate) fn new(value: T) -> PerProcess<T> {
        PerProcess { own: Some(Arc::new(value)), made_in: generation(), forked: Mutex::new(None) }
    }

    /// The value of this process. No lock is held while `again` makes it, since that may wait for the interpreter lock, which others
    /// have who wait here; so two threads may make it, and the first one counts.
    pub(crate) fn get(&self, again: impl FnOnce() -> PyResult<T>) -> PyResult<Arc<T>> {
        let generation = generation();
        if let Some(own) = self.own.as_ref().filter(|_| generation == self.made_in) {
            return Ok(own.clone());
        }
        let kept = || self.forked.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            |kept: &Option<(usize, Arc<T>)>| kept.as_ref().filter(|(of, _)| *of == generation).map(|(_, value)| value.clone());
        if let Some(value) = known(&kept()) {
            return Ok(value);
        }
        let value = Arc::new(again()?);
        let mut kept = kept();
        if let Some(first) = known(&kept) {
            return Ok(first);
        }
        // Threads of another process cannot be waited for.
        std::mem::forget(kept.replace((generation, value.clone())));
        Ok(value)
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let generation = generation();
        if generation != self.made_in {
            std::mem::forget(self.own.take());
        }
        let kept = self.forked.get_mut().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_some_and(|(of, _)| *of != generation) {
            std::mem::forget(kept.take());
        }
    }
}
