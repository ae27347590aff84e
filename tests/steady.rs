//! What allocates nothing once it is warm: regions of a thread pool.

use relayc::jit::pool::Pool;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, SeqCst);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The fewest allocations that one of several rounds of `f` made: the harness allocates now and then too.
fn fewest(mut f: impl FnMut()) -> usize {
    let round = |_| {
        let before = ALLOCATIONS.load(SeqCst);
        f();
        ALLOCATIONS.load(SeqCst) - before
    };
    (0..10).map(round).min().unwrap_or(usize::MAX)
}

#[test]
fn a_region_allocates_nothing() {
    assert_ne!(fewest(|| drop(Vec::<u8>::with_capacity(10))), 0, "allocations are counted");
    for n_threads in [1, 2, 3] {
        let pool = Pool::new(n_threads);
        let sum = AtomicUsize::new(0);
        let allocated = fewest(|| {
            for n_items in 0..50 {
                pool.run(n_items, &|_, items| _ = sum.fetch_add(items.len(), SeqCst));
            }
            // Workers that have gone to sleep are woken without any either.
            std::thread::sleep(Duration::from_millis(1));
            pool.run(n_threads, &|_, items| _ = sum.fetch_add(items.len(), SeqCst));
        });
        assert_eq!(allocated, 0, "{n_threads} threads");
    }
}
