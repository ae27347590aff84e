//! `.params`, the weight files of TVM (`src/runtime/file_utils.cc`, `include/tvm/runtime/ndarray.h`; relay-text 6).
//!
//! Little endian: u64 magic, u64 0, u64 count; per name a u64 length and the bytes; u64 count again; the tensors in the same
//! order, each as `tensor/binary.rs` says.
//!
//! Names are written in the order given, so a file that TVM wrote comes back byte for byte.

use super::reader::Reader;
use super::{Named, errors};
use crate::diag::Diagnostic;
use crate::tensor::{Tensor, binary};

const FILE_MAGIC: u64 = 0xF7E5_8D4F_0504_9CB7;

/// Limits of reliability 2.
const MAX_ENTRIES: u64 = 1_000_000;
const MAX_NAME: u64 = 4096;

/// The fewest bytes an entry takes: the length of its name and a scalar without elements.
const MIN_ENTRY: u64 = 8 + 40;

/// Whether the bytes start as a `.params` file does.
pub fn is_params(bytes: &[u8]) -> bool {
    bytes.starts_with(&FILE_MAGIC.to_le_bytes())
}

/// Reads all tensors. Errors: E0703, and E0803 and E0804 for limits; each names the byte.
pub fn read(name: &str, bytes: &[u8]) -> Result<Named, Diagnostic> {
    let mut reader = Reader::new(name, bytes);
    reader.magic(FILE_MAGIC, "a .params file")?;
    let at = reader.offset();
    let count = reader.u64("the number of names")?;
    if count > MAX_ENTRIES {
        return Err(errors::entry_limit(name, at, format_args!("{count} names, the limit is {MAX_ENTRIES}")));
    }
    if count.saturating_mul(MIN_ENTRY) > u64::try_from(reader.remaining()).unwrap_or(u64::MAX) {
        return Err(errors::malformed(name, at, format_args!("{count} names, more than the file has room for")));
    }
    let names = names(&mut reader, count)?;
    let at = reader.offset();
    let n_tensors = reader.u64("the number of tensors")?;
    if n_tensors != count {
        return Err(errors::malformed(name, at, format_args!("{n_tensors} tensors for {count} names")));
    }
    let mut entries = Vec::with_capacity(names.len());
    for entry in names {
        let tensor = reader.tensor().map_err(|error| error.note(format!("this is tensor `{entry}`")))?;
        entries.push((entry, tensor));
    }
    match reader.remaining() {
        0 => Ok(entries),
        n => Err(reader.error(format_args!("{n} bytes after the last tensor"))),
    }
}

fn names(reader: &mut Reader, count: u64) -> Result<Vec<String>, Diagnostic> {
    let mut names = indexmap::IndexSet::new();
    for _ in 0..count {
        let at = reader.offset();
        let length = reader.u64("the length of a name")?;
        if length > MAX_NAME {
            return Err(errors::entry_limit(reader.name, at, format_args!("a name of {length} bytes, the limit is {MAX_NAME}")));
        }
        let start = *reader;
        let text = reader.take(length, "a name")?;
        let text = str::from_utf8(text).map_err(|_| start.error("a name that is not UTF-8"))?;
        if !names.insert(text.to_owned()) {
            return Err(errors::duplicate(reader.name, at, text));
        }
    }
    Ok(names.into_iter().collect())
}

/// The tensors as a `.params` file, in the order given. The names must differ, or the file cannot be read again.
pub fn write(entries: &[(String, Tensor)]) -> Vec<u8> {
    let mut out = Vec::new();
    let count = u64_of(entries.len()).to_le_bytes();
    out.extend_from_slice(&FILE_MAGIC.to_le_bytes());
    out.extend_from_slice(&0u64.to_le_bytes());
    out.extend_from_slice(&count);
    for (name, _) in entries {
        out.extend_from_slice(&u64_of(name.len()).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
    }
    out.extend_from_slice(&count);
    for (_, tensor) in entries {
        binary::write(tensor, &mut out);
    }
    out
}

fn u64_of(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
