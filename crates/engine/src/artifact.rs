//! Artifacts as files: shows their content, and runs them.

use super::compile::{self, Isa};
use super::measure::{self, Times};
use relayc_base::diag::{Code, Diagnostic, codes};
use relayc_base::text::{count, escape_control, thousands};
use relayc_codegen::cpu::level_of;
use relayc_driver::bind::tensors_in;
use relayc_driver::bind::{self, Bound, Requests, Slot};
use relayc_driver::run::Limits;
use relayc_exchange::artifact;
use relayc_exec::aot::describe::{self, Description, Port, Target, Unsound};
use relayc_exec::aot::mapped::{Failure, Mapped, MappedProgram, MappedSession};
use relayc_ir::tensor::{Tensor, size::checked_size};
use relayc_ir::types::{DType, Types};
use relayc_runtime::instance::NoInstance;
use relayc_runtime::layout::VERSION;
use relayc_sys as sys;
use relayc_weights::Named;
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs::File;
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
    let file = sys::open_file(path, sys::DATA_LIMIT)?;
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
        let Description { entry, inputs, outputs, targets, source, .. } = &self.description;
        let mut out = format!("@{}\n", plain(entry));
        for (what, ports) in [("input", inputs), ("output", outputs)] {
            for port in ports {
                let shape: Vec<String> = port.shape.iter().map(u64::to_string).collect();
                let (name, dtype) = (plain(&port.name), plain(&port.dtype));
                let _ = writeln!(out, "{what:<7} {name}: Tensor[({}), {dtype}]", shape.join(", "));
            }
        }
        for target in targets {
            let Target { level, code_bytes, weight_bytes, arena_bytes, n_steps, .. } = target;
            let [code, weights, arena] = [code_bytes, weight_bytes, arena_bytes].map(|&bytes| thousands(bytes));
            let steps = count(*n_steps, "step");
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
        let port = |port: &Port| json!({ "name": port.name, "dtype": port.dtype, "shape": port.shape, "bytes": port.bytes });
        let ports = |ports: &[Port]| ports.iter().map(port).collect::<Vec<_>>();
        let target = |target: &Target| {
            json!({
                "name": format!("x86-64-v{}", target.level),
                "steps": target.n_steps,
                "code_bytes": target.code_bytes,
                "weight_bytes": target.weight_bytes,
                "at_load_bytes": target.at_load_bytes,
                "arena_bytes": target.arena_bytes,
                "thread_scratch_bytes": target.thread_scratch_bytes,
            })
        };
        let Description { entry, inputs, outputs, targets, source, .. } = &self.description;
        json!({
            "schema": "relayc.artifact/1",
            "entry": entry,
            "inputs": ports(inputs),
            "outputs": ports(outputs),
            "targets": targets.iter().map(target).collect::<Vec<_>>(),
            "source_bytes": source.len(),
        })
    }

    /// The steps of each target in columns: bytes of code, operators, kernel, place in the text.
    fn steps(&self) -> String {
        let mut out = String::new();
        for target in &self.description.targets {
            let _ = writeln!(out, "x86-64-v{}", target.level);
            for line in target.listing.lines() {
                let mut fields = line.split('\t').map(plain);
                let mut next = || fields.next().unwrap_or_default();
                let [ops, how, bytes, origin] = [next(), next(), next(), next()];
                let _ = writeln!(out, "{bytes:>8}  {ops}  {how}  {origin}");
            }
        }
        out
    }

    /// The unbound parameters. Errors: E0714 for a port that is not a tensor.
    pub(crate) fn slots(&self, types: &mut Types) -> Result<Vec<Slot>, Diagnostic> {
        let slot = |port: &Port| {
            let PortType { dtype, dims, .. } = self.tensor_type(port)?;
            Ok(Slot { name: port.name.clone(), ty: types.tensor_of(&dims, dtype) })
        };
        self.description.inputs.iter().map(slot).collect()
    }

    /// The names of the results.
    pub fn result_names(&self) -> Vec<String> {
        self.description.outputs.iter().map(|port| port.name.clone()).collect()
    }

    fn tensor_type(&self, port: &Port) -> Result<PortType, Diagnostic> {
        let dims: Option<Vec<i64>> = port.shape.iter().map(|&dim| i64::try_from(dim).ok()).collect();
        let sized = DType::parse(&port.dtype).zip(dims).and_then(|(dtype, dims)| {
            let (shape, bytes) = checked_size(&dims, dtype).ok()?;
            (bytes as u64 == port.bytes).then_some(PortType { dtype, dims, shape })
        });
        sized.ok_or_else(|| {
            let words = format!("`{}` would be {:?} of {} in {} bytes", port.name, port.shape, port.dtype, port.bytes);
            unsound_at(&self.name, self.found.image.start, &words)
        })
    }

    /// Binds values to the parameters. Errors: those of [`bind::bind`].
    pub fn bind(&self, requests: &Requests) -> Result<Vec<Bound>, Vec<Diagnostic>> {
        let mut types = Types::new();
        let slots = self.slots(&mut types).map_err(|error| vec![error])?;
        bind::bind(&slots, &types, requests)
    }

    /// Makes the code executable. Errors: E0714 for results that are not tensors, E0701 if the system refuses.
    pub fn load(self) -> Result<Ready, Diagnostic> {
        let Artifact { name, .. } = &self;
        let name = name.clone();
        let results: Result<Vec<_>, _> = self.description.outputs.iter().map(|port| self.tensor_type(port)).collect();
        let results = results?;
        let Artifact { mapped, found, description, .. } = self;
        let refused = |error: std::io::Error| Diagnostic::new(codes::E0701, format!("`{name}` cannot be executed: {error}"));
        let loaded = mapped.program(found.image, found.code).map_err(refused)?;
        Ok(Ready { loaded, description, results })
    }
}

/// The type of a port, checked to be possible.
struct PortType {
    dtype: DType,
    dims: Vec<i64>,
    shape: Vec<usize>,
}

/// An artifact that is ready to run.
pub struct Ready {
    loaded: MappedProgram,
    pub(crate) description: Description,
    results: Vec<PortType>,
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
    /// Errors: E0602 if no code of it runs here, E0803 without memory, E0805 after the time limit, and the traps of operators.
    pub fn run(&self, args: &[Bound], threads: usize, isa: Option<Isa>, limits: &Limits) -> Result<ArtifactRun, Diagnostic> {
        let mut session = self.session(threads, isa)?;
        for (at, tensor) in tensors_in(args).into_iter().enumerate() {
            session.input(at).copy_from_slice(&tensor.to_le_bytes());
        }
        let in_time = || limits.deadline.is_none_or(|deadline| Instant::now() <= deadline);
        if !session.run(in_time).map_err(|failure| failed(&failure))? {
            return Err(Diagnostic::new(codes::E0805, "out of time"));
        }
        let output = |(at, (port, result)): (usize, (&Port, &PortType))| {
            let tensor = Tensor::from_le_bytes(result.dtype, &result.shape, session.output(at));
            let tensor = tensor.expect("an output has the bytes of its type");
            (port.name.clone(), tensor)
        };
        let outputs = self.description.outputs.iter().zip(&self.results).enumerate().map(output).collect();
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
        let mut session = self.session(threads, isa)?;
        let created = start.elapsed();
        let inputs: Vec<Vec<u8>> = tensors_in(args).into_iter().map(Tensor::to_le_bytes).collect();
        let times = measure::timed(warmup, measure, || {
            inputs.iter().enumerate().for_each(|(at, input)| session.input(at).copy_from_slice(input));
            session.run(|| true).map(|_| ()).map_err(|failure| Box::new(failed(&failure)))
        });
        Ok(ArtifactTimes { times: times.map_err(|error| *error)?, created, isa: session.isa(), threads: session.n_threads() })
    }

    fn session(&self, threads: usize, isa: Option<Isa>) -> Result<MappedSession<'_>, Diagnostic> {
        let allowed = compile::isas().unwrap_or_default();
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

/// A text of a file in one line, without characters that move the cursor or reverse the text beside it.
fn plain(text: &str) -> String {
    escape_control(text).replace('\n', "\\u{a}").replace('\t', "\\u{9}")
}

fn failed(failure: &Failure) -> Diagnostic {
    Diagnostic::new(Code::find(&failure.code).unwrap_or(codes::E0506), failure.message.clone())
}
