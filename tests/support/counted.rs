//! An allocator that counts requested bytes of a thread, to detect file readers that trust a size before checking it.
//!
//! It counts requests whether they succeed or not: a reader that survives a failed allocation has still trusted the size. It
//! ignores other threads; readers have none.

#![allow(unsafe_code, reason = "an allocator is told of what it gives")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a reader may have beside four times its input.
pub const BESIDE: i64 = 64 << 20;

/// More than this a thread does not get, so that no input takes all memory there is.
const MOST: i64 = 1 << 30;

thread_local! {
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// To be the global allocator of a program of tests.
pub struct Counted;

/// Counts a request; whether it may be given.
fn count(bytes: i64) -> bool {
    let live = LIVE.get() + bytes;
    PEAK.set(PEAK.get().max(live));
    let given = bytes <= 0 || live <= MOST;
    if given {
        LIVE.set(live);
    }
    given
}

/// What the system gave for a request that was counted; one that it refuses is taken back.
fn given(at: *mut u8, bytes: i64) -> *mut u8 {
    if at.is_null() {
        LIVE.set(LIVE.get() - bytes);
    }
    at
}

fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX / 4)
}

// SAFETY: every call goes to the system's allocator as it came, or gives null, which an allocation may.
unsafe impl GlobalAlloc for Counted {
    // SAFETY: as the system's: the layout has a size.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !count(size(layout.size())) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises are passed on.
        given(unsafe { System.alloc(layout) }, size(layout.size()))
    }

    // SAFETY: as the system's: what is given back was given by this allocator with this layout.
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-size(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    // SAFETY: as the system's: what becomes larger or smaller was given by this allocator with this layout, and the new size is one.
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new: usize) -> *mut u8 {
        let more = size(new) - size(layout.size());
        if !count(more) {
            return std::ptr::null_mut();
        }
        // SAFETY: as above.
        given(unsafe { System.realloc(at, layout, new) }, more)
    }
}

/// What a thread does, and the most bytes more than before that it has of memory at one time.
pub fn most<T>(work: impl FnOnce() -> T) -> (T, i64) {
    let start = LIVE.get();
    PEAK.set(start);
    let result = work();
    (result, PEAK.get() - start)
}

/// Does what reads an input, and requires it to ask for no more at a time than four times the input and 64 MiB.
pub fn within<T>(input: usize, read: impl FnOnce() -> T) -> T {
    let (result, most) = most(read);
    let allowed = size(input).saturating_mul(4).saturating_add(BESIDE);
    assert!(most <= allowed, "an input of {input} bytes takes {most} bytes of memory, allowed are {allowed}");
    result
}
