//! What every room stands on: places in text, typed indices, small text helpers, random numbers, the order of floats.
//!
//! Names nothing else of relayc. Deliberately not here: anything that knows Relay.

pub mod float;
pub mod index;
pub mod random;
pub mod source;
pub mod text;

pub use float::{float_max, float_min};
pub use index::{Idx, IndexVec};
pub use random::SplitMix64;
pub use source::{FileId, SourceFile, Sources, Span};
