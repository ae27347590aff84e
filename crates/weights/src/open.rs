//! Opens a file of tensors: finds its format and reads its entries.

use super::bytes::{Bytes, read_at};
use super::file::TensorFile;
use super::{Format, errors, mxnet, npz, params, safetensors, tar};
use relayc_base::diag::Diagnostic;
use relayc_base::usize_of;

impl<B: Bytes> TensorFile<B> {
    /// Reads what the file says of its tensors. The format is told by the first bytes, then by the extension of `name`, which is
    /// otherwise only for messages; an archive has the tensors of the weight files in it. Errors: E0703 for no sound file of a
    /// known format, E0803 and E0804 for limits.
    pub fn open(name: &str, bytes: B) -> Result<TensorFile<B>, Diagnostic> {
        let start = start(name, &bytes)?;
        if tar::is_tar(&start) {
            let items = tar::index(name, &whole(name, &bytes)?)?;
            return Ok(TensorFile::new(name, bytes, "tar", items));
        }
        if mxnet::is_params(&start) {
            let items = mxnet::index(name, &bytes)?;
            return Ok(TensorFile::new(name, bytes, "params", items));
        }
        TensorFile::open_as(Format::of(name, &start)?, name, bytes)
    }

    /// As [`TensorFile::open`], for a format that is known.
    pub(crate) fn open_as(format: Format, name: &str, bytes: B) -> Result<TensorFile<B>, Diagnostic> {
        let items = match format {
            Format::Params => params::index(name, &bytes),
            Format::Npz => npz::index(name, &bytes),
            Format::Safetensors => safetensors::index(name, &bytes),
        }?;
        Ok(TensorFile::new(name, bytes, format.extension(), items))
    }
}

/// So many bytes tell the formats apart: those of an archive are the longest.
const START: usize = 512;

/// All bytes of a file.
fn whole(name: &str, bytes: &dyn Bytes) -> Result<Vec<u8>, Diagnostic> {
    let size = usize_of(bytes.size());
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
