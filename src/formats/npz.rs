//! `.npz`, NumPy's archives: a zip file of `.npy` entries, the name of each being the tensor's and `.npy`.
//!
//! Read: stored and deflated entries; each unpacks to exactly what its `.npy` header says and no byte more, and its checksum
//! holds. Written: stored, in the order given, byte for byte as `numpy.savez` writes the same arrays. A name is a key and never
//! a path.

use super::archive::{self, CENTRAL, END, END_64, Entry, LOCAL, LOCATOR_64};
use super::file::{Bytes, Item, Place, Section, TensorFile};
use super::stream::Stream;
use super::write::{Planned, Supply, encode};
use super::{Format, Named, errors};
use crate::base::u64_of;
use crate::diag::{Diagnostic, codes};
use crate::tensor::Tensor;
use crate::tensor::binary::{self, BinaryError, Head, Source};
use crate::tensor::npy::{self, MAX_HEADER, NpyHeader};
use crate::tensor::size::MAX_BYTES;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use std::io::{BufReader, Error, Read, Result as IoResult, Write};

/// Whether the bytes start as a zip archive does, an empty one included.
pub fn is_npz(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// Reads all tensors. Errors: E0703, and E0803 and E0804 for limits; each names the byte.
pub fn read(name: &str, bytes: &[u8]) -> Result<Named, Diagnostic> {
    TensorFile::open_as(Format::Npz, name, bytes)?.read_all()
}

/// What the file says of its tensors. Errors: as [`read`].
pub(super) fn index(name: &str, bytes: &dyn Bytes) -> Result<Vec<Item>, Diagnostic> {
    let entries = archive::entries(name, bytes)?;
    let total = entries.iter().fold(0u64, |total, entry| total.saturating_add(entry.size));
    if total > MAX_BYTES {
        let words = format!("`{name}`: the entries take {total} bytes together, the limit is {MAX_BYTES}");
        return Err(Diagnostic::new(codes::E0804, words));
    }
    let mut keys = rustc_hash::FxHashSet::default();
    let item = |entry: Entry| {
        let key = entry.name.strip_suffix(EXTENSION).unwrap_or(&entry.name).to_owned();
        if !keys.insert(key.clone()) {
            return Err(errors::duplicate(name, entry.offset, &key));
        }
        let NpyHeader { dtype, shape, data_bytes: size, .. } = Unpacking { name, bytes, entry: &entry }.header()?;
        Ok(Item { name: key, head: Head { dtype, shape, size }, place: Place::Entry(Box::new(entry)) })
    };
    entries.into_iter().map(item).collect()
}

/// Reads the tensor of an entry. Errors: E0703 for what does not unpack to it, E0803 for no memory.
pub(super) fn read_entry(name: &str, bytes: &dyn Bytes, entry: &Entry) -> Result<Tensor, Diagnostic> {
    Unpacking { name, bytes, entry }.tensor()
}

/// What stands behind the name of a tensor in that of its entry.
pub(super) const EXTENSION: &str = ".npy";

/// Headers are mostly as short as this, so that no more need be read to know what an entry is.
const SHORT: u64 = 128;

/// Stored bytes are read in pieces of so many.
const PIECE: usize = 32 << 10;

/// An entry that is being read.
#[derive(Clone, Copy)]
struct Unpacking<'a> {
    name: &'a str,
    bytes: &'a dyn Bytes,
    entry: &'a Entry,
}

impl<'a> Unpacking<'a> {
    fn about(&self, words: impl std::fmt::Display) -> Diagnostic {
        errors::malformed(self.name, self.entry.offset, format_args!("entry `{}`: {words}", self.entry.name))
    }

    /// What to say where unpacking failed: the disk, or the bytes.
    fn broken(&self, error: &Error) -> Diagnostic {
        match error.raw_os_error() {
            Some(_) => self.bytes.failed(error),
            None => self.about(format_args!("the packed bytes are broken ({error})")),
        }
    }

    fn packed(&self) -> Packed<'a> {
        let stored = self.entry.stored(self.bytes);
        if self.entry.deflated {
            Packed::Deflated(DeflateDecoder::new(BufReader::with_capacity(PIECE, stored)))
        } else {
            Packed::Stored(stored)
        }
    }

    /// The header, which must agree with the size that the directory declares.
    fn header(&self) -> Result<NpyHeader, Diagnostic> {
        let (mut packed, mut start) = (self.packed(), Vec::new());
        let mut parsed = Ok(None);
        for limit in [SHORT, u64_of(MAX_HEADER)] {
            let more = limit.min(self.entry.size).saturating_sub(u64_of(start.len()));
            (&mut packed).take(more).read_to_end(&mut start).map_err(|error| self.broken(&error))?;
            parsed = NpyHeader::read(&start).map(Some);
            if parsed.is_ok() {
                break;
            }
        }
        let header = parsed.map_err(|error| errors::npy(self.name, Some(&self.entry.name), error))?;
        let header = header.ok_or_else(|| self.about("no header"))?;
        let declared = header.file_bytes();
        if u64::try_from(declared) != Ok(self.entry.size) {
            return Err(self.about(format_args!("the header asks for {declared} bytes, the entry has {}", self.entry.size)));
        }
        Ok(header)
    }

    fn tensor(&self) -> Result<Tensor, Diagnostic> {
        // Read again rather than kept: it says how much is to be allocated, and the file may have changed.
        let header = self.header()?;
        let mut source = Stream::at(Summed { from: self.packed(), crc: Crc::new() }, 0, self.entry.size);
        let tensor = self.elements(&header, &mut source)?;
        let Summed { from, crc } = source.get_mut();
        match from.read(&mut [0]) {
            Ok(0) => {}
            Ok(_) => return Err(self.wrong_size()),
            Err(error) => return Err(self.broken(&error)),
        }
        if from.has_more().map_err(|error| self.broken(&error))? {
            return Err(self.about("more bytes are stored than were packed"));
        }
        if crc.sum() != self.entry.crc {
            let (found, said) = (crc.sum(), self.entry.crc);
            return Err(self.about(format_args!("the checksum is {found:08x}, the directory says {said:08x}")));
        }
        Ok(tensor)
    }

    fn wrong_size(&self) -> Diagnostic {
        self.about(format_args!("it does not unpack to the {} bytes it declares", self.entry.size))
    }

    /// The tensor behind a header; elements that stand as they do in memory are read to where they stay.
    fn elements(&self, header: &NpyHeader, source: &mut Stream<Summed<'_>>) -> Result<Tensor, Diagnostic> {
        let mut start = vec![0; header.data_start];
        let filled = source.fill(&mut start, "the header");
        let read = filled.and_then(|()| {
            let NpyHeader { dtype, ref shape, data_bytes: size, .. } = *header;
            if header.is_plain() {
                return binary::elements(source, &Head { dtype, shape: shape.clone(), size }).map(Ok);
            }
            let mut whole = start;
            whole.try_reserve_exact(size).map_err(|_| BinaryError {
                over_limit: true,
                ..binary::error(header.data_start, format_args!("no memory for {size} bytes"))
            })?;
            whole.resize(header.file_bytes(), 0);
            source.fill(whole.get_mut(header.data_start..).unwrap_or(&mut []), "a tensor")?;
            Ok(npy::read(&whole))
        });
        match read {
            Ok(Ok(tensor)) => Ok(tensor),
            Ok(Err(error)) => Err(errors::npy(self.name, Some(&self.entry.name), error)),
            Err(_) if source.is_short() => Err(self.wrong_size()),
            Err(error) => Err(match source.failure() {
                Some(failed) => self.broken(failed),
                None => errors::in_entry(self.name, &self.entry.name, &error),
            }),
        }
    }
}

/// The bytes of an entry as they are unpacked.
enum Packed<'a> {
    Stored(Section<'a>),
    Deflated(DeflateDecoder<BufReader<Section<'a>>>),
}

impl Packed<'_> {
    /// Whether bytes are stored behind what was unpacked.
    fn has_more(&mut self) -> IoResult<bool> {
        let n = match self {
            Packed::Stored(stored) => stored.read(&mut [0])?,
            Packed::Deflated(decoder) => decoder.get_mut().read(&mut [0])?,
        };
        Ok(n > 0)
    }
}

impl Read for Packed<'_> {
    fn read(&mut self, out: &mut [u8]) -> IoResult<usize> {
        match self {
            Packed::Stored(stored) => stored.read(out),
            Packed::Deflated(decoder) => decoder.read(out),
        }
    }
}

/// Unpacked bytes and their checksum.
struct Summed<'a> {
    from: Packed<'a>,
    crc: Crc,
}

impl Read for Summed<'_> {
    fn read(&mut self, out: &mut [u8]) -> IoResult<usize> {
        let n = self.from.read(out)?;
        self.crc.update(out.get(..n).unwrap_or(&[]));
        Ok(n)
    }
}

/// The tensors as an archive of stored entries. `name` is for messages. Errors: E0702 where two names are the same.
pub fn write(name: &str, entries: &[(String, Tensor)]) -> Result<Vec<u8>, Diagnostic> {
    encode(Format::Npz, name, entries)
}

/// Writes tensors one after the other, then the directory.
pub(super) fn write_each(planned: &[Planned], supply: &mut Supply, out: &mut dyn Write) -> IoResult<()> {
    let (mut directory, mut at) = (Vec::new(), 0u64);
    for (i, Planned { name, head }) in planned.iter().enumerate() {
        let Some(tensor) = supply.take(i) else { return Ok(()) };
        let header = npy::header(head.dtype, &head.shape);
        let size = u64_of(header.len()).saturating_add(u64_of(head.size));
        let mut crc = Crcs(Crc::new());
        crc.write_all(&header)?;
        tensor.write_le_to(&mut crc)?;
        let entry = Written { name: format!("{name}{EXTENSION}"), crc: crc.0.sum(), size, at };
        let local = entry.local();
        out.write_all(&local)?;
        out.write_all(&header)?;
        tensor.write_le_to(out)?;
        at = at.saturating_add(u64_of(local.len())).saturating_add(size);
        directory.extend_from_slice(&entry.central());
    }
    out.write_all(&directory)?;
    out.write_all(&end(planned.len(), u64_of(directory.len()), at))
}

/// Takes the checksum of what is written.
struct Crcs(Crc);

impl Write for Crcs {
    fn write(&mut self, bytes: &[u8]) -> IoResult<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> IoResult<()> {
        Ok(())
    }
}

/// From here on Python's zipfile, which `numpy.savez` writes with, has sizes in 64 bits.
const NARROW: u64 = (1 << 31) - 1;

/// The version of the format that knows sizes of 64 bits.
const VERSION: u16 = 45;

/// An entry that was written: stored, dated the first day of 1980.
struct Written {
    name: String,
    crc: u32,
    size: u64,
    at: u64,
}

impl Written {
    /// Version needed (in the directory also that of the writer), flags, method, time, date and checksum.
    fn common(&self) -> Vec<u8> {
        // A name that is not ASCII says that it is UTF-8.
        let flags: u16 = if self.name.is_ascii() { 0 } else { 0x800 };
        let mut out = Vec::new();
        for field in [VERSION, flags, 0, 0, 0x21] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&self.crc.to_le_bytes());
        out
    }

    /// The header before the bytes, which always has its sizes in an extra field.
    fn local(&self) -> Vec<u8> {
        let mut out = LOCAL.to_le_bytes().to_vec();
        out.extend(self.common());
        out.extend_from_slice(&[0xff; 8]);
        out.extend_from_slice(&u16_of(self.name.len()).to_le_bytes());
        let extra = wide(&[self.size, self.size]);
        out.extend_from_slice(&u16_of(extra.len()).to_le_bytes());
        out.extend_from_slice(self.name.as_bytes());
        out.extend(extra);
        out
    }

    /// The entry of the directory, which has in an extra field only what is large.
    fn central(&self) -> Vec<u8> {
        let sizes: &[u64] = if self.size > NARROW { &[self.size, self.size] } else { &[] };
        let offset: &[u64] = if self.at > NARROW { &[self.at] } else { &[] };
        let extra = match (sizes, offset) {
            ([], []) => vec![],
            _ => wide(&[sizes, offset].concat()),
        };
        let mut out = CENTRAL.to_le_bytes().to_vec();
        // The writer's version, on Unix.
        out.extend_from_slice(&(VERSION | 3 << 8).to_le_bytes());
        out.extend(self.common());
        out.extend_from_slice(&narrow(self.size).to_le_bytes());
        out.extend_from_slice(&narrow(self.size).to_le_bytes());
        // The comment, the disk and the internal attributes are nothing.
        for field in [u16_of(self.name.len()), u16_of(extra.len()), 0, 0, 0] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        // A file that its owner reads and writes.
        out.extend_from_slice(&(0o600u32 << 16).to_le_bytes());
        out.extend_from_slice(&narrow(self.at).to_le_bytes());
        out.extend_from_slice(self.name.as_bytes());
        out.extend(extra);
        out
    }
}

/// The extra field of 64 bits.
fn wide(fields: &[u64]) -> Vec<u8> {
    let bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
    [&1u16.to_le_bytes()[..], &u16_of(bytes.len()).to_le_bytes(), &bytes].concat()
}

/// What 32 bits say of a number that may stand in the extra field.
fn narrow(n: u64) -> u32 {
    if n > NARROW { u32::MAX } else { u32::try_from(n).unwrap_or(u32::MAX) }
}

/// The end records of a directory of `size` bytes that starts at `at`.
fn end(count: usize, size: u64, at: u64) -> Vec<u8> {
    let mut out = Vec::new();
    if count > usize::from(u16::MAX) || size > NARROW || at > NARROW {
        out.extend_from_slice(&END_64.to_le_bytes());
        out.extend_from_slice(&44u64.to_le_bytes());
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        for field in [u64_of(count), u64_of(count), size, at] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&LOCATOR_64.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&at.saturating_add(size).to_le_bytes());
        out.extend_from_slice(&1u32.to_le_bytes());
    }
    out.extend_from_slice(&END.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    for _ in 0..2 {
        out.extend_from_slice(&u16_of(count).to_le_bytes());
    }
    for field in [size, at] {
        out.extend_from_slice(&u32::try_from(field).unwrap_or(u32::MAX).to_le_bytes());
    }
    out.extend_from_slice(&[0; 2]);
    out
}

fn u16_of(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
