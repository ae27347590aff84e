//! File formats: bytes to values and back. Opens no file itself; a name is only for messages.
//!
//! Every reader treats its bytes as hostile (reliability 10): a count or a length is compared with its limit and with the
//! bytes that remain before anything is allocated for it, names never become paths, what is left over is an error. Each rule
//! has an input it accepts and one it rejects in the tests of its file.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::as_conversions
    )
)]

mod archive;
pub mod errors;
pub mod graph_json;
mod json;
mod kind;
pub mod npz;
pub mod onnx;
pub mod package;
pub mod params;
pub mod picture;
mod reader;
mod stream;

pub use kind::{Kind, kind};
pub use stream::Stream;

use crate::diag::Diagnostic;
use crate::tensor::{Tensor, npy};

/// Tensors by name, in the order of their file.
pub type Named = Vec<(String, Tensor)>;

/// Reads a file of named tensors: `.params`, `.npz` or an archive with `.params` in it, told apart by their first bytes, then by the
/// extension of `name`.
///
/// Errors: E0703 where it is neither, or not a sound one; E0803 and E0804 for limits.
pub fn read_tensors(name: &str, bytes: &[u8]) -> Result<Named, Diagnostic> {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if params::is_params(bytes) {
        params::read(name, bytes)
    } else if npz::is_npz(bytes) {
        npz::read(name, bytes)
    } else if package::is_tar(bytes) {
        package::tensors(name, bytes)
    } else if is_npy(bytes) {
        Err(errors::nameless(name))
    } else if extension.eq_ignore_ascii_case("params") {
        params::read(name, bytes)
    } else if extension.eq_ignore_ascii_case("npz") {
        npz::read(name, bytes)
    } else {
        Err(errors::unknown_format(name))
    }
}

/// Reads one tensor without a name: a `.npy` file. Errors: E0703, E0803, E0804.
pub fn read_npy(name: &str, bytes: &[u8]) -> Result<Tensor, Diagnostic> {
    npy::read(bytes).map_err(|error| errors::npy(name, None, error))
}

/// Whether the bytes start as a `.npy` file does.
pub fn is_npy(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x93NUMPY")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Named {
        vec![("w".to_owned(), Tensor::scalar(1f32))]
    }

    #[test]
    fn the_first_bytes_decide_before_the_extension() {
        assert_eq!(read_tensors("w.npz", &params::write(&one())), Ok(one()));
        assert_eq!(read_tensors("w", &npz::write("w", &one()).expect("small")), Ok(one()));
    }

    #[test]
    fn what_is_neither_is_refused() {
        let words = |name: &str, bytes: &[u8]| read_tensors(name, bytes).expect_err("not a weight file").message;
        assert!(words("w.safetensors", b"{}").contains("no format of named tensors"));
        assert!(words("w.npy", &npy::write(&Tensor::scalar(1f32))).contains("without a name"));
        assert!(words("w.params", b"hello").contains("byte"));
        assert!(words("w.npz", b"hello").contains("byte"));
        assert!(words("", b"").contains("no format"));
    }
}
