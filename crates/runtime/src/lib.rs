//! The runtime inside every artifact: runs a compiled program without relayc.
//!
//! The files are compiled twice. As a part of relayc, they run artifacts, and programs in memory call their contractions,
//! moves, positions and regions. `build.rs` compiles them as a shared object of their own (`TEMPLATE`), which an artifact
//! carries. So they name only `core` and each other, allocate whole pages, and call the system directly. From the C library
//! they take the functions that start threads, if the caller's process has them.
//!
//! A program is an *image* ([`layout`]): words that state which code to call on which memory, and in which order. The image is
//! read in place and never written, so instances of one program share it. The runtime promises that runs allocate nothing.
//! Absent: validation. The caller vouches for an image, because checks would cost every run; `relayc_exec::aot::describe` validates files
//! from strangers.

#![cfg_attr(not(test), no_std)]
#![allow(unsafe_code, reason = "memory of the image and of tensors is reached through pointers")]

pub mod attention;
pub mod boxes;
pub mod contraction;
pub mod fault;
pub mod instance;
pub mod integer;
pub mod layout;
pub mod lines;
pub mod margins;
pub mod number;
pub mod operands;
pub mod pack;
pub mod pool;
pub mod pool_gradient;
pub mod processor;
pub mod product;
pub mod quantized_softmax;
pub mod random;
pub mod region;
pub mod requantize;
pub mod scan;
pub mod scatter;
pub mod sort;
pub mod sparse;
pub mod split;
pub mod step;
pub mod strided_set;
pub mod system;
pub mod words;

#[cfg(relayc_freestanding)]
mod freestanding;
