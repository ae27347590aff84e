//! Files of named tensors as their entries: what each is called and what it is. Elements are read when they are wanted, one
//! tensor at a time, so that a file is never in memory beside what was made of it.
//!
//! A file is read, not mapped: a mapped file that somebody shortens meanwhile kills the process at the next touch of a page
//! that is gone, a read one comes back short.

use super::archive::Entry;
use super::stream::Stream;
use super::{Format, Named, errors, mxnet, npz, package, params, safetensors};
use crate::base::{u64_of, usize_of};
use crate::diag::Diagnostic;
use crate::tensor::Tensor;
use crate::tensor::binary::{self, Head};
use std::io::{BufReader, Error, ErrorKind, Read, Result as IoResult};

/// The bytes of a file, wherever they are.
pub trait Bytes {
    /// How many there are.
    fn size(&self) -> u64;

    /// Fills `out` with those from `at` on. An error of the kind `UnexpectedEof` says that the file has become shorter.
    fn read_at(&self, at: u64, out: &mut [u8]) -> IoResult<()>;

    /// What to say where the system failed to read them.
    fn failed(&self, error: &Error) -> Diagnostic;
}

impl Bytes for &[u8] {
    fn size(&self) -> u64 {
        u64_of(self.len())
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> IoResult<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..out.len()));
        out.copy_from_slice(from.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn failed(&self, error: &Error) -> Diagnostic {
        errors::unsound("memory", error)
    }
}

/// The bytes of a file from one to another, one after the other.
pub(super) struct Section<'a> {
    bytes: &'a dyn Bytes,
    at: u64,
    end: u64,
}

impl<'a> Section<'a> {
    /// Those from `at` up to `end`, which lie in the file.
    pub fn new(bytes: &'a dyn Bytes, at: u64, end: u64) -> Section<'a> {
        Section { bytes, at, end }
    }
}

impl Read for Section<'_> {
    fn read(&mut self, out: &mut [u8]) -> IoResult<usize> {
        let left = usize_of(self.end.saturating_sub(self.at));
        let n = out.len().min(left);
        let Some(out) = out.get_mut(..n) else { return Ok(0) };
        self.bytes.read_at(self.at, out)?;
        self.at = self.at.saturating_add(u64_of(n));
        Ok(n)
    }
}

/// Fields from `at` to the end of the file, read in pieces of `piece` bytes.
pub(super) fn fields(bytes: &dyn Bytes, at: u64, piece: usize) -> Stream<BufReader<Section<'_>>> {
    let section = Section::new(bytes, at, bytes.size());
    Stream::at(BufReader::with_capacity(piece, section), at, bytes.size())
}

/// What was read of fields; where the system failed, its word in place of what is missing then.
pub(super) fn checked<T, R: Read>(bytes: &dyn Bytes, fields: &Stream<R>, read: Result<T, Diagnostic>) -> Result<T, Diagnostic> {
    match (read, fields.failure()) {
        (Err(_), Some(failure)) => Err(bytes.failed(failure)),
        (read, _) => read,
    }
}

/// A tensor of a file whose elements have not been read.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    pub name: String,
    pub head: Head,
    pub(super) place: Place,
}

/// Where the elements are.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Place {
    /// As they are, from this byte on.
    At(u64),
    /// In the `.npy` file that is an entry of an archive.
    Entry(Box<Entry>),
}

impl Place {
    /// The same place where the bytes that it counts begin at another's byte.
    pub fn shift(&mut self, by: usize) {
        if let Place::At(at) = self {
            *at = at.saturating_add(u64_of(by));
        }
    }
}

/// A file of named tensors.
pub struct TensorFile<B> {
    name: String,
    bytes: B,
    format: &'static str,
    items: Vec<Item>,
}

impl<B: Bytes> TensorFile<B> {
    /// Reads what the file says of its tensors. The format is told by the first bytes, then by the extension of `name`, which is
    /// otherwise only for messages; an archive has the tensors of the weight files in it. Errors: E0703 for no sound file of a
    /// known format, E0803 and E0804 for limits.
    pub fn open(name: &str, bytes: B) -> Result<TensorFile<B>, Diagnostic> {
        let start = start(name, &bytes)?;
        if package::is_tar(&start) {
            let items = package::index(name, &whole(name, &bytes)?)?;
            return Ok(TensorFile::new(name, bytes, "tar", items));
        }
        if mxnet::params::is_params(&start) {
            let items = mxnet::params::index(name, &bytes)?;
            return Ok(TensorFile::new(name, bytes, "params", items));
        }
        TensorFile::open_as(Format::of(name, &start)?, name, bytes)
    }

    /// A file whose tensors are known.
    pub(super) fn new(name: &str, bytes: B, format: &'static str, items: Vec<Item>) -> TensorFile<B> {
        TensorFile { name: name.to_owned(), bytes, format, items }
    }

    /// As [`TensorFile::open`], for a format that is known.
    pub fn open_as(format: Format, name: &str, bytes: B) -> Result<TensorFile<B>, Diagnostic> {
        let items = match format {
            Format::Params => params::index(name, &bytes),
            Format::Npz => npz::index(name, &bytes),
            Format::Safetensors => safetensors::index(name, &bytes),
        }?;
        Ok(TensorFile::new(name, bytes, format.extension(), items))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The usual extension of such a file, without a dot.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// In the order of the file; their names differ.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The tensor of that name.
    pub fn find(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.name == name)
    }

    /// Reads a tensor of this file. Errors: E0703 for elements that are not sound, E0803 for no memory.
    pub fn read(&self, item: &Item) -> Result<Tensor, Diagnostic> {
        match &item.place {
            Place::Entry(entry) => npz::read_entry(&self.name, &self.bytes, entry),
            &Place::At(at) => {
                // As large as nothing: elements are read in larger pieces than any buffer here.
                let mut fields = fields(&self.bytes, at, 0);
                let read = binary::elements(&mut fields, &item.head);
                let read = read.map_err(|error| errors::binary(&self.name, &error).note(about(&item.name)));
                checked(&self.bytes, &fields, read)
            }
        }
    }

    /// Reads all tensors.
    pub fn read_all(mut self) -> Result<Named, Diagnostic> {
        let items = std::mem::take(&mut self.items);
        let mut all = Named::with_capacity(items.len());
        for item in items {
            let tensor = self.read(&item)?;
            all.push((item.name, tensor));
        }
        Ok(all)
    }
}

/// The note that names the tensor where something is wrong.
pub(super) fn about(entry: &str) -> String {
    format!("this is tensor `{entry}`")
}

/// So many bytes tell the formats apart: those of an archive are the longest.
const START: usize = 512;

/// All bytes of a file.
fn whole(name: &str, bytes: &dyn Bytes) -> Result<Vec<u8>, Diagnostic> {
    let size = usize_of(bytes.size());
    let mut whole = Vec::new();
    whole.try_reserve_exact(size).map_err(|_| errors::no_memory(name, size))?;
    whole.resize(size, 0);
    read_at(name, bytes, 0, &mut whole)?;
    Ok(whole)
}

/// The first bytes of a file, all of them if they are few. Errors: what the system says.
pub fn start(name: &str, bytes: &dyn Bytes) -> Result<Vec<u8>, Diagnostic> {
    let n = usize::try_from(bytes.size()).unwrap_or(START).min(START);
    let mut start = vec![0; n];
    read_at(name, bytes, 0, &mut start)?;
    Ok(start)
}

/// Reads bytes that were there when the file was opened.
pub(super) fn read_at(name: &str, bytes: &dyn Bytes, at: u64, out: &mut [u8]) -> Result<(), Diagnostic> {
    bytes.read_at(at, out).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => {
            let at = usize_of(at);
            errors::malformed(name, at, "the file has become shorter while it was read")
        }
        _ => bytes.failed(&error),
    })
}
