//! Threads that run a region together, as [`crate::jit::pool`] has them for programs in memory: a bounded spin, then sleep.
//!
//! Every thread takes part in every region; the caller is the first of them. A region allocates nothing.

use super::system::{wait, wake};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::hint::spin_loop;
use core::ptr::{addr_of, addr_of_mut};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

/// How long a thread spins before it sleeps, in ticks of the time stamp counter: some 80 µs.
const SPIN_TICKS: u64 = 200_000;

/// More threads than this there are never.
pub const MAX_THREADS: usize = 1024;

/// What a thread begins with.
pub type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// How threads are made: `pthread_create` and `pthread_join`.
#[derive(Clone, Copy)]
pub struct Threads {
    pub create: unsafe extern "C" fn(*mut usize, *const c_void, Start, *mut c_void) -> i32,
    pub join: unsafe extern "C" fn(usize, *mut *mut c_void) -> i32,
}

/// A word alone on its cache lines.
#[repr(align(128))]
struct Apart(AtomicU32);

impl Apart {
    const fn new() -> Apart {
        Apart(AtomicU32::new(0))
    }
}

/// The caller of regions and its workers.
pub struct Pool {
    /// Counts regions.
    signal: Apart,
    /// How many workers have ended their share of this one.
    done: Apart,
    asleep: Apart,
    caller_asleep: AtomicBool,
    stop: AtomicBool,
    /// Written by the caller while no worker looks.
    job: UnsafeCell<Option<&'static (dyn Fn(usize) + Sync)>>,
    n_workers: AtomicU32,
    ticks: u64,
}

// SAFETY: `job` is written while no worker is in a region; the signal orders that before their reads.
unsafe impl Sync for Pool {}

/// What a worker is given.
#[derive(Clone, Copy)]
pub struct Worker {
    pool: *const Pool,
    number: usize,
    thread: usize,
}

impl Worker {
    pub const NONE: Worker = Worker { pool: core::ptr::null(), number: 0, thread: 0 };
}

impl Pool {
    /// A pool of the caller alone; `spins` where there will be no more threads than cores.
    pub const fn new(spins: bool) -> Pool {
        Pool {
            signal: Apart::new(),
            done: Apart::new(),
            asleep: Apart::new(),
            caller_asleep: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            job: UnsafeCell::new(None),
            n_workers: AtomicU32::new(0),
            ticks: if spins { SPIN_TICKS } else { 0 },
        }
    }

    pub fn n_threads(&self) -> usize {
        1 + self.n_workers.load(SeqCst) as usize
    }

    /// Starts a worker for each place, as far as the system gives threads.
    ///
    /// # Safety
    /// The pool and the places stay where they are until [`Pool::end`].
    pub unsafe fn start(&self, workers: &'static mut [Worker], threads: Threads) {
        for (at, place) in workers.iter_mut().enumerate() {
            *place = Worker { pool: self, number: at + 1, thread: 0 };
            let worker: *mut Worker = place;
            // SAFETY: the worker's place stays, and nobody but this function names its last field.
            let failed = unsafe { (threads.create)(addr_of_mut!((*worker).thread), core::ptr::null(), work, worker.cast()) };
            if failed != 0 {
                return;
            }
            self.n_workers.fetch_add(1, SeqCst);
        }
    }

    /// Ends the workers.
    ///
    /// # Safety
    /// No region runs; these are the workers and the threads that it was started with.
    pub unsafe fn end(&self, workers: &[Worker], threads: Threads) {
        self.stop.store(true, SeqCst);
        self.signal.0.fetch_add(1, SeqCst);
        wake(&self.signal.0);
        for worker in workers.iter().take(self.n_workers.load(SeqCst) as usize) {
            // SAFETY: the thread was created and is joined once.
            unsafe { (threads.join)(worker.thread, core::ptr::null_mut()) };
        }
    }

    /// Calls `share` with the number of each thread, on that thread, and returns when all have ended.
    pub fn run(&self, share: &(dyn Fn(usize) + Sync)) {
        let n_workers = self.n_workers.load(SeqCst);
        if n_workers == 0 {
            return share(0);
        }
        // SAFETY: only the lifetime changes: the workers are done with it before this function returns.
        let lasting: &'static (dyn Fn(usize) + Sync) = unsafe { core::mem::transmute(share) };
        // SAFETY: all workers have ended the last region.
        unsafe { *self.job.get() = Some(lasting) };
        self.done.0.store(0, SeqCst);
        self.signal.0.fetch_add(1, SeqCst);
        // Either a worker sees the signal before it sleeps, or it is seen asleep here: both orders are sequential.
        if self.asleep.0.load(SeqCst) > 0 {
            wake(&self.signal.0);
        }
        share(0);
        let ended = || self.done.0.load(SeqCst) == n_workers;
        if self.spin(ended) {
            return;
        }
        self.caller_asleep.store(true, SeqCst);
        loop {
            let done = self.done.0.load(SeqCst);
            if done == n_workers {
                break;
            }
            wait(&self.done.0, done);
        }
        self.caller_asleep.store(false, SeqCst);
    }

    /// Whether `ready` became true in time.
    fn spin(&self, ready: impl Fn() -> bool) -> bool {
        // SAFETY: every processor of 64 bits has the counter.
        let now = || unsafe { core::arch::x86_64::_rdtsc() };
        let start = now();
        loop {
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

    fn work(&self, number: usize) {
        let mut seen = 0;
        loop {
            let called = || self.signal.0.load(SeqCst) != seen;
            if !self.spin(called) {
                self.asleep.0.fetch_add(1, SeqCst);
                while !called() {
                    wait(&self.signal.0, seen);
                }
                self.asleep.0.fetch_sub(1, SeqCst);
            }
            if self.stop.load(SeqCst) {
                return;
            }
            seen = self.signal.0.load(SeqCst);
            // SAFETY: the signal says that there is a region, so its job stays until this worker is done.
            if let Some(share) = unsafe { *self.job.get() } {
                share(number);
            }
            self.done.0.fetch_add(1, SeqCst);
            if self.caller_asleep.load(SeqCst) {
                wake(&self.done.0);
            }
        }
    }
}

/// A worker's life.
extern "C" fn work(worker: *mut c_void) -> *mut c_void {
    let worker = worker.cast::<Worker>();
    // SAFETY: the pool gave its own worker, whose place and pool stay until it has been joined.
    let (pool, number) = unsafe { (&*addr_of!((*worker).pool).read(), addr_of!((*worker).number).read()) };
    pool.work(number);
    core::ptr::null_mut()
}
