//! Tools of tests that run kernels.

pub(crate) mod guard_pages;
#[path = "../../../tests/support/guarded.rs"]
mod guarded;
