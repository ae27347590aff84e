//! Threads that run a region together: the caller and its workers each take one share, and all meet at the end.
//!
//! * The split is fixed by the number of items and of threads, so nothing depends on who is faster. A share is its worker's, as
//!   long as that begins it: what a worker has not begun when the caller has ended its own, the caller takes. So a worker that
//!   the system lets wait, because the machine is busy or because it slept, holds up nobody.
//! * Between regions a worker spins for a bounded time, because regions follow each other within microseconds, then sleeps; so
//!   does the caller who waits for the others. With more threads than cores nobody spins.
//! * A region allocates nothing. One that starts while another runs on the same pool waits; one that a share of the same pool
//!   starts runs on the thread that started it. A thread knows the innermost pool it works for: a region of one pool that is
//!   started inside another pool's, which is inside the first one's, would wait for itself, so nobody nests pools in turns.
//! * A panic in any share reaches the caller after all shares have ended.
//!
//! Pools are independent of each other. Deliberately not here: what to split, and into how many parts; a kernel never splits a
//! sum, so results are the same for any number of threads.

pub use super::ahead::runtime::split::part;

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::hint::spin_loop;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

/// How long a thread spins before it sleeps.
const SPIN: Duration = Duration::from_micros(80);

/// More threads than this make no pool.
pub const MAX_THREADS: usize = 1024;

/// A share's work: the number of its worker, below the number of threads, and its items.
pub type Share<'a> = &'a (dyn Fn(usize, Range<usize>) + Sync);

/// A value alone on its cache lines; two, since lines are fetched in pairs.
#[repr(align(128))]
struct Apart<T>(T);

/// What the threads of one pool share.
struct Shared {
    /// Which region runs: its number and how many workers take part ([`Signal`]).
    signal: Apart<AtomicU64>,
    job: Apart<UnsafeCell<Job>>,
    workers: Vec<Apart<Worker>>,
    /// The caller, while it sleeps until the last worker is done.
    waiting: Apart<AtomicBool>,
    waiter: Mutex<Option<Thread>>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    stop: AtomicBool,
    spin: Duration,
}

struct Worker {
    /// The last signal whose share somebody has begun.
    begun: AtomicU64,
    /// The last signal whose share has ended.
    done: AtomicU64,
    asleep: AtomicBool,
}

impl Worker {
    /// Takes this worker's share of a region; whether nobody had. One of an ended region has been taken, and signals only grow.
    fn begin(&self, signal: Signal) -> bool {
        self.begun.fetch_max(signal.0, SeqCst) < signal.0
    }
}

/// A region: written by the caller before its signal, read by the workers that begin a share of it, stable until all are done.
struct Job {
    share: *const (dyn Fn(usize, Range<usize>) + Sync),
    n_items: usize,
}

// SAFETY: `job` is written only while no worker is in a share (`Pool::run` holds `turn`, and all shares of the last region have
// ended); the signal orders that write before the reads of workers that begin one.
unsafe impl Sync for Shared {}
// SAFETY: `Job` holds a pointer to a `Sync` closure, which may be called from any thread.
unsafe impl Send for Shared {}

/// A region's number and its number of shares in one word, so that a worker learns both at once and one that takes no part
/// never looks at the job. There are 2^48 numbers, which no process lives to see the end of.
#[derive(Clone, Copy)]
struct Signal(u64);

impl Signal {
    fn n_shares(self) -> usize {
        self.0 as usize & 0xffff
    }

    fn next(self, n_shares: usize) -> Signal {
        Signal((self.0 >> 16).wrapping_add(1) << 16 | n_shares as u64)
    }
}

thread_local! {
    /// Where this thread is within a region: the pool (by address) and the worker's number.
    static INSIDE: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

/// A caller and its workers.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// One region at a time.
    turn: Mutex<()>,
}

impl Pool {
    /// A pool of `n_threads`, the caller of [`Pool::run`] among them. Fewer if the system gives no more threads.
    pub fn new(n_threads: usize) -> Pool {
        let n_threads = n_threads.clamp(1, MAX_THREADS);
        let shared = Arc::new(Shared::new(n_threads));
        let threads = (1..n_threads).map_while(|number| {
            let shared = Arc::clone(&shared);
            let builder = std::thread::Builder::new().name(format!("relayc-{number}"));
            builder.spawn(move || shared.work(number)).ok()
        });
        let threads = threads.collect();
        Pool { shared, threads, turn: Mutex::new(()) }
    }

    pub fn n_threads(&self) -> usize {
        1 + self.threads.len()
    }

    /// Calls `share` once for each part of `0..n_items`, on different threads where they are there in time, and returns when all
    /// have ended. No part is empty; with fewer items than threads the last threads do nothing.
    pub fn run(&self, n_items: usize, share: Share) {
        let inside = INSIDE.get().filter(|(pool, _)| *pool == self.id());
        if let Some((_, number)) = inside {
            return if n_items > 0 {
                share(number, 0..n_items)
            };
        }
        let n_shares = self.n_threads().min(n_items);
        if n_shares > 1 { self.fork_and_join(n_shares, n_items, share) } else { self.alone(n_items, share) }
    }

    /// One share at most, but in its turn: the others' scratch memory may be the same.
    fn alone(&self, n_items: usize, share: Share) {
        let _turn = lock(&self.turn);
        let _inside = Inside::enter(self.id(), 0);
        if n_items > 0 {
            share(0, 0..n_items);
        }
    }

    fn fork_and_join(&self, n_shares: usize, n_items: usize, share: Share) {
        let turn = lock(&self.turn);
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes: the workers are done with the closure before this function returns or unwinds.
        let share: &'static (dyn Fn(usize, Range<usize>) + Sync) = unsafe { std::mem::transmute(share) };
        // SAFETY: nobody reads the job: all shares of the last region have ended, and no signal has been given since.
        unsafe { *shared.job.0.get() = Job { share, n_items } };
        let signal = Signal(shared.signal.0.load(SeqCst)).next(n_shares);
        shared.signal.0.store(signal.0, SeqCst);
        for (worker, thread) in shared.workers[1..n_shares].iter().zip(&self.threads) {
            // Either the worker sees the signal before it sleeps, or it is seen asleep here: both orders are sequential.
            if worker.0.asleep.load(SeqCst) {
                thread.thread().unpark();
            }
        }
        let own = |number: usize| {
            let ended = catch_unwind(AssertUnwindSafe(|| {
                let _inside = Inside::enter(self.id(), number);
                share(number, part(n_items, number, n_shares));
            }));
            ended.unwrap_or_else(|payload| _ = lock(&shared.panic).get_or_insert(payload));
        };
        own(0);
        for (number, worker) in shared.workers[..n_shares].iter().enumerate().skip(1) {
            if worker.0.begin(signal) {
                own(number);
                worker.0.done.store(signal.0, SeqCst);
            }
        }
        shared.wait_for(&shared.workers[1..n_shares], signal);
        let panic = lock(&shared.panic).take();
        drop(turn);
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    /// Names the pool on this machine while it lives.
    fn id(&self) -> usize {
        Arc::as_ptr(&self.shared) as usize
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        for thread in &self.threads {
            thread.thread().unpark();
        }
        for thread in self.threads.drain(..) {
            // A worker catches what its shares throw, so it ends by returning.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn new(n_threads: usize) -> Shared {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let worker = || Worker { begun: AtomicU64::new(0), done: AtomicU64::new(0), asleep: AtomicBool::new(false) };
        Shared {
            signal: Apart(AtomicU64::new(0)),
            job: Apart(UnsafeCell::new(Job { share: &|_, _| {}, n_items: 0 })),
            workers: (0..n_threads).map(|_| Apart(worker())).collect(),
            waiting: Apart(AtomicBool::new(false)),
            waiter: Mutex::new(None),
            panic: Mutex::new(None),
            stop: AtomicBool::new(false),
            spin: if n_threads <= cores { SPIN } else { Duration::ZERO },
        }
    }

    /// A worker's life.
    fn work(&self, number: usize) {
        let id = self as *const Shared as usize;
        let me = &self.workers[number].0;
        let mut seen = 0;
        loop {
            self.wait_until(&me.asleep, || self.signal.0.load(SeqCst) != seen || self.stop.load(SeqCst));
            if self.stop.load(SeqCst) {
                return;
            }
            seen = self.signal.0.load(SeqCst);
            let n_shares = Signal(seen).n_shares();
            if number >= n_shares || !me.begin(Signal(seen)) {
                continue;
            }
            // SAFETY: this worker has begun a share, so the job is complete and stays until `done` says so.
            let Job { share, n_items } = unsafe { &*self.job.0.get() };
            let ended = catch_unwind(AssertUnwindSafe(|| {
                let _inside = Inside::enter(id, number);
                // SAFETY: the closure lives until the caller has seen `done`.
                unsafe { (**share)(number, part(*n_items, number, n_shares)) };
            }));
            if let Err(payload) = ended {
                lock(&self.panic).get_or_insert(payload);
            }
            me.done.store(seen, SeqCst);
            if self.waiting.0.load(SeqCst)
                && let Some(caller) = &*lock(&self.waiter)
            {
                caller.unpark();
            }
        }
    }

    /// Waits until all of `workers` have ended their shares of `signal`.
    fn wait_for(&self, workers: &[Apart<Worker>], signal: Signal) {
        let all_done = || workers.iter().all(|worker| worker.0.done.load(SeqCst) == signal.0);
        if self.spin_until(all_done) {
            return;
        }
        *lock(&self.waiter) = Some(std::thread::current());
        self.sleep_until(&self.waiting.0, all_done);
        *lock(&self.waiter) = None;
    }

    /// Spins, then sleeps. Who makes `ready` true looks at `asleep` after that.
    fn wait_until(&self, asleep: &AtomicBool, ready: impl Fn() -> bool) {
        if !self.spin_until(&ready) {
            self.sleep_until(asleep, ready);
        }
    }

    fn sleep_until(&self, asleep: &AtomicBool, ready: impl Fn() -> bool) {
        asleep.store(true, SeqCst);
        while !ready() {
            std::thread::park();
        }
        asleep.store(false, SeqCst);
    }

    /// Whether `ready` became true in time.
    fn spin_until(&self, ready: impl Fn() -> bool) -> bool {
        let start = Instant::now();
        loop {
            // The clock is dearer than the question.
            for _ in 0..32 {
                if ready() {
                    return true;
                }
                spin_loop();
            }
            if start.elapsed() >= self.spin {
                return false;
            }
        }
    }
}

/// This thread is in a region of a pool until this is dropped.
struct Inside {
    before: Option<(usize, usize)>,
}

impl Inside {
    fn enter(pool: usize, number: usize) -> Inside {
        Inside { before: INSIDE.replace(Some((pool, number))) }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.before);
    }
}

/// Nothing here panics while it holds a lock, so a poisoned one is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// How often each item was given out, and by how many shares.
    fn counted(pool: &Pool, n_items: usize) -> (Vec<usize>, usize) {
        let counts: Vec<AtomicUsize> = (0..n_items).map(|_| AtomicUsize::new(0)).collect();
        let shares = AtomicUsize::new(0);
        pool.run(n_items, &|number, items| {
            assert!(number < pool.n_threads() && !items.is_empty());
            shares.fetch_add(1, SeqCst);
            items.for_each(|item| _ = counts[item].fetch_add(1, SeqCst));
        });
        (counts.into_iter().map(AtomicUsize::into_inner).collect(), shares.into_inner())
    }

    #[test]
    fn parts_cover_everything_once_and_evenly() {
        for n in 0..40 {
            for n_parts in 1..12 {
                let parts: Vec<_> = (0..n_parts).map(|index| part(n, index, n_parts)).collect();
                assert_eq!(parts.iter().cloned().flatten().collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
                let sizes = parts.iter().map(Range::len);
                assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn every_item_is_done_once() {
        for n_threads in [1, 2, 3, 8] {
            let pool = Pool::new(n_threads);
            for n_items in [0, 1, 2, 5, 8, 100, 1, 3] {
                let (counts, shares) = counted(&pool, n_items);
                assert_eq!((counts, shares), (vec![1; n_items], n_items.min(n_threads)));
            }
        }
    }

    #[test]
    fn regions_follow_each_other_asleep_or_awake() {
        let pool = Pool::new(3);
        let sum = AtomicUsize::new(0);
        for round in 0..3000 {
            // Some regions leave workers out, some come when all sleep.
            let n_items = 1 + round % 5;
            pool.run(n_items, &|_, items| _ = sum.fetch_add(items.len(), SeqCst));
            if round % 300 == 0 {
                std::thread::sleep(2 * SPIN);
            }
        }
        assert_eq!(sum.into_inner(), (0..3000).map(|round| 1 + round % 5).sum::<usize>());
    }

    #[test]
    fn the_caller_takes_what_nobody_has_begun() {
        // Workers that never come: their threads end at once.
        let threads = (1..4).map(|_| std::thread::spawn(|| {})).collect();
        let pool = Pool { shared: Arc::new(Shared::new(4)), threads, turn: Mutex::new(()) };
        for n_items in [4, 2, 100] {
            assert_eq!(counted(&pool, n_items), (vec![1; n_items], n_items.min(4)));
        }
        let worker = &pool.shared.workers[3].0;
        assert!(!worker.begin(Signal(3 << 16 | 4)), "the last region's share has been taken");
        assert!(worker.begin(Signal(4 << 16 | 4)));
    }

    #[test]
    fn a_panic_reaches_the_caller_after_all_shares() {
        let pool = Pool::new(4);
        for culprit in 0..4 {
            let ended = AtomicUsize::new(0);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                pool.run(4, &|number, _| {
                    if number == culprit {
                        resume_unwind(Box::new(culprit));
                    }
                    std::thread::sleep(Duration::from_millis(2));
                    ended.fetch_add(1, SeqCst);
                });
            }));
            assert_eq!(caught.unwrap_err().downcast_ref(), Some(&culprit));
            assert_eq!(ended.into_inner(), 3);
        }
        assert_eq!(counted(&pool, 9).0, vec![1; 9], "and the pool goes on");
    }

    #[test]
    fn a_region_inside_a_region_runs_on_its_thread() {
        let pool = Pool::new(3);
        let seen = Mutex::new(Vec::new());
        pool.run(3, &|number, _| pool.run(2, &|inner, items| lock(&seen).push((number, inner, items))));
        let mut seen = seen.into_inner().unwrap();
        seen.sort_by_key(|(number, ..)| *number);
        assert_eq!(seen, [(0, 0, 0..2), (1, 1, 0..2), (2, 2, 0..2)]);
    }

    #[test]
    fn pools_nest_and_callers_take_turns() {
        let (outer, inner) = (Pool::new(2), Pool::new(2));
        let sum = AtomicUsize::new(0);
        // Two callers at once on `inner`, which is another pool than the one they run on.
        for _ in 0..200 {
            outer.run(2, &|_, _| inner.run(10, &|_, items| _ = sum.fetch_add(items.len(), SeqCst)));
        }
        assert_eq!(sum.into_inner(), 200 * 2 * 10);
    }

    #[test]
    fn a_pool_ends_with_its_value() {
        let shared = {
            let pool = Pool::new(3);
            pool.run(3, &|_, _| {});
            Arc::downgrade(&pool.shared)
        };
        assert!(shared.upgrade().is_none(), "the workers are gone");
    }
}
