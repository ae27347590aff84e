//! The code of a sum of products: direct, by tiles of outputs, or two of them by blocks of rows.

use super::attention::AttentionCode;
use super::{ContractionCode, winograd};

/// Which way it is computed.
#[derive(Clone, Debug)]
pub(super) enum Code {
    Direct(Box<ContractionCode>),
    Tiles(Box<winograd::Winograd>),
    Attention(Box<AttentionCode>),
}
