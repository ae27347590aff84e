//! The rules of the house that a compiler does not check: `cargo tidy`.
//!
//! One file a topic; a failure names the file, the rule and what to do.

#[path = "tidy/dependencies.rs"]
mod dependencies;
#[path = "tidy/files.rs"]
mod files;
#[path = "tidy/operators.rs"]
mod operators;
#[path = "tidy/pages.rs"]
mod pages;
#[path = "tidy/rooms.rs"]
mod rooms;
#[path = "tidy/tree.rs"]
mod tree;
