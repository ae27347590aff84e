//! What every target shares: the promises, which are the very ones of `tests/fuzz.rs`, and an allocator that counts.
//!
//! A target is a name and nothing else. What is promised, and how an input becomes a program, is in `tests/support/`.

use cap::Cap;
use std::alloc::System;

#[path = "../../tests/support/mod.rs"]
pub mod support;

/// What may be allocated at a time, in bytes: inputs are small, so a size that was believed before it was checked stands out. Past
/// it an allocation fails, which ends the process unless the caller was ready for that. What libFuzzer itself keeps is not counted.
const MEMORY: usize = 256 << 20;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MEMORY);
