//! The threads of a program's runs: starts them by the process's functions and lets them work in [`super::region`].

use super::region::{Regions, Task, WorkerSlot};
use core::ffi::c_void;
use core::ptr::{addr_of, addr_of_mut};
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The entry function of a thread.
pub type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// The functions that create and join threads: `pthread_create` and `pthread_join`.
#[derive(Clone, Copy)]
pub struct Threads {
    pub create: unsafe extern "C" fn(*mut usize, *const c_void, Start, *mut c_void) -> i32,
    pub join: unsafe extern "C" fn(usize, *mut *mut c_void) -> i32,
}

/// The caller of regions and its workers.
pub struct Pool {
    regions: Regions<&'static [WorkerSlot]>,
    n_workers: AtomicUsize,
}

/// The argument of a worker's thread.
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
    /// A pool of the caller alone, with slots for workers; set `spins` if there will be no more threads than cores.
    pub const fn new(seats: &'static [WorkerSlot], spins: bool) -> Pool {
        Pool { regions: Regions::new(seats, spins), n_workers: AtomicUsize::new(0) }
    }

    pub fn n_threads(&self) -> usize {
        1 + self.n_workers.load(SeqCst)
    }

    /// Starts a worker for each element of `workers`, each with its slot, as far as the system gives threads.
    ///
    /// # Safety
    /// The pool, its slots and `workers` stay in place until [`Pool::end`].
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
    /// No region runs; these are the workers and the thread functions that it was started with.
    pub unsafe fn end(&self, workers: &[Worker], threads: Threads) {
        self.regions.stop();
        for worker in workers.iter().take(self.n_workers.load(SeqCst)) {
            // SAFETY: the thread was created and is joined once.
            unsafe { (threads.join)(worker.thread, core::ptr::null_mut()) };
        }
    }

    /// Calls `share` once for each number below `n_shares`, at most the number of threads, and returns when all calls have
    /// ended.
    ///
    /// No task is tied to a thread: the caller runs tasks that no worker has started.
    ///
    /// # Safety
    /// No other region of this pool runs.
    pub unsafe fn run(&self, n_shares: usize, share: Task) {
        // SAFETY: the caller promises it.
        unsafe { self.regions.run(n_shares, share) };
    }
}

/// The main function of a worker.
extern "C" fn work(worker: *mut c_void) -> *mut c_void {
    let worker = worker.cast::<Worker>();
    // SAFETY: the pool gave its own worker, whose place and pool stay until it has been joined.
    let (pool, number) = unsafe { (&*addr_of!((*worker).pool).read(), addr_of!((*worker).number).read()) };
    pool.regions.work(number);
    core::ptr::null_mut()
}
