//! Artifacts: a compiled program as a shared object, ELF for x86-64 Linux.
//!
//! [`write()`] makes one of a shared object without a program (the *template*, made by a linker) and an *image*: behind the template
//! come a page with the program headers anew and a note, then the image, whose last pages are code. The note says where the
//! image lies, how long the file is, and a checksum of all of it; [`read()`] finds it again and holds the file to it. Deliberately
//! not here: what an image is, and running one.
//!
//! The formats are those of the System V ABI's `gabi` chapters 4 and 5 (headers, notes) and of its AMD64 supplement.

mod bytes;
mod object;
mod read;
mod write;

pub use object::object;
pub use read::{Found, is_elf, read};
pub use write::write;

/// Pages are this large; the image begins with one.
const PAGE: u64 = 4096;

/// The version of the note and of how the image is placed.
const VERSION: u64 = 1;

/// Whose the note is, and which of its notes.
const OWNER: &[u8; 8] = b"relayc\0\0";
const OWNER_BYTES: u32 = 7;
const NOTE: u32 = 1;

/// Words behind the owner's name: version, image, its bytes, its code's bytes, the file's bytes, checksum.
const NOTE_WORDS: u64 = 6;

/// The checksum is a CRC-32 of the file with zeros in its own place: the last word of the note.
const CHECKSUM_WORD: u64 = 5;

/// Sizes and fields of ELF's structures.
mod elf {
    pub const HEADER: u64 = 64;
    pub const PHOFF: u64 = 32;
    pub const PHENTSIZE: u64 = 54;
    pub const PHNUM: u64 = 56;
    pub const ENTRY: u64 = 56;
    pub const MACHINE: u64 = 18;
    pub const X86_64: u16 = 62;
    pub const KIND: u64 = 16;
    pub const SHARED: u16 = 3;
    /// Magic, 64 bits, little endian, version 1.
    pub const IDENT: &[u8; 7] = b"\x7fELF\x02\x01\x01";
    pub const NULL: u32 = 0;
    pub const LOAD: u32 = 1;
    pub const NOTE: u32 = 4;
    pub const PHDR: u32 = 6;
    pub const READ: u32 = 4;
    pub const EXECUTE: u32 = 1;
}
