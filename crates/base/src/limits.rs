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
    /// The largest value that it may be set to.
    most: u64,
    value: AtomicU64,
}

impl Limit {
    const fn new(name: &'static str, default: u64, most: u64) -> Limit {
        Limit { name, most, value: AtomicU64::new(default) }
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

/// Bytes of a text.
pub static SOURCE_BYTES: Limit = Limit::new("source-bytes", 64 << 20, MOST_BYTES);
/// Tokens of a text.
pub static TOKENS: Limit = Limit::new("tokens", 32 << 20, MOST_BYTES);
/// Brackets inside each other.
pub static NESTING: Limit = Limit::new("nesting", 4096, 1 << 24);
/// Bytes of a name.
pub static NAME_BYTES: Limit = Limit::new("name-bytes", 64 << 10, MOST_BYTES);
/// Bytes of a string.
pub static STRING_BYTES: Limit = Limit::new("string-bytes", 16 << 20, MOST_BYTES);
/// Functions and types of a program.
pub static DEFINITIONS: Limit = Limit::new("definitions", 64 << 10, 1 << 24);
/// Messages of a command; the rest is counted.
pub static DIAGNOSTICS: Limit = Limit::new("diagnostics", 100, 1 << 20);
/// Steps of type inference, beside 64 for each expression.
pub static INFERENCE_STEPS: Limit = Limit::new("inference-steps", 1_000_000, 1 << 40);
/// Types that inference makes, beside 16 for each expression.
pub static TYPES: Limit = Limit::new("types", 1_000_000, 1 << 30);
/// Parts of types that inference visits, beside 64 for each expression.
pub static TYPE_PARTS: Limit = Limit::new("type-parts", 64_000_000, 1 << 40);
/// Steps of the check that a match covers every case.
pub static MATCH_STEPS: Limit = Limit::new("match-steps", 4_000_000, 1 << 40);
/// Bytes of the constants that passes fold.
pub static FOLDED_BYTES: Limit = Limit::new("folded-bytes", 256 << 20, 1 << 40);
/// Calls of a run.
pub static CALLS: Limit = Limit::new("calls", 10_000_000, 1 << 40);
/// Calls of a run inside each other.
pub static CALL_DEPTH: Limit = Limit::new("call-depth", 100_000, 1 << 30);
/// Bytes of a file of weights, of an array or of an image.
pub static DATA_BYTES: Limit = Limit::new("data-bytes", 32 << 30, 1 << 40);
/// Bytes of a model of another format.
pub static MODEL_BYTES: Limit = Limit::new("model-bytes", 2 << 30, 1 << 40);

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
