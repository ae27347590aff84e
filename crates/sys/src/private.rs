//! A folder of the user's own, whose files are trusted because nobody else can have written them.
//!
//! Promises: a file is read only if it is a regular file of this user's, of one name, and writable by nobody else. A file is
//! written to a temporary beside it and renamed. It is not flushed to the disk, so a file has to say itself whether it is whole.

#[cfg(feature = "linux")]
mod linux;

#[cfg(feature = "linux")]
pub use linux::{Identity, PrivateFolder};
