//! The public library interface: read and check a program, compile it once, run it many times.
//!
//! A [`Network`] is a checked program, an [`Executable`] its machine code and packed weights, a [`Session`] the memory and
//! threads of runs. Executables are shared, and sessions are independent, so any number of them may run at one time.
//!
//! After the first run, a session of a program that is compiled as a whole allocates nothing. Otherwise that holds for its
//! compiled subgraphs, and the rest is interpreted ([`super::subgraphs`]). A run has no time limit: to end it within an operator,
//! the command line ends the process, which a library must not do. Absent: the other functions of the command line; see
//! [`crate`].

#![warn(missing_docs)]

use super::compile::{self, Compiled, Machine, Policy, Refused, Settings};
use super::subgraphs::{CompileTrigger, PartialProgram};
use relayc_base::diag::{Diagnostic, codes};
use relayc_driver::bind::Bound;
use relayc_driver::bind::leaves::{self, Leaf};
pub use relayc_driver::error::Error;
use relayc_driver::run::{self, Entry, Limits};
use relayc_driver::{Phase, Program, ReadOptions, check_file, check_text_as, optimise};
use relayc_exec::program as jit;
use relayc_ir::Module;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Ty, Types};
pub use relayc_sys::{Number, bytes_of, bytes_of_mut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a network is compiled.
///
/// ```
/// # use relayc_engine::library as relayc;
/// let network = relayc::Network::parse("net.relay", "def @twice(%x: Tensor[(2), float32]) { add(%x, %x) }")?;
/// let options = relayc::Options { entry: "twice".into(), threads: 2, ..relayc::Options::default() };
/// assert_eq!(network.compile(&options)?.outputs()[0].shape, [2]);
/// # Ok::<(), relayc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The entry function, without `@`.
    pub entry: String,
    /// Optimization level, from 0 to 3.
    pub level: u8,
    /// Threads of each session; results do not depend on it.
    pub threads: usize,
    /// Accuracy policy.
    pub accuracy: Policy,
    /// The target machine; this machine must be able to run its code.
    pub machine: Machine,
    /// For how many sizes of its inputs an [`OpenExecutable`](super::open::OpenExecutable) keeps its code, at least one. An encoder of twelve layers takes about
    /// 1.5 MB for each, besides its weights.
    pub sizes: usize,
    /// Whether a run is to end, asked between its operators.
    pub interrupted: Option<fn() -> bool>,
}

impl Default for Options {
    /// `@main`, full optimization, one thread, this machine, 128 sizes, and nothing that ends a run.
    fn default() -> Options {
        let (level, accuracy, machine) = (optimise::MAX_LEVEL, Policy::Fast, Machine::Native);
        Options { entry: "main".into(), level, threads: 1, accuracy, machine, sizes: 128, interrupted: None }
    }
}

impl Options {
    /// The limits of runs.
    pub(super) fn limits(&self) -> Limits {
        Limits { interrupted: self.interrupted, ..run::limits(None) }
    }

    /// The settings of compilation for this machine. Errors: E0601 and E0602.
    pub fn settings(&self) -> Result<Settings, Error> {
        let settings = Settings::of(self.machine, self.level.min(optimise::MAX_LEVEL), self.threads.max(1));
        let settings = settings.map_err(|words| Error::said(Diagnostic::new(codes::E0602, words)))?;
        let settings = settings.ok_or_else(|| Error::said(run::not_compiled(&self.entry, compile::no_machine())))?;
        settings.runs_here().map_err(Error::said)?;
        Ok(Settings { accuracy: self.accuracy, ..settings })
    }
}

/// A read and checked program with its bound weights.
pub struct Network {
    pub(super) program: Program,
}

impl Network {
    /// Reads and checks a text; `name` is its name in messages.
    ///
    /// ```
    /// # use relayc_engine::library as relayc;
    /// let wrong = relayc::Network::parse("net.relay", "def @main(%x: Tensor[(2), float32]) { nn.rulu(%x) }");
    /// assert_eq!(wrong.err().map(|error| error.code()), Some("E0204"));
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Network, Error> {
        Network::checked(check_text_as(name, text, Phase::Main, &ReadOptions::of(relayc_driver::Dialect::Today)))
    }

    /// Reads and checks a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Network, Error> {
        Network::read_with(path, "main", &[])
    }

    /// Like [`Network::read`], with numbers for dynamic dimensions of an entry's parameters: `data.0=8` (parameter, axis).
    pub fn read_with(path: impl AsRef<Path>, entry: &str, set: &[String]) -> Result<Network, Error> {
        let how = ReadOptions { set: set.to_vec(), entry: entry.to_owned(), ..ReadOptions::of(relayc_driver::Dialect::Today) };
        Network::checked(check_file(path.as_ref(), Phase::Main, &how))
    }

    /// Takes a program that was checked before. Errors: its own, if it has some.
    pub fn checked(program: Program) -> Result<Network, Error> {
        match program.has_errors() {
            true => Err(Error::new(program.diagnostics, &program.sources)),
            false => Ok(Network { program }),
        }
    }

    /// Makes the tensors of a weight file (.params, .npz, .safetensors) constants of an entry, by the names of its parameters.
    pub fn bind_weights(&mut self, entry: &str, file: impl Into<PathBuf>) -> Result<(), Error> {
        let bound = optimise::bind_weights(&mut self.program, entry, &[file.into()]);
        bound.map_err(|diagnostics| Error::new(diagnostics, &self.program.sources))
    }

    /// Compiles an entry.
    ///
    /// A program that branches or has dynamic dimensions inside is compiled by subgraphs while it runs, as soon as that pays
    /// ([`Executable::is_whole`]). Errors: E0601, in words, if nothing can be compiled, or if an input or output is not a
    /// tensor or has dimensions without a number. [`Network::read_with`] can set these, and `Network::compile_open` leaves them
    /// to each call.
    pub fn compile(&self, options: &Options) -> Result<Executable, Error> {
        let sources = &self.program.sources;
        let settings = options.settings()?;
        // Tensors are shared, and the weights that are packed go with the network.
        let mut module = self.program.module.clone();
        let limits = options.limits();
        let inner = Inner::compiled(&self.program.module, &options.entry, (&settings, &limits), || {
            compile::compile_taking(&mut module, &options.entry, &settings, limits.clone())
        });
        Ok(Executable { inner: Arc::new(inner.map_err(|diagnostic| Error::new(vec![*diagnostic], sources))?) })
    }
}

/// Why an entry cannot run by subgraphs.
enum NotPartially {
    /// Nothing of it is compiled.
    Nothing,
    /// An input or output has no known size; in words.
    Port(String),
    Wrong(Box<Diagnostic>),
}

/// The tensors of a type, whose dimensions must be known.
fn ports(name: &str, ty: Ty, types: &Types) -> Result<Vec<Port>, NotPartially> {
    let no_tensors = |_| NotPartially::Port(format!("`{name}` is neither a tensor nor a tuple of tensors"));
    let port = |leaf: Leaf| {
        let dims = leaf.dims.iter().map(|dim| dim.value().and_then(|dim| u64::try_from(dim).ok()));
        let Some(shape) = dims.collect::<Option<Vec<u64>>>() else {
            return Err(NotPartially::Port(format!("a dimension of `{}`, {}, is not known", leaf.name, leaf.type_text())));
        };
        let elements = shape.iter().try_fold(1u64, |n, &dim| n.checked_mul(dim));
        let bytes = elements.and_then(|n| n.checked_mul(leaf.dtype.bytes())).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes =
            bytes.ok_or_else(|| NotPartially::Port(format!("`{}` has more bytes than there are addresses", leaf.name)))?;
        Ok(Port { name: leaf.name, dtype: leaf.dtype, shape, bytes })
    };
    leaves::leaves(name, ty, types).map_err(no_tensors)?.into_iter().map(port).collect()
}

/// An input or output tensor of a run: elements in order, the last axis fastest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// The parameter without `%`, `out` for the result; fields of tuples are `name.0`, `name.1`.
    pub name: String,
    /// The type of its elements.
    pub dtype: DType,
    /// The extent of each axis.
    pub shape: Vec<u64>,
    /// Number of bytes of its buffer.
    pub bytes: usize,
}

/// Machine code with its packed weights. Clones share them.
///
/// ```
/// # use relayc_engine::library as relayc;
/// let network = relayc::Network::parse("net.relay", "def @main(%x: Tensor[(2, 3), float32]) { sum(%x, axis=[1]) }")?;
/// let executable = network.compile(&relayc::Options::default())?;
/// let names = |ports: &[relayc::Port]| ports.iter().map(|port| format!("{} {:?}", port.name, port.shape)).collect::<Vec<_>>();
/// assert_eq!((names(executable.inputs()), names(executable.outputs())), (vec!["x [2, 3]".into()], vec!["out [2]".into()]));
/// # Ok::<(), relayc::Error>(())
/// ```
#[derive(Clone)]
pub struct Executable {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    code: Code,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

enum Code {
    Whole(Box<Compiled>),
    /// Compiled by subgraphs, with the types of the parameters.
    Partial {
        partial: Box<PartialProgram>,
        slots: Vec<Ty>,
        types: Box<Types>,
    },
}

impl Inner {
    /// An entry of a module, compiled as a whole by `whole`, otherwise by subgraphs while it runs.
    pub(super) fn compiled(
        module: &Module,
        name: &str,
        (settings, limits): (&Settings, &Limits),
        whole: impl FnOnce() -> Result<Compiled, Refused>,
    ) -> Result<Inner, Box<Diagnostic>> {
        let entry = run::entry(module, name)?;
        let reason = match whole() {
            Ok(compiled) => {
                let types = &module.types;
                let names = entry.slots.iter().map(|slot| leaves::leaves(&slot.name, slot.ty, types).unwrap_or_default());
                let inputs: Vec<String> = names.flatten().map(|leaf| leaf.name).collect();
                return Ok(Inner::whole(compiled, inputs, entry.results.clone()));
            }
            Err(Refused::Wrong(diagnostic)) => return Err(diagnostic),
            Err(Refused::Not(reason)) => reason,
        };
        Inner::partial(module, &entry, name, (settings, limits)).map_err(|not| match not {
            NotPartially::Nothing => Box::new(run::not_compiled(name, reason.text())),
            NotPartially::Port(words) => Box::new(run::not_compiled(name, &words)),
            NotPartially::Wrong(diagnostic) => diagnostic,
        })
    }

    /// The entry compiled by subgraphs while it runs.
    fn partial(
        module: &Module,
        entry: &Entry,
        name: &str,
        (settings, limits): (&Settings, &Limits),
    ) -> Result<Inner, NotPartially> {
        let inputs = entry.slots.iter().map(|slot| ports(&slot.name, slot.ty, &module.types)).collect::<Result<Vec<_>, _>>()?;
        let mut outputs = ports("out", entry.ret, &module.types)?;
        outputs.iter_mut().zip(&entry.results).for_each(|(port, name)| port.name.clone_from(name));
        let partial = PartialProgram::new(module.clone(), name, settings, limits.clone(), CompileTrigger::ItPays);
        let partial = partial.map_err(|refused| match refused {
            Refused::Wrong(diagnostic) => NotPartially::Wrong(diagnostic),
            Refused::Not(_) => NotPartially::Nothing,
        })?;
        if partial.is_empty() {
            return Err(NotPartially::Nothing);
        }
        let slots = entry.slots.iter().map(|slot| slot.ty).collect();
        let code = Code::Partial { partial: Box::new(partial), slots, types: Box::new(module.types.clone()) };
        Ok(Inner { code, inputs: inputs.concat(), outputs })
    }

    /// A session without memory of its own, if all of it is compiled; subgraphs have theirs.
    pub(super) fn session_without_memory(&self) -> Option<jit::PlanSession> {
        match &self.code {
            Code::Whole(compiled) => Some(compiled.session_without_memory()),
            Code::Partial { .. } => None,
        }
    }

    /// An entry that is compiled as a whole, with the names of its inputs and outputs.
    pub(super) fn whole(compiled: Compiled, inputs: Vec<String>, outputs: Vec<String>) -> Inner {
        let plan = &compiled.program.plan;
        let port = |(name, &id): (String, &_)| {
            let buffer = &plan.buffers[id];
            Port { name, dtype: buffer.dtype, shape: buffer.shape.clone(), bytes: buffer.bytes() as usize }
        };
        let inputs = inputs.into_iter().zip(&plan.inputs).map(port).collect();
        let outputs = outputs.into_iter().zip(&plan.outputs).map(port).collect();
        Inner { code: Code::Whole(Box::new(compiled)), inputs, outputs }
    }
}

impl Executable {
    /// The inputs of a run, in order.
    pub fn inputs(&self) -> &[Port] {
        &self.inner.inputs
    }

    /// The outputs of a run, in order.
    pub fn outputs(&self) -> &[Port] {
        &self.inner.outputs
    }

    /// Whether all of it is machine code by now. The rest is interpreted, and its runs allocate.
    pub fn is_whole(&self) -> bool {
        matches!(self.inner.code, Code::Whole(_))
    }

    /// The operators without a kernel, which run by their evaluation; for subgraphs, those compiled by now.
    pub fn fallbacks(&self) -> Vec<&'static str> {
        match &self.inner.code {
            Code::Whole(compiled) => compiled.program.fallbacks(),
            Code::Partial { partial, .. } => partial.fallbacks(),
        }
    }

    /// Allocates memory and threads for runs. Errors: E0803 if the system lacks memory.
    pub fn session(&self) -> Result<Session, Error> {
        let session = match &self.inner.code {
            Code::Whole(compiled) => Some(compiled.session().map_err(|error| Error::said(*error))?),
            Code::Partial { .. } => None,
        };
        Ok(Session { inner: self.inner.clone(), session })
    }
}

/// Runs one after the other, on the caller's buffers.
///
/// ```
/// # use relayc_engine::library as relayc;
/// use relayc::{bytes_of, bytes_of_mut};
///
/// let network = relayc::Network::parse("net.relay", "def @main(%x: Tensor[(3), float32]) { nn.relu(%x) }")?;
/// let mut session = network.compile(&relayc::Options::default())?.session()?;
/// let mut out = [0f32; 3];
/// for x in [[-1f32, 2., 3.], [4., -5., 6.]] {
///     session.run(&[bytes_of(&x)], &mut [bytes_of_mut(&mut out)])?;
/// }
/// assert_eq!(out, [4.0, 0.0, 6.0]);
/// # Ok::<(), relayc::Error>(())
/// ```
pub struct Session {
    pub(super) inner: Arc<Inner>,
    /// The session of a program compiled as a whole; subgraphs have their own.
    pub(super) session: Option<jit::PlanSession>,
}

impl Session {
    /// The inputs of a run, in order.
    pub fn inputs(&self) -> &[Port] {
        &self.inner.inputs
    }

    /// The outputs of a run, in order.
    pub fn outputs(&self) -> &[Port] {
        &self.inner.outputs
    }

    /// Runs once: reads the inputs, writes the outputs.
    ///
    /// Each buffer has the number of bytes of its [`Port`] and the alignment of its dtype; [`bytes_of`] and [`bytes_of_mut`]
    /// convert numbers. Errors: E0705 for other buffers; E0805 for an interrupted run; the trap of an operator without a kernel.
    pub fn run(&mut self, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), Error> {
        let Inner { code, inputs: takes, outputs: gives } = &*self.inner;
        fits(takes, inputs.iter().map(|bytes| &**bytes))?;
        fits(gives, outputs.iter().map(|bytes| &**bytes))?;
        let said = |error: Box<Diagnostic>| Error::said(*error);
        match (code, &mut self.session) {
            (Code::Whole(compiled), Some(session)) => {
                session.run(inputs, outputs, &compiled.fallback(), |step| compiled.in_time(step)).map_err(said)
            }
            (Code::Partial { partial, slots, types }, _) => {
                let mut tensors = takes.iter().zip(inputs).map(|(port, bytes)| {
                    let shape: Vec<usize> = port.shape.iter().map(|&dim| dim as usize).collect();
                    Tensor::from_le_bytes(port.dtype, &shape, bytes).expect("a buffer holds what its port says")
                });
                let args: Vec<Bound> = slots.iter().map(|&ty| leaves::assemble(ty, types, &mut tensors)).collect();
                let result = partial.run(&args).map_err(said)?;
                for (tensor, bytes) in relayc_driver::bind::tensors_in(std::slice::from_ref(&result)).into_iter().zip(outputs) {
                    bytes.copy_from_slice(&tensor.to_le_bytes());
                }
                Ok(())
            }
            (Code::Whole(_), None) => unreachable!("a session of what is compiled as a whole has one"),
        }
    }
}

/// Whether buffers match the ports.
fn fits<'a>(ports: &[Port], buffers: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<(), Error> {
    let wrong = |words: String| Err(Error::said(Diagnostic::new(codes::E0705, words)));
    if ports.len() != buffers.len() {
        return wrong(format!("expected {} buffers, found {}", ports.len(), buffers.len()));
    }
    for (port, bytes) in ports.iter().zip(buffers) {
        if bytes.len() != port.bytes {
            return wrong(format!("`{}`: expected {} bytes, found {}", port.name, port.bytes, bytes.len()));
        }
        let align = usize::from(port.dtype.bits.div_ceil(8)).next_power_of_two();
        if !(bytes.as_ptr() as usize).is_multiple_of(align) {
            return wrong(format!("`{}`: the buffer is not aligned to {align} bytes", port.name));
        }
    }
    Ok(())
}
