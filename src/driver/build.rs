//! `relayc build`: a program as an artifact, for machines of one or two levels of x86-64.
//!
//! The same program with the same weights and settings gives the same bytes wherever it is built: code is for machines as they
//! are common, and shared out for so many threads as [`THREADS`] says unless another number is given. How many run is said when
//! an instance is made, and changes no result.

mod header;
mod refused;

use super::Program;
use super::bind::{Packed, leaves};
use super::compile::{self, Eval, Refused, Settings};
use super::emit;
use super::export::{self, GraphFile};
use super::outputs;
use super::run::{self, Limits};
use super::timings::Timings;
use crate::base::Sources;
use crate::diag::{Diagnostic, codes};
use crate::formats::artifact;
use crate::ir::{ExprId, Module};
use crate::jit::ahead::flatten::{Facts, Port, Writer};
use crate::jit::ahead::mapped::level_of;
use crate::jit::ahead::runtime::layout::MARKER;
use crate::jit::ahead::{OBJECT, SYMBOL, TEMPLATE};
use crate::jit::assemble::{Assembled, Launch};
use crate::jit::constants::Keep;
use crate::jit::program::{self as jit, Fallback};
use crate::plan::{self, Work};
use crate::tensor::Tensor;
use std::fmt::Write;

/// How many threads code is shared out for, if nothing else is said.
pub const THREADS: usize = 4;

/// What is built.
#[derive(Clone, Debug)]
pub struct Request {
    pub entry: String,
    /// How it is compiled for each target; one for an instruction set is enough.
    pub settings: Vec<Settings>,
    pub limits: Limits,
    /// Whether the code is wanted as text too.
    pub asm: bool,
    /// Whether an object to be linked is wanted too.
    pub object: bool,
    /// What the header calls the program.
    pub name: String,
}

/// What comes of it.
pub struct Built {
    /// The shared object.
    pub so: Vec<u8>,
    /// The same as an object to be linked, if it is wanted.
    pub object: Option<Vec<u8>>,
    /// The C header.
    pub header: String,
    /// The graph of TVM's graph executor; why there is none where that cannot run it.
    pub graph: Result<GraphFile, Vec<Diagnostic>>,
    /// The code of each target as text, if it is wanted, with the target's name.
    pub asm: Vec<(&'static str, String)>,
}

/// Builds an artifact of an entry of a program without errors, whose weights are constants by now.
///
/// Errors: E0603 with all that stands in the way; E0602 where there is no target, or a part that is computed once needs
/// instructions that this machine lacks; E0202 for an entry that does not exist; E0803 and what such a part traps with.
pub fn build(program: &Program, request: &Request) -> Result<Built, Vec<Diagnostic>> {
    let one = |diagnostic| vec![diagnostic];
    let entry = run::entry(&program.module, &request.entry).map_err(one)?;
    let types = &program.module.types;
    let names = entry.slots.iter().map(|slot| leaves::leaves(&slot.name, slot.ty, types).unwrap_or_default());
    let inputs: Vec<String> = names.flatten().map(|leaf| leaf.name).collect();
    let outputs = outputs::result_names(entry.ret, types);
    let mut writer = Writer::new();
    let (mut ports, mut asm) = ((vec![], vec![]), vec![]);
    let targets = targets(request).map_err(one)?;
    let level = targets.iter().map(|settings| settings.level).max().unwrap_or(0);
    for settings in targets {
        let mut module = program.module.clone();
        let assembled = assembled(program, &mut module, request, &settings)?;
        if request.asm {
            let origin = |expr| emit::origin(&program.sources, &module, expr);
            asm.push((compile::target_name(settings.isa), emit::assembly(&assembled, &origin)));
        }
        ports = (ports_of(&inputs, &assembled.plan, true), ports_of(&outputs, &assembled.plan, false));
        let listing = listing(&assembled, &|expr| emit::origin(&program.sources, &module, expr));
        let constants = compile::constants(&mut module, &assembled.plan, Keep::Read);
        let eval = Eval { module: &module, limits: &request.limits };
        let loaded = jit::Program::load(assembled, constants, Keep::Read, &eval).map_err(|error| match error {
            jit::LoadError::Failed(diagnostic) => one(*diagnostic),
            jit::LoadError::Memory(_) => one(Diagnostic::new(codes::E0803, format!("the weights are too large: {error}"))),
        })?;
        let placed = Placed { eval, sources: &program.sources };
        writer.target(level_of(settings.isa).into(), &loaded, &listing, &placed);
    }
    let (inputs, outputs) = ports;
    let source = program.sources.files().next().map_or("", |file| &file.text);
    let graph = graph(program, request, level);
    let json = graph.as_ref().map_or("", |graph| &graph.json);
    let facts = Facts { entry: &request.entry, source, graph: json, inputs: &inputs, outputs: &outputs };
    let image = writer.finish(&facts);
    let bug = |words: String| one(Diagnostic::new(codes::E0901, words));
    let so = artifact::write(TEMPLATE, MARKER, &image.bytes, image.code.len() as u64).map_err(bug)?;
    let object = request.object.then(|| artifact::object(OBJECT, SYMBOL, &image.bytes)).transpose().map_err(bug)?;
    Ok(Built { so, object, header: header::text(&request.name, &facts), graph, asm })
}

/// How each target is compiled, the best one last. Errors: E0602 where there is none.
fn targets(request: &Request) -> Result<Vec<Settings>, Diagnostic> {
    let mut all = request.settings.clone();
    all.sort_by_key(|settings| level_of(settings.isa));
    all.dedup_by_key(|settings| settings.isa);
    if all.is_empty() {
        let message = "an artifact is for one target or more, and this machine has none";
        return Err(Diagnostic::new(codes::E0602, message).help("`--target x86-64-v3` builds for machines with AVX2 and FMA"));
    }
    Ok(all)
}

/// Code that needs no interpreter, and whose constants this machine can compute.
fn assembled(
    program: &Program,
    module: &mut Module,
    request: &Request,
    settings: &Settings,
) -> Result<Assembled, Vec<Diagnostic>> {
    let found = compile::assembled(module, &request.entry, settings, &request.limits, &mut Timings::default());
    let assembled = found.map_err(|refused| match refused {
        Refused::Wrong(diagnostic) => vec![*diagnostic],
        Refused::Not(reason) => vec![refused::not_compiled(program, module, &request.entry, reason)],
    })?;
    let steps = || assembled.plan.steps.iter().zip(&assembled.launches);
    let without: Vec<(&'static str, ExprId)> = steps()
        .filter(|(step, _)| !step.once)
        .filter_map(|(step, _)| match &step.work {
            Work::Fallback(call) | Work::Routine(_, call) => Some((step.ops.last().copied().unwrap_or("an operator"), call.call)),
            _ => None,
        })
        .collect();
    if !without.is_empty() {
        return Err(vec![refused::no_kernels(program, module, &request.entry, &without)]);
    }
    let mut once = steps().filter(|(step, launch)| step.once && matches!(launch, Launch::Nest(_) | Launch::Contract(..)));
    if once.next().is_some() {
        settings.runs_here().map_err(|diagnostic| {
            let what = "parts of the program are computed when it is built, by the target's own code";
            let other = "`relayc build --target x86-64-v3` builds for the machines that this one is";
            vec![Diagnostic::new(diagnostic.code, diagnostic.message).note(what).help(other)]
        })?;
    }
    Ok(assembled)
}

fn ports_of(names: &[String], plan: &plan::Plan, inputs: bool) -> Vec<Port> {
    let ids = if inputs { &plan.inputs } else { &plan.outputs };
    let port = |(name, &id): (&String, &plan::BufferId)| {
        let buffer = &plan.buffers[id];
        Port { name: name.clone(), dtype: buffer.dtype, shape: buffer.shape.clone(), bytes: buffer.bytes() }
    };
    names.iter().zip(ids).map(port).collect()
}

/// A line for each step: operators, how they are computed, bytes of code, where they stand in the text; tabs between them.
fn listing(assembled: &Assembled, origin: &dyn Fn(ExprId) -> String) -> String {
    let mut out = String::new();
    for (at, step) in assembled.plan.steps.iter().enumerate().filter(|(_, step)| !step.once) {
        let ops = plan::ops_text(step);
        let (how, bytes) = (assembled.describe(at), assembled.ranges[at].len());
        let _ = writeln!(out, "{ops}\t{how}\t{bytes}\t{}", origin(step.origin));
    }
    out
}

/// The graph that `relayc export` makes of the program.
fn graph(program: &Program, request: &Request, level: u8) -> Result<GraphFile, Vec<Diagnostic>> {
    let (sources, module) = (program.sources.clone(), program.module.clone());
    let mut copy = Program { sources, module, diagnostics: vec![], timings: Timings::default(), packed: Packed::default() };
    export::to_graph_json(&mut copy, &request.entry, &[], level)
}

/// What operators fail with, and where in the text they stand: an artifact has no text to point into.
struct Placed<'a> {
    eval: Eval<'a>,
    sources: &'a Sources,
}

impl Placed<'_> {
    fn placed(&self, call: ExprId, mut diagnostic: Box<Diagnostic>) -> Box<Diagnostic> {
        let span = self.eval.module.exprs[call].span;
        if let Some(file) = self.sources.file(span.file).filter(|_| !span.is_none()) {
            let _ = write!(diagnostic.message, ", at {}:{}", file.name, emit::place(self.sources, span));
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
