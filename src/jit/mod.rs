//! Kernels as machine code: the assembler, executable memory, what the processor can do.
//!
//! With [`crate::sys`] the only room with `unsafe`. It knows kernels and machines, but no operator by name, and reads neither
//! files nor the environment: which instruction set to use is the caller's choice.

pub mod ahead;
pub mod asm;
pub mod assemble;
pub mod constants;
pub mod contract;
pub mod cpu;
pub mod expand;
pub mod fence;
mod index;
pub mod listing;
mod machine;
pub mod memory;
pub mod nest;
pub mod pool;
pub mod probe;
pub mod program;
mod region;
mod routine;
