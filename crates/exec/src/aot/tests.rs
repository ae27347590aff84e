//! Tests of the runtime's threads, memory and numbers, compared with those of relayc.

use super::mapped::THREADS;
use relayc_runtime::pool::{Pool, Start, Threads, Worker};
use relayc_runtime::region::{Regions, WorkerSlot};
use relayc_runtime::system::{Heap, cores};
use std::ffi::c_void;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Runs regions on `n_threads` threads, with every number of tasks in turn, and returns how often each task ran.
fn regions(n_threads: usize, spins: bool, rounds: usize, threads: Threads) -> Vec<usize> {
    let seats = Box::leak((1..n_threads).map(|_| WorkerSlot::new()).collect());
    let pool: &'static Pool = Box::leak(Box::new(Pool::new(seats, spins)));
    let workers = Box::leak(vec![Worker::NONE; n_threads - 1].into_boxed_slice());
    let places: *const [Worker] = workers;
    // SAFETY: all are leaked, so they stay.
    unsafe { pool.start(workers, threads) };
    assert_eq!(pool.n_threads(), n_threads);
    let counts: Vec<AtomicUsize> = (0..n_threads).map(|_| AtomicUsize::new(0)).collect();
    let mut sum = 0;
    for round in 0..rounds {
        let n_shares = round % (n_threads + 1);
        // SAFETY: the only region.
        unsafe { pool.run(n_shares, &|number| _ = counts[number].fetch_add(1, SeqCst)) };
        sum += n_shares;
        assert_eq!(counts.iter().map(|count| count.load(SeqCst)).sum::<usize>(), sum, "a region ends when all have ended");
        if round % 100 == 0 {
            // Long enough that all of them sleep.
            std::thread::sleep(Duration::from_micros(300));
        }
    }
    // SAFETY: no region runs, and nothing writes the workers any more.
    unsafe { pool.end(&*places, threads) };
    counts.into_iter().map(AtomicUsize::into_inner).collect()
}

/// How often [`regions`] runs each task.
fn expected(n_threads: usize, rounds: usize) -> Vec<usize> {
    let each = |number| (0..rounds).filter(|round| round % (n_threads + 1) > number).count();
    (0..n_threads).map(each).collect()
}

#[test]
fn every_share_is_done_once_in_every_region() {
    for (n_threads, spins) in [(1, true), (2, true), (3, false), (5, false)] {
        assert_eq!(regions(n_threads, spins, 1000, THREADS), expected(n_threads, 1000));
    }
}

/// Threads that never start.
const ABSENT: Threads = Threads { create: promise, join: forget };

unsafe extern "C" fn promise(_: *mut usize, _: *const c_void, _: Start, _: *mut c_void) -> i32 {
    0
}

unsafe extern "C" fn forget(_: usize, _: *mut *mut c_void) -> i32 {
    0
}

#[test]
fn the_caller_takes_what_nobody_has_begun() {
    for n_threads in [2, 5] {
        assert_eq!(regions(n_threads, true, 100, ABSENT), expected(n_threads, 100));
    }
}

#[test]
fn a_worker_that_comes_late_begins_no_share_of_an_ended_region() {
    let regions = Regions::new(Box::<[WorkerSlot]>::from([WorkerSlot::new(), WorkerSlot::new()]), true);
    let counts = [const { AtomicUsize::new(0) }; 3];
    let count = |number: usize| counts[number].fetch_add(1, SeqCst);
    // SAFETY: the only region.
    (0..4).for_each(|_| unsafe { regions.run(3, &|number| _ = count(number)) });
    assert_eq!(counts.each_ref().map(|count| count.load(SeqCst)), [4; 3]);
    std::thread::scope(|scope| {
        scope.spawn(|| regions.work(1));
        let begun = AtomicBool::new(false);
        let share = |number: usize| {
            count(number);
            match number {
                // While the caller is here, nobody but the worker begins the next share.
                0 => (0..).take_while(|_| !begun.load(SeqCst)).for_each(|_| spin_loop()),
                1 => begun.store(true, SeqCst),
                _ => {}
            }
        };
        // SAFETY: the only region.
        unsafe { regions.run(3, &share) };
        regions.stop();
    });
    assert_eq!(counts.map(AtomicUsize::into_inner), [5; 3]);
}

#[test]
fn a_heap_gives_zeroed_lines_and_takes_them_back() {
    let mut heap = Heap::new();
    let mut seen: Vec<(usize, usize)> = vec![];
    for bytes in [0, 1, 64, 65, 4096, 60_000, 70_000, 3 << 20, 5] {
        let start = heap.bytes(bytes).expect("there is memory");
        assert!((start as usize).is_multiple_of(128));
        // SAFETY: the heap gave so many bytes.
        let piece = unsafe { std::slice::from_raw_parts_mut(start, bytes) };
        assert!(piece.iter().all(|&byte| byte == 0));
        piece.fill(7);
        let range = (start as usize, start as usize + bytes);
        assert!(seen.iter().all(|&(begin, end)| range.1 <= begin || end <= range.0), "pieces do not overlap");
        seen.push(range);
    }
    let numbers = heap.take(3, 9u32).expect("there is memory");
    assert_eq!(numbers, [9, 9, 9]);
    assert!(heap.bytes(usize::MAX).is_none() && heap.take(usize::MAX / 2, 0u64).is_none());
    // SAFETY: nothing of it is used any more.
    unsafe { heap.free() };
}

#[test]
fn cores_are_those_of_the_process() {
    let known = std::thread::available_parallelism().map_or(1, |n| n.get());
    // A quota of time may make them fewer for the library.
    assert!(cores() >= known, "{} of {known}", cores());
}

#[test]
fn the_template_needs_nothing_but_threads() {
    let text = String::from_utf8_lossy(super::TEMPLATE);
    for name in ["pthread_create", "pthread_join", "relayc_create", "relayc_run"] {
        assert!(text.contains(name), "{name}");
    }
    for name in ["malloc", "GLIBC", "libc.so", "libgcc", "__tls_get_addr"] {
        assert!(!text.contains(name), "{name}");
    }
    let marker = relayc_runtime::layout::MARKER;
    assert_eq!(super::TEMPLATE.windows(marker.len()).filter(|window| *window == marker).count(), 1);
}
