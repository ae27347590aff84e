//! A thread pool: the caller and its workers run a parallel region together, and all meet at its end.
//!
//! * The numbers of items and of threads fix the split, so nothing depends on which thread is faster. Threads wait as in
//!   artifacts ([`relayc_runtime::region`]), and the caller runs tasks that no worker has started.
//! * With more threads than cores, no thread spins.
//! * A region allocates nothing. A region that starts while another runs on the same pool waits. A region that a task of the
//!   same pool starts runs on the task's own thread.
//! * A thread knows the innermost pool that it works for. Two pools must not nest in each other alternately: the inner region
//!   would wait for itself.
//! * A panic in any task reaches the caller after all tasks have ended.
//!
//! Pools are independent of each other. Absent: what to split, and into how many parts. A kernel never splits a sum, so results
//! are the same for any number of threads.

pub use relayc_runtime::region::MAX_THREADS;
pub use relayc_runtime::split::part;

use relayc_runtime::region::{Regions, WorkerSlot};
use std::any::Any;
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A task: gets the number of its worker, which is below the number of threads, and its items.
pub(crate) type Task<'a> = &'a (dyn Fn(usize, Range<usize>) + Sync);

thread_local! {
    /// The pool (by address) and the worker number of this thread, within a region.
    static INSIDE: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

/// A caller and its workers.
pub struct Pool {
    regions: Arc<Regions<Box<[WorkerSlot]>>>,
    threads: Vec<JoinHandle<()>>,
    /// Held by the running region: one at a time.
    turn: Mutex<()>,
}

impl Pool {
    /// A pool of `n_threads` threads, including the caller of [`Pool::run`]. Has fewer if the system gives no more threads.
    pub fn new(n_threads: usize) -> Pool {
        let n_threads = n_threads.clamp(1, MAX_THREADS);
        // Asking the system takes longer than to compile a small program.
        let cores = if n_threads == 1 { 1 } else { std::thread::available_parallelism().map_or(1, |n| n.get()) };
        let seats = (1..n_threads).map(|_| WorkerSlot::new()).collect();
        let regions = Arc::new(Regions::new(seats, n_threads <= cores));
        let threads = (1..n_threads).map_while(|number| {
            let regions = Arc::clone(&regions);
            let builder = std::thread::Builder::new().name(format!("relayc-{number}"));
            builder.spawn(move || regions.work(number)).ok()
        });
        let threads = threads.collect();
        Pool { regions, threads, turn: Mutex::new(()) }
    }

    pub fn n_threads(&self) -> usize {
        1 + self.threads.len()
    }

    /// Calls `share` once for each part of `0..n_items`, and returns when all calls have ended.
    ///
    /// The calls are on different threads if these start in time. No part is empty; with fewer items than threads the last
    /// threads do nothing.
    pub fn run(&self, n_items: usize, share: Task) {
        let inside = INSIDE.get().filter(|(pool, _)| *pool == self.id());
        if let Some((_, number)) = inside {
            return if n_items > 0 {
                share(number, 0..n_items)
            };
        }
        let n_shares = self.n_threads().min(n_items);
        if n_shares > 1 { self.fork_and_join(n_shares, n_items, share) } else { self.alone(n_items, share) }
    }

    /// Runs at most one task on the caller, after waiting for other regions: they may use the same scratch memory.
    fn alone(&self, n_items: usize, share: Task) {
        let _turn = lock(&self.turn);
        let _inside = Inside::enter(self.id(), 0);
        if n_items > 0 {
            share(0, 0..n_items);
        }
    }

    fn fork_and_join(&self, n_shares: usize, n_items: usize, share: Task) {
        let turn = lock(&self.turn);
        let panic = Mutex::new(None);
        let caught = |number: usize| {
            let ended = catch_unwind(AssertUnwindSafe(|| {
                let _inside = Inside::enter(self.id(), number);
                share(number, part(n_items, number, n_shares));
            }));
            if let Err(payload) = ended {
                keep(&panic, payload);
            }
        };
        // SAFETY: while the turn lasts this is the only region.
        unsafe { self.regions.run(n_shares, &caught) };
        let thrown = lock(&panic).take();
        drop(turn);
        if let Some(payload) = thrown {
            resume_unwind(payload);
        }
    }

    /// Identifies the pool while it lives.
    fn id(&self) -> usize {
        Arc::as_ptr(&self.regions) as usize
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.regions.stop();
        for thread in self.threads.drain(..) {
            // A worker catches what its shares throw, so it ends by returning.
            let _ = thread.join();
        }
    }
}

/// Marks this thread as inside a region of a pool until dropped.
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

/// Keeps the first panic of a task for the caller.
fn keep(kept: &Mutex<Option<Box<dyn Any + Send>>>, payload: Box<dyn Any + Send>) {
    match &mut *lock(kept) {
        kept @ None => *kept = Some(payload),
        // Nobody gets it. Dropped it could throw anew, within the region, which would end the process.
        Some(_) => std::mem::forget(payload),
    }
}

/// Locks a mutex, ignoring poison: no code here panics while it holds a lock, so the data is intact.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::Duration;

    /// How often each item was processed, and by how many tasks.
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
                std::thread::sleep(Duration::from_micros(300));
            }
        }
        assert_eq!(sum.into_inner(), (0..3000).map(|round| 1 + round % 5).sum::<usize>());
    }

    #[test]
    fn the_caller_takes_what_nobody_has_begun() {
        // Workers that never come: their threads end at once.
        let threads = (1..4).map(|_| std::thread::spawn(|| {})).collect();
        let seats = (1..4).map(|_| WorkerSlot::new()).collect();
        let pool = Pool { regions: Arc::new(Regions::new(seats, true)), threads, turn: Mutex::new(()) };
        for n_items in [4, 2, 100] {
            assert_eq!(counted(&pool, n_items), (vec![1; n_items], n_items.min(4)));
        }
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
        let regions = {
            let pool = Pool::new(3);
            pool.run(3, &|_, _| {});
            Arc::downgrade(&pool.regions)
        };
        assert!(regions.upgrade().is_none(), "the workers are gone");
    }
}
