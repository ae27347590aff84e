//! The layout of an image: the contract of its writer, its reader and its runtime.
//!
//! An image consists of 64-bit little-endian words, and of bytes that words refer to by their offset in the image. A *list* is
//! its length and as many words. A *text* is `[start, length]`, with a 0 after its bytes. Tensors begin at multiples of 64,
//! code at a page. The version counts every change of the layout.

/// The first word of an image.
pub const MAGIC: u64 = u64::from_le_bytes(*b"relaycim");

/// The version of this layout and of the meaning of step words.
pub const VERSION: u64 = 8;

/// The version of the functions that an artifact exports.
pub const ABI_VERSION: u32 = 2;

/// The marker before the distance to the image, in a shared object without a program.
pub const MARKER: &[u8; 24] = b"relayc: the image is at\0";

/// Maximum rank of tensors.
pub const MAX_RANK: usize = 32;

/// Alignment of code: a page of its own.
pub const PAGE: usize = 4096;

/// Alignment of tensors in bytes.
pub const ALIGN: usize = 64;

/// The words at the start of an image, by index.
pub mod head {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 1;
    /// Number of bytes of the image.
    pub const BYTES: usize = 2;
    /// Start and number of bytes of the code of all targets.
    pub const CODE: usize = 3;
    pub const CODE_BYTES: usize = 4;
    /// Texts: the entry's name, the source, the graph as JSON.
    pub const ENTRY: usize = 5;
    pub const SOURCE: usize = 7;
    pub const GRAPH: usize = 9;
    /// Start of the ports of each size, and their numbers for one size: inputs, then outputs.
    pub const PORTS: usize = 11;
    pub const N_INPUTS: usize = 12;
    pub const N_OUTPUTS: usize = 13;
    /// Start and number of the targets; the last one is the best.
    pub const TARGETS: usize = 14;
    pub const N_TARGETS: usize = 15;
    /// Start and number of the sizes of inputs and outputs that the image has code for; at least one.
    pub const SIZES: usize = 16;
    pub const N_SIZES: usize = 17;
    pub const WORDS: usize = 18;
}

/// The words of a size.
pub mod size {
    /// Text: the names and numbers that it was built with, empty if there are none.
    pub const NAME: usize = 0;
    pub const WORDS: usize = 2;
}

/// The words of a port.
pub mod port {
    /// Texts.
    pub const NAME: usize = 0;
    pub const DTYPE: usize = 2;
    pub const BYTES: usize = 4;
    pub const RANK: usize = 5;
    /// Start of its dimensions, a word each.
    pub const DIMS: usize = 6;
    /// 1 for an output of which a run decides the dimensions, else 0. Those of the port are the largest. The run writes its own, an
    /// int64 each, to the place behind all outputs that has the output's number.
    pub const OPEN: usize = 7;
    pub const WORDS: usize = 8;
}

/// The words of a target.
pub mod target {
    /// The x86-64 level that it requires: 3 or 4.
    pub const LEVEL: usize = 0;
    /// Bytes of the constants that its steps read.
    pub const WEIGHTS: usize = 1;
    /// Bytes of weights that an instance packs for itself.
    pub const AT_LOAD: usize = 2;
    /// Start of the list of these weights, which holds the offset of the words of each: the offset of the source, the number of
    /// bytes when packed, and the packing.
    pub const PACKINGS: usize = 3;
    /// Start of its programs, one for each size.
    pub const PROGRAMS: usize = 4;
    pub const WORDS: usize = 5;
}

/// The words of a program: the code of a target for a size.
pub mod program {
    /// Bytes of the arena, number of threads with scratch memory in it, and bytes for each further thread.
    pub const ARENA: usize = 0;
    pub const THREADS: usize = 1;
    pub const THREAD_SCRATCH: usize = 2;
    /// Text: a line for each step of each part, with its operators and its kernel.
    pub const LISTING: usize = 3;
    /// Start and number of its parts.
    pub const PARTS: usize = 5;
    pub const N_PARTS: usize = 6;
    /// Start and number of its instructions, which begin with the first and go on to the end.
    pub const INSTRS: usize = 7;
    pub const N_INSTRS: usize = 8;
    pub const WORDS: usize = 9;
}

/// The words of a part: steps that follow each other.
pub mod part {
    /// Start of its code in the image, and number of bytes; a part without any has steps that need none.
    pub const CODE: usize = 0;
    pub const CODE_BYTES: usize = 1;
    /// Start and number of the buffers, two words each: kind of place and offset there.
    pub const BUFFERS: usize = 2;
    pub const N_BUFFERS: usize = 3;
    /// Start of the list of steps, which holds the offset of each step's words.
    pub const STEPS: usize = 4;
    pub const WORDS: usize = 5;
}

/// The words of an instruction.
pub mod instr {
    /// What it does.
    pub const KIND: usize = 0;
    /// The number of a part; or the location of a bool, as that of a buffer.
    pub const WHAT: usize = 1;
    /// The number of the next instruction of a jump, which may be that behind the last.
    pub const TO: usize = 3;
    pub const WORDS: usize = 4;

    /// Runs a part.
    pub const RUN: u64 = 0;
    pub const JUMP: u64 = 1;
    /// Jumps if the bool is false.
    pub const UNLESS: u64 = 2;
}

/// Location of a buffer.
pub mod place {
    pub const INPUT: u64 = 0;
    pub const OUTPUT: u64 = 1;
    /// At an offset of the image.
    pub const IMAGE: u64 = 2;
    /// At an offset of the arena.
    pub const ARENA: u64 = 3;
}

/// The kind of a step: its first word.
pub mod kind {
    pub const FILL: u64 = 0;
    pub const MOVE: u64 = 1;
    pub const POSITIONS: u64 = 2;
    pub const GUARD: u64 = 3;
    pub const NEST: u64 = 4;
    pub const CONTRACT: u64 = 5;
    pub const SORT: u64 = 6;
    pub const SCAN: u64 = 7;
    pub const REQUANTIZE: u64 = 8;
    pub const SCATTER: u64 = 9;
    pub const NOTHING: u64 = 10;
    pub const LINES: u64 = 11;
}

/// Treatment of an index out of range.
pub mod outside {
    pub const NEAREST: u64 = 0;
    pub const ROUND: u64 = 1;
    pub const NOWHERE: u64 = 2;
    pub const TRAP: u64 = 3;
}

/// Location of a contraction's weights.
pub mod weights {
    /// Packed, at an offset of the image.
    pub const PACKED: u64 = 0;
    /// In a buffer, read unpacked.
    pub const AS_KEPT: u64 = 1;
    /// In a buffer, packed in every run.
    pub const EACH_RUN: u64 = 2;
    /// Unpacked in the image, and packed by an instance when it is created: the number of these weights among the target's.
    pub const AT_LOAD: u64 = 3;
}

/// Elements of weights that an instance or a run packs.
pub mod element {
    /// Moved as they are, or floats that are transformed.
    pub const FOUR_BYTES: u64 = 0;
    /// Moved as they are.
    pub const TWO_BYTES: u64 = 1;
    /// 16-bit floats that are transformed.
    pub const F16: u64 = 2;
    pub const BF16: u64 = 3;
}

/// The method of a contraction.
pub mod method {
    pub const DIRECT: u64 = 0;
    /// By Winograd's method.
    pub const TILES: u64 = 1;
    /// Two contractions with a nest between, by blocks of rows.
    pub const ATTENTION: u64 = 2;
}
