//! Runs the fuzz targets as plain tests: each promise on the inputs of a fixed number of seeds, and on the saved inputs in
//! `fuzz/corpus/`.
//!
//! `FUZZ_CASES=1000000 cargo test --test fuzz` tries more inputs.

#[path = "fuzz/large.rs"]
mod large;
#[path = "support/mod.rs"]
mod support;

use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use support::promises::PROMISES;

/// Readers of files are held to the memory that an input may take.
#[global_allocator]
static ALLOCATOR: support::counted::Counted = support::counted::Counted;

/// How many seeds each promise is tried on; enough for some seconds in the profile of development.
const CASES: u64 = 4_000;

fn holds(promise: fn(&[u8]), bytes: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| promise(bytes))).is_ok()
}

fn random(seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let n = random.usize(0..300);
    std::iter::repeat_with(|| random.u8(..)).take(n).collect()
}

#[test]
fn promises_hold_on_random_inputs() {
    let n = std::env::var("FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    let broken = PROMISES.iter().filter_map(|&(name, promise)| {
        let seed = (0..n).into_par_iter().find_first(|&seed| !holds(promise, &random(seed)))?;
        Some((name, seed))
    });
    assert_eq!(broken.collect::<Vec<_>>(), [], "broken by the inputs of these seeds; what they say stands above");
}

/// Inputs that once broke a promise, and the bytes of every program.
#[test]
fn promises_hold_on_kept_inputs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let texts: Vec<Vec<u8>> = support::programs::all().iter().map(|path| std::fs::read(path).expect("a program")).collect();
    for &(name, promise) in PROMISES {
        let kept = std::fs::read_dir(root.join("fuzz/corpus").join(name)).into_iter().flatten().flatten();
        let kept = kept.filter_map(|entry| std::fs::read(entry.path()).ok());
        let inputs: Vec<Vec<u8>> = texts.iter().cloned().chain(kept).collect();
        assert!(inputs.par_iter().all(|bytes| holds(promise, bytes)), "{name}; what it says stands above");
    }
}

/// The count is none of nothing: what is asked for is seen, also where it is not given.
#[test]
fn memory_is_counted() {
    use support::counted::within;
    let vec = |bytes: usize| move || drop(std::hint::black_box(Vec::<u8>::with_capacity(bytes)));
    let is_too_much = |bytes: usize, input: usize| catch_unwind(AssertUnwindSafe(|| within(input, vec(bytes)))).is_err();
    assert!(!is_too_much(60 << 20, 0) && is_too_much(65 << 20, 0) && !is_too_much(65 << 20, 1 << 20));
    let asked = || within(100, || Vec::<u8>::new().try_reserve_exact(4 << 30).is_err());
    assert!(catch_unwind(AssertUnwindSafe(asked)).is_err(), "what is refused was asked for");
}

/// A promise without a target is never looked at by what guides inputs by coverage.
#[test]
fn every_promise_has_a_target() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).expect("fuzz/Cargo.toml");
    for &(name, _) in PROMISES {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name} is no target");
        let target = std::fs::read_to_string(fuzz.join(format!("fuzz_targets/{name}.rs"))).expect(name);
        assert!(target.contains(&format!("promises::{name}(")), "{name}");
    }
    // These need the compiled engine.
    let of_machines = ["load_artifact", "jit_vs_interp", "kernel_fenced"];
    let n_absent = if cfg!(feature = "jit") { 0 } else { of_machines.len() };
    assert_eq!(manifest.matches("[[bin]]").count(), PROMISES.len() + n_absent);
}

/// Files of very many small parts, which cost the most beside their size: longer than any input that is tried elsewhere.
#[test]
fn many_small_parts_take_little_memory() {
    use support::counted::within;
    for (name, accepted, file) in large::FILES {
        let bytes = file();
        for (what, read) in large::READERS {
            let is_accepted = within(bytes.len(), || read(&bytes));
            assert_eq!(is_accepted, accepted.contains(&what), "{name} as {what}");
        }
    }
}
