//! The versions that the header of a text can name.

/// The text of the only version there is, quotes included.
pub(crate) const VERSION: &str = "\"0.0.5\"";

/// The first line of texts of TVM 0.6.
pub(super) const OLD_VERSION: &str = "v0.0.4";
