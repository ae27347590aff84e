//! Artifacts: a compiled program as a shared object, ELF for x86-64 Linux.
//!
//! [`write()`] combines a shared object without a program (the *template*, made by a linker) and an *image*. A page with new
//! program headers and a note follows the template, then the image, whose last pages are code. The note states the location of
//! the image, the length of the file, and a checksum of all of it. [`read()`] locates the image and verifies the file. Absent:
//! the content of an image, and running one.
//!
//! The formats are those of the System V ABI's `gabi` chapters 4 and 5 (headers, notes) and of its AMD64 supplement.

mod bytes;
mod object;
mod read;
mod write;

pub use object::object;
pub use read::{Found, is_elf, locate, read};
pub use write::write;

/// Page size; the image begins at a page.
const PAGE: u64 = 4096;

/// The version of the note and of the image's placement.
const VERSION: u64 = 1;

/// Owner and type of the note.
const OWNER: &[u8; 8] = b"relayc\0\0";
const OWNER_BYTES: u32 = 7;
const NOTE: u32 = 1;

/// Words after the owner's name: version, image, its bytes, its code's bytes, the file's bytes, checksum.
const NOTE_WORDS: u64 = 6;

/// Index of the checksum, the last word of the note: a CRC-32 of the file with zeros in place of the checksum.
const CHECKSUM_WORD: u64 = 5;

/// Sizes and fields of ELF's structures.
mod elf {
    pub(crate) const HEADER: u64 = 64;
    pub(crate) const PHOFF: u64 = 32;
    pub(crate) const PHENTSIZE: u64 = 54;
    pub(crate) const PHNUM: u64 = 56;
    pub(crate) const ENTRY: u64 = 56;
    pub(crate) const MACHINE: u64 = 18;
    pub(crate) const X86_64: u16 = 62;
    pub(crate) const KIND: u64 = 16;
    pub(crate) const SHARED: u16 = 3;
    /// Magic, 64 bits, little endian, version 1.
    pub(crate) const IDENT: &[u8; 7] = b"\x7fELF\x02\x01\x01";
    pub(crate) const NULL: u32 = 0;
    pub(crate) const LOAD: u32 = 1;
    pub(crate) const NOTE: u32 = 4;
    pub(crate) const PHDR: u32 = 6;
    pub(crate) const READ: u32 = 4;
    pub(crate) const EXECUTE: u32 = 1;
}
