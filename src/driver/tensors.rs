//! Files of named tensors on the disk, and what is written to them.
//!
//! A regular file stays where it is: its tensors are read when they are wanted. What cannot be read twice, a pipe, is read
//! whole.

use crate::diag::Diagnostic;
pub use crate::formats::Format;
use crate::formats::{self, Bytes, Give, Planned, TensorFile};
use crate::sys::{self, Content, Opened};
use crate::tensor::Tensor;
use std::io::{Error, Result as IoResult};
use std::path::Path;

/// The bytes of a file.
pub enum Held {
    Disk(Opened, u64),
    Memory(Vec<u8>),
}

impl Held {
    /// Opens a file of data. Errors: E0701, E0804.
    pub fn open(path: &Path) -> Result<Held, Diagnostic> {
        let file = sys::open_file(path, sys::DATA_LIMIT)?;
        match file.len {
            Some(len) => Ok(Held::Disk(file, len)),
            None => file.whole().map(Held::Memory),
        }
    }

    /// The first bytes, which tell the format.
    pub fn start(&self, name: &str) -> Result<Vec<u8>, Diagnostic> {
        formats::start(name, self)
    }

    /// All of them.
    pub fn whole(self) -> Result<Vec<u8>, Diagnostic> {
        match self {
            Held::Disk(file, _) => file.whole(),
            Held::Memory(bytes) => Ok(bytes),
        }
    }
}

impl Bytes for Held {
    fn size(&self) -> u64 {
        match self {
            Held::Disk(_, len) => *len,
            Held::Memory(bytes) => bytes.as_slice().size(),
        }
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> IoResult<()> {
        match self {
            Held::Disk(file, _) => file.read_at(at, out),
            Held::Memory(bytes) => bytes.as_slice().read_at(at, out),
        }
    }

    fn failed(&self, error: &Error) -> Diagnostic {
        match self {
            Held::Disk(file, _) => file.failed(error),
            Held::Memory(bytes) => bytes.as_slice().failed(error),
        }
    }
}

/// A file of named tensors.
pub type File = TensorFile<Held>;

/// Opens a file of named tensors. Errors: E0701, E0703, E0803, E0804.
pub fn open(path: &Path) -> Result<File, Diagnostic> {
    TensorFile::open(&path.display().to_string(), Held::open(path)?)
}

/// What makes a file of tensors while it is written, in the format; `give` is asked for each tensor once.
pub fn making<'a>(format: Format, path: &Path, planned: Vec<Planned>, mut give: Box<Give<'a>>) -> Content<'a> {
    let name = path.display().to_string();
    Content::Made(Box::new(move |out| formats::write_tensors(format, &name, &planned, &mut *give, out)))
}

/// As [`making`], for tensors that are there; in the format that the name says, else in another.
pub fn making_of<'a>(path: &Path, otherwise: Format, tensors: &'a [(String, Tensor)]) -> Content<'a> {
    let planned = tensors.iter().map(|(name, tensor)| Planned::of(name, tensor)).collect();
    let format = Format::of_name(&path.display().to_string()).unwrap_or(otherwise);
    making(format, path, planned, Box::new(|i: usize| Ok(tensors[i].1.clone())))
}
