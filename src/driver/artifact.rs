//! Artifacts as files: what is inside of one, and running it.

use super::bind::{self, Bound, Requests, Slot};
use super::compile::{self, Isa, leaves};
use super::run::Limits;
use crate::base::text::{count, escape_control, thousands};
use crate::diag::{Code, Diagnostic, codes};
use crate::formats::{Named, artifact};
use crate::jit::ahead::describe::{self, Description, Port, Target, Unsound};
use crate::jit::ahead::mapped::{Failure, Loaded, Mapped, level_of};
use crate::jit::ahead::runtime::instance::NoInstance;
use crate::jit::ahead::runtime::layout::VERSION;
use crate::sys;
use crate::tensor::{Tensor, size::checked_size};
use crate::types::{DType, Types};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// An artifact that is as it was written, none of it executable.
pub struct Artifact {
    name: String,
    mapped: Mapped,
    found: artifact::Found,
    pub description: Description,
}

/// What of an artifact is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    Summary { json: bool },
    Source,
    Graph,
    Steps,
}

/// Whether a path names a file that begins as an ELF file does; what cannot be read is somebody else's to say.
pub fn is_elf(path: &Path) -> bool {
    path != Path::new("-")
        && sys::open_file(path, sys::DATA_LIMIT).and_then(|file| file.start::<4>()).is_ok_and(|bytes| artifact::is_elf(&bytes))
}

/// Opens an artifact. Errors: E0701 for a file that cannot be read, E0710 to E0714 for one that is not what it should be.
pub fn open(path: &Path) -> Result<Artifact, Diagnostic> {
    let name = path.display().to_string();
    let file = sys::open_file(path, sys::DATA_LIMIT)?;
    let mapped = Mapped::new(file.file()).map_err(|error| file.failed(&error))?;
    let found = artifact::read(&name, mapped.bytes())?;
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
    /// What is asked for, as text.
    pub fn shown(&self, what: Shown) -> String {
        match what {
            Shown::Source => self.description.source.clone(),
            Shown::Graph => self.description.graph.clone(),
            Shown::Steps => self.steps(),
            Shown::Summary { json: true } => format!("{}\n", self.object()),
            Shown::Summary { json: false } => self.summary(),
        }
    }

    /// What is inside, for people.
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
            let _ =
                writeln!(out, "target  x86-64-v{level}: {steps}, {code} bytes of code, {weights} of weights, {arena} of arena");
        }
        let lines = source.lines().count();
        let _ = writeln!(out, "source  {} (`--source` prints it)", count(lines, "line"));
        out
    }

    /// What is inside, `relayc.artifact/1`.
    fn object(&self) -> Value {
        let port = |port: &Port| json!({ "name": port.name, "dtype": port.dtype, "shape": port.shape, "bytes": port.bytes });
        let ports = |ports: &[Port]| ports.iter().map(port).collect::<Vec<_>>();
        let target = |target: &Target| {
            json!({
                "name": format!("x86-64-v{}", target.level),
                "steps": target.n_steps,
                "code_bytes": target.code_bytes,
                "weight_bytes": target.weight_bytes,
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

    /// The steps of each target in columns: bytes of code, what they compute, how, where they stand in the text.
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

    /// The parameters that have no value yet. Errors: E0714 for what is no tensor.
    pub fn slots(&self, types: &mut Types) -> Result<Vec<Slot>, Diagnostic> {
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

    /// The values of the parameters. Errors: as [`bind::bind`].
    pub fn bind(&self, requests: &Requests) -> Result<Vec<Bound>, Vec<Diagnostic>> {
        let mut types = Types::new();
        let slots = self.slots(&mut types).map_err(|error| vec![error])?;
        bind::bind(&slots, &types, requests)
    }

    /// Makes its code executable. Errors: E0714 for results that are no tensors, E0701 where the system refuses.
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

/// What kind of tensor a port is, one that may exist.
struct PortType {
    dtype: DType,
    dims: Vec<i64>,
    shape: Vec<usize>,
}

/// An artifact that can be run.
pub struct Ready {
    loaded: Loaded,
    pub description: Description,
    results: Vec<PortType>,
}

/// A result, and how it came about.
pub struct Ran {
    pub outputs: Named,
    pub isa: Isa,
    pub threads: usize,
}

impl Ready {
    /// Runs it once; `isa` is the instruction set that is asked for. Errors: E0602 where no code of it runs here, E0803 where
    /// there is no memory, E0805 when the time is over, and what operators trap with.
    pub fn run(&self, args: &[Bound], threads: usize, isa: Option<Isa>, limits: &Limits) -> Result<Ran, Diagnostic> {
        let allowed = compile::isas().unwrap_or_default();
        let mut session = self.loaded.session(threads, isa, &allowed).map_err(|error| match error {
            NoInstance::Machine => self.no_machine(isa, &allowed),
            NoInstance::Memory => Diagnostic::new(codes::E0803, "the tensors of the program are too large for this machine"),
        })?;
        for (at, tensor) in leaves(args).into_iter().enumerate() {
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
        Ok(Ran { outputs, isa: session.isa(), threads: session.n_threads() })
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

/// A text of a file in one line, where nothing moves the cursor or turns what stands beside it around.
fn plain(text: &str) -> String {
    escape_control(text).replace('\n', "\\u{a}").replace('\t', "\\u{9}")
}

fn failed(failure: &Failure) -> Diagnostic {
    Diagnostic::new(Code::find(&failure.code).unwrap_or(codes::E0506), failure.message.clone())
}
