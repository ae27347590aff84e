//! Regions of a thread pool and runs of a session allocate nothing after warm-up.

#![cfg(feature = "jit")]
#![allow(unsafe_code, reason = "an allocator is told of what it gives")]

use relayc::{Network, Options, Policy, bytes_of, bytes_of_mut};
use relayc_codegen::pool::Pool;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: as the system's: the layout has a size.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, SeqCst);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: as the system's: what is given back was given by this allocator with this layout.
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations are those of the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

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
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Every kind of work that has a kernel: windows by tiles and directly, one channel alone, pooling, rows of weights, products,
/// reductions, elements that are moved, weights that are packed in each run because they come from outside, and routines large
/// enough to be shared among threads.
const NETWORK: &str = r#"
def @main(%x: Tensor[(1, 16, 12, 12), float32], %w: Tensor[(16, 16, 3, 3), float32], %d: Tensor[(16, 1, 3, 3), float32],
          %m: Tensor[(10, 16), float32], %v: Tensor[(8, 1000), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = nn.conv2d(%1, %d, padding=[1, 1, 1, 1], groups=16, channels=16, kernel_size=[3, 3]);
  %3 = add(%2, %x);
  %4 = nn.max_pool2d(%3, pool_size=[2, 2], strides=[2, 2]);
  %5 = nn.batch_flatten(nn.global_avg_pool2d(%4));
  %6 = nn.dense(%5, %m, units=10);
  (nn.softmax(%6), transpose(%3, axes=[0, 2, 3, 1]), sort(%v), cumsum(%v, axis=1, attrs_type_key="relay.attrs.ScanopAttrs"))
}
"#;

#[test]
fn a_run_allocates_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let network = Network::parse("steady", NETWORK).expect("it is right");
    for (threads, accuracy) in [(1, Policy::Fast), (2, Policy::Fast), (2, Policy::Strict)] {
        let executable = network.compile(&Options { threads, accuracy, ..Options::default() }).expect("it is compiled");
        assert_eq!(executable.fallbacks(), Vec::<&str>::new());
        let inputs: Vec<Vec<f32>> = executable.inputs().iter().map(|port| vec![0.25; port.bytes / 4]).collect();
        let mut outputs: Vec<Vec<f32>> = executable.outputs().iter().map(|port| vec![0.0; port.bytes / 4]).collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(|numbers| bytes_of(numbers)).collect();
        let mut outputs: Vec<&mut [u8]> = outputs.iter_mut().map(|numbers| bytes_of_mut(numbers)).collect();
        let mut session = executable.session().expect("there is memory");
        let allocated = fewest(|| session.run(&inputs, &mut outputs).expect("nothing fails"));
        assert_eq!(allocated, 0, "{threads} threads, {accuracy:?}");
    }
}
