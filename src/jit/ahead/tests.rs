//! The runtime's threads, its memory and its numbers, as relayc has them too.

use super::mapped::THREADS;
use super::runtime::pool::{Pool, Worker};
use super::runtime::system::{Heap, cores};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Runs regions on so many threads and says how often each took part.
fn regions(n_threads: usize, spins: bool, rounds: usize) -> Vec<usize> {
    let pool: &'static Pool = Box::leak(Box::new(Pool::new(spins)));
    let workers = Box::leak(vec![Worker::NONE; n_threads - 1].into_boxed_slice());
    let places: *const [Worker] = workers;
    // SAFETY: both are leaked, so they stay.
    unsafe { pool.start(workers, THREADS) };
    assert_eq!(pool.n_threads(), n_threads);
    let counts: Vec<AtomicUsize> = (0..n_threads).map(|_| AtomicUsize::new(0)).collect();
    for round in 0..rounds {
        let before: usize = counts.iter().map(|count| count.load(SeqCst)).sum();
        assert_eq!(before, round * n_threads, "a region ends when all have ended");
        pool.run(&|thread| _ = counts[thread].fetch_add(1, SeqCst));
        if round % 100 == 0 {
            // Long enough that all of them sleep.
            std::thread::sleep(Duration::from_micros(300));
        }
    }
    // SAFETY: no region runs, and nothing writes the workers any more.
    unsafe { pool.end(&*places, THREADS) };
    counts.into_iter().map(AtomicUsize::into_inner).collect()
}

#[test]
fn every_thread_takes_part_in_every_region() {
    for (n_threads, spins) in [(1, true), (2, true), (3, false), (5, false)] {
        assert_eq!(regions(n_threads, spins, 1000), vec![1000; n_threads]);
    }
}

#[test]
fn a_heap_gives_zeroed_lines_and_takes_them_back() {
    let mut heap = Heap::new();
    let mut seen: Vec<(usize, usize)> = vec![];
    for bytes in [0, 1, 64, 65, 4096, 60_000, 70_000, 3 << 20, 5] {
        let start = heap.bytes(bytes).expect("there is memory");
        assert!((start as usize).is_multiple_of(64));
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
    let marker = super::runtime::layout::MARKER;
    assert_eq!(super::TEMPLATE.windows(marker.len()).filter(|window| *window == marker).count(), 1);
}
