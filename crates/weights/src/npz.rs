//! `.npz`, NumPy's archives: a zip file of `.npy` entries, each named after its tensor with `.npy` appended.
//!
//! Reading accepts stored and deflated entries. Each must unpack to exactly the size that its `.npy` header states, with a
//! correct checksum. Writing stores entries in the given order, byte for byte as `numpy.savez` writes the same arrays. A name
//! is a key and never a path.

use super::archive::{self, CENTRAL, END, END_64, Entry, LOCAL, LOCATOR_64};
use super::bytes::Bytes;
use super::foreign::Foreign;
use super::item::{Item, Place};
use super::supply::{Planned, Supply};
use super::unpack::Unpacking;
use super::{Format, MAX_NAME, Writer, errors};
use flate2::Crc;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::u64_of;
use relayc_ir::tensor::binary::Head;
use relayc_ir::tensor::npy::{self, NpyHeader};
use relayc_ir::tensor::size::MAX_BYTES;
use std::io::{Result as IoResult, Write};

pub const FORMAT: Format = Format {
    extension: "npz",
    library: Some("NumPy"),
    starts: is_npz,
    index,
    writer: Some(Writer {
        max_tensors: archive::MAX_ENTRIES,
        // The entry's name has the extension too.
        max_name: MAX_NAME.saturating_sub(EXTENSION.len()),
        reserved: None,
        write: write_each,
    }),
};

/// Whether the bytes start like a zip archive, which may be empty, and not like one of another program.
fn is_npz(bytes: &[u8]) -> bool {
    (bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")) && Foreign::of(bytes).is_none()
}

/// Reads the list of tensors. Errors: those of [`Format::read`].
fn index(name: &str, bytes: &dyn Bytes) -> Result<Vec<Item>, Diagnostic> {
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

/// What stands behind the name of a tensor in that of its entry.
const EXTENSION: &str = ".npy";

/// Writes tensors one after the other, then the directory.
fn write_each(planned: &[Planned], supply: &mut Supply, out: &mut dyn Write) -> IoResult<()> {
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

/// Computes the checksum of written bytes.
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

/// Largest size that Python's zipfile, which `numpy.savez` uses, writes in 32 bits.
const NARROW: u64 = (1 << 31) - 1;

/// The version of the format with 64-bit sizes.
const VERSION: u16 = 45;

/// A written entry: stored, dated the first day of 1980.
struct Written {
    name: String,
    crc: u32,
    size: u64,
    at: u64,
}

impl Written {
    /// The common fields: version needed (in the directory also that of the writer), flags, method, time, date and checksum.
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

    /// The directory entry, with an extra field for large values only.
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

/// The 64-bit extra field.
fn wide(fields: &[u64]) -> Vec<u8> {
    let bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
    [&1u16.to_le_bytes()[..], &u16_of(bytes.len()).to_le_bytes(), &bytes].concat()
}

/// The 32-bit field of a number that may be in the extra field.
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
