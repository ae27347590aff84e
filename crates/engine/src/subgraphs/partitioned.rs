//! Partitions a program: its dataflow becomes functions of its own, which are compiled; the rest is lowered for the interpreter.

use crate::compile::{self, Refused, Settings};
use relayc_base::diag::Diagnostic;
use relayc_check::infer;
use relayc_driver::optimise::{self, PassPlan};
use relayc_driver::run::no_entry;
use relayc_interp as interp;
use relayc_ir::{ExprId, FuncId, GlobalId, Module};
use relayc_ops as ops;
use relayc_passes::{self as passes, DataDependent};
use rustc_hash::FxHashMap;

/// A program whose dataflow lies in functions of its own.
pub(crate) struct Partitioned {
    pub(crate) module: Module,
    pub(crate) lowered: interp::LoweredModule,
    pub(crate) entry: GlobalId,
    /// These functions, with the expressions of each.
    pub(crate) subgraphs: FxHashMap<FuncId, Vec<ExprId>>,
}

impl Partitioned {
    /// Runs the passes that see more than a subgraph, and partitions the result.
    pub(crate) fn of(mut module: Module, entry: &str, settings: &Settings) -> Result<Partitioned, Refused> {
        let how = PassPlan { passes: passes::before_partition(settings.level), ..compile::how(entry, settings) };
        optimise::optimise(&mut module, &how, &mut ()).map_err(|error| Refused::Wrong(Box::new(error)))?;
        Partitioned::typed(module, entry, DataDependent::Member).map_err(Refused::Wrong)
    }

    /// Partitions a typed module. Errors: E0901, if that broke it.
    pub(super) fn typed(mut module: Module, entry: &str, by_data: DataDependent) -> Result<Partitioned, Box<Diagnostic>> {
        let subgraphs = passes::partition(&mut module, ops::table(), by_data);
        if let Some(error) = infer::reinfer(&mut module, ops::table()).into_iter().find(Diagnostic::is_error) {
            return Err(passes::broken("partition", &error.message));
        }
        let entry = module.find_global(entry).ok_or_else(|| no_entry(&module, entry))?;
        let lowered = interp::lower(&module);
        Ok(Partitioned { module, lowered, entry, subgraphs: subgraphs.into_iter().collect() })
    }
}
