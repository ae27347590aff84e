//! File formats: bytes to values and back. Opens no file itself; a name is only for messages.
//!
//! Every reader treats its bytes as hostile (reliability 10): a count or a length is compared with its limit and with the
//! bytes that remain before anything is allocated for it, names never become paths, what is left over is an error.

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
pub mod artifact;
pub mod errors;
mod file;
pub mod graph_json;
mod json;
mod kind;
pub mod mxnet;
mod nodes;
pub mod npz;
pub mod onnx;
pub mod package;
pub mod params;
pub mod picture;
mod reader;
pub mod safetensors;
mod stream;
mod write;

pub use file::{Bytes, Item, TensorFile, start};
pub use kind::{Kind, kind};
pub use write::{Give, Planned, encode, write_tensors};

use crate::diag::Diagnostic;
use crate::tensor::{Tensor, npy};
use rustc_hash::{FxBuildHasher, FxHashSet};

/// Tensors by name, in the order of their file.
pub type Named = Vec<(String, Tensor)>;

/// The longest name of a tensor, an entry or a node, in bytes (reliability 2).
const MAX_NAME: usize = 4096;

/// Where a name stands that came before.
fn repeated<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Option<usize> {
    let mut before = FxHashSet::with_capacity_and_hasher(names.len(), FxBuildHasher);
    names.enumerate().find_map(|(at, name)| (!before.insert(name)).then_some(at))
}

/// A format of named tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// TVM's.
    Params,
    /// NumPy's.
    Npz,
    /// Hugging Face's.
    Safetensors,
}

impl Format {
    pub const ALL: [Format; 3] = [Format::Params, Format::Npz, Format::Safetensors];

    /// Without a dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Params => "params",
            Format::Npz => "npz",
            Format::Safetensors => "safetensors",
        }
    }

    /// The format that the extension of a name says.
    pub fn of_name(name: &str) -> Option<Format> {
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        Format::ALL.into_iter().find(|format| extension.eq_ignore_ascii_case(format.extension()))
    }

    /// The format of a file that starts with these bytes.
    pub fn of_start(start: &[u8]) -> Option<Format> {
        if params::is_params(start) {
            Some(Format::Params)
        } else if npz::is_npz(start) {
            Some(Format::Npz)
        } else if safetensors::is_safetensors(start) {
            Some(Format::Safetensors)
        } else {
            None
        }
    }

    /// The format of a file, by its first bytes, then by the extension of its name. Errors: E0703 where neither says one.
    pub fn of(name: &str, start: &[u8]) -> Result<Format, Diagnostic> {
        match Format::of_start(start) {
            Some(format) => Ok(format),
            None if is_npy(start) => Err(errors::nameless(name)),
            None => Format::of_name(name).ok_or_else(|| errors::unknown_format(name)),
        }
    }

    /// The most tensors of a file.
    fn max_tensors(self) -> usize {
        match self {
            Format::Params => params::MAX_ENTRIES,
            Format::Npz => archive::MAX_ENTRIES,
            Format::Safetensors => safetensors::MAX_ENTRIES,
        }
    }

    /// The longest name of a tensor: an entry of an archive has an extension behind it.
    fn max_name(self) -> usize {
        MAX_NAME.saturating_sub(if self == Format::Npz { npz::EXTENSION.len() } else { 0 })
    }

    /// Whether no tensor can have this name in a file of the format.
    fn reserves(self, name: &str) -> bool {
        self == Format::Safetensors && name == safetensors::METADATA
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ".{}", self.extension())
    }
}

/// Whether a file that starts with these bytes, or else has this name, is one of named tensors.
pub fn is_named(name: &str, start: &[u8]) -> bool {
    package::is_tar(start)
        || mxnet::params::is_params(start)
        || Format::of_start(start).is_some()
        || (Format::of_name(name).is_some() && !is_npy(start))
}

/// Reads a file of named tensors. Errors: as [`TensorFile::open`].
pub fn read_tensors(name: &str, bytes: &[u8]) -> Result<Named, Diagnostic> {
    TensorFile::open(name, bytes)?.read_all()
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
        for format in Format::ALL {
            let bytes = encode(format, "w", &one()).expect("small");
            for name in ["w", "w.npz", "w.params", "w.SafeTensors", "w.txt"] {
                assert_eq!(read_tensors(name, &bytes), Ok(one()), "{format} as {name}");
            }
        }
    }

    #[test]
    fn what_is_none_of_them_is_refused() {
        let words = |name: &str, bytes: &[u8]| read_tensors(name, bytes).expect_err("not a weight file").message;
        assert!(words("w.txt", b"{}").contains("no format of named tensors"));
        assert!(words("w.npy", &npy::write(&Tensor::scalar(1f32))).contains("without a name"));
        for format in Format::ALL {
            assert!(words(&format!("w{format}"), b"hello").contains("byte"));
        }
        assert!(words("", b"").contains("no format"));
    }

    #[test]
    fn every_format_keeps_names_order_and_bytes() {
        let entries: Named = crate::types::DType::RUNTIME
            .into_iter()
            .rev()
            .map(|dtype| (format!("{dtype}/\"\\\u{e9}"), Tensor::random(dtype, &[2, 3], 1, "x").expect("small")))
            .collect();
        for first in Format::ALL {
            let bytes = encode(first, "w", &entries).expect("small");
            for second in Format::ALL {
                let there = encode(second, "w", &read_tensors("w", &bytes).expect("sound")).expect("small");
                let back = encode(first, "w", &read_tensors("w", &there).expect("sound")).expect("small");
                assert!(back == bytes, "{first} to {second} and back");
            }
        }
    }

    #[test]
    fn names_that_cannot_be_written() {
        let twice = [one().remove(0), one().remove(0)];
        let reserved = [("__metadata__".to_owned(), Tensor::scalar(1f32))];
        for format in Format::ALL {
            let said = encode(format, "w", &twice).expect_err("two of one name");
            assert!(said.code == crate::diag::codes::E0702 && said.message.contains("two tensors are named `w`"));
            assert_eq!(encode(format, "w", &reserved).is_err(), format == Format::Safetensors);
        }
    }

    /// What is written can be read again, or is not written.
    #[test]
    fn limits_hold_for_what_is_written() {
        for format in Format::ALL {
            let named = |n: usize| vec![("n".repeat(n), Tensor::scalar(1f32))];
            let longest = encode(format, "w", &named(format.max_name())).expect("a longest name");
            assert_eq!(read_tensors("w", &longest), Ok(named(format.max_name())), "{format}");
            let said = encode(format, "w", &named(format.max_name() + 1)).expect_err("a longer one");
            assert!(said.code == crate::diag::codes::E0702 && said.message.contains("a name of"), "{}", said.message);
        }
        let many = |n: usize| (0..n).map(|i| (i.to_string(), Tensor::scalar(1u8))).collect::<Named>();
        let said = encode(Format::Npz, "w", &many(65_537)).expect_err("too many");
        assert!(said.message.contains("65537 tensors, a .npz file holds at most 65536"), "{}", said.message);
        let most = encode(Format::Npz, "w", &many(65_536)).expect("as many as there may be");
        assert_eq!(read_tensors("w", &most).map(|all| all.len()), Ok(65_536));
    }

    #[test]
    fn a_tensor_that_changed_meanwhile_ends_the_writing() {
        let planned = [Planned::of("w", &Tensor::scalar(1f32))];
        let write = |tensor: Result<Tensor, Diagnostic>| {
            let mut tensor = Some(tensor);
            let mut give = |_| tensor.take().expect("asked once");
            write_tensors(Format::Params, "w", &planned, &mut give, &mut Vec::new()).expect("memory")
        };
        assert_eq!(write(Ok(Tensor::scalar(2f32))), Ok(()));
        assert!(write(Ok(Tensor::scalar(2f64))).expect_err("another").message.contains("no longer"));
        assert_eq!(write(Err(errors::unsound("v", "gone"))), Err(errors::unsound("v", "gone")));
    }
}
