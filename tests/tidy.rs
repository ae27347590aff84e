//! Checks house rules that a compiler does not check: `cargo tidy`.
//!
//! One file for each topic; a failure names the file, the rule and the remedy.

#[path = "tidy/crates.rs"]
mod crates;
#[path = "tidy/dependencies.rs"]
mod dependencies;
#[path = "tidy/faults.rs"]
mod faults;
#[path = "tidy/files.rs"]
mod files;
#[path = "tidy/operators.rs"]
mod operators;
#[path = "tidy/pages.rs"]
mod pages;
#[path = "tidy/tree.rs"]
mod tree;
