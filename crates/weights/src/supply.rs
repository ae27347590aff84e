//! The tensors that are about to be written, given to the writer of a format one at a time.

use super::errors;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::{u64_of, usize_of};
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::binary::Head;

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
pub type TensorSource<'a> = dyn FnMut(usize) -> Result<Tensor, Diagnostic> + 'a;

/// Where the writers of the formats take their tensors from.
pub(super) struct Supply<'a, 'b> {
    name: &'a str,
    planned: &'a [Planned],
    give: &'a mut TensorSource<'b>,
    failed: Option<Diagnostic>,
}

impl<'a, 'b> Supply<'a, 'b> {
    pub(crate) fn new(name: &'a str, planned: &'a [Planned], give: &'a mut TensorSource<'b>) -> Supply<'a, 'b> {
        Supply { name, planned, give, failed: None }
    }

    /// Ends the writing: the format cannot hold the tensors.
    pub(crate) fn refuse(&mut self, words: impl std::fmt::Display) {
        self.failed = Some(refused(self.name, words));
    }

    /// The tensor of a position; none where there is none to be had, which is kept for the end.
    pub(crate) fn take(&mut self, i: usize) -> Option<Tensor> {
        let planned = self.planned.get(i)?;
        match (self.give)(i) {
            Ok(tensor) if Planned::of(&planned.name, &tensor) == *planned => Some(tensor),
            Ok(_) => {
                let words = format_args!("tensor `{}` is no longer what it was said to be", planned.name);
                self.failed = Some(errors::unsound(self.name, words));
                None
            }
            Err(failed) => {
                self.failed = Some(failed);
                None
            }
        }
    }

    /// What went wrong, if anything did.
    pub(crate) fn finish(self) -> Result<(), Diagnostic> {
        self.failed.map_or(Ok(()), Err)
    }
}

pub(super) fn refused(name: &str, words: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new(codes::E0702, format!("cannot write `{name}`: {words}"))
}
