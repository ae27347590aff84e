//! The code of a sum of products: direct, or by tiles of outputs.

use super::{ContractionCode, winograd};

/// Which way it is computed.
#[derive(Clone, Debug)]
pub(super) enum Code {
    Direct(Box<ContractionCode>),
    Tiles(Box<winograd::Winograd>),
}
