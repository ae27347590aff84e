//! What every room stands on: places in text, typed indices, small text helpers, random numbers.
//!
//! Names nothing else of relayc. Deliberately not here: anything that knows Relay.

pub mod index;
pub mod random;
pub mod source;
pub mod text;

pub use index::{Idx, IndexVec};
pub use random::SplitMix64;
pub use source::{FileId, SourceFile, Sources, Span};
