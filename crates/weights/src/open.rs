//! Opens a file of tensors: finds its format and reads its entries.

use super::Format;
use super::bytes::{Bytes, read_at};
use super::file::TensorFile;
use relayc_base::diag::Diagnostic;

impl<B: Bytes> TensorFile<B> {
    /// Reads what the file says of its tensors. The format is told by the first bytes, then by the extension of `name`, which is
    /// otherwise only for messages; an archive has the tensors of the weight files in it. Errors: E0703 for no sound file of a
    /// known format, E0803 and E0804 for limits.
    pub fn open(name: &str, bytes: B) -> Result<TensorFile<B>, Diagnostic> {
        let start = start(name, &bytes)?;
        TensorFile::open_as(Format::of(name, &start)?, name, bytes)
    }

    /// As [`TensorFile::open`], for a format that is known.
    pub(crate) fn open_as(format: Format, name: &str, bytes: B) -> Result<TensorFile<B>, Diagnostic> {
        let items = (format.index)(name, &bytes)?;
        Ok(TensorFile::new(name, bytes, format.extension, items))
    }
}

/// Requires the first bytes of a file to be those of one of tensors. Errors: E0703.
pub fn require_tensors(name: &str, start: &[u8]) -> Result<(), Diagnostic> {
    Format::of(name, start).map(drop)
}

/// So many bytes tell the formats apart: those of an archive are the longest.
const START: usize = 512;

/// The first bytes of a file, all of them if they are few. Errors: what the system says.
pub fn start(name: &str, bytes: &dyn Bytes) -> Result<Vec<u8>, Diagnostic> {
    let n = usize::try_from(bytes.size()).unwrap_or(START).min(START);
    let mut start = vec![0; n];
    read_at(name, bytes, 0, &mut start)?;
    Ok(start)
}
