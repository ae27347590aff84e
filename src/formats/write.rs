//! Writing files of named tensors, one tensor after the other, so that no more than one of them need be in memory.

use super::{Format, npz, params, repeated, safetensors};
use crate::base::{u64_of, usize_of};
use crate::diag::{Diagnostic, codes};
use crate::tensor::Tensor;
use crate::tensor::binary::Head;
use std::io::Write;

/// A tensor that will be written.
#[derive(Clone, PartialEq, Debug)]
pub struct Planned {
    pub name: String,
    pub head: Head,
}

impl Planned {
    /// What is to be said of a tensor before it is written.
    pub fn of(name: &str, tensor: &Tensor) -> Planned {
        let size = u64_of(tensor.len()).saturating_mul(tensor.dtype().bytes());
        let size = usize_of(size);
        Planned { name: name.to_owned(), head: Head { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), size } }
    }
}

/// Gives the tensor of a position.
pub type Give<'a> = dyn FnMut(usize) -> Result<Tensor, Diagnostic> + 'a;

/// Where the writers of the formats take their tensors from.
pub(super) struct Supply<'a, 'b> {
    name: &'a str,
    planned: &'a [Planned],
    give: &'a mut Give<'b>,
    failed: Option<Diagnostic>,
}

impl Supply<'_, '_> {
    /// Ends the writing: the format cannot hold the tensors.
    pub fn refuse(&mut self, words: impl std::fmt::Display) {
        self.failed = Some(refused(self.name, words));
    }

    /// The tensor of a position; none where there is none to be had, which is kept for the end.
    pub fn take(&mut self, i: usize) -> Option<Tensor> {
        let planned = self.planned.get(i)?;
        match (self.give)(i) {
            Ok(tensor) if Planned::of(&planned.name, &tensor) == *planned => Some(tensor),
            Ok(_) => {
                let words = format_args!("tensor `{}` is no longer what it was said to be", planned.name);
                self.failed = Some(super::errors::unsound(self.name, words));
                None
            }
            Err(failed) => {
                self.failed = Some(failed);
                None
            }
        }
    }
}

/// Writes a file of tensors in the order given; `give` is asked for each of them once, in an order that the format chooses.
/// `name` is for messages. The outer error is that of `out`, the inner one what `give` says, E0702 for what the format cannot
/// hold: two tensors of one name, a name that is too long or has a meaning, too many tensors; then the file is not complete.
pub fn write_tensors(
    format: Format,
    name: &str,
    planned: &[Planned],
    give: &mut Give,
    out: &mut dyn Write,
) -> std::io::Result<Result<(), Diagnostic>> {
    if let Err(words) = fits(format, planned) {
        return Ok(Err(refused(name, words)));
    }
    let mut supply = Supply { name, planned, give, failed: None };
    match format {
        Format::Params => params::write_each(planned, &mut supply, out),
        Format::Npz => npz::write_each(planned, &mut supply, out),
        Format::Safetensors => safetensors::write_each(planned, &mut supply, out),
    }?;
    Ok(supply.failed.map_or(Ok(()), Err))
}

/// Whether a file of the format can hold these tensors, so that it can be read again; else why not.
fn fits(format: Format, planned: &[Planned]) -> Result<(), String> {
    let (n, most) = (planned.len(), format.max_tensors());
    if n > most {
        return Err(format!("{n} tensors, a {format} file holds at most {most}"));
    }
    let names = || planned.iter().map(|planned| planned.name.as_str());
    if let Some(twice) = repeated(names()).and_then(|at| names().nth(at)) {
        return Err(format!("two tensors are named `{twice}`"));
    }
    if let Some(reserved) = names().find(|name| format.reserves(name)) {
        return Err(format!("a tensor is named `{reserved}`, which {format} files keep for themselves"));
    }
    match names().find(|name| name.len() > format.max_name()) {
        Some(long) => Err(format!("a name of {} bytes, {format} files have at most {}", long.len(), format.max_name())),
        None => Ok(()),
    }
}

/// The bytes of a file of tensors. Errors: E0702, as [`write_tensors`].
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

fn refused(name: &str, words: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::E0702, format!("cannot write `{name}`: {words}"))
}
