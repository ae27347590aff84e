//! Parallel regions: work that a caller and its workers do together. It has a task for each, and all meet at its end.
//!
//! * The caller runs tasks that no worker has started once its own task is done. So a worker that has not started, because the
//!   machine is busy or because it slept, delays nobody. A worker that the system suspends within its task does.
//! * Between regions a worker spins for a bounded time, because regions follow each other within microseconds, then sleeps. So
//!   does the caller while it waits for the others.
//! * A region allocates nothing. A task must not unwind: that ends the process.
//!
//! Absent: starting threads, and splitting work.

use super::system::{wait, wake};
use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::ops::Deref;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

/// How long a thread spins before it sleeps, in ticks of the time stamp counter: about 80 µs.
const SPIN_TICKS: u64 = 200_000;

/// Maximum number of threads.
pub const MAX_THREADS: usize = 1024;

/// A task, given its number. Numbers are below the region's number of tasks, and the caller's is 0.
pub(crate) type Task<'a> = &'a (dyn Fn(usize) + Sync);

/// A value alone on its cache lines; on two, because lines are fetched in pairs.
#[repr(align(128))]
struct Apart<T>(T);

/// Whether a thread sleeps, as a futex word.
struct Asleep(AtomicU32);

impl Asleep {
    const NO: u32 = 0;
    const YES: u32 = 1;

    const fn new() -> Asleep {
        Asleep(AtomicU32::new(Asleep::NO))
    }

    /// Sleeps until `ready`. The thread that makes it true then calls [`Asleep::end`].
    ///
    /// Either this thread sees the condition, or the other one sees this thread asleep. Both orders are sequentially
    /// consistent.
    fn until(&self, ready: impl Fn() -> bool) {
        loop {
            self.0.store(Asleep::YES, SeqCst);
            if ready() {
                break;
            }
            wait(&self.0, Asleep::YES);
        }
        self.0.store(Asleep::NO, SeqCst);
    }

    /// Wakes the thread, if it sleeps.
    fn end(&self) {
        if self.0.load(SeqCst) == Asleep::YES && self.0.swap(Asleep::NO, SeqCst) == Asleep::YES {
            wake(&self.0);
        }
    }
}

/// The shared state of a worker, alone on its cache lines.
#[repr(align(128))]
pub struct WorkerSlot {
    /// The last signal whose task has been started.
    begun: AtomicU64,
    /// The last signal whose task has ended.
    done: AtomicU64,
    asleep: Asleep,
}

impl WorkerSlot {
    pub const fn new() -> WorkerSlot {
        WorkerSlot { begun: AtomicU64::new(0), done: AtomicU64::new(0), asleep: Asleep::new() }
    }

    /// Claims this worker's task of a region; returns whether it was free. Tasks of ended regions are taken, and signals only
    /// grow.
    fn begin(&self, signal: Signal) -> bool {
        self.begun.fetch_max(signal.0, SeqCst) < signal.0
    }
}

impl Default for WorkerSlot {
    fn default() -> WorkerSlot {
        WorkerSlot::new()
    }
}

/// A region's number and its number of tasks in one word.
///
/// So a worker learns both at once, and one without a task never reads the job. There are 2^48 numbers, more than any process
/// uses.
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

/// The state that a caller and its workers share. `S` holds the slots of the workers, that of number 1 first.
pub struct Regions<S> {
    /// The running region ([`Signal`]).
    signal: Apart<AtomicU64>,
    /// Written by the caller before its signal, read by workers that start a task of it, stable until all are done.
    job: Apart<UnsafeCell<Task<'static>>>,
    /// The caller's sleep state while it waits for the last worker.
    caller: Apart<Asleep>,
    stop: AtomicBool,
    ticks: u64,
    seats: S,
}

// SAFETY: `job` is written only while no worker is in a share (one region at a time, and all shares of the last one have ended);
// the signal orders that write before the reads of workers that begin one. What it refers to may be called from any thread.
unsafe impl<S: Sync> Sync for Regions<S> {}

impl<S: Deref<Target = [WorkerSlot]>> Regions<S> {
    /// Set `spins` if there will be no more threads than cores.
    pub const fn new(seats: S, spins: bool) -> Regions<S> {
        Regions {
            signal: Apart(AtomicU64::new(0)),
            job: Apart(UnsafeCell::new(&|_| {})),
            caller: Apart(Asleep::new()),
            stop: AtomicBool::new(false),
            ticks: if spins { SPIN_TICKS } else { 0 },
            seats,
        }
    }

    /// Calls `share` once for each number below `n_shares`, and returns when all calls have ended.
    ///
    /// The calls are on different threads if these start in time. There is at most one task for each slot and one for the
    /// caller.
    ///
    /// # Safety
    /// No other region of these runs, so no task starts one.
    pub unsafe fn run(&self, n_shares: usize, share: Task) {
        let seats = &self.seats[..n_shares.saturating_sub(1)];
        if seats.is_empty() {
            return (0..n_shares).for_each(share);
        }
        // SAFETY: only the lifetime changes: the workers are done with it before this function returns, and it does not unwind.
        let lasting: Task<'static> = unsafe { core::mem::transmute(share) };
        // SAFETY: nobody reads the job: all shares of the last region have ended, and no signal has been given since.
        unsafe { *self.job.0.get() = lasting };
        let signal = Signal(self.signal.0.load(SeqCst)).next(n_shares);
        self.signal.0.store(signal.0, SeqCst);
        for seat in seats {
            seat.asleep.end();
        }
        call(&share, 0);
        for (at, seat) in seats.iter().enumerate() {
            if seat.begin(signal) {
                call(&share, at + 1);
                seat.done.store(signal.0, SeqCst);
            }
        }
        let ended = || seats.iter().all(|seat| seat.done.load(SeqCst) == signal.0);
        if !self.spin(ended) {
            self.caller.0.until(ended);
        }
    }

    /// The main loop of a worker, until [`Regions::stop`]. Its number is at least 1.
    pub fn work(&self, number: usize) {
        let seat = &self.seats[number - 1];
        let mut seen = 0;
        loop {
            let called = || self.signal.0.load(SeqCst) != seen || self.stop.load(SeqCst);
            if !self.spin(called) {
                seat.asleep.until(called);
            }
            if self.stop.load(SeqCst) {
                return;
            }
            seen = self.signal.0.load(SeqCst);
            if number >= Signal(seen).n_shares() || !seat.begin(Signal(seen)) {
                continue;
            }
            // SAFETY: this worker has begun a share, so the job is there and stays until `done` says that the share has ended.
            let share = unsafe { *self.job.0.get() };
            call(&share, number);
            seat.done.store(seen, SeqCst);
            self.caller.0.end();
        }
    }

    /// Ends the workers; none may be in a region.
    pub fn stop(&self) {
        self.stop.store(true, SeqCst);
        for seat in self.seats.iter() {
            seat.asleep.end();
        }
    }

    /// Spins; returns whether `ready` became true in time.
    fn spin(&self, ready: impl Fn() -> bool) -> bool {
        // SAFETY: every processor of 64 bits has the counter.
        let now = || unsafe { core::arch::x86_64::_rdtsc() };
        let start = now();
        loop {
            // The clock is dearer than the question.
            for _ in 0..32 {
                if ready() {
                    return true;
                }
                spin_loop();
            }
            if now().wrapping_sub(start) >= self.ticks {
                return false;
            }
        }
    }
}

/// Calls a task. Nothing unwinds out of an `extern "C"` function, so a region always lasts until its tasks have ended.
extern "C" fn call(share: &Task, number: usize) {
    share(number);
}
