//! What the choice of kernels depends on of a machine, as plain numbers.

/// A machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// 32-bit lanes of a vector: 8 or 16.
    pub lanes: usize,
    /// Vector registers: 16 or 32.
    pub registers: usize,
    /// Bytes of a core's first and second cache.
    pub l1: usize,
    pub l2: usize,
    /// How many threads share the work.
    pub threads: usize,
    /// Fused multiply-adds of whole vectors that a core begins in a cycle.
    pub fmas: usize,
    /// Bytes a cycle that a core reads from its second cache.
    pub l2_bytes: usize,
}

impl Target {
    /// A core with AVX-512 as they are common.
    pub const AVX512: Target = Target { lanes: 16, registers: 32, l1: 32 << 10, l2: 1 << 20, threads: 1, fmas: 1, l2_bytes: 32 };
    /// A core with AVX2 as they are common.
    pub const AVX2: Target = Target { lanes: 8, registers: 16, l1: 32 << 10, l2: 512 << 10, threads: 1, fmas: 2, l2_bytes: 32 };
}
