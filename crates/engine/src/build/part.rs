//! The subgraphs of an artifact: each is compiled as a program of its own.

use super::{Request, refused, without_kernels};
use crate::compile::{self, Eval, Machine, Refused, Settings};
use crate::emit;
use relayc_base::Sources;
use relayc_base::diag::{Diagnostic, codes};
use relayc_codegen::memory;
use relayc_driver::Program;
use relayc_driver::timings::Timings;
use relayc_exec::assemble::{Assembled, assemble};
use relayc_exec::constants::Keep;
use relayc_exec::launch::Launch;
use relayc_exec::plan::{self, NotCompiled, Traffic};
use relayc_exec::program::{self as jit, Fallback, Once};
use relayc_ir::tensor::Tensor;
use relayc_ir::{ConstId, ExprId, Module};
use rustc_hash::FxHashMap;
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
        let listing = listing(&assembled, module, program);
        // The image has some weights unpacked.
        let constants = compile::constants(module, &assembled.plan, Keep::All);
        let eval = Eval { module, limits: &request.limits };
        let computed = computed_here(&assembled, &constants, settings, &eval)?;
        let once = computed.map_or(Once::Computed(&eval), |computed| Once::Taken(Box::new(computed)));
        let plan = jit::CompiledPlan::load(assembled, constants, Keep::All, None, once).map_err(not_loaded)?;
        Ok(Part { plan, module: std::mem::take(module), listing, asm })
    }

    /// The messages of failing operators.
    pub(super) fn fallback<'a>(&'a self, program: &'a Program, request: &'a Request) -> Placed<'a> {
        Placed { eval: Eval { module: &self.module, limits: &request.limits }, sources: &program.sources }
    }
}

/// Compiles code that needs no interpreter.
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
    Ok(assembled)
}

fn not_loaded(error: jit::LoadError) -> NoPart {
    NoPart::Wrong(vec![match error {
        jit::LoadError::Failed(diagnostic) => *diagnostic,
        jit::LoadError::Memory(_) if !memory::is_permitted() => Diagnostic::new(codes::E0602, compile::no_machine()),
        jit::LoadError::Memory(_) => Diagnostic::new(codes::E0803, format!("the weights are too large: {error}")),
    }])
}

/// What code for this machine computes once, where the target's own cannot run here. `None` where it can, or nothing needs code.
fn computed_here(
    assembled: &Assembled,
    constants: &FxHashMap<ConstId, Tensor>,
    settings: &Settings,
    eval: &Eval,
) -> Result<Option<jit::CompiledPlan>, NoPart> {
    let mut steps = assembled.plan.steps.iter().zip(&assembled.launches);
    let needs_code = steps.any(|(step, launch)| step.once && matches!(launch, Launch::Nest(_) | Launch::Contraction(..)));
    let Err(refusal) = settings.runs_here() else { return Ok(None) };
    if !needs_code {
        return Ok(None);
    }
    let refused = || {
        let what = "parts of the program are computed when it is built, by code that this machine runs";
        let other = "`relayc build --target x86-64-v3` builds for the machines that this one is";
        NoPart::Wrong(vec![Diagnostic::new(refusal.code, refusal.message.clone()).note(what).help(other)])
    };
    let isa = compile::isas().ok().and_then(|isas| isas.last().copied()).ok_or_else(refused)?;
    // What it computes should not depend on the caches of the machine that builds.
    let here = Settings { isa, machine: Machine::Common(isa), ..settings.clone() };
    let made = assemble(assembled.plan.of_loading(), isa, &here.target(), None, &[]).map_err(|_| refused())?;
    let loaded = jit::CompiledPlan::load(made, constants.clone(), Keep::All, None, Once::Computed(eval));
    loaded.map(Some).map_err(not_loaded)
}

/// A line for each step, its fields separated by tabs: operators, kernel, bytes of code, origin, arithmetic operations, bytes read and
/// written, and where its text starts and ends in the source.
fn listing(assembled: &Assembled, module: &Module, program: &Program) -> String {
    let mut out = String::new();
    let (sources, source) = (&program.sources, program.text());
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
