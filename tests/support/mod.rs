//! Support for several tests and for the fuzz targets: writers of random programs and of random models, the programs of the
//! repository, and comparison of modules.
//!
//! Nothing here uses the crates that read text: written programs are valid by construction.

#![allow(unreachable_pub, reason = "`fuzz/` compiles these files as a library")]
#![allow(dead_code, reason = "each test uses its part")]

pub mod choices;
pub mod counted;
pub mod dataflow;
pub mod grid;
#[cfg(feature = "jit")]
pub mod guarded;
pub mod models;
pub mod programs;
pub mod promises;
pub mod same;
pub mod seeds;
pub mod writer;
