//! Programs compiled ahead of time: the image that holds one, and the runtime that runs it without relayc.
//!
//! [`flatten`] makes an image of a loaded program, [`describe`] says what is in one that came from a file, every offset of it
//! checked, [`mapped`] runs one from its file, and [`runtime`] does so inside of an artifact. Deliberately not here: the file
//! around the image (`formats::artifact`).

pub mod describe;
pub mod flatten;
pub mod mapped;
pub mod runtime;

#[cfg(test)]
mod tests;

/// The shared object that artifacts are made from: the runtime with the functions that C calls, without a program.
pub const TEMPLATE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.so"));

/// The same as an object to be linked, which has the image at the symbol [`SYMBOL`].
pub const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.o"));

/// What [`OBJECT`] calls the image.
pub const SYMBOL: &[u8] = b"relayc_image";
