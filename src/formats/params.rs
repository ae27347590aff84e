//! `.params`, the weight files of TVM (`src/runtime/file_utils.cc`, `include/tvm/runtime/ndarray.h`; relay-text 6).
//!
//! Little endian: u64 magic, u64 0, u64 count; per name a u64 length and the bytes; u64 count again; the tensors in the same
//! order. A tensor: u64 magic, u64 0; i32 device type (1, the CPU), i32 device number; i32 rank; u8 type code, u8 bits, u16
//! lanes; i64 dimensions; i64 byte count; the elements row-major.
//!
//! Names are written in the order given, so a file that TVM wrote comes back byte for byte.

use super::reader::Reader;
use super::{Named, errors};
use crate::diag::Diagnostic;
use crate::tensor::Tensor;
use crate::tensor::size::{MAX_RANK, checked_size};
use crate::types::{DType, DTypeCode};

const FILE_MAGIC: u64 = 0xF7E5_8D4F_0504_9CB7;
const TENSOR_MAGIC: u64 = 0xDD5E_40F0_96B4_A13F;

/// The device type of main memory.
const CPU: i32 = 1;

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
    magic(&mut reader, FILE_MAGIC, "a .params file")?;
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
        let tensor = tensor(&mut reader).map_err(|error| error.note(format!("this is tensor `{entry}`")))?;
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

/// A magic word and the reserved word of zeros after it.
fn magic(reader: &mut Reader, expected: u64, what: &str) -> Result<(), Diagnostic> {
    let start = *reader;
    let found = reader.u64("the magic word")?;
    if found != expected {
        return Err(start.error(format_args!("{found:#018x} where {what} starts with {expected:#018x}")));
    }
    let start = *reader;
    match reader.u64("the reserved word")? {
        0 => Ok(()),
        reserved => Err(start.error(format_args!("the reserved word is {reserved}, it must be 0"))),
    }
}

fn tensor(reader: &mut Reader) -> Result<Tensor, Diagnostic> {
    magic(reader, TENSOR_MAGIC, "a tensor")?;
    let start = *reader;
    let device = reader.i32("the device type")?;
    if device != CPU {
        return Err(start.error(format_args!("a tensor of device type {device}, only {CPU} (the CPU) can be read")));
    }
    reader.i32("the device number")?;
    let start = *reader;
    let rank = reader.i32("the rank")?;
    let rank = usize::try_from(rank).ok().filter(|&rank| rank <= MAX_RANK);
    let rank = rank.ok_or_else(|| start.error(format_args!("a rank that is not between 0 and {MAX_RANK}")))?;
    let dtype = dtype(reader)?;
    let start = *reader;
    let shape = (0..rank).map(|_| reader.i64("a dimension")).collect::<Result<Vec<i64>, _>>()?;
    let (dims, size) = checked_size(&shape, dtype).map_err(|error| errors::size(start.name, start.offset(), &error))?;
    let start = *reader;
    let declared = reader.i64("the byte count")?;
    if usize::try_from(declared) != Ok(size) {
        return Err(start.error(format_args!("a byte count of {declared}, the shape {dims:?} of {dtype} has {size}")));
    }
    let start = *reader;
    let data = reader.take(u64::try_from(size).unwrap_or(u64::MAX), "a tensor")?;
    if dtype == DType::BOOL && data.iter().any(|&byte| byte > 1) {
        return Err(start.error("a bool that is neither 0 nor 1"));
    }
    Tensor::from_le_bytes(dtype, &dims, data).ok_or_else(|| start.error("elements that do not fill the shape"))
}

fn dtype(reader: &mut Reader) -> Result<DType, Diagnostic> {
    let start = *reader;
    let code = reader.u8("the type code")?;
    let bits = reader.u8("the bits of the type")?;
    let lanes = reader.u16("the lanes of the type")?;
    let family = match code {
        0 => Some(DTypeCode::Int),
        1 => Some(DTypeCode::UInt),
        2 => Some(DTypeCode::Float),
        4 => Some(DTypeCode::BFloat),
        _ => None,
    };
    let dtype = family.map(|code| DType { code, bits, lanes }).filter(|dtype| DType::RUNTIME.contains(dtype));
    dtype.ok_or_else(|| start.error(format_args!("type code {code} of {bits} bits and {lanes} lanes, which no tensor can hold")))
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
        write_tensor(tensor, &mut out);
    }
    out
}

fn write_tensor(tensor: &Tensor, out: &mut Vec<u8>) {
    let dtype = tensor.dtype();
    out.extend_from_slice(&TENSOR_MAGIC.to_le_bytes());
    out.extend_from_slice(&0u64.to_le_bytes());
    out.extend_from_slice(&CPU.to_le_bytes());
    out.extend_from_slice(&0i32.to_le_bytes());
    out.extend_from_slice(&u32::try_from(tensor.rank()).unwrap_or(u32::MAX).to_le_bytes());
    let code = match dtype.code {
        DTypeCode::Int => 0,
        DTypeCode::UInt => 1,
        DTypeCode::Float => 2,
        DTypeCode::BFloat => 4,
        // No tensor can hold them.
        DTypeCode::Handle | DTypeCode::E4M3 | DTypeCode::E5M2 => 3,
    };
    out.extend_from_slice(&[code, dtype.bits]);
    out.extend_from_slice(&dtype.lanes.to_le_bytes());
    for &dim in tensor.shape() {
        out.extend_from_slice(&u64_of(dim).to_le_bytes());
    }
    let data = tensor.to_le_bytes();
    out.extend_from_slice(&u64_of(data.len()).to_le_bytes());
    out.extend_from_slice(&data);
}

fn u64_of(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
