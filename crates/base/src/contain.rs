//! A boundary around code of other packages that may panic on hostile input.
//!
//! Promises that such a panic is an error of the file, not a bug of relayc. Absent: code of our own, whose panics are bugs.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function; `None` if it panics. What it was given by reference and could change is not used afterwards.
pub fn contained<T>(call: impl FnOnce() -> T) -> Option<T> {
    let before = IS_CONTAINED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    IS_CONTAINED.set(before);
    result.ok()
}

/// Whether a panic of this thread is contained, so that a hook need not report it.
pub fn is_contained() -> bool {
    IS_CONTAINED.get()
}
