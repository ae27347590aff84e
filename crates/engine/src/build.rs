//! `relayc build`: compiles a program to an artifact, for machines of one or two x86-64 levels.
//!
//! The same program with the same weights and settings gives the same bytes on every machine. Code is for common machines of a
//! level, and its work is split for [`THREADS`] threads unless another number is given. The number of threads that run is
//! chosen when an instance is created, and changes no result.

mod header;
mod refused;
mod sizes;

pub use sizes::MAX_SIZES;

use super::compile::{self, Eval, Refused, Settings};
use super::emit;
use relayc_base::Sources;
use relayc_base::diag::{Diagnostic, codes};
use relayc_codegen::cpu::level_of;
use relayc_driver::Program;
use relayc_driver::bind::{Packed, leaves};
use relayc_driver::export::{self, GraphFile};
use relayc_driver::run::{self, Limits};
use relayc_driver::timings::Timings;
use relayc_exchange::artifact;
use relayc_exec::aot::image_writer::{ImageFacts, ImageWriter, Port, Size};
use relayc_exec::aot::{OBJECT, SYMBOL, TEMPLATE};
use relayc_exec::assemble::{Assembled, Launch};
use relayc_exec::constants::Keep;
use relayc_exec::plan::{self, Traffic, Work};
use relayc_exec::program::{self as jit, Fallback};
use relayc_ir::tensor::Tensor;
use relayc_ir::{ExprId, Module};
use relayc_runtime::layout::MARKER;
use std::fmt::Write;
use std::ops::Range;

/// Default number of threads for which work is split.
pub const THREADS: usize = 4;

/// A build request.
#[derive(Clone, Debug)]
pub struct Request {
    pub entry: String,
    /// The settings of each target; one suffices for each instruction set.
    pub settings: Vec<Settings>,
    /// Sizes of open dimensions, such as `batch=1,4`; the artifact has code for each combination.
    pub sizes: Vec<String>,
    pub limits: Limits,
    /// Whether to return the code as text too.
    pub asm: bool,
    /// Whether to return an object to be linked too.
    pub object: bool,
    /// The program's name in the header.
    pub name: String,
}

/// The outputs of a build.
pub struct BuildOutputs {
    /// The shared object.
    pub so: Vec<u8>,
    /// The same as an object to be linked, if requested.
    pub object: Option<Vec<u8>>,
    /// The C header.
    pub header: String,
    /// The graph of TVM's graph executor, or why that executor cannot run the program.
    pub graph: Result<GraphFile, Vec<Diagnostic>>,
    /// The most bytes of weights that an instance packs when it is created.
    pub at_load: u64,
    /// The code of each target and size as text with the names of both, if requested.
    pub asm: Vec<(&'static str, String, String)>,
}

/// Builds an artifact of an entry of an error-free program, whose weights are constants by now.
///
/// Errors: E0603 with every obstacle; E0202 for an unknown entry; E0704 to E0707 for sizes; E0803 and the traps of parts that are
/// computed once. E0602 if there is no target, or if a part that is computed once needs instructions that this machine lacks.
pub fn build(program: &Program, request: &Request) -> Result<BuildOutputs, Vec<Diagnostic>> {
    let one = |diagnostic| vec![diagnostic];
    let targets = targets(request).map_err(one)?;
    let level = targets.iter().map(|settings| settings.level).max().unwrap_or(0);
    let (mut writer, mut sizes, mut asm) = (ImageWriter::new(), vec![], vec![]);
    for combination in sizes::combinations(&request.sizes).map_err(one)? {
        let (name, program) = (combination.join(" "), sizes::at(program, &request.entry, &combination)?);
        let names = Names::of(&program, &request.entry)?;
        let mut ports = (vec![], vec![]);
        for settings in &targets {
            target(&program, request, settings, &mut writer, |assembled, module| {
                if request.asm {
                    let origin = |expr| relayc_driver::emit::origin(&program.sources, module, expr);
                    asm.push((compile::target_name(settings.isa), name.clone(), emit::assembly(assembled, &origin)));
                }
                ports = (ports_of(&names.inputs, &assembled.plan, true), ports_of(&names.outputs, &assembled.plan, false));
            })?;
        }
        sizes.push(Size { name, inputs: ports.0, outputs: ports.1 });
    }
    let source = program.sources.files().next().map_or("", |file| &file.text);
    let graph = graph(program, request, level);
    let json = graph.as_ref().map_or("", |graph| &graph.json);
    let facts = ImageFacts { entry: &request.entry, source, graph: json, sizes: &sizes };
    let at_load = writer.at_load();
    let image = writer.finish(&facts);
    let bug = |words: String| one(Diagnostic::new(codes::E0901, words));
    let so = artifact::write(TEMPLATE, MARKER, &image.bytes, image.code.len() as u64).map_err(bug)?;
    let object = request.object.then(|| artifact::object(OBJECT, SYMBOL, &image.bytes)).transpose().map_err(bug)?;
    Ok(BuildOutputs { so, object, header: header::text(&request.name, &facts), graph, at_load, asm })
}

/// The names of an entry's inputs and outputs.
struct Names {
    inputs: Vec<String>,
    outputs: Vec<String>,
}

impl Names {
    fn of(program: &Program, entry: &str) -> Result<Names, Vec<Diagnostic>> {
        let entry = run::entry(&program.module, entry).map_err(|error| vec![error])?;
        let types = &program.module.types;
        let leaves = entry.slots.iter().map(|slot| leaves::leaves(&slot.name, slot.ty, types).unwrap_or_default());
        Ok(Names { inputs: leaves.flatten().map(|leaf| leaf.name).collect(), outputs: entry.results })
    }
}

/// Writes the code of a program for a target, after showing it to `see`.
fn target(
    program: &Program,
    request: &Request,
    settings: &Settings,
    writer: &mut ImageWriter,
    see: impl FnOnce(&Assembled, &Module),
) -> Result<(), Vec<Diagnostic>> {
    let one = |diagnostic| vec![diagnostic];
    let mut module = program.module.clone();
    let assembled = assembled(program, &mut module, request, settings)?;
    see(&assembled, &module);
    let listing = listing(&assembled, &module, &program.sources);
    // The image has some weights unpacked.
    let constants = compile::constants(&mut module, &assembled.plan, Keep::All);
    let eval = Eval { module: &module, limits: &request.limits };
    let loaded = jit::CompiledPlan::load(assembled, constants, Keep::All, None, &eval).map_err(|error| match error {
        jit::LoadError::Failed(diagnostic) => one(*diagnostic),
        jit::LoadError::Memory(_) => one(Diagnostic::new(codes::E0803, format!("the weights are too large: {error}"))),
    })?;
    let placed = Placed { eval, sources: &program.sources };
    writer.program(level_of(settings.isa).into(), &loaded, &listing, &placed);
    Ok(())
}

/// The settings of each target, the best one last. Errors: E0602 if there is none.
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

/// Compiles code that needs no interpreter, and whose constants this machine can compute.
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
    let without = without_kernels(&assembled.plan);
    if !without.is_empty() {
        return Err(vec![refused::no_kernels(program, module, &request.entry, &without)]);
    }
    let steps = assembled.plan.steps.iter().zip(&assembled.launches);
    let mut once = steps.filter(|(step, launch)| step.once && matches!(launch, Launch::Nest(_) | Launch::Contraction(..)));
    if once.next().is_some() {
        settings.runs_here().map_err(|diagnostic| {
            let what = "parts of the program are computed when it is built, by the target's own code";
            let other = "`relayc build --target x86-64-v3` builds for the machines that this one is";
            vec![Diagnostic::new(diagnostic.code, diagnostic.message).note(what).help(other)]
        })?;
    }
    Ok(assembled)
}

/// The operators that an artifact cannot compute, with their calls.
pub(super) fn without_kernels(plan: &plan::Plan) -> Vec<(&'static str, ExprId)> {
    let run = plan.steps.iter().filter(|step| !step.once);
    let without = run.filter_map(|step| match &step.work {
        Work::Fallback(call) => Some((step.ops.last().copied().unwrap_or("an operator"), call.call)),
        _ => None,
    });
    without.collect()
}

/// Inputs or outputs with these names.
pub(super) fn ports_of(names: &[String], plan: &plan::Plan, inputs: bool) -> Vec<Port> {
    let ids = if inputs { &plan.inputs } else { &plan.outputs };
    let port = |(name, &id): (&String, &plan::BufferId)| {
        let buffer = &plan.buffers[id];
        Port { name: name.clone(), dtype: buffer.dtype, shape: buffer.shape.clone(), bytes: buffer.bytes() }
    };
    names.iter().zip(ids).map(port).collect()
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

/// The graph that `relayc export` makes of the program.
fn graph(program: &Program, request: &Request, level: u8) -> Result<GraphFile, Vec<Diagnostic>> {
    let (sources, module) = (program.sources.clone(), program.module.clone());
    let mut copy = Program { sources, module, diagnostics: vec![], timings: Timings::default(), packed: Packed::default() };
    export::to_graph_json(&mut copy, &request.entry, &[], level)
}

/// The failures of operators with their places in the text, because an artifact has no text to point into.
struct Placed<'a> {
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
