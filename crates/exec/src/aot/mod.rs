//! Ahead-of-time compilation: the image that holds a program, and the runtime that runs it without relayc.
//!
//! [`image_writer`] is the image writer. [`describe`] describes the image of a file and checks every offset. [`mapped`] runs an
//! image from its file; [`relayc_runtime`] runs it inside an artifact. Absent: the file around the image (`formats::artifact`).

pub mod describe;
pub mod image_writer;
pub mod mapped;
mod messages;

#[cfg(test)]
mod tests;

/// The template of artifacts as a shared object: the runtime with the functions that C calls, without a program.
pub const TEMPLATE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.so"));

/// The same as an object to be linked, which expects the image at the symbol [`SYMBOL`].
pub const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.o"));

/// The symbol by which [`OBJECT`] refers to the image.
pub const SYMBOL: &[u8] = b"relayc_image";
