//! Where things lie in an image: the agreement of those who write, read and run it.
//!
//! An image is words of 64 bits, little endian, and bytes that words refer to by their distance from its start. A *list* is its
//! length and so many words; a *text* is `[start, length]`, and a 0 follows its bytes. Tensors begin at multiples of 64, code at
//! a page. The version counts every change of any of it.

/// The first word of an image.
pub const MAGIC: u64 = u64::from_le_bytes(*b"relaycim");

/// The version of all that is said here and of what words of steps mean.
pub const VERSION: u64 = 2;

/// The version of the functions that an artifact exports.
pub const ABI_VERSION: u32 = 1;

/// What precedes the distance to the image in a shared object without a program.
pub const MARKER: &[u8; 24] = b"relayc: the image is at\0";

/// As many dimensions as tensors may have.
pub const MAX_RANK: usize = 32;

/// Code begins at a page of its own.
pub const PAGE: usize = 4096;

/// Tensors begin at multiples of so many bytes.
pub const ALIGN: usize = 64;

/// The words an image begins with, by their places.
pub mod head {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 1;
    /// Bytes of the whole image.
    pub const BYTES: usize = 2;
    /// Where code begins and how many bytes it has, that of all targets.
    pub const CODE: usize = 3;
    pub const CODE_BYTES: usize = 4;
    /// Texts: the entry's name, the source, the graph as JSON.
    pub const ENTRY: usize = 5;
    pub const SOURCE: usize = 7;
    pub const GRAPH: usize = 9;
    /// Where the ports are, and how many: the inputs, then the outputs.
    pub const PORTS: usize = 11;
    pub const N_INPUTS: usize = 12;
    pub const N_OUTPUTS: usize = 13;
    /// Where the targets are, and how many; the best one is the last.
    pub const TARGETS: usize = 14;
    pub const N_TARGETS: usize = 15;
    pub const WORDS: usize = 16;
}

/// The words of a port.
pub mod port {
    /// Texts.
    pub const NAME: usize = 0;
    pub const DTYPE: usize = 2;
    pub const BYTES: usize = 4;
    pub const RANK: usize = 5;
    /// Where its dimensions are, a word each.
    pub const DIMS: usize = 6;
    pub const WORDS: usize = 8;
}

/// The words of a target.
pub mod target {
    /// The level of x86-64 that it needs: 3 or 4.
    pub const LEVEL: usize = 0;
    /// Where its code begins in the image, and how many bytes it has.
    pub const CODE: usize = 1;
    pub const CODE_BYTES: usize = 2;
    /// Bytes of the arena, for how many threads steps have scratch memory in it, and how many bytes each further one needs.
    pub const ARENA: usize = 3;
    pub const THREADS: usize = 4;
    pub const THREAD_SCRATCH: usize = 5;
    /// Where the buffers are, two words each, and how many: what kind of place, and where there.
    pub const BUFFERS: usize = 6;
    pub const N_BUFFERS: usize = 7;
    /// Where the list of steps is: of each the place of its words.
    pub const STEPS: usize = 8;
    /// Bytes of constants that its steps read.
    pub const WEIGHTS: usize = 9;
    /// Text: a line for each step, what it computes and how.
    pub const LISTING: usize = 10;
    pub const WORDS: usize = 12;
}

/// Where a buffer lies.
pub mod place {
    pub const INPUT: u64 = 0;
    pub const OUTPUT: u64 = 1;
    /// At a byte of the image.
    pub const IMAGE: u64 = 2;
    /// At a byte of the arena.
    pub const ARENA: u64 = 3;
}

/// What a step does: its first word.
pub mod kind {
    pub const FILL: u64 = 0;
    pub const MOVE: u64 = 1;
    pub const POSITIONS: u64 = 2;
    pub const GUARD: u64 = 3;
    pub const NEST: u64 = 4;
    pub const CONTRACT: u64 = 5;
}

/// What becomes of an index outside of its axis.
pub mod outside {
    pub const NEAREST: u64 = 0;
    pub const ROUND: u64 = 1;
    pub const NOWHERE: u64 = 2;
    pub const TRAP: u64 = 3;
}

/// Where the weights of a sum of products are.
pub mod weights {
    /// Packed, at a byte of the image.
    pub const PACKED: u64 = 0;
    /// In a buffer, read as they come.
    pub const AS_KEPT: u64 = 1;
    /// In a buffer, packed in every run.
    pub const EACH_RUN: u64 = 2;
}

/// How a sum of products is computed.
pub mod method {
    pub const DIRECT: u64 = 0;
    /// By Winograd's tiles.
    pub const TILES: u64 = 1;
}
