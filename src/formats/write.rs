//! Writing files of named tensors, one tensor after the other, so that no more than one of them need be in memory.

use super::{Format, npz, params, safetensors};
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
        let size = u64::try_from(tensor.len()).unwrap_or(u64::MAX).saturating_mul(tensor.dtype().bytes());
        let size = usize::try_from(size).unwrap_or(usize::MAX);
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
/// `name` is for messages. The outer error is that of `out`, the inner one what `give` says, E0702 for two tensors of one name
/// and for a name that the format cannot have; then the file is not complete.
pub fn write_tensors(
    format: Format,
    name: &str,
    planned: &[Planned],
    give: &mut Give,
    out: &mut dyn Write,
) -> std::io::Result<Result<(), Diagnostic>> {
    let mut names = rustc_hash::FxHashSet::default();
    if let Some(twice) = planned.iter().find(|planned| !names.insert(planned.name.as_str())) {
        return Ok(Err(refused(name, format_args!("two tensors are named `{}`", twice.name))));
    }
    if let Some(reserved) = planned.iter().find(|planned| format.reserves(&planned.name)) {
        let words = format_args!("a tensor is named `{}`, which {format} files keep for themselves", reserved.name);
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
