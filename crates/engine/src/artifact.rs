//! Artifacts as files: shows their content, and runs them.

mod session;

pub use session::{ArtifactOutput, ArtifactPort, ArtifactSession};

use super::compile::{self, Isa};
use super::measure::{self, Times};
use super::size_setting::require_known;
use relayc_base::diag::{Code, Diagnostic, codes};
use relayc_base::text::{count, one_line, thousands};
use relayc_codegen::cpu::level_of;
use relayc_driver::bind::tensors_in;
use relayc_driver::bind::{self, Bound, Requests, Slot};
use relayc_driver::run::Limits;
use relayc_exchange::artifact;
use relayc_exec::aot::describe::{self, Description, Port, Program, Size, Target, Unsound};
use relayc_exec::aot::mapped::{Failure, Mapped, MappedProgram, MappedSession};
use relayc_exec::plan::Traffic;
use relayc_ir::tensor::{Tensor, size::checked_size};
use relayc_ir::types::{DType, Dim, Types};
use relayc_runtime::instance::NoInstance;
use relayc_runtime::layout::VERSION;
use relayc_sys as sys;
use relayc_weights::Named;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// A validated artifact, not yet executable.
pub struct Artifact {
    name: String,
    mapped: Mapped,
    found: artifact::Found,
    pub(crate) description: Description,
}

/// The part of an artifact to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArtifactView {
    Summary { json: bool },
    Source,
    Graph,
    Steps,
}

/// Whether the bytes of a file are known to be those that were written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Integrity {
    /// They are: the file has not changed since its checksum was compared.
    Known,
    /// Its checksum says so.
    Checked,
}

/// Opens an artifact. Errors: E0701 for an unreadable file, E0710 to E0714 for an unsound one.
pub fn open(path: &Path) -> Result<Artifact, Diagnostic> {
    let file = sys::open_file(path, sys::Limit::data())?;
    of_file(&path.display().to_string(), file.file(), Integrity::Checked)
}

/// As [`open`], for a file that is open. The name is that in messages.
pub(crate) fn of_file(name: &str, file: &File, integrity: Integrity) -> Result<Artifact, Diagnostic> {
    let name = name.to_owned();
    let mapped = Mapped::new(file).map_err(|error| Diagnostic::new(codes::E0701, format!("cannot read `{name}`: {error}")))?;
    let found = match integrity {
        Integrity::Known => artifact::locate(&name, mapped.bytes()),
        Integrity::Checked => artifact::read(&name, mapped.bytes()),
    }?;
    let image = &mapped.bytes()[found.image.clone()];
    let description = describe::describe(image).map_err(|unsound| match unsound {
        Unsound::Version(version) => {
            let message = format!("`{name}`: a program of version {version}; this relayc runs version {VERSION}");
            Diagnostic::new(codes::E0713, message).help("build it anew with this relayc")
        }
        Unsound::At(byte, words) => unsound_at(&name, found.image.start + byte, &words),
    })?;
    if description.code != found.code {
        return Err(unsound_at(&name, found.image.start, "its code lies elsewhere than its note says"));
    }
    Ok(Artifact { name, mapped, found, description })
}

fn unsound_at(name: &str, byte: usize, words: &str) -> Diagnostic {
    Diagnostic::new(codes::E0714, format!("`{name}`, byte {byte}: {words}"))
        .note("its checksum is right, so somebody wrote it like this")
        .help("do not load it; `relayc build` makes another")
}

impl Artifact {
    /// Shows a part as text.
    pub fn shown(&self, what: ArtifactView) -> String {
        match what {
            ArtifactView::Source => self.description.source.clone(),
            ArtifactView::Graph => self.description.graph.clone(),
            ArtifactView::Steps => self.steps(),
            ArtifactView::Summary { json: true } => format!("{}\n", self.object()),
            ArtifactView::Summary { json: false } => self.summary(),
        }
    }

    /// Summarizes the content for people.
    fn summary(&self) -> String {
        let Description { entry, sizes, targets, source, .. } = &self.description;
        let mut out = format!("@{}\n", one_line(entry));
        let open = OpenSizes::of(sizes);
        for (what, of) in [("input", (|size| &size.inputs) as fn(&Size) -> &Vec<Port>), ("output", |size| &size.outputs)] {
            for (at, port) in of(&sizes[0]).iter().enumerate() {
                let shape: Vec<String> = open.dims(|size| &of(size)[at]).iter().map(|dim| one_line(&dim.to_string())).collect();
                let (name, dtype) = (one_line(&port.name), one_line(&port.dtype));
                let at_most = if port.is_open { " at most" } else { "" };
                let _ = writeln!(out, "{what:<7} {name}: Tensor[({}), {dtype}]{at_most}", shape.join(", "));
            }
        }
        if sizes.len() > 1 {
            let _ = writeln!(out, "sizes   {}", size_names(sizes));
        }
        for target in targets {
            let Target { level, weight_bytes, programs, .. } = target;
            let steps = count(programs.iter().map(|program| program.n_steps).sum(), "step");
            let code = thousands(programs.iter().map(|program| program.code_bytes).sum());
            let arena = thousands(programs.iter().map(|program| program.arena_bytes).max().unwrap_or(0));
            let weights = thousands(*weight_bytes);
            let at_load = match target.at_load_bytes {
                0 => String::new(),
                bytes => format!(", {} packed at load", thousands(bytes)),
            };
            let _ = writeln!(
                out,
                "target  x86-64-v{level}: {steps}, {code} bytes of code, {weights} of weights{at_load}, {arena} of arena"
            );
        }
        let lines = source.lines().count();
        let _ = writeln!(out, "source  {} (`--source` prints it)", count(lines, "line"));
        out
    }

    /// The content as JSON, `relayc.artifact/1`.
    fn object(&self) -> Value {
        let port = |port: &Port| {
            let mut value = json!({ "name": port.name, "dtype": port.dtype, "shape": port.shape, "bytes": port.bytes });
            if port.is_open {
                value["at_most"] = json!(true);
            }
            value
        };
        let ports = |ports: &[Port]| ports.iter().map(port).collect::<Vec<_>>();
        let target = |target: &Target| {
            let sum = |of: fn(&Program) -> u64| target.programs.iter().map(of).sum::<u64>();
            let most = |of: fn(&Program) -> u64| target.programs.iter().map(of).max();
            json!({
                "name": format!("x86-64-v{}", target.level),
                "steps": sum(|program| program.n_steps as u64),
                "code_bytes": sum(|program| program.code_bytes),
                "weight_bytes": target.weight_bytes,
                "at_load_bytes": target.at_load_bytes,
                "arena_bytes": most(|program| program.arena_bytes),
                "thread_scratch_bytes": most(|program| program.thread_scratch_bytes),
            })
        };
        let size = |size: &Size| json!({ "name": size.name, "inputs": ports(&size.inputs), "outputs": ports(&size.outputs) });
        let Description { entry, sizes, targets, source, .. } = &self.description;
        let mut value = json!({
            "schema": "relayc.artifact/1",
            "entry": entry,
            "inputs": ports(&sizes[0].inputs),
            "outputs": ports(&sizes[0].outputs),
            "targets": targets.iter().map(target).collect::<Vec<_>>(),
            "source_bytes": source.len(),
        });
        if sizes.len() > 1 {
            value["sizes"] = sizes.iter().map(size).collect();
        }
        value
    }

    /// The steps of each target in columns: bytes of code, operators, kernel, place in the text.
    fn steps(&self) -> String {
        let mut out = String::new();
        for target in &self.description.targets {
            for (size, program) in self.description.sizes.iter().zip(&target.programs) {
                let _ = writeln!(out, "{}", format!("x86-64-v{} {}", target.level, one_line(&size.name)).trim_end());
                for StepLine { ops, how, bytes, origin, .. } in step_lines(program) {
                    let _ = writeln!(out, "{:>8}  {}  {}  {}", one_line(bytes), one_line(ops), one_line(how), one_line(origin));
                }
            }
        }
        out
    }

    /// The unbound parameters, with open dimensions where sizes differ. Errors: E0714 for a port that is not a tensor.
    pub(crate) fn slots(&self, types: &mut Types) -> Result<Vec<Slot>, Diagnostic> {
        let sizes = &self.description.sizes;
        let open = OpenSizes::of(sizes);
        let mut slots = vec![];
        for at in 0..sizes[0].inputs.len() {
            let found: Result<Vec<DType>, _> = sizes.iter().map(|size| self.dtype_of(&size.inputs[at])).collect();
            let dims: Vec<Dim> = open.dims(|size| &size.inputs[at]).iter().map(|dim| dim.of(types)).collect();
            let ty = types.tensor(&dims, found?[0]);
            slots.push(Slot { name: sizes[0].inputs[at].name.clone(), ty });
        }
        Ok(slots)
    }

    /// The names of the results.
    pub fn result_names(&self) -> Vec<String> {
        self.description.sizes[0].outputs.iter().map(|port| port.name.clone()).collect()
    }

    /// The dtype of a port, whose type is checked to be possible.
    fn dtype_of(&self, port: &Port) -> Result<DType, Diagnostic> {
        let dims: Option<Vec<i64>> = port.shape.iter().map(|&dim| i64::try_from(dim).ok()).collect();
        let sized = DType::parse(&port.dtype).zip(dims).and_then(|(dtype, dims)| {
            let (_, bytes) = checked_size(&dims, dtype).ok()?;
            (bytes as u64 == port.bytes).then_some(dtype)
        });
        sized.ok_or_else(|| {
            let words = format!("`{}` would be {:?} of {} in {} bytes", port.name, port.shape, port.dtype, port.bytes);
            unsound_at(&self.name, self.found.image.start, &words)
        })
    }

    /// Binds values to the parameters. Errors: those of [`bind::bind`]; E0719 if there is no code for their shapes.
    pub fn bind(&self, requests: &Requests) -> Result<Vec<Bound>, Vec<Diagnostic>> {
        let one = |error| vec![error];
        let mut types = Types::new();
        let slots = self.slots(&mut types).map_err(one)?;
        let names = OpenSizes::of(&self.description.sizes).names;
        let known: Vec<&str> = names.iter().map(|&(name, _)| name).collect();
        require_known("--set", &requests.set, &known).map_err(one)?;
        let bound = bind::bind(&slots, &types, requests).map_err(|errors| self.own_advice(errors, &names))?;
        let shapes: Vec<&[usize]> = tensors_in(&bound).into_iter().map(Tensor::shape).collect();
        size_of(&self.description.sizes, &shapes).map_err(one)?;
        Ok(bound)
    }

    /// Errors without the advice to read weights, as those of an artifact lie inside and the others are inputs, and with sizes that it
    /// has code for.
    fn own_advice(&self, mut errors: Vec<Diagnostic>, names: &[(&str, Vec<u64>)]) -> Vec<Diagnostic> {
        let first = names.iter().filter_map(|(name, numbers)| Some(((*name).to_owned(), *numbers.first()?)));
        let axes = self.description.sizes.first().map_or(&[][..], |size| &size.inputs).iter().flat_map(|port| {
            let of_axis = |(axis, &n): (usize, &u64)| (format!("{}.{axis}", port.name), n);
            port.shape.iter().enumerate().map(of_axis)
        });
        let sizes: Vec<(String, u64)> = first.chain(axes).collect();
        for help in errors.iter_mut().flat_map(|error| &mut error.helps) {
            for (name, n) in &sizes {
                help.text = help.text.replace(&format!("--set {name}=1"), &format!("--set {name}={n}"));
            }
        }
        errors.iter_mut().for_each(|error| error.helps.retain(|help| !help.text.starts_with("--params")));
        errors
    }

    /// Makes the code executable. Errors: E0714 for results that are not tensors, E0701 if the system refuses.
    pub fn load(self) -> Result<Ready, Diagnostic> {
        let Artifact { name, .. } = &self;
        let name = name.clone();
        let of_size = |size: &Size| size.outputs.iter().map(|port| self.dtype_of(port)).collect::<Result<Vec<_>, _>>();
        let results = self.description.sizes.iter().map(of_size).collect::<Result<Vec<_>, _>>()?;
        let Artifact { mapped, found, description, .. } = self;
        let refused = |error: std::io::Error| Diagnostic::new(codes::E0701, format!("`{name}` cannot be executed: {error}"));
        let loaded = mapped.program(found.image, found.code).map_err(refused)?;
        Ok(Ready { loaded, description, results })
    }
}

/// The dimensions of an artifact of several sizes.
struct OpenSizes<'a> {
    sizes: &'a [Size],
    /// The names of sizes with their number in each.
    names: Vec<(&'a str, Vec<u64>)>,
}

/// A dimension of an artifact.
enum OpenDim<'a> {
    Known(u64),
    /// The size of this name.
    Named(&'a str),
    /// Another number in each size.
    Open,
}

impl<'a> OpenSizes<'a> {
    fn of(sizes: &'a [Size]) -> OpenSizes<'a> {
        let numbers = |size: &'a Size| size.name.split(' ').filter_map(|part| part.split_once('='));
        let number_of = |size: &'a Size, name: &str| numbers(size).find(|(known, _)| *known == name)?.1.parse().ok();
        let names = sizes.first().into_iter().flat_map(numbers).map(|(name, _)| name).filter(|name| !name.contains('.'));
        let names = names.filter_map(|name| Some((name, sizes.iter().map(|size| number_of(size, name)).collect::<Option<_>>()?)));
        OpenSizes { sizes, names: names.collect() }
    }

    /// The dimensions of a tensor, given the tensor of a size.
    fn dims(&self, port: impl Fn(&'a Size) -> &'a Port) -> Vec<OpenDim<'a>> {
        let first = port(&self.sizes[0]);
        let dim = |axis: usize| {
            let all: Vec<u64> = self.sizes.iter().map(|size| port(size).shape[axis]).collect();
            match self.names.iter().find(|(_, numbers)| *numbers == all) {
                _ if all.iter().all(|n| *n == all[0]) => OpenDim::Known(all[0]),
                Some((name, _)) => OpenDim::Named(name),
                None => OpenDim::Open,
            }
        };
        (0..first.shape.len()).map(dim).collect()
    }
}

impl OpenDim<'_> {
    fn of(&self, types: &mut Types) -> Dim {
        match self {
            OpenDim::Known(n) => Dim::known(*n as i64),
            OpenDim::Named(name) => {
                let id = types.symbols.named(name);
                types.symbols.dim(id)
            }
            OpenDim::Open => Dim::Any,
        }
    }
}

impl std::fmt::Display for OpenDim<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            OpenDim::Known(n) => write!(f, "{n}"),
            OpenDim::Named(name) => f.write_str(name),
            OpenDim::Open => f.write_str("?"),
        }
    }
}

/// The names of sizes, separated by commas.
fn size_names(sizes: &[Size]) -> String {
    let names: Vec<String> = sizes.iter().map(|size| one_line(&size.name)).collect();
    names.join(", ")
}

/// The number of the size of inputs of these shapes. Errors: E0719 if they have none.
fn size_of(sizes: &[Size], shapes: &[&[usize]]) -> Result<usize, Diagnostic> {
    let has = |(port, shape): (&Port, &&[usize])| shape.iter().map(|&dim| dim as u64).eq(port.shape.iter().copied());
    let fits = |size: &Size| size.inputs.len() == shapes.len() && size.inputs.iter().zip(shapes).all(has);
    sizes.iter().position(fits).ok_or_else(|| {
        let mut error = Diagnostic::new(codes::E0719, "the artifact has no code for inputs of these shapes");
        for (port, shape) in sizes[0].inputs.iter().zip(shapes) {
            error = error.note(format!("`{}` is {}", one_line(&port.name), shape_text(shape)));
        }
        error.note(format!("it has code for {}", size_names(sizes))).help("`relayc build --sizes` names the sizes of an artifact")
    })
}

fn shape_text(shape: &[usize]) -> String {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("({})", dims.join(", "))
}

/// The line of a step in a listing.
pub(crate) struct StepLine<'a> {
    pub(crate) ops: &'a str,
    pub(crate) how: &'a str,
    pub(crate) bytes: &'a str,
    pub(crate) origin: &'a str,
    pub(crate) traffic: Traffic,
    /// Where its text is in the source.
    pub(crate) text: Range<usize>,
}

/// The lines of a program's listing. A field that is missing is empty, or 0.
pub(crate) fn step_lines(program: &Program) -> impl Iterator<Item = StepLine<'_>> {
    program.listing.lines().map(|line| {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        let [ops, how, bytes, origin] = [next(), next(), next(), next()];
        let [operations, traffic, start, end] = [next(), next(), next(), next()].map(|number| number.parse().unwrap_or(0));
        let traffic = Traffic { ops: operations, bytes: traffic };
        StepLine { ops, how, bytes, origin, traffic, text: start as usize..end as usize }
    })
}

/// An artifact that is ready to run.
pub struct Ready {
    loaded: MappedProgram,
    pub(crate) description: Description,
    /// The dtypes of the outputs, of each size.
    results: Vec<Vec<DType>>,
}

/// A result, and how it was computed.
pub struct ArtifactRun {
    pub outputs: Named,
    pub isa: Isa,
    pub threads: usize,
}

/// The times of runs, and how they were computed.
pub struct ArtifactTimes {
    pub times: Times,
    /// How long it took to make the instance: its memory, and the weights that it packs for itself.
    pub created: Duration,
    pub isa: Isa,
    pub threads: usize,
}

impl Ready {
    /// Runs it once; `isa` is the requested instruction set.
    ///
    /// Errors: E0719 if it has no code for the shapes of the arguments, E0602 if no code of it runs here, E0803 without memory, E0805
    /// after the time limit, and the traps of operators.
    pub fn run(&self, args: &[Bound], threads: usize, isa: Option<Isa>, limits: &Limits) -> Result<ArtifactRun, Diagnostic> {
        let mut session = self.session(args, threads, isa)?;
        for (at, tensor) in tensors_in(args).into_iter().enumerate() {
            session.input(at).copy_from_slice(&tensor.to_le_bytes());
        }
        let in_time = |_| limits.deadline.is_none_or(|deadline| Instant::now() <= deadline);
        if !session.run(in_time).map_err(|failure| failed(&failure))? {
            return Err(limits.out_of_time());
        }
        let ports = &self.description.sizes[session.size()].outputs;
        let bytes = (0..ports.len()).map(|at| session.output(at).len() as u64).sum();
        compile::ask_for(bytes).map_err(|error| *error)?;
        let output = |(at, (port, &dtype)): (usize, (&Port, &DType))| {
            let shape: Vec<usize> = session.output_shape(at).iter().map(|&dim| dim as usize).collect();
            let tensor = Tensor::from_le_bytes(dtype, &shape, session.output(at));
            Ok((port.name.clone(), tensor.ok_or_else(|| impossible(&port.name))?))
        };
        let outputs =
            ports.iter().zip(&self.results[session.size()]).enumerate().map(output).collect::<Result<_, Diagnostic>>()?;
        Ok(ArtifactRun { outputs, isa: session.isa(), threads: session.n_threads() })
    }

    /// Warms it up, then measures runs, each with its inputs copied to where the code reads them. Errors: those of [`Ready::run`].
    pub fn latency(
        &self,
        args: &[Bound],
        threads: usize,
        isa: Option<Isa>,
        (warmup, measure): (Duration, Duration),
    ) -> Result<ArtifactTimes, Diagnostic> {
        let start = Instant::now();
        let mut session = self.session(args, threads, isa)?;
        let created = start.elapsed();
        let inputs: Vec<Vec<u8>> = tensors_in(args).into_iter().map(Tensor::to_le_bytes).collect();
        let times = measure::timed(warmup, measure, || {
            inputs.iter().enumerate().for_each(|(at, input)| session.input(at).copy_from_slice(input));
            session.run(|_| true).map(|_| ()).map_err(|failure| Box::new(failed(&failure)))
        });
        Ok(ArtifactTimes { times: times.map_err(|error| *error)?, created, isa: session.isa(), threads: session.n_threads() })
    }

    /// A session of the size that the arguments have.
    pub(crate) fn session(&self, args: &[Bound], threads: usize, isa: Option<Isa>) -> Result<MappedSession, Diagnostic> {
        let mut session = self.instance(threads, isa)?;
        let shapes: Vec<&[usize]> = tensors_in(args).into_iter().map(Tensor::shape).collect();
        session.set_size(self.size_of(&shapes)?);
        Ok(session)
    }

    /// The number of the size that inputs of these shapes have. Errors: E0719 if there is no code for them.
    pub(super) fn size_of(&self, shapes: &[&[usize]]) -> Result<usize, Diagnostic> {
        size_of(&self.description.sizes, shapes)
    }

    /// A session of the first size.
    pub(super) fn instance(&self, threads: usize, isa: Option<Isa>) -> Result<MappedSession, Diagnostic> {
        let allowed = compile::isas().map_err(|words| Diagnostic::new(codes::E0602, words))?;
        self.loaded.session(threads, isa, &allowed).map_err(|error| match error {
            NoInstance::Machine => self.no_machine(isa, &allowed),
            NoInstance::Memory => Diagnostic::new(codes::E0803, "the tensors of the program are too large for this machine"),
        })
    }

    fn no_machine(&self, isa: Option<Isa>, allowed: &[Isa]) -> Diagnostic {
        let name = |isa: Isa| format!("`{}`", compile::target_name(isa));
        let has = |isa: Isa| self.description.targets.iter().any(|target| target.level == u64::from(level_of(isa)));
        let inside: Vec<String> = [Isa::Avx2, Isa::Avx512].into_iter().filter(|&isa| has(isa)).map(name).collect();
        let message = match isa {
            Some(isa) if !has(isa) => format!("the artifact has no code for {}", name(isa)),
            _ => "this machine does not have the instructions of the artifact".to_owned(),
        };
        let here: Vec<String> = allowed.iter().map(|&isa| name(isa)).collect();
        let here = if here.is_empty() { "no target".to_owned() } else { here.join(" and ") };
        Diagnostic::new(codes::E0602, message)
            .note(format!("the artifact has code for {}, this machine runs {here}", inside.join(" and ")))
            .help("`relayc build --target` says what code an artifact has")
    }
}

/// E0714 for an output whose elements are not those of its shape.
fn impossible(output: &str) -> Diagnostic {
    Diagnostic::new(codes::E0714, format!("the artifact gave `{}` an impossible shape", one_line(output)))
}

pub(crate) fn failed(failure: &Failure) -> Diagnostic {
    Diagnostic::new(Code::find(&failure.code).unwrap_or(codes::E0506), failure.message.clone())
}
