//! The operators that passes put into programs, by their declarations.
//!
//! A pass that *recognises* an operator asks its declaration for a property; only what a rewrite writes needs a name.

pub use super::layout_transform::LAYOUT_TRANSFORM;
pub use super::reshape::RESHAPE;
