//! `relayc build`: compiles a program to an artifact, for machines of one or two x86-64 levels.
//!
//! The same program with the same weights and settings gives the same bytes on every machine. Code is for common machines of a
//! level, and its work is split for [`THREADS`] threads unless another number is given. The number of threads that run is
//! chosen when an instance is created, and changes no result.

mod bounded;
mod control;
mod digests;
mod header;
mod part;
mod refused;
mod sizes;

pub use sizes::MAX_SIZES;

use super::compile::{self, Settings};
use part::{NoPart, Part, Placed};
use relayc_base::IndexVec;
use relayc_base::diag::{Diagnostic, codes};
use relayc_codegen::cpu::level_of;
use relayc_driver::Program;
use relayc_driver::bind::{Packed, leaves};
use relayc_driver::export::{self, GraphFile};
use relayc_driver::optimise::{self, PassPlan};
use relayc_driver::run::{self, Limits};
use relayc_driver::timings::Timings;
use relayc_exchange::artifact;
use relayc_exec::aot::image_writer::{self, ImageFacts, ImageWriter, Port, Size, SizeCode};
use relayc_exec::aot::{OBJECT, SYMBOL, TEMPLATE};
use relayc_exec::plan::{self, NotCompiled, Work};
use relayc_ir::flow::Flow;
use relayc_ir::tensor::Tensor;
use relayc_ir::{ConstId, ExprId};
use relayc_passes as passes;
use relayc_runtime::layout::MARKER;

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
/// Errors: E0603 with every obstacle; E0706 for an unknown entry; E0704 to E0707 for sizes; E0803 and the traps of parts that are
/// computed once. E0602 if there is no target, or if this machine has no code for a part that is computed once.
pub fn build(program: &Program, request: &Request) -> Result<BuildOutputs, Vec<Diagnostic>> {
    let one = |diagnostic| vec![diagnostic];
    let targets = targets(request).map_err(one)?;
    let level = targets.iter().map(|settings| settings.level).max().unwrap_or(0);
    let (mut writer, mut sizes, mut asm) = (ImageWriter::new(), vec![], vec![]);
    for combination in sizes::combinations(&request.sizes).map_err(one)? {
        let (name, mut program) = (combination.join(" "), sizes::at(program, &request.entry, &combination)?);
        prepared(&mut program, request).map_err(one)?;
        let names = Names::of(&program, &request.entry)?;
        let mut ports = (vec![], vec![]);
        for settings in &targets {
            let code = TargetCode::of(&program, request, settings)?;
            if request.asm {
                asm.push((compile::target_name(settings.isa), name.clone(), code.parts.iter().map(|part| &*part.asm).collect()));
            }
            code.write(&program, request, settings, &mut writer);
            ports = code.ports(&names);
        }
        sizes.push(Size { name, inputs: ports.0, outputs: ports.1 });
    }
    let source = program.text().map_or("", |text| text);
    let graph = graph(program, request, level);
    let json = graph.as_ref().map_or(String::new(), digests::marked);
    let facts = ImageFacts { entry: &request.entry, source, graph: &json, sizes: &sizes };
    let at_load = writer.at_load();
    let image = writer.finish(&facts);
    let bug = |words: String| one(Diagnostic::new(codes::E0901, words));
    let so = artifact::write(TEMPLATE, MARKER, &image.bytes, image.code.len() as u64).map_err(bug)?;
    let object = request.object.then(|| artifact::object(OBJECT, SYMBOL, &image.bytes)).transpose().map_err(bug)?;
    Ok(BuildOutputs { so, object, header: header::text(&request.name, &facts), graph, at_load, asm })
}

/// Runs the passes that an artifact needs before its code is made. Errors: E0901 for a pass that broke the program.
fn prepared(program: &mut Program, request: &Request) -> Result<(), Diagnostic> {
    let level = request.settings.iter().map(|settings| settings.level).min().unwrap_or(0);
    let level_passes = PassPlan::level(level, optimise::Target::V3);
    let how = PassPlan { passes: passes::before_artifact(level), entry: Some(request.entry.clone()), ..level_passes };
    optimise::optimise(&mut program.module, &how, &mut ())
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

/// The code of a program for a target.
struct TargetCode {
    parts: Vec<Part>,
    flow: Flow,
    /// The constants that the flow names.
    constants: IndexVec<ConstId, Tensor>,
    /// Which outputs have dimensions that a run decides, if one has.
    open: Vec<bool>,
}

impl TargetCode {
    /// The code of a program as a whole, else with room for the largest shapes, else that of its subgraphs.
    fn of(program: &Program, request: &Request, settings: &Settings) -> Result<TargetCode, Vec<Diagnostic>> {
        let mut module = program.module.clone();
        match Part::of(program, &mut module, &request.entry, request, settings) {
            Ok(part) => Ok(TargetCode::whole(part, vec![])),
            Err(NoPart::Wrong(diagnostics)) => Err(diagnostics),
            Err(NoPart::Not(NotCompiled::TooLarge)) => Err(vec![refused::not_compiled(&request.entry, NotCompiled::TooLarge)]),
            Err(NoPart::Not(_)) => match bounded::of(program, request, settings)? {
                Some(code) => Ok(code),
                None => control::followed(program, program.module.clone(), request, settings),
            },
        }
    }

    fn whole(part: Part, open: Vec<bool>) -> TargetCode {
        let flow = Flow::straight(part.plan.plan.inputs.len(), part.plan.plan.outputs.len());
        TargetCode { parts: vec![part], flow, constants: IndexVec::new(), open }
    }

    fn write(&self, program: &Program, request: &Request, settings: &Settings, writer: &mut ImageWriter) {
        let fallbacks: Vec<Placed> = self.parts.iter().map(|part| part.fallback(program, request)).collect();
        let parts = self.parts.iter().zip(&fallbacks);
        let parts: Vec<_> = parts.map(|(part, fallback)| image_writer::Part { program: &part.plan, fallback }).collect();
        let constant = |id| self.constants[id].to_le_bytes();
        let listing = control::listing(&self.flow, &self.parts);
        let code = SizeCode { parts: &parts, flow: &self.flow, constant: &constant, listing: &listing };
        writer.program(level_of(settings.isa).into(), &code);
    }

    /// The inputs and outputs.
    fn ports(&self, names: &Names) -> (Vec<Port>, Vec<Port>) {
        let (inputs, mut outputs) = match &self.parts[..] {
            [part] if self.flow.outputs.is_empty() => {
                (ports_of(&names.inputs, &part.plan.plan, true), ports_of(&names.outputs, &part.plan.plan, false))
            }
            _ => (control::ports(&names.inputs, &self.flow.inputs), control::ports(&names.outputs, &self.flow.outputs)),
        };
        outputs.iter_mut().zip(&self.open).for_each(|(port, &open)| port.is_open = open);
        (inputs, outputs)
    }
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
        let bytes = buffer.bytes();
        Port { name: name.clone(), dtype: buffer.dtype, shape: buffer.shape.clone(), bytes, is_open: false }
    };
    names.iter().zip(ids).map(port).collect()
}

/// The graph that `relayc export` makes of the program.
fn graph(program: &Program, request: &Request, level: u8) -> Result<GraphFile, Vec<Diagnostic>> {
    let (sources, module) = (program.sources.clone(), program.module.clone());
    let mut copy = Program { sources, module, diagnostics: vec![], timings: Timings::default(), packed: Packed::default() };
    export::to_graph_json(&mut copy, &request.entry, &[], level)
}
