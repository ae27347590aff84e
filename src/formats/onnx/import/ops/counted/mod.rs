//! Converters that count: positions, weights and sizes that are worked out while importing.
//!
//! The numbers come from `words.rs`, which refuses what is beyond 2^31 either way; those of a window (`window.rs`) may be of any
//! size, and are counted with in saturating words.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    reason = "numbers are within 2^31 (`words.rs`), so sums and products of two are within an i64; of more they saturate, or are \
              refused before; floats saturate"
)]

pub mod conv_transpose;
pub mod grid;
pub mod max_positions;
pub mod moving;
pub mod resize;
pub mod signal;

use super::{Converter, op, window, words};
