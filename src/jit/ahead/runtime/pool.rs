//! The threads of a program's runs: started by the functions that the process has for it, working in [`super::region`].

use super::region::{Regions, Seat, Share};
use core::ffi::c_void;
use core::ptr::{addr_of, addr_of_mut};
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// What a thread begins with.
pub type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// How threads are made: `pthread_create` and `pthread_join`.
#[derive(Clone, Copy)]
pub struct Threads {
    pub create: unsafe extern "C" fn(*mut usize, *const c_void, Start, *mut c_void) -> i32,
    pub join: unsafe extern "C" fn(usize, *mut *mut c_void) -> i32,
}

/// The caller of regions and its workers.
pub struct Pool {
    regions: Regions<&'static [Seat]>,
    n_workers: AtomicUsize,
}

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
    /// A pool of the caller alone, with seats for workers; `spins` where there will be no more threads than cores.
    pub const fn new(seats: &'static [Seat], spins: bool) -> Pool {
        Pool { regions: Regions::new(seats, spins), n_workers: AtomicUsize::new(0) }
    }

    pub fn n_threads(&self) -> usize {
        1 + self.n_workers.load(SeqCst)
    }

    /// Starts a worker for each place, which has a seat each, as far as the system gives threads.
    ///
    /// # Safety
    /// The pool, its seats and the places stay where they are until [`Pool::end`].
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
        self.regions.stop();
        for worker in workers.iter().take(self.n_workers.load(SeqCst)) {
            // SAFETY: the thread was created and is joined once.
            unsafe { (threads.join)(worker.thread, core::ptr::null_mut()) };
        }
    }

    /// Calls `share` once for each number below `n_shares`, of which there are no more than threads, and returns when all have
    /// ended. A share is no thread's for certain: the caller takes those that nobody has begun in time.
    ///
    /// # Safety
    /// No other region of this pool runs.
    pub unsafe fn run(&self, n_shares: usize, share: Share) {
        // SAFETY: the caller promises it.
        unsafe { self.regions.run(n_shares, share) };
    }
}

/// A worker's life.
extern "C" fn work(worker: *mut c_void) -> *mut c_void {
    let worker = worker.cast::<Worker>();
    // SAFETY: the pool gave its own worker, whose place and pool stay until it has been joined.
    let (pool, number) = unsafe { (&*addr_of!((*worker).pool).read(), addr_of!((*worker).number).read()) };
    pool.regions.work(number);
    core::ptr::null_mut()
}
