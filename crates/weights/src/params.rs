//! `.params`, the weight files of TVM (`src/runtime/file_utils.cc`, `include/tvm/runtime/ndarray.h`; language 6).
//!
//! The layout is little endian: u64 magic, u64 0, u64 count; for each name a u64 length and the bytes; u64 count again; the
//! tensors in the same order, each in the form of `tensor/binary.rs`.
//!
//! Names are written in the given order, so a file from TVM is reproduced byte for byte.

use super::bytes::{Bytes, checked, count, entry_name, fields};
use super::item::{Item, Place, about};
use super::supply::{Planned, Supply};
use super::{Format, MAX_NAME, Writer, errors, repeated};
use relayc_base::diag::Diagnostic;
use relayc_base::{u64_of, usize_of};
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::binary::{self, BinaryError, Source};
use std::io::Write;

pub const FORMAT: Format = Format {
    extension: "params",
    library: Some("TVM"),
    starts: is_params,
    index,
    writer: Some(Writer { max_tensors: MAX_ENTRIES, max_name: MAX_NAME, reserved: None, write: write_each }),
};

const FILE_MAGIC: u64 = 0xF7E5_8D4F_0504_9CB7;

/// The limit of reliability 2.
pub(super) const MAX_ENTRIES: usize = 1_000_000;

/// Minimum bytes of an entry: the length of its name, and a scalar without elements.
const MIN_ENTRY: u64 = 8 + 40;

/// Bytes of the length of a name.
const LENGTH: usize = 8;

/// Piece size for reading names, and for reading a tensor's header.
const NAMES: usize = 64 << 10;
const HEAD: usize = 320;

/// Whether the bytes start as a `.params` file does.
fn is_params(bytes: &[u8]) -> bool {
    bytes.starts_with(&FILE_MAGIC.to_le_bytes())
}

/// Reads the list of tensors. Errors: those of [`Format::read`].
pub(super) fn index(name: &str, bytes: &dyn Bytes) -> Result<Vec<Item>, Diagnostic> {
    let mut start = fields(bytes, 0, NAMES);
    let read = all_names(name, &mut start);
    let mut at = start.offset();
    let names = checked(bytes, &start, read)?;
    let mut items = Vec::with_capacity(names.len());
    for entry in names {
        let mut source = fields(bytes, at.try_into().unwrap_or(u64::MAX), HEAD);
        let head = binary::head(&mut source).map_err(|error| errors::binary(name, &error).note(about(&entry)));
        let elements = source.offset();
        let head = checked(bytes, &source, head)?;
        at = elements.saturating_add(head.size);
        items.push(Item { name: entry, head, place: Place::At(u64_of(elements)) });
    }
    match bytes.size().saturating_sub(u64_of(at)) {
        0 => Ok(items),
        n => Err(errors::malformed(name, at, format_args!("{n} bytes after the last tensor"))),
    }
}

/// Reads everything before the first tensor.
fn all_names(name: &str, source: &mut impl Source) -> Result<Vec<String>, Diagnostic> {
    let named = |error: BinaryError| errors::binary(name, &error);
    source.magic(FILE_MAGIC, "a .params file").map_err(named)?;
    let count = count(name, source, "names", MAX_ENTRIES, MIN_ENTRY)?;
    let names = names(name, source, count)?;
    let at = source.offset();
    let n_tensors = source.u64("the number of tensors").map_err(named)?;
    if n_tensors != count {
        return Err(errors::malformed(name, at, format_args!("{n_tensors} tensors for {count} names")));
    }
    Ok(names)
}

fn names(file: &str, source: &mut impl Source, count: u64) -> Result<Vec<String>, Diagnostic> {
    let first = source.offset();
    let mut names: Vec<String> = Vec::with_capacity(usize_of(count));
    for _ in 0..count {
        names.push(entry_name(file, source)?);
    }
    if let Some((before, twice)) =
        repeated(names.iter().map(String::as_str)).and_then(|at| Some((names.get(..at)?, names.get(at)?)))
    {
        let at = before.iter().fold(first, |at, name| at.saturating_add(LENGTH).saturating_add(name.len()));
        return Err(errors::duplicate(file, at, twice));
    }
    Ok(names)
}

/// Writes the tensors as a `.params` file, in the given order. The names must differ, or the file cannot be read again.
pub fn write(entries: &[(String, Tensor)]) -> Vec<u8> {
    let mut out = names_bytes(entries.iter().map(|(name, _)| name.as_str()), entries.len());
    for (_, tensor) in entries {
        binary::write(tensor, &mut out);
    }
    out
}

/// Writes tensors one after the other.
fn write_each(planned: &[Planned], supply: &mut Supply, out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(&names_bytes(planned.iter().map(|planned| planned.name.as_str()), planned.len()))?;
    for i in 0..planned.len() {
        let Some(tensor) = supply.take(i) else { return Ok(()) };
        binary::write_to(&tensor, out)?;
    }
    Ok(())
}

/// The bytes before the first tensor.
fn names_bytes<'a>(names: impl Iterator<Item = &'a str>, count: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let count = u64_of(count).to_le_bytes();
    out.extend_from_slice(&FILE_MAGIC.to_le_bytes());
    out.extend_from_slice(&0u64.to_le_bytes());
    out.extend_from_slice(&count);
    for name in names {
        out.extend_from_slice(&u64_of(name.len()).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
    }
    out.extend_from_slice(&count);
    out
}

#[cfg(test)]
mod tests;
