//! Reads and writes files of named tensors.
//!
//! Tensors of a regular file are read on demand. A pipe cannot be read twice, so it is read whole.

use relayc_base::diag::Diagnostic;
use relayc_ir::tensor::Tensor;
use relayc_sys::{self as sys, Content, Opened};
use relayc_weights as formats;
use relayc_weights::{Bytes, Planned, TensorFile, TensorSource};
pub use relayc_weights::{Format, params};
use std::io::{Error, Result as IoResult};
use std::path::Path;

/// The bytes of a file.
pub(crate) enum FileBytes {
    Disk(Opened, u64),
    Memory(Vec<u8>),
}

impl FileBytes {
    /// Opens a file of data; `-` is standard input. A pipe is refused by its first bytes; others can be asked for them. Errors: E0701,
    /// E0804.
    pub(crate) fn open(path: &Path, judge: sys::Judge) -> Result<FileBytes, Diagnostic> {
        if sys::is_standard(path) {
            return sys::read_stdin(sys::Limit::data(), judge).map(FileBytes::Memory);
        }
        let file = sys::open_file(path, sys::Limit::data())?;
        match file.len {
            Some(len) => Ok(FileBytes::Disk(file, len)),
            None => file.whole_if(judge).map(FileBytes::Memory),
        }
    }

    /// The first bytes, which identify the format.
    pub(crate) fn start(&self, name: &str) -> Result<Vec<u8>, Diagnostic> {
        formats::start(name, self)
    }

    /// Reads all bytes.
    pub(crate) fn whole(self) -> Result<Vec<u8>, Diagnostic> {
        match self {
            FileBytes::Disk(file, _) => file.whole(),
            FileBytes::Memory(bytes) => Ok(bytes),
        }
    }
}

impl Bytes for FileBytes {
    fn size(&self) -> u64 {
        match self {
            FileBytes::Disk(_, len) => *len,
            FileBytes::Memory(bytes) => bytes.as_slice().size(),
        }
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> IoResult<()> {
        match self {
            FileBytes::Disk(file, _) => file.read_at(at, out),
            FileBytes::Memory(bytes) => bytes.as_slice().read_at(at, out),
        }
    }

    fn failed(&self, error: &Error) -> Diagnostic {
        match self {
            FileBytes::Disk(file, _) => file.failed(error),
            FileBytes::Memory(bytes) => bytes.as_slice().failed(error),
        }
    }
}

/// A file of named tensors.
pub(crate) type File = TensorFile<FileBytes>;

/// Opens a file of named tensors. Errors: E0701, E0703, E0803, E0804.
pub(crate) fn open(path: &Path) -> Result<File, Diagnostic> {
    let name = path.display().to_string();
    let held = FileBytes::open(path, &|start| formats::require_tensors(&name, start))?;
    TensorFile::open(&name, held)
}

/// The content of a file of tensors, produced while it is written in the format; `give` is asked for each tensor once.
pub(crate) fn making<'a>(format: Format, path: &Path, planned: Vec<Planned>, mut give: Box<TensorSource<'a>>) -> Content<'a> {
    let name = path.display().to_string();
    Content::Made(Box::new(move |out| formats::write_tensors(format, &name, &planned, &mut *give, out)))
}

/// As [`making`], for tensors in memory.
pub fn making_of<'a>(path: &Path, format: Format, tensors: &'a [(String, Tensor)]) -> Content<'a> {
    let planned = tensors.iter().map(|(name, tensor)| Planned::of(name, tensor)).collect();
    making(format, path, planned, Box::new(|i: usize| Ok(tensors[i].1.clone())))
}
