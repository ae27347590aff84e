//! Shows the code of a partially compiled program without running it: each subgraph with statically known shapes.

use super::{Context, ENTRY, PartialProgram, span_of};
use crate::compile::{self, Refused, Settings};
use relayc_base::Span;
use relayc_driver::run::Limits;
use relayc_driver::timings::Timings;
use relayc_exec::assemble;
use relayc_exec::plan::NotCompiled;
use relayc_ir::Module;

/// A subgraph of a partially compiled program.
pub(crate) struct Subgraph {
    /// The place of its first operator.
    pub(crate) span: Span,
    /// Its optimized module and its code, or why it has none before it is called.
    pub(crate) code: Result<(Module, assemble::Assembled), NotCompiled>,
}

/// The subgraphs of an entry in text order. Errors: those of compiling them.
pub(crate) fn subgraphs(module: Module, entry: &str, settings: &Settings, limits: &Limits) -> Result<Vec<Subgraph>, Refused> {
    let partial =
        PartialProgram::partitioned(module, entry, Context::new(settings, limits.clone(), super::CompileTrigger::Called))?;
    let mut subgraphs = vec![];
    for (&func, members) in &partial.subgraphs {
        let Some(mut module) = partial.module.extract(func) else { continue };
        let span = span_of(&partial.module, members);
        let code = match compile::assembled(&mut module, ENTRY, &partial.how.settings, limits, &mut Timings::default()) {
            Ok(all) => Ok((module, all)),
            Err(Refused::Not(reason)) => Err(reason),
            Err(wrong) => return Err(wrong),
        };
        subgraphs.push(Subgraph { span, code });
    }
    subgraphs.sort_by_key(|one| one.span.start);
    Ok(subgraphs)
}
