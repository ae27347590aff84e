//! Converters that compute positions, weights and sizes during the import.
//!
//! The numbers come from `building_blocks.rs`, which refuses magnitudes above 2^31. Numbers of a window (`window.rs`) may be of any size
//! and use saturating arithmetic.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    reason = "numbers are within 2^31 (`building_blocks.rs`), so sums and products of two are within an i64; of more they saturate, or are \
              refused before; floats saturate"
)]

pub(super) mod conv_transpose;
pub(super) mod deform_conv;
pub(super) mod determinant;
pub(super) mod grid;
mod interpolation;
pub(crate) mod max_positions;
pub(super) mod moving;
pub(super) mod resize;
mod resize_open;
pub(crate) mod same_padding;
pub(super) mod signal;

use super::{Converter, building_blocks, op, window};
