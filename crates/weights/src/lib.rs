//! Weight files and images: converts bytes to tensors and back.
//!
//! Every reader treats its bytes as hostile (reliability 10). A count or a length is compared with its limit and with the
//! remaining bytes before anything is allocated. Names never become paths, and excess bytes are an error. Absent: opening
//! files; a name is only for messages.

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
mod bytes;
pub mod errors;
pub mod file;
pub mod foreign;
pub mod images;
mod item;
pub mod mxnet;
pub mod npz;
mod open;
pub mod params;
mod reader;
pub mod safetensors;
mod stream;
mod supply;
pub mod tar;
mod unpack;
mod write;

pub use bytes::Bytes;
pub use file::TensorFile;
pub use item::Item;
pub use open::{require_tensors, start};
pub use supply::{Planned, TensorSource};
pub use write::{encode, write_tensors};

use foreign::Foreign;
use relayc_base::diag::Diagnostic;
use relayc_base::text::join_words;
use relayc_ir::tensor::{Tensor, npy};
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::io::Write;
use supply::Supply;

/// Tensors by name, in file order.
pub type Named = Vec<(String, Tensor)>;

/// Maximum length of a tensor's, entry's or node's name, in bytes (reliability 2).
pub const MAX_NAME: usize = 4096;

/// The position of the first repeated name.
pub fn repeated<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Option<usize> {
    let mut before = FxHashSet::with_capacity_and_hasher(names.len(), FxBuildHasher);
    names.enumerate().find_map(|(at, name)| (!before.insert(name)).then_some(at))
}

/// A format of named tensors. Its file declares all of it; [`FORMATS`] lists them.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The extension without a dot.
    extension: &'static str,
    /// The library that the format belongs to, where the extension does not say.
    library: Option<&'static str>,
    /// Whether a file starts as one of this format does.
    starts: fn(&[u8]) -> bool,
    /// Reads the list of tensors. Errors: E0703, and E0803 and E0804 for limits.
    index: fn(&str, &dyn Bytes) -> Result<Vec<Item>, Diagnostic>,
    /// `None` for a format that is only read; the extension of a name never selects it.
    writer: Option<Writer>,
}

/// How files of a format are written, and what they can hold.
#[derive(Clone, Copy, Debug)]
struct Writer {
    /// Maximum number of tensors in a file.
    max_tensors: usize,
    /// Maximum length of a tensor's name.
    max_name: usize,
    /// The name that no tensor can have.
    reserved: Option<&'static str>,
    /// Writes tensors one after the other.
    write: fn(&[Planned], &mut Supply, &mut dyn Write) -> std::io::Result<()>,
}

/// All formats, in the order in which their first bytes are tried.
const FORMATS: [Format; 5] = [tar::FORMAT, mxnet::FORMAT, params::FORMAT, npz::FORMAT, safetensors::FORMAT];

impl Format {
    /// The formats that can be written.
    pub fn writable() -> impl Iterator<Item = Format> {
        FORMATS.into_iter().filter(|format| format.writer.is_some())
    }

    /// The extensions of the files that can be written: `.params`.
    pub fn extensions() -> Vec<String> {
        Format::writable().map(|format| format.to_string()).collect()
    }

    /// The format that the extension of a name states.
    pub fn of_name(name: &str) -> Option<Format> {
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        Format::writable().find(|format| extension.eq_ignore_ascii_case(format.extension))
    }

    /// The format of a file that starts with these bytes.
    fn of_start(start: &[u8]) -> Option<Format> {
        FORMATS.into_iter().find(|format| (format.starts)(start))
    }

    /// The format of a file, by its first bytes, then by the extension of its name. Errors: E0703 if neither is known.
    fn of(name: &str, start: &[u8]) -> Result<Format, Diagnostic> {
        match Format::of_start(start) {
            Some(format) => Ok(format),
            None if is_npy(start) => Err(errors::nameless(name)),
            None => match (Foreign::of(start), Format::of_name(name)) {
                (None, Some(format)) => Ok(format),
                _ => Err(errors::unknown_format(name, start)),
            },
        }
    }

    /// Reads all tensors of a file of this format, in file order. Errors: E0703, and E0803 and E0804 for limits; each names the
    /// byte if it is known.
    pub fn read(self, name: &str, bytes: &[u8]) -> Result<Named, Diagnostic> {
        TensorFile::open_as(self, name, bytes)?.read_all()
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ".{}", self.extension)
    }
}

/// What a file of tensors holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Picture,
    Named,
    /// One tensor without a name.
    Npy,
}

impl Kind {
    /// The kind of a file, by its first bytes, then by the extension of its name.
    pub fn of(name: &str, start: &[u8]) -> Option<Kind> {
        match start {
            _ if images::is_picture(start) => Some(Kind::Picture),
            _ if Format::of_start(start).is_some() => Some(Kind::Named),
            _ if is_npy(start) => Some(Kind::Npy),
            _ if Foreign::of(start).is_some() => None,
            _ if Format::of_name(name).is_some() => Some(Kind::Named),
            _ => is_npy_name(name).then_some(Kind::Npy),
        }
    }

    /// The extensions of files of all kinds, in words.
    pub fn extensions() -> String {
        let others = [".npy", ".png", ".jpg"].map(str::to_owned);
        join_words(&[Format::extensions(), others.into()].concat(), "and")
    }
}

/// Whether a name has the extension of a `.npy` file.
pub fn is_npy_name(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("npy"))
}

/// Reads a file of named tensors. Errors: those of [`TensorFile::open`].
pub fn read_tensors(name: &str, bytes: &[u8]) -> Result<Named, Diagnostic> {
    TensorFile::open(name, bytes)?.read_all()
}

/// Reads a `.npy` file: one tensor without a name. Errors: E0703, E0803, E0804.
pub fn read_npy(name: &str, bytes: &[u8]) -> Result<Tensor, Diagnostic> {
    npy::read(bytes).map_err(|error| errors::npy(name, None, error))
}

/// Whether the bytes start as a `.npy` file does.
fn is_npy(bytes: &[u8]) -> bool {
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
        for format in Format::writable() {
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
        for format in Format::writable() {
            assert!(words(&format!("w{format}"), b"hello").contains("byte"));
        }
        assert!(words("", b"").contains("no format"));
    }

    #[test]
    fn every_format_keeps_names_order_and_bytes() {
        let entries: Named = relayc_ir::types::DType::RUNTIME
            .into_iter()
            .rev()
            .map(|dtype| (format!("{dtype}/\"\\\u{e9}"), Tensor::random(dtype, &[2, 3], 1, "x").expect("small")))
            .collect();
        for first in Format::writable() {
            let bytes = encode(first, "w", &entries).expect("small");
            for second in Format::writable() {
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
        for format in Format::writable() {
            let said = encode(format, "w", &twice).expect_err("two of one name");
            assert!(said.code == relayc_base::diag::codes::E0702 && said.message.contains("two tensors are named `w`"));
            assert_eq!(encode(format, "w", &reserved).is_err(), format.extension == "safetensors");
        }
    }

    /// A file that is written can be read again; otherwise writing fails.
    #[test]
    fn limits_hold_for_what_is_written() {
        for format in Format::writable() {
            let named = |n: usize| vec![("n".repeat(n), Tensor::scalar(1f32))];
            let max_name = format.writer.expect("writable").max_name;
            let longest = encode(format, "w", &named(max_name)).expect("a longest name");
            assert_eq!(read_tensors("w", &longest), Ok(named(max_name)), "{format}");
            let said = encode(format, "w", &named(max_name + 1)).expect_err("a longer one");
            assert!(said.code == relayc_base::diag::codes::E0702 && said.message.contains("a name of"), "{}", said.message);
        }
        let many = |n: usize| (0..n).map(|i| (i.to_string(), Tensor::scalar(1u8))).collect::<Named>();
        let said = encode(npz::FORMAT, "w", &many(65_537)).expect_err("too many");
        assert!(said.message.contains("65537 tensors, a .npz file holds at most 65536"), "{}", said.message);
        let most = encode(npz::FORMAT, "w", &many(65_536)).expect("as many as there may be");
        assert_eq!(read_tensors("w", &most).map(|all| all.len()), Ok(65_536));
    }

    #[test]
    fn a_tensor_that_changed_meanwhile_ends_the_writing() {
        let planned = [Planned::of("w", &Tensor::scalar(1f32))];
        let write = |tensor: Result<Tensor, Diagnostic>| {
            let mut tensor = Some(tensor);
            let mut give = |_| tensor.take().expect("asked once");
            write_tensors(params::FORMAT, "w", &planned, &mut give, &mut Vec::new()).expect("memory")
        };
        assert_eq!(write(Ok(Tensor::scalar(2f32))), Ok(()));
        assert!(write(Ok(Tensor::scalar(2f64))).expect_err("another").message.contains("no longer"));
        assert_eq!(write(Err(errors::unsound("v", "gone"))), Err(errors::unsound("v", "gone")));
    }
}
