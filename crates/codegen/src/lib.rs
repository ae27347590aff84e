//! Kernels as machine code: the assembler, executable memory, processor features, and microbenchmarks of the machine.
//!
//! Promises: memory is never writable and executable at once, and an operand that cannot be encoded is an error, never wrong
//! code. The crate knows kernels and machines. Absent: operators by name, files and the environment; the caller chooses the
//! instruction set.
//!
//! The seam for another instruction set runs through this crate: `legalize` and the files that choose loops, tiles and schedules name
//! no instruction; a port writes `asm`, `cpu`, `machine` and the files that emit anew (architecture 4.2).

#![allow(unsafe_code, reason = "machine code is called through a pointer")]

pub mod asm;
pub mod contraction;
pub mod cpu;
pub mod legalize;
mod machine;
pub mod memory;
pub mod microbenchmark;
pub mod nest;
pub mod pool;
pub mod recent;
pub mod region;
#[cfg(test)]
mod tests;
