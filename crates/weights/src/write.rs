//! Writes files of named tensors, one tensor after the other, so that at most one of them need be in memory.

use super::supply::{Planned, Supply, TensorSource, refused};
use super::{Format, Writer, repeated};
use relayc_base::diag::Diagnostic;
use relayc_ir::tensor::Tensor;
use std::io::Write;

/// Writes a file of tensors in the order given; `give` is asked for each of them once, in an order that the format chooses.
/// `name` is for messages. The outer error is that of `out`, the inner one what `give` says, E0702 for what the format cannot
/// hold: two tensors of one name, a name that is too long or has a meaning, too many tensors; then the file is not complete.
pub fn write_tensors(
    format: Format,
    name: &str,
    planned: &[Planned],
    give: &mut TensorSource,
    out: &mut dyn Write,
) -> std::io::Result<Result<(), Diagnostic>> {
    let writer = match fits(format, planned) {
        Ok(writer) => writer,
        Err(words) => return Ok(Err(refused(name, words))),
    };
    let mut supply = Supply::new(name, planned, give);
    (writer.write)(planned, &mut supply, out)?;
    Ok(supply.finish())
}

/// The writer of a format whose files can hold these tensors and be read again. Errors: why not.
fn fits(format: Format, planned: &[Planned]) -> Result<Writer, String> {
    let writer = format.writer.ok_or_else(|| format!("{format} files are only read"))?;
    let (n, max_tensors, max_name) = (planned.len(), writer.max_tensors, writer.max_name);
    if n > max_tensors {
        return Err(format!("{n} tensors, a {format} file holds at most {max_tensors}"));
    }
    let names = || planned.iter().map(|planned| planned.name.as_str());
    if let Some(twice) = repeated(names()).and_then(|at| names().nth(at)) {
        return Err(format!("two tensors are named `{twice}`"));
    }
    if let Some(reserved) = names().find(|&name| writer.reserved == Some(name)) {
        return Err(format!("a tensor is named `{reserved}`, which {format} files keep for themselves"));
    }
    match names().find(|name| name.len() > max_name) {
        Some(long) => Err(format!("a name of {} bytes, {format} files have at most {max_name}", long.len())),
        None => Ok(writer),
    }
}

/// The bytes of a file of tensors. Errors: E0702, like [`write_tensors`].
pub fn encode(format: Format, name: &str, entries: &[(String, Tensor)]) -> Result<Vec<u8>, Diagnostic> {
    let planned: Vec<Planned> = entries.iter().map(|(name, tensor)| Planned::of(name, tensor)).collect();
    let mut out = Vec::new();
    let mut give = |i: usize| {
        let tensor = entries.get(i).map(|(_, tensor)| tensor.clone());
        tensor.ok_or_else(|| refused(name, "a tensor is missing"))
    };
    match write_tensors(format, name, &planned, &mut give, &mut out) {
        Ok(written) => written.map(|()| out),
        Err(error) => Err(refused(name, error)),
    }
}
