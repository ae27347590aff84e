//! Passes: IR to IR, one file each; its head says what, why it is sound, and one before and after.

mod dynamic_to_static;

pub use dynamic_to_static::dynamic_to_static;
