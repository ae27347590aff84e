//! The public face of the library: read and check a program, compile it once, run it many times.
//!
//! A [`Network`] is a checked program, an [`Executable`] its machine code and packed weights, a [`Session`] the memory and the
//! threads of runs. Executables are shared, sessions are independent: any number of them may run at one time. After the first
//! run a session allocates nothing, if the program is compiled as a whole; if not, its regions are, and what is between them is
//! interpreted ([`super::parts`]). A run has no time limit: one that the command line ends in the middle of an operator ends the process,
//! which is not a library's to do. Deliberately not here: everything the command line has beside this; see [`crate::driver`].

use super::bind::Bound;
use super::bind::leaves::{self, Leaf};
use super::compile::{self, Compiled, Machine, Policy, Refused, Settings};
use super::parts::{Parts, When};
use super::run::{self, Entry, Limits};
use super::{How, Program, Until, check_file, check_text_as, optimise, outputs};
use crate::base::Sources;
use crate::diag::render::{self, Format};
use crate::diag::{Diagnostic, codes};
use crate::jit::program as jit;
pub use crate::sys::{Number, bytes_of, bytes_of_mut};
use crate::tensor::Tensor;
use crate::types::{DType, Ty, Types};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is wrong, with its codes; shown as `relayc` shows it on a pipe.
#[derive(Clone)]
pub struct Error {
    /// Errors, and warnings said with them, in text order.
    pub diagnostics: Vec<Diagnostic>,
    text: String,
}

impl Error {
    fn new(diagnostics: Vec<Diagnostic>, sources: &Sources) -> Error {
        let text = render::render(&diagnostics, sources, Format::Plain, false);
        Error { diagnostics, text }
    }

    fn said(diagnostic: Diagnostic) -> Error {
        Error::new(vec![diagnostic], &Sources::new())
    }

    /// The code of the first error, such as `E0301`.
    pub fn code(&self) -> &'static str {
        self.diagnostics.iter().find(|d| d.is_error()).map_or("", |d| d.code.id())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.text.trim_end())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

/// How a network is compiled.
#[derive(Clone, Debug)]
pub struct Options {
    /// The function that is run, without `@`.
    pub entry: String,
    /// How much is optimised, from 0 to 3.
    pub level: u8,
    /// Threads of each session; the result does not depend on it.
    pub threads: usize,
    /// How near sums stay to how they are written.
    pub accuracy: Policy,
    /// The machine that is compiled for, which must be able to run it.
    pub machine: Machine,
}

impl Default for Options {
    /// `@main`, all optimisations, one thread, for this machine.
    fn default() -> Options {
        Options { entry: "main".into(), level: optimise::MAX_LEVEL, threads: 1, accuracy: Policy::Fast, machine: Machine::Native }
    }
}

/// A program that was read and checked, with the weights that were bound to it.
pub struct Network {
    program: Program,
}

impl Network {
    /// Reads and checks a text; `name` is what messages call it.
    ///
    /// ```
    /// let wrong = relayc::Network::parse("net.relay", "def @main(%x: Tensor[(2), float32]) { nn.rulu(%x) }");
    /// assert_eq!(wrong.err().map(|error| error.code()), Some("E0204"));
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Network, Error> {
        Network::checked(check_text_as(name, text, Until::Main, &How::of(super::Dialect::Today)))
    }

    /// Reads and checks a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Network, Error> {
        Network::read_with(path, "main", &[])
    }

    /// As [`Network::read`], with numbers for open dimensions of the parameters of an entry: `data.0=8` (parameter, axis).
    pub fn read_with(path: impl AsRef<Path>, entry: &str, set: &[String]) -> Result<Network, Error> {
        let how = How { set: set.to_vec(), entry: entry.to_owned(), ..How::of(super::Dialect::Today) };
        Network::checked(check_file(path.as_ref(), Until::Main, &how))
    }

    fn checked(program: Program) -> Result<Network, Error> {
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

    /// Compiles an entry. A program that branches or has open dimensions inside is compiled region by region while it runs, as
    /// soon as that pays ([`Executable::is_whole`]). E0601, in words, for one of which nothing is compiled, and one that takes
    /// or gives what has no size before it runs: `?` dimensions, which [`Network::read_with`] can set, and what is no tensor.
    pub fn compile(&self, options: &Options) -> Result<Executable, Error> {
        let wrong = |diagnostic| Error::new(vec![diagnostic], &self.program.sources);
        let settings = Settings::of(options.machine, options.level.min(optimise::MAX_LEVEL), options.threads.max(1));
        let settings = settings.map_err(|words| wrong(Diagnostic::new(codes::E0602, words)))?;
        let settings = settings.ok_or_else(|| refused(&self.program.sources, options, compile::NO_MACHINE))?;
        let settings = Settings { accuracy: options.accuracy, ..settings };
        settings.runs_here().map_err(wrong)?;
        let entry = run::entry(&self.program.module, &options.entry).map_err(wrong)?;
        // Tensors are shared, and the weights that are packed go with the network.
        let mut module = self.program.module.clone();
        match compile::compile_taking(&mut module, &options.entry, &settings, Limits::default()) {
            Ok(compiled) => {
                let types = &self.program.module.types;
                let names = entry.slots.iter().map(|slot| leaves::leaves(&slot.name, slot.ty, types).unwrap_or_default());
                let inputs: Vec<String> = names.flatten().map(|leaf| leaf.name).collect();
                let outputs = outputs::result_names(entry.ret, types);
                Ok(Executable { inner: Arc::new(Inner::whole(compiled, inputs, outputs)) })
            }
            Err(Refused::Wrong(diagnostic)) => Err(wrong(*diagnostic)),
            Err(Refused::Not(reason)) => {
                let inner = self.in_parts(&entry, options, &settings).map_err(|refused| match refused {
                    NotInParts::Nothing => self::refused(&self.program.sources, options, reason.words()),
                    NotInParts::Port(words) => self::refused(&self.program.sources, options, &words),
                    NotInParts::Wrong(diagnostic) => wrong(*diagnostic),
                })?;
                Ok(Executable { inner: Arc::new(inner) })
            }
        }
    }

    /// The entry as an executable that compiles its regions while it runs.
    fn in_parts(&self, entry: &Entry, options: &Options, settings: &Settings) -> Result<Inner, NotInParts> {
        let module = &self.program.module;
        let inputs = entry.slots.iter().map(|slot| ports(&slot.name, slot.ty, &module.types)).collect::<Result<Vec<_>, _>>()?;
        let outputs = ports("out", entry.ret, &module.types)?;
        let parts = Parts::new(module.clone(), &options.entry, settings, Limits::default(), When::ItPays);
        let parts = parts.map_err(|refused| match refused {
            Refused::Wrong(diagnostic) => NotInParts::Wrong(diagnostic),
            Refused::Not(_) => NotInParts::Nothing,
        })?;
        if parts.is_empty() {
            return Err(NotInParts::Nothing);
        }
        let slots = entry.slots.iter().map(|slot| slot.ty).collect();
        let code = Code::Parts { parts: Box::new(parts), slots, types: module.types.clone() };
        Ok(Inner { code, inputs: inputs.concat(), outputs })
    }
}

/// Why an entry is not run in parts.
enum NotInParts {
    /// Nothing of it is compiled.
    Nothing,
    /// What it takes or gives has no size; in words.
    Port(String),
    Wrong(Box<Diagnostic>),
}

fn refused(sources: &Sources, options: &Options, reason: &str) -> Error {
    let message = format!("`@{}` is not compiled: {reason}", options.entry);
    Error::new(vec![Diagnostic::new(codes::E0601, message)], sources)
}

/// The tensors of a type, whose dimensions have to be known.
fn ports(name: &str, ty: Ty, types: &Types) -> Result<Vec<Port>, NotInParts> {
    let no_tensors = |_| NotInParts::Port(format!("`{name}` is neither a tensor nor a tuple of tensors"));
    let port = |leaf: Leaf| {
        let dims = leaf.dims.iter().map(|dim| dim.value().and_then(|dim| u64::try_from(dim).ok()));
        let Some(shape) = dims.collect::<Option<Vec<u64>>>() else {
            return Err(NotInParts::Port(format!("a dimension of `{}`, {}, is not known", leaf.name, leaf.type_text())));
        };
        let elements = shape.iter().try_fold(1u64, |n, &dim| n.checked_mul(dim));
        let bytes = elements.and_then(|n| n.checked_mul(leaf.dtype.bytes())).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| NotInParts::Port(format!("`{}` has more bytes than there are addresses", leaf.name)))?;
        Ok(Port { name: leaf.name, dtype: leaf.dtype, shape, bytes })
    };
    leaves::leaves(name, ty, types).map_err(no_tensors)?.into_iter().map(port).collect()
}

/// A tensor that goes into a run or comes out of it: elements in order, the last axis fastest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// A parameter without `%`, `out` for the result; the fields of tuples are `name.0`, `name.1`.
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<u64>,
    /// How many bytes its buffer has.
    pub bytes: usize,
}

/// Machine code with its packed weights. Clones share them.
#[derive(Clone)]
pub struct Executable {
    inner: Arc<Inner>,
}

struct Inner {
    code: Code,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

enum Code {
    Whole(Box<Compiled>),
    /// With the types of the parameters.
    Parts {
        parts: Box<Parts>,
        slots: Vec<Ty>,
        types: Types,
    },
}

impl Inner {
    fn whole(compiled: Compiled, inputs: Vec<String>, outputs: Vec<String>) -> Inner {
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
    /// What a run takes, in order.
    pub fn inputs(&self) -> &[Port] {
        &self.inner.inputs
    }

    /// What a run gives, in order.
    pub fn outputs(&self) -> &[Port] {
        &self.inner.outputs
    }

    /// Whether all of it is machine code by now. What is not is interpreted, and runs of it allocate.
    pub fn is_whole(&self) -> bool {
        matches!(self.inner.code, Code::Whole(_))
    }

    /// The operators that have no kernel, and run by their evaluation; of a program in parts those of what is compiled by now.
    pub fn fallbacks(&self) -> Vec<&'static str> {
        match &self.inner.code {
            Code::Whole(compiled) => compiled.program.fallbacks(),
            Code::Parts { parts, .. } => parts.fallbacks(),
        }
    }

    /// Memory and threads for runs. E0803 where the system has not that much memory.
    pub fn session(&self) -> Result<Session, Error> {
        let session = match &self.inner.code {
            Code::Whole(compiled) => Some(compiled.session().map_err(|error| Error::said(*error))?),
            Code::Parts { .. } => None,
        };
        Ok(Session { inner: self.inner.clone(), session })
    }
}

/// One run after the other, on the caller's buffers.
pub struct Session {
    inner: Arc<Inner>,
    /// Of what is compiled as a whole; parts have theirs.
    session: Option<jit::Session>,
}

impl Session {
    /// Runs once: reads the inputs, writes the outputs, each as many bytes as its [`Port`] says and aligned as its dtype.
    /// [`bytes_of`] and [`bytes_of_mut`] make such of numbers. E0705 for buffers that are not so; whatever an operator
    /// without kernel traps with.
    pub fn run(&mut self, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), Error> {
        let Inner { code, inputs: takes, outputs: gives } = &*self.inner;
        fits(takes, inputs.iter().map(|bytes| &**bytes))?;
        fits(gives, outputs.iter().map(|bytes| &**bytes))?;
        let said = |error: Box<Diagnostic>| Error::said(*error);
        match (code, &mut self.session) {
            (Code::Whole(compiled), Some(session)) => session.run(inputs, outputs, &compiled.fallback()).map_err(said),
            (Code::Parts { parts, slots, types }, _) => {
                let mut tensors = takes.iter().zip(inputs).map(|(port, bytes)| {
                    let shape: Vec<usize> = port.shape.iter().map(|&dim| dim as usize).collect();
                    Tensor::from_le_bytes(port.dtype, &shape, bytes).expect("a buffer holds what its port says")
                });
                let args: Vec<Bound> = slots.iter().map(|&ty| leaves::assemble(ty, types, &mut tensors)).collect();
                let result = parts.run(&args).map_err(said)?;
                for (tensor, bytes) in compile::leaves(std::slice::from_ref(&result)).into_iter().zip(outputs) {
                    bytes.copy_from_slice(&tensor.to_le_bytes());
                }
                Ok(())
            }
            (Code::Whole(_), None) => unreachable!("a session of what is compiled as a whole has one"),
        }
    }
}

/// Whether buffers are those of the ports.
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
