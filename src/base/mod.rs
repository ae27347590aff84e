//! What every room stands on: places in text, typed indices, small text helpers, random numbers, the order of floats.
//!
//! Names nothing else of relayc. Deliberately not here: anything that knows Relay.

pub mod float;
pub mod index;
mod near;
pub mod random;
pub mod source;
pub mod text;

pub use float::{float_max, float_min};
pub use index::{Idx, IndexVec};
pub use random::SplitMix64;
pub use source::{FileId, SourceFile, Sources, Span};

/// A number of bytes as sizes of files are counted.
pub fn u64_of(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// A size or an offset that a file says; one that no memory has is larger than all that are there.
pub fn usize_of(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
