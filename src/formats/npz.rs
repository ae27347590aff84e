//! `.npz`, NumPy's archives: a zip file of `.npy` entries, the name of each being the tensor's and `.npy`.
//!
//! Read: stored and deflated entries; each unpacks to exactly what its `.npy` header says and no byte more, and its checksum
//! holds. Written: stored, in the order given, the same bytes for the same tensors. A name is a key and never a path.

use super::archive::{self, Entry};
use super::{Named, errors};
use crate::diag::{Diagnostic, codes};
use crate::tensor::Tensor;
use crate::tensor::npy::{self, MAX_HEADER, NpyHeader};
use crate::tensor::size::MAX_BYTES;
use std::io::{Cursor, Read, Write};

/// Whether the bytes start as a zip archive does, an empty one included.
pub fn is_npz(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// Reads all tensors. Errors: E0703, and E0803 and E0804 for limits; each names the byte.
pub fn read(name: &str, bytes: &[u8]) -> Result<Named, Diagnostic> {
    let entries = archive::entries(name, bytes)?;
    let total = entries.iter().fold(0u64, |total, entry| total.saturating_add(entry.size));
    if total > MAX_BYTES {
        let words = format!("`{name}`: the entries take {total} bytes together, the limit is {MAX_BYTES}");
        return Err(Diagnostic::new(codes::E0804, words));
    }
    let mut named = indexmap::IndexMap::new();
    for entry in &entries {
        let key = entry.name.strip_suffix(".npy").unwrap_or(entry.name);
        if named.insert(key.to_owned(), tensor(name, entry)?).is_some() {
            return Err(errors::duplicate(name, entry.offset, key));
        }
    }
    Ok(named.into_iter().collect())
}

fn tensor(name: &str, entry: &Entry) -> Result<Tensor, Diagnostic> {
    let about = |words: String| errors::malformed(name, entry.offset, format_args!("entry `{}`: {words}", entry.name));
    let bytes = if entry.deflated {
        let mut decoder = flate2::bufread::DeflateDecoder::new(entry.data);
        let bytes = unpack(name, entry, &mut decoder)?;
        if !decoder.get_ref().is_empty() {
            return Err(about("more bytes are stored than were packed".into()));
        }
        bytes
    } else {
        unpack(name, entry, &mut &*entry.data)?
    };
    let mut crc = flate2::Crc::new();
    crc.update(&bytes);
    if crc.sum() != entry.crc {
        return Err(about(format!("the checksum is {:08x}, the directory says {:08x}", crc.sum(), entry.crc)));
    }
    npy::read(&bytes).map_err(|error| errors::npy(name, Some(entry.name), error))
}

/// Unpacks the header, and the elements only if the header agrees with the size that the directory declares.
fn unpack(name: &str, entry: &Entry, packed: &mut dyn Read) -> Result<Vec<u8>, Diagnostic> {
    let about = |words: String| errors::malformed(name, entry.offset, format_args!("entry `{}`: {words}", entry.name));
    let broken = |error: std::io::Error| about(format!("the packed bytes are broken ({error})"));
    let prefix = entry.size.min(u64::try_from(MAX_HEADER).unwrap_or(u64::MAX));
    let mut bytes = Vec::new();
    packed.take(prefix).read_to_end(&mut bytes).map_err(broken)?;
    let header = NpyHeader::read(&bytes).map_err(|error| errors::npy(name, Some(entry.name), error))?;
    let declared = header.file_bytes();
    if u64::try_from(declared) != Ok(entry.size) {
        return Err(about(format!("the header asks for {declared} bytes, the entry has {}", entry.size)));
    }
    let more = declared.saturating_sub(bytes.len());
    bytes.try_reserve_exact(more.saturating_add(1)).map_err(|_| errors::no_memory(name, declared))?;
    // One byte more than declared is enough to see that there are too many.
    let limit = u64::try_from(more).unwrap_or(u64::MAX).saturating_add(1);
    packed.take(limit).read_to_end(&mut bytes).map_err(broken)?;
    if bytes.len() != declared {
        return Err(about(format!("it does not unpack to the {declared} bytes it declares")));
    }
    Ok(bytes)
}

/// The tensors as an archive of stored entries. `name` is for messages. Errors: E0702 where two names are the same.
pub fn write(name: &str, entries: &[(String, Tensor)]) -> Result<Vec<u8>, Diagnostic> {
    let failed = |error: &dyn std::fmt::Display| Diagnostic::new(codes::E0702, format!("`{name}`: {error}"));
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (key, tensor) in entries {
        let bytes = npy::write(tensor);
        // Sizes of 4 GiB and more need 64 bits, which the library wants to know before it sees the bytes.
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .last_modified_time(zip::DateTime::default())
            .large_file(u32::try_from(bytes.len()).is_err());
        zip.start_file(format!("{key}.npy"), options).map_err(|error| failed(&error))?;
        zip.write_all(&bytes).map_err(|error| failed(&error))?;
    }
    zip.finish().map(Cursor::into_inner).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests;
