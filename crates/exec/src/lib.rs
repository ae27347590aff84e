//! Compiled execution of fused groups: kernels on buffers ([`plan`]), their machine code ([`assemble`]), and the program that
//! runs it ([`program`]).
//!
//! Promises: a run gives the same bytes for any number of threads, and a kernel touches only its buffers. Absent: parsing,
//! inference, passes, files.

#![allow(unsafe_code, reason = "machine code is called through a pointer")]

pub mod aot;
pub mod assemble;
pub mod chain;
pub mod constants;
pub mod external;
mod index;
pub mod launch;
pub mod listing;
pub mod plan;
pub mod program;
mod routine;
pub mod shared;
