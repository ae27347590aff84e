//! The properties of a machine that determine the choice of kernels, as plain numbers.

/// The properties of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The number of 32-bit lanes of a vector: 8 or 16.
    pub lanes: usize,
    /// The number of vector registers: 16 or 32.
    pub registers: usize,
    /// The sizes of a core's first and second cache, in bytes.
    pub l1: usize,
    pub l2: usize,
    /// The number of threads that share the work.
    pub threads: usize,
    /// The number of vector fused multiply-adds that a core starts in a cycle.
    pub fmas: usize,
    /// The bytes that a core reads from its second cache in a cycle.
    pub l2_bytes: usize,
    pub byte_products: ByteProducts,
}

/// The instructions that multiply integers of 8 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteProducts {
    /// Those for two pairs of 16 bits, to which bytes are widened ([`super::Factors::Pairs`]): `vpmaddwd`.
    Pairs,
    /// Those of AVX512-VNNI, for words of four bytes ([`super::Factors::Bytes`]): `vpdpbusd`.
    Words,
}

impl Target {
    /// A typical core with AVX-512, which may be one without VNNI.
    pub const AVX512: Target = Target { lanes: 16, registers: 32, l2: 1 << 20, fmas: 1, ..Target::AVX2 };
    /// A typical core with AVX2.
    pub const AVX2: Target = Target {
        lanes: 8,
        registers: 16,
        l1: 32 << 10,
        l2: 512 << 10,
        threads: 1,
        fmas: 2,
        l2_bytes: 32,
        byte_products: ByteProducts::Pairs,
    };
}
