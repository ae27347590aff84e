//! The promise `kernel_fenced` of `tests/support/promises.rs`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use relayc_fuzz::support::promises;

fuzz_target!(|bytes: &[u8]| promises::kernel_fenced(bytes));
