//! What several tests share, and the fuzz targets too: a writer of random programs, one of random models, the programs of the
//! repository, when two modules say the same.
//!
//! Nothing here names the rooms that read text: what is written is known to be right because of how it is written.

#![allow(dead_code, reason = "each test uses its part")]

pub mod counted;
pub mod models;
pub mod programs;
pub mod promises;
pub mod same;
pub mod writer;
