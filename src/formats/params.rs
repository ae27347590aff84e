//! `.params`, the weight files of TVM (`src/runtime/file_utils.cc`, `include/tvm/runtime/ndarray.h`; relay-text 6).
//!
//! Little endian: u64 magic, u64 0, u64 count; per name a u64 length and the bytes; u64 count again; the tensors in the same
//! order, each as `tensor/binary.rs` says.
//!
//! Names are written in the order given, so a file that TVM wrote comes back byte for byte.

use super::{Named, errors};
use crate::diag::Diagnostic;
use crate::tensor::Tensor;
use crate::tensor::binary::{self, BinaryError, Cursor, Source};

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
    let mut entries = Vec::new();
    read_each(name, &mut Cursor::new(bytes), &mut |entry, tensor| {
        entries.push((entry, tensor));
        Ok(())
    })?;
    Ok(entries)
}

/// Reads one tensor after the other and hands each over, so that a file is never in memory as a whole beside its tensors.
/// Errors: as [`read`], and whatever `take` refuses a tensor with.
pub fn read_each(
    name: &str,
    source: &mut impl Source,
    take: &mut dyn FnMut(String, Tensor) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let named = |error: BinaryError| errors::binary(name, &error);
    source.magic(FILE_MAGIC, "a .params file").map_err(named)?;
    let at = source.offset();
    let count = source.u64("the number of names").map_err(named)?;
    if count > MAX_ENTRIES {
        return Err(errors::entry_limit(name, at, format_args!("{count} names, the limit is {MAX_ENTRIES}")));
    }
    if count.saturating_mul(MIN_ENTRY) > source.remaining() {
        return Err(errors::malformed(name, at, format_args!("{count} names, more than the file has room for")));
    }
    let names = names(name, source, count)?;
    let at = source.offset();
    let n_tensors = source.u64("the number of tensors").map_err(named)?;
    if n_tensors != count {
        return Err(errors::malformed(name, at, format_args!("{n_tensors} tensors for {count} names")));
    }
    for entry in names {
        let tensor = binary::read(source).map_err(|error| named(error).note(format!("this is tensor `{entry}`")))?;
        take(entry, tensor)?;
    }
    match source.remaining() {
        0 => Ok(()),
        n => Err(errors::malformed(name, source.offset(), format_args!("{n} bytes after the last tensor"))),
    }
}

fn names(file: &str, source: &mut impl Source, count: u64) -> Result<Vec<String>, Diagnostic> {
    let named = |error: BinaryError| errors::binary(file, &error);
    let mut names = indexmap::IndexSet::new();
    for _ in 0..count {
        let at = source.offset();
        let length = source.u64("the length of a name").map_err(named)?;
        if length > MAX_NAME {
            return Err(errors::entry_limit(file, at, format_args!("a name of {length} bytes, the limit is {MAX_NAME}")));
        }
        let start = source.offset();
        source.expect(length, "a name").map_err(named)?;
        let mut text = vec![0; usize::try_from(length).unwrap_or(0)];
        source.fill(&mut text, "a name").map_err(named)?;
        let text = String::from_utf8(text).map_err(|_| errors::malformed(file, start, "a name that is not UTF-8"))?;
        if names.contains(&text) {
            return Err(errors::duplicate(file, at, &text));
        }
        names.insert(text);
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
