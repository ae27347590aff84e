//! The code of a program in parts that nobody has run: of each region whose shapes its types say.

use super::{ENTRY, Manner, Parts, span_of};
use crate::base::Span;
use crate::driver::compile::{self, Refused, Settings};
use crate::driver::run::Limits;
use crate::driver::timings::Timings;
use crate::ir::Module;
use crate::jit::assemble;
use crate::plan::NotCompiled;

/// A region of a program in parts.
pub struct Region {
    /// Where its first operator stands.
    pub span: Span,
    /// Its module, optimised, and its code; or why it has none before it is called.
    pub code: Result<(Module, assemble::Assembled), NotCompiled>,
}

/// The regions of an entry, in the order of the text. Errors: as of compiling them.
pub fn regions(module: Module, entry: &str, settings: &Settings, limits: &Limits) -> Result<Vec<Region>, Refused> {
    let parts = Parts::taken_apart(module, entry, Manner::new(settings, limits.clone(), super::When::Called))?;
    let mut regions = vec![];
    for (&func, members) in &parts.parts {
        let Some(mut module) = parts.module.extract(func) else { continue };
        let span = span_of(&parts.module, members);
        let code = match compile::assembled(&mut module, ENTRY, settings, limits, &mut Timings::default()) {
            Ok(all) => Ok((module, all)),
            Err(Refused::Not(reason)) => Err(reason),
            Err(wrong) => return Err(wrong),
        };
        regions.push(Region { span, code });
    }
    regions.sort_by_key(|region| region.span.start);
    Ok(regions)
}
