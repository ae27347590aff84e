//! The versions that the header of a text can name, and those of TVM.

/// TVM 0.14, whose texts are not old.
pub(crate) const TODAY: u8 = 14;

/// The text of the only version there is, quotes included.
pub(crate) const VERSION: &str = "\"0.0.5\"";

/// The first line of texts of TVM 0.6.
pub(super) const OLD_VERSION: &str = "v0.0.4";
