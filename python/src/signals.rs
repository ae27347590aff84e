//! What a process does to runs: signals end them, and a fork leaves their threads behind.
//!
//! A run asks between its operators whether it is to end ([`interrupted`]). Now and then that looks for signals, and keeps the
//! exception that a handler raised, such as `KeyboardInterrupt`, for the caller ([`ended`]). A single operator is never cut.
//!
//! A forked process has none of the threads of the one it comes from. What owns threads is made anew there ([`generation`]), and work
//! that the libraries may share among threads of their own runs in a pool of that process: all of it goes through [`with_threads`].

use crate::error::raised;
use pyo3::prelude::*;
use relayc_driver::error::Error;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a run goes on between two looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

thread_local! {
    /// When this thread looked for signals last, and what a handler raised.
    static LOOKED: Cell<Option<Instant>> = const { Cell::new(None) };
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
    /// Whose work this thread of a pool does.
    static CALLER: RefCell<Option<Caller>> = const { RefCell::new(None) };
}

/// The thread that waits for work in a pool. It may be the main one, which alone runs handlers of signals.
struct Caller {
    ask: Sender<()>,
    answers: Receiver<Look>,
}

/// `Err` if the run is to end: what a handler raised, nothing if the interpreter is going away, and with it whoever waits for the
/// result.
type Look = Result<(), Option<PyErr>>;

fn look() -> Look {
    match Python::try_attach(|py| py.check_signals()) {
        Some(found) => found.map_err(Some),
        None => Err(None),
    }
}

/// Whether the run of this thread is to end.
pub(crate) fn interrupted() -> bool {
    let now = Instant::now();
    if LOOKED.get().is_some_and(|last| now.duration_since(last) < PATIENCE) {
        return false;
    }
    LOOKED.set(Some(now));
    let asked = CALLER.with_borrow(|caller| {
        let caller = caller.as_ref()?;
        caller.ask.send(()).ok()?;
        caller.answers.recv().ok()
    });
    let found = asked.unwrap_or_else(look);
    found.map_err(|error| RAISED.set(error)).is_err()
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
    // The lock of the pool is taken under the interpreter lock, so that no fork finds it taken.
    match pool() {
        Some(pool) => py.detach(|| in_pool(&pool, work)),
        None => py.detach(work),
    }
}

/// Does work on a thread of a pool, and looks for signals when it asks.
fn in_pool<R: Send>(pool: &rayon::ThreadPool, work: impl FnOnce() -> R + Send) -> R {
    let ((ask, asked), (answer, answers)) = (channel(), channel());
    let mut done = None;
    pool.in_place_scope(|scope| {
        let done = &mut done;
        scope.spawn(move |_| {
            // A thread that waits for its share of one caller's work may begin that of another.
            let own = (CALLER.replace(Some(Caller { ask, answers })), LOOKED.replace(Some(Instant::now())), RAISED.take());
            let result = catch_unwind(AssertUnwindSafe(work));
            *done = Some((result, RAISED.replace(own.2)));
            LOOKED.set(own.1);
            CALLER.set(own.0);
        });
        while asked.recv().is_ok() {
            let _ = answer.send(look());
        }
    });
    let (result, raised) = done.expect("the scope waits for it");
    RAISED.set(raised);
    result.unwrap_or_else(|panic| resume_unwind(panic))
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
