//! Programs that run by subgraphs: those that branch, and those whose data decide the sizes of tensors.

use crate::compile::{How, limits};
use crate::error::raised;
use pyo3::prelude::*;
use relayc_base::diag::Diagnostic;
use relayc_driver::Program;
use relayc_driver::bind::{Bound as Values, tensors_in};
use relayc_engine::library::Error;
use relayc_engine::subgraphs::{CompileTrigger, PartialProgram, with_sizes};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// An entry by subgraphs, for each size of its named dimensions.
pub(crate) struct BySubgraphs {
    program: Program,
    how: How,
    /// By the shapes of the arguments, each preceded by its rank.
    kept: Mutex<FxHashMap<Vec<usize>, Arc<PartialProgram>>>,
}

impl BySubgraphs {
    pub(crate) fn new(program: Program, how: How) -> BySubgraphs {
        BySubgraphs { program, how, kept: Mutex::default() }
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// The program for these arguments; `None` stands for values that are no tensors, whose sizes are not known before. Errors:
    /// RelayError.
    pub(crate) fn at(&self, args: Option<&[Values]>) -> PyResult<Arc<PartialProgram>> {
        let args = args.filter(|_| self.program.module.has_sizes());
        let tensors = tensors_in(args.unwrap_or_default());
        let key = tensors.iter().flat_map(|tensor| [tensor.rank()].into_iter().chain(tensor.shape().iter().copied())).collect();
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept().get(&key) {
            return Ok(found.clone());
        }
        let made = Arc::new(self.made(args)?);
        let mut kept = kept();
        if kept.len() >= self.how.sizes {
            kept.clear();
        }
        Ok(kept.entry(key).or_insert(made).clone())
    }

    fn made(&self, args: Option<&[Values]>) -> PyResult<PartialProgram> {
        let wrong = |diagnostic: Diagnostic| raised(&Error::new(vec![diagnostic], &self.program.sources));
        let module = with_sizes(&self.program, &self.how.entry, args).map_err(|error| wrong(*error))?;
        let made = PartialProgram::new(module, &self.how.entry, &self.how.settings()?, limits(), CompileTrigger::ItPays);
        made.map_err(|refused| wrong(*refused.of_entry(&self.how.entry)))
    }
}
