//! The foundation of all crates: diagnostics, places in text, typed indices, text helpers, diffs, limits, random numbers, float order.
//!
//! Promises to use no other crate of relayc. Absent: anything that knows Relay.

pub mod contain;
pub mod diag;
pub mod diff;
pub mod float;
pub mod index;
pub mod limits;
pub mod random;
pub mod source;
mod spelling;
pub mod text;

pub use float::{float_max, float_max_f32, float_min};
pub use index::{Idx, IndexVec};
pub use random::SplitMix64;
pub use source::{FileId, SourceFile, Sources, Span};

/// Converts a count in memory to a file size.
pub fn u64_of(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Converts a size or an offset from a file; a value too large for this machine becomes the largest `usize`.
pub fn usize_of(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
