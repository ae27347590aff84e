//! The promise `passes_verify_each` of `tests/support/promises.rs`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use relayc_fuzz::support::promises;

fuzz_target!(|bytes: &[u8]| promises::passes_verify_each(bytes));
