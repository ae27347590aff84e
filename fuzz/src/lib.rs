//! What every target shares: the promises, which are the very ones of `tests/fuzz.rs`, and an allocator that counts.
//!
//! A target is a name and nothing else. What is promised, and how an input becomes a program, is in `tests/support/`.

#[path = "../../tests/support/mod.rs"]
pub mod support;

/// Counts for each input what its thread asks for ([`support::counted::within`]). What libFuzzer itself keeps is not counted.
#[global_allocator]
static ALLOCATOR: support::counted::Counted = support::counted::Counted;
