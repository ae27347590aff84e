//! Tools of tests, in this crate and in others that run kernels.

pub mod guard_pages;
