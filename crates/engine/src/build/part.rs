//! The subgraphs of an artifact: each is compiled as a program of its own.

use super::{Request, refused, without_kernels};
use crate::compile::{self, Eval, Refused, Settings};
use crate::emit;
use relayc_base::Sources;
use relayc_base::diag::{Diagnostic, codes};
use relayc_driver::Program;
use relayc_driver::timings::Timings;
use relayc_exec::assemble::Assembled;
use relayc_exec::constants::Keep;
use relayc_exec::launch::Launch;
use relayc_exec::plan::{self, NotCompiled, Traffic};
use relayc_exec::program::{self as jit, Fallback};
use relayc_ir::tensor::Tensor;
use relayc_ir::{ExprId, Module};
use std::fmt::Write;
use std::ops::Range;

/// A subgraph with its code for a target.
pub(super) struct Part {
    pub(super) plan: jit::CompiledPlan,
    module: Module,
    /// A line for each step of a run.
    pub(super) listing: String,
    /// The code as text, if requested.
    pub(super) asm: String,
}

/// Why there is no code.
pub(super) enum NoPart {
    /// The program is not compiled as a whole.
    Not(NotCompiled),
    Wrong(Vec<Diagnostic>),
}

impl Part {
    /// Compiles an entry of a module made from the program, which becomes the optimised one if it is refused.
    pub(super) fn of(
        program: &Program,
        module: &mut Module,
        entry: &str,
        request: &Request,
        settings: &Settings,
    ) -> Result<Part, NoPart> {
        let assembled = assembled(program, module, entry, request, settings)?;
        let origin = |expr| relayc_driver::emit::origin(&program.sources, module, expr);
        let asm = if request.asm { emit::assembly(&assembled, &origin) } else { String::new() };
        let listing = listing(&assembled, module, &program.sources);
        // The image has some weights unpacked.
        let constants = compile::constants(module, &assembled.plan, Keep::All);
        let eval = Eval { module, limits: &request.limits };
        let plan = jit::CompiledPlan::load(assembled, constants, Keep::All, None, &eval).map_err(|error| {
            NoPart::Wrong(vec![match error {
                jit::LoadError::Failed(diagnostic) => *diagnostic,
                jit::LoadError::Memory(_) => Diagnostic::new(codes::E0803, format!("the weights are too large: {error}")),
            }])
        })?;
        Ok(Part { plan, module: std::mem::take(module), listing, asm })
    }

    /// The messages of failing operators.
    pub(super) fn fallback<'a>(&'a self, program: &'a Program, request: &'a Request) -> Placed<'a> {
        Placed { eval: Eval { module: &self.module, limits: &request.limits }, sources: &program.sources }
    }
}

/// Compiles code that needs no interpreter, and whose constants this machine can compute.
fn assembled(
    program: &Program,
    module: &mut Module,
    entry: &str,
    request: &Request,
    settings: &Settings,
) -> Result<Assembled, NoPart> {
    let found = compile::assembled(module, entry, settings, &request.limits, &mut Timings::default());
    let assembled = found.map_err(|refused| match refused {
        Refused::Wrong(diagnostic) => NoPart::Wrong(vec![*diagnostic]),
        Refused::Not(reason) => NoPart::Not(reason),
    })?;
    let without = without_kernels(&assembled.plan);
    if !without.is_empty() {
        return Err(NoPart::Wrong(vec![refused::no_kernels(program, module, &request.entry, &without)]));
    }
    let steps = assembled.plan.steps.iter().zip(&assembled.launches);
    let mut once = steps.filter(|(step, launch)| step.once && matches!(launch, Launch::Nest(_) | Launch::Contraction(..)));
    if once.next().is_some() {
        settings.runs_here().map_err(|diagnostic| {
            let what = "parts of the program are computed when it is built, by the target's own code";
            let other = "`relayc build --target x86-64-v3` builds for the machines that this one is";
            NoPart::Wrong(vec![Diagnostic::new(diagnostic.code, diagnostic.message).note(what).help(other)])
        })?;
    }
    Ok(assembled)
}

/// A line for each step, its fields separated by tabs: operators, kernel, bytes of code, origin, arithmetic operations, bytes read and
/// written, and where its text starts and ends in the source.
fn listing(assembled: &Assembled, module: &Module, sources: &Sources) -> String {
    let mut out = String::new();
    let source = sources.files().next().map(|file| &file.text);
    for (at, step) in assembled.plan.steps.iter().enumerate().filter(|(_, step)| !step.once) {
        let (ops, how, bytes) = (plan::ops_text(step), assembled.describe(at), assembled.ranges[at].len());
        let origin = relayc_driver::emit::origin(sources, module, step.origin);
        let Traffic { ops: operations, bytes: traffic } = plan::traffic(&assembled.plan, step);
        let span = module.exprs[step.origin].span;
        let in_source = !span.is_none() && sources.file(span.file).map(|file| &file.text) == source;
        let Range { start, end } = if in_source { span.start..span.end } else { 0..0 };
        let _ = writeln!(out, "{ops}\t{how}\t{bytes}\t{origin}\t{operations}\t{traffic}\t{start}\t{end}");
    }
    out
}

/// The failures of operators with their places in the text, because an artifact has no text to point into.
pub(super) struct Placed<'a> {
    eval: Eval<'a>,
    sources: &'a Sources,
}

impl Placed<'_> {
    fn placed(&self, call: ExprId, mut diagnostic: Box<Diagnostic>) -> Box<Diagnostic> {
        let span = self.eval.module.exprs[call].span;
        if let Some(file) = self.sources.file(span.file).filter(|_| !span.is_none()) {
            let _ = write!(diagnostic.message, ", at {}:{}", file.name, relayc_driver::emit::place(self.sources, span));
        }
        diagnostic
    }
}

impl Fallback for Placed<'_> {
    fn call(&self, call: ExprId, operands: Vec<(bool, Vec<Tensor>)>) -> Result<Vec<Tensor>, Box<Diagnostic>> {
        self.eval.call(call, operands).map_err(|diagnostic| self.placed(call, diagnostic))
    }

    fn outside(&self, call: ExprId, index: i128, length: u64) -> Box<Diagnostic> {
        self.placed(call, self.eval.outside(call, index, length))
    }
}
