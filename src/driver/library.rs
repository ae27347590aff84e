//! The public face of the library: read and check a program, compile it once, run it many times.
//!
//! A [`Network`] is a checked program, an [`Executable`] its machine code and packed weights, a [`Session`] the memory and the
//! threads of runs. Executables are shared, sessions are independent: any number of them may run at one time. After the first
//! run a session allocates nothing. Deliberately not here: everything the command line has beside this; see [`crate::driver`].

use super::bind::leaves;
use super::compile::{self, Compiled, Machine, Policy, Refused, Settings};
use super::run::{self, Limits};
use super::{How, Program, Until, check_file, check_text_as, optimise, outputs};
use crate::base::Sources;
use crate::diag::render::{self, Format};
use crate::diag::{Diagnostic, codes};
use crate::jit::program as jit;
pub use crate::sys::{Number, bytes_of, bytes_of_mut};
use crate::types::DType;
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

    /// Makes the tensors of a weight file (.params, .npz) constants of an entry, by the names of its parameters.
    pub fn bind_weights(&mut self, entry: &str, file: impl Into<PathBuf>) -> Result<(), Error> {
        let bound = optimise::bind_weights(&mut self.program, entry, &[file.into()]);
        bound.map_err(|diagnostics| Error::new(diagnostics, &self.program.sources))
    }

    /// Compiles an entry. What cannot be compiled as a whole (a branch, an open dimension) is E0601, in words.
    pub fn compile(&self, options: &Options) -> Result<Executable, Error> {
        let wrong = |diagnostic| Error::new(vec![diagnostic], &self.program.sources);
        let settings = Settings::of(options.machine, options.level.min(optimise::MAX_LEVEL), options.threads.max(1));
        let settings = settings.map_err(|words| wrong(Diagnostic::new(codes::E0602, words)))?;
        let refused =
            |reason: &str| wrong(Diagnostic::new(codes::E0601, format!("`@{}` is not compiled: {reason}", options.entry)));
        let settings = settings.ok_or_else(|| refused(compile::NO_MACHINE))?;
        let settings = Settings { accuracy: options.accuracy, ..settings };
        settings.runs_here().map_err(wrong)?;
        let entry = run::entry(&self.program.module, &options.entry).map_err(wrong)?;
        let types = &self.program.module.types;
        let names = entry.slots.iter().map(|slot| leaves::leaves(&slot.name, slot.ty, types).unwrap_or_default());
        let inputs: Vec<String> = names.flatten().map(|leaf| leaf.name).collect();
        let outputs = outputs::result_names(entry.ret, types);
        // Tensors are shared, and the weights that are packed go with the network.
        let mut module = self.program.module.clone();
        match compile::compile_taking(&mut module, &options.entry, &settings, Limits::default()) {
            Ok(compiled) => Ok(Executable { inner: Arc::new(Inner::new(compiled, inputs, outputs)) }),
            Err(Refused::Wrong(diagnostic)) => Err(wrong(*diagnostic)),
            Err(Refused::Not(reason)) => Err(refused(reason.words())),
        }
    }
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
    compiled: Compiled,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

impl Inner {
    fn new(compiled: Compiled, inputs: Vec<String>, outputs: Vec<String>) -> Inner {
        let plan = &compiled.program.plan;
        let port = |(name, &id): (String, &_)| {
            let buffer = &plan.buffers[id];
            Port { name, dtype: buffer.dtype, shape: buffer.shape.clone(), bytes: buffer.bytes() as usize }
        };
        let inputs = inputs.into_iter().zip(&plan.inputs).map(port).collect();
        let outputs = outputs.into_iter().zip(&plan.outputs).map(port).collect();
        Inner { compiled, inputs, outputs }
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

    /// The operators that have no kernel, and run by their evaluation.
    pub fn fallbacks(&self) -> Vec<&'static str> {
        self.inner.compiled.program.fallbacks()
    }

    /// Memory and threads for runs. E0803 where the system has not that much memory.
    pub fn session(&self) -> Result<Session, Error> {
        let session = self.inner.compiled.session().map_err(|error| Error::said(*error))?;
        Ok(Session { inner: self.inner.clone(), session })
    }
}

/// One run after the other, on the caller's buffers.
pub struct Session {
    inner: Arc<Inner>,
    session: jit::Session,
}

impl Session {
    /// Runs once: reads the inputs, writes the outputs, each as many bytes as its [`Port`] says and aligned as its dtype.
    /// [`bytes_of`] and [`bytes_of_mut`] make such of numbers. E0705 for buffers that are not so; whatever an operator
    /// without kernel traps with.
    pub fn run(&mut self, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), Error> {
        let Inner { compiled, inputs: takes, outputs: gives, .. } = &*self.inner;
        fits(takes, inputs.iter().map(|bytes| &**bytes))?;
        fits(gives, outputs.iter().map(|bytes| &**bytes))?;
        self.session.run(inputs, outputs, &compiled.fallback()).map_err(|error| Error::said(*error))
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
