//! Unpacks an entry of an archive: to exactly what its `.npy` header says and no byte more, with its checksum compared.

use super::archive::Entry;
use super::bytes::{Bytes, Section};
use super::errors;
use super::stream::Stream;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use relayc_base::diag::Diagnostic;
use relayc_base::u64_of;
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::binary::{self, BinaryError, Head, Source};
use relayc_ir::tensor::npy::{self, MAX_HEADER, NpyHeader};
use std::io::{BufReader, Error, Read, Result as IoResult};

/// Headers are mostly as short as this, so that no more need be read to know what an entry is.
const SHORT: u64 = 128;

/// Stored bytes are read in pieces of so many.
const PIECE: usize = 32 << 10;

/// An entry that is being read.
#[derive(Clone, Copy)]
pub(super) struct Unpacking<'a> {
    pub(crate) name: &'a str,
    pub(crate) bytes: &'a dyn Bytes,
    pub(crate) entry: &'a Entry,
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
    pub(crate) fn header(&self) -> Result<NpyHeader, Diagnostic> {
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

/// Reads the tensor of an entry. Errors: E0703 for what does not unpack to it, E0803 for no memory.
pub(super) fn read_entry(name: &str, bytes: &dyn Bytes, entry: &Entry) -> Result<Tensor, Diagnostic> {
    Unpacking { name, bytes, entry }.tensor()
}
