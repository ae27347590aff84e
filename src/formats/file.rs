//! Files of named tensors as their entries: what each is called and what it is. Elements are read when they are wanted, one
//! tensor at a time, so that a file is never in memory beside what was made of it.
//!
//! A file is read, not mapped: a mapped file that somebody shortens meanwhile kills the process at the next touch of a page
//! that is gone, a read one comes back short.

use super::archive::Entry;
use super::stream::Stream;
use super::write::Planned;
use super::{Format, Named, errors, mxnet, npz, package, params, safetensors};
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
        u64::try_from(self.len()).unwrap_or(u64::MAX)
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
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let n = out.len().min(left);
        let Some(out) = out.get_mut(..n) else { return Ok(0) };
        self.bytes.read_at(self.at, out)?;
        self.at = self.at.saturating_add(u64::try_from(n).unwrap_or(u64::MAX));
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
    /// They have been read.
    Here(Tensor),
}

impl Item {
    fn here((name, tensor): (String, Tensor)) -> Item {
        let Planned { name, head } = Planned::of(&name, &tensor);
        Item { name, head, place: Place::Here(tensor) }
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
            let items = package::tensors(name, &whole(name, &bytes)?)?.into_iter().map(Item::here).collect();
            return Ok(TensorFile { name: name.to_owned(), bytes, format: "tar", items });
        }
        // Their names stand behind all elements.
        if mxnet::params::is_params(&start) {
            let items = mxnet::params::read(name, &whole(name, &bytes)?)?.into_iter().map(Item::here).collect();
            return Ok(TensorFile { name: name.to_owned(), bytes, format: "params", items });
        }
        TensorFile::open_as(Format::of(name, &start)?, name, bytes)
    }

    /// As [`TensorFile::open`], for a format that is known.
    pub fn open_as(format: Format, name: &str, bytes: B) -> Result<TensorFile<B>, Diagnostic> {
        let items = match format {
            Format::Params => params::index(name, &bytes),
            Format::Npz => npz::index(name, &bytes),
            Format::Safetensors => safetensors::index(name, &bytes),
        }?;
        Ok(TensorFile { name: name.to_owned(), bytes, format: format.extension(), items })
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
            Place::Here(tensor) => Ok(tensor.clone()),
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
    pub fn read_all(&self) -> Result<Named, Diagnostic> {
        self.items.iter().map(|item| Ok((item.name.clone(), self.read(item)?))).collect()
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
    let size = usize::try_from(bytes.size()).unwrap_or(usize::MAX);
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
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            errors::malformed(name, at, "the file has become shorter while it was read")
        }
        _ => bytes.failed(&error),
    })
}
