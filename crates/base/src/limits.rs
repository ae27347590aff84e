//! The limits of texts, of inference and of runs that `relayc --limit NAME=N` sets: their names, values and meanings (reliability 2).
//!
//! Promises: a limit is read wherever it holds, and set by the command line alone, before any work. Other limits are constants where
//! they hold: those of formats, and those that bound a table in memory.

use crate::text::thousands;
use std::sync::atomic::{AtomicU64, Ordering};

/// A limit, and its value for this process.
#[derive(Debug)]
pub struct Limit {
    pub name: &'static str,
    /// What it bounds, in words; the unit of its value is in them.
    pub about: &'static str,
    /// The value without `--limit`.
    pub default: u64,
    /// The largest value that it may be set to.
    pub most: u64,
    value: AtomicU64,
}

impl Limit {
    const fn new(name: &'static str, about: &'static str, default: u64, most: u64) -> Limit {
        Limit { name, about, default, most, value: AtomicU64::new(default) }
    }

    pub fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }

    /// The value as a number of things in memory.
    pub fn count(&self) -> usize {
        crate::usize_of(self.get())
    }

    /// Sets the value for the whole process. Errors: one above [`Limit::most`], in words.
    pub fn set(&self, value: u64) -> Result<(), String> {
        if value > self.most {
            return Err(format!("`{}` is at most {}", self.name, thousands(self.most)));
        }
        self.value.store(value, Ordering::Relaxed);
        Ok(())
    }

    /// How to set another value, for the help of the error.
    pub fn help(&self) -> String {
        format!("`--limit {}=N` sets another limit", self.name)
    }
}

/// Places in texts are 32 bits wide.
const MOST_BYTES: u64 = 1 << 31;

pub static SOURCE_BYTES: Limit = Limit::new("source-bytes", "bytes of a text", 64 << 20, MOST_BYTES);
pub static TOKENS: Limit = Limit::new("tokens", "tokens of a text", 32 << 20, MOST_BYTES);
pub static NESTING: Limit = Limit::new("nesting", "brackets inside each other", 4096, 1 << 24);
pub static NAME_BYTES: Limit = Limit::new("name-bytes", "bytes of a name", 64 << 10, MOST_BYTES);
pub static STRING_BYTES: Limit = Limit::new("string-bytes", "bytes of a string", 16 << 20, MOST_BYTES);
pub static DEFINITIONS: Limit = Limit::new("definitions", "functions and types of a program", 64 << 10, 1 << 24);
pub static DIAGNOSTICS: Limit = Limit::new("diagnostics", "messages of a command; the rest is counted", 100, 1 << 20);
pub static INFERENCE_STEPS: Limit =
    Limit::new("inference-steps", "steps of type inference, beside 64 for each expression", 1_000_000, 1 << 40);
pub static TYPES: Limit = Limit::new("types", "types that inference makes, beside 16 for each expression", 1_000_000, 1 << 30);
pub static TYPE_PARTS: Limit =
    Limit::new("type-parts", "parts of types that inference visits, beside 64 for each expression", 64_000_000, 1 << 40);
pub static MATCH_STEPS: Limit =
    Limit::new("match-steps", "steps of the check that a match covers every case", 4_000_000, 1 << 40);
pub static FOLDED_BYTES: Limit = Limit::new("folded-bytes", "bytes of the constants that passes fold", 256 << 20, 1 << 40);
pub static CALLS: Limit = Limit::new("calls", "calls of a run", 10_000_000, 1 << 40);
pub static CALL_DEPTH: Limit = Limit::new("call-depth", "calls of a run inside each other", 100_000, 1 << 30);
pub static DATA_BYTES: Limit =
    Limit::new("data-bytes", "bytes of a file of weights, of an array or of an image", 32 << 30, 1 << 40);
pub static MODEL_BYTES: Limit = Limit::new("model-bytes", "bytes of a model of another format", 2 << 30, 1 << 40);

/// All of them, in the order of the book.
pub static ALL: [&Limit; 16] = [
    &SOURCE_BYTES,
    &TOKENS,
    &NESTING,
    &NAME_BYTES,
    &STRING_BYTES,
    &DEFINITIONS,
    &DIAGNOSTICS,
    &INFERENCE_STEPS,
    &TYPES,
    &TYPE_PARTS,
    &MATCH_STEPS,
    &FOLDED_BYTES,
    &CALLS,
    &CALL_DEPTH,
    &DATA_BYTES,
    &MODEL_BYTES,
];
