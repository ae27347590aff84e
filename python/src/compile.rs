//! Compiles a program for calls from Python, and keeps what makes it again: in a forked process, and where it is unpickled.

use crate::arrays::Port;
use crate::engines::Engine;
use crate::error::{raised, said, wrong};
use crate::signals::{Idle, begin, ended, interrupted, with_threads};
use crate::signature::{Nest, Param, Signature};
use crate::subgraphs::BySubgraphs;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use relayc_base::diag::codes;
use relayc_base::text::join_words;
use relayc_driver::bind::{Packed, leaves};
use relayc_driver::optimise::{self, MAX_LEVEL, Target};
use relayc_driver::run::{self, Limits};
use relayc_driver::show::{self, Options as Printing};
use relayc_driver::{Phase, Program, ReadOptions, check_text_as};
use relayc_engine::compile::{Isa, MAX_THREADS, Machine, Policy, Settings};
use relayc_engine::library::{Network, Options};
use relayc_passes as passes;
use relayc_weights::{Named, params as params_file, read_tensors};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How a program is compiled.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct How {
    pub(crate) entry: String,
    pub(crate) threads: usize,
    /// The number that was asked for; otherwise each process has its own from the environment.
    pub(crate) asked: Option<usize>,
    pub(crate) accuracy: Policy,
    pub(crate) machine: Machine,
    pub(crate) level: u8,
    /// For how many sizes of open dimensions code is kept.
    pub(crate) sizes: usize,
}

/// The names of accuracies.
const ACCURACIES: [(&str, Policy); 2] = [("fast", Policy::Fast), ("strict", Policy::Strict)];

/// The names of targets.
const TARGETS: [(&str, Machine); 3] =
    [("native", Machine::Native), ("x86-64-v3", Machine::Common(Isa::Avx2)), ("x86-64-v4", Machine::Common(Isa::Avx512))];

/// The value of a name. Errors: ValueError.
fn named<T: Copy>(what: &str, name: &str, all: &[(&str, T)]) -> PyResult<T> {
    let found = all.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let meant = if what == "target" { Target::elsewhere(name) } else { None };
        let meant = meant.map_or(String::new(), |words| format!("; {}", words.replace('`', "\"")));
        PyValueError::new_err(format!("{what} is \"{name}\": expected {}{meant}", join_words(&names, "or")))
    })
}

/// The time of an option. Errors: ValueError.
pub(crate) fn duration(name: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("{name} is {seconds}: expected a number of seconds, 0 or more")))
}

/// The number of an option, of any size in Python. Errors: ValueError outside of the range, TypeError if it is no whole number.
fn number(what: &str, value: &Bound<'_, PyAny>, range: RangeInclusive<usize>) -> PyResult<usize> {
    match value.extract::<usize>() {
        Ok(found) if range.contains(&found) => Ok(found),
        Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => {
            let (least, most) = range.into_inner();
            let found = value.repr()?;
            Err(PyTypeError::new_err(format!("{what} is {found}: expected a whole number from {least} to {most}")))
        }
        _ => {
            let (least, most) = range.into_inner();
            Err(PyValueError::new_err(format!("{what} is {value}: expected a number from {least} to {most}")))
        }
    }
}

/// The option `threads`. Errors: as [`number`].
pub(crate) fn threads_of(value: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    if value.is_none() { Ok(None) } else { number("threads", value, 1..=MAX_THREADS).map(Some) }
}

/// The option `level`. Errors: as [`number`].
pub(crate) fn level_of(value: &Bound<'_, PyAny>) -> PyResult<u8> {
    number("level", value, 0..=usize::from(MAX_LEVEL)).map(|level| level as u8)
}

/// The option `sizes`. Errors: as [`number`].
pub(crate) fn sizes_of(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    number("sizes", value, 1..=u32::MAX as usize)
}

impl How {
    /// The options of Python, with numbers of [`threads_of`], [`level_of`] and [`sizes_of`]. Without a number of threads, the
    /// environment tells it as it tells the command line: RELAYC_NUM_THREADS, else OMP_NUM_THREADS, else one for each processor.
    /// Errors: ValueError.
    pub(crate) fn of(
        entry: &str,
        threads: Option<usize>,
        accuracy: &str,
        target: &str,
        level: u8,
        sizes: usize,
    ) -> PyResult<How> {
        let asked = threads;
        let of_environment = || {
            let threads = run::threads_of_environment(MAX_THREADS).map_err(PyValueError::new_err)?;
            Ok(threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS))))
        };
        let threads = asked.map_or_else(of_environment, PyResult::Ok)?;
        let (accuracy, machine) = (named("accuracy", accuracy, &ACCURACIES)?, named("target", target, &TARGETS)?);
        Ok(How { entry: entry.to_owned(), threads, asked, accuracy, machine, level, sizes })
    }

    pub(crate) fn accuracy_name(&self) -> &'static str {
        ACCURACIES.iter().find(|(_, policy)| *policy == self.accuracy).map_or("", |(name, _)| name)
    }

    pub(crate) fn target_name(&self) -> &'static str {
        TARGETS.iter().find(|(_, machine)| *machine == self.machine).map_or("", |(name, _)| name)
    }

    fn options(&self) -> Options {
        let How { entry, threads, asked: _, accuracy, machine, level, sizes } = self.clone();
        Options { entry, threads, accuracy, machine, level, sizes, interrupted: Some(interrupted) }
    }

    /// The settings for this machine. Errors: E0601 and E0602.
    pub(crate) fn settings(&self) -> PyResult<Settings> {
        self.options().settings().map_err(|error| raised(&error))
    }
}

/// The limits of runs.
pub(crate) fn limits() -> Limits {
    Limits { interrupted: Some(interrupted), ..run::limits(None) }
}

/// What an executable is made of.
pub(crate) struct Made {
    /// Its weights are constants.
    pub(crate) program: Program,
    pub(crate) how: How,
}

impl Made {
    /// A checked program with its weights bound. Errors: RelayError.
    pub(crate) fn of(mut program: Program, how: How) -> PyResult<Made> {
        if program.has_errors() {
            return Err(wrong(program.diagnostics, &program.sources));
        }
        let bound = optimise::bind_weights(&mut program, &how.entry, &[]);
        bound.map_err(|diagnostics| wrong(diagnostics, &program.sources))?;
        Ok(Made { program, how })
    }

    /// The parameters and results. Errors: E0706; E0601 if one is no tensor or tuple of tensors.
    pub(crate) fn signature(&self, py: Python<'_>) -> PyResult<Signature> {
        let module = &self.program.module;
        let of_program = |diagnostic| wrong(vec![diagnostic], &self.program.sources);
        let entry = run::entry(module, &self.how.entry).map_err(of_program)?;
        let no_data = |name: &str| {
            let reason = format!("`{name}` is neither a tensor nor a tuple of tensors");
            said(run::not_compiled(&self.how.entry, &reason).help("`Module.run` interprets programs with such values"))
        };
        let (mut params, mut inputs) = (vec![], vec![]);
        for slot in &entry.slots {
            let found = leaves::leaves(&slot.name, slot.ty, &module.types).map_err(|_| no_data(&slot.name))?;
            let nest = Nest::of(slot.ty, &module.types).ok_or_else(|| no_data(&slot.name))?;
            params.push(Param::new(py, slot.name.clone(), nest));
            for leaf in found {
                inputs.push(Port::new(py, &leaf.name, leaf.dtype, leaf.dim_texts())?);
            }
        }
        let found = leaves::leaves("out", entry.ret, &module.types).map_err(|_| no_data("the result"))?;
        let result = Nest::of(entry.ret, &module.types).ok_or_else(|| no_data("the result"))?;
        let named = found.iter().zip(&entry.results);
        let outputs = named.map(|(leaf, name)| Port::new(py, name, leaf.dtype, leaf.dim_texts())).collect::<PyResult<_>>()?;
        Ok(Signature { params, inputs, result, outputs })
    }

    /// Compiles it: as a whole, for each size of open inputs, or by subgraphs. Errors: RelayError.
    pub(crate) fn engine(self: &Arc<Made>, py: Python<'_>, signature: &Signature) -> PyResult<Engine> {
        let options = self.how.options();
        begin();
        with_threads(py, || {
            let network = Network::checked(self.program.clone()).map_err(|error| raised(&error))?;
            if signature.inputs.iter().any(Port::is_open) {
                let executable = network.compile_open(&options).map_err(|error| ended(&error))?;
                let refused = AtomicBool::new(false);
                return Ok(Engine::Open { executable, idle: Idle::default(), refused, partial: self.by_subgraphs() });
            }
            match network.compile(&options) {
                Ok(executable) => Ok(Engine::whole(executable)),
                // An output has a size that its data decide.
                Err(error) if error.code() == codes::E0601.id() => {
                    let partial = self.by_subgraphs();
                    partial.at(None).map(|_| Engine::Partial(partial))
                }
                Err(error) => Err(ended(&error)),
            }
        })
    }

    /// The program by subgraphs.
    fn by_subgraphs(&self) -> Box<BySubgraphs> {
        Box::new(BySubgraphs::new(self.program.clone(), self.how.clone()))
    }

    /// The text of the program without its large constants, and these as the bytes of a `.params` file.
    pub(crate) fn text_and_weights(&self) -> (String, Vec<u8>) {
        let mut program = self.program.clone();
        let global = program.module.find_global(&self.how.entry);
        let weights: Option<Named> = global.and_then(|global| passes::unbind_params(&mut program.module, global));
        let printing = Printing { types: true, meta: true, exact: true, dim_names: true };
        (show::print(&program, printing), params_file::write(&weights.unwrap_or_default()))
    }

    /// The opposite of [`Made::text_and_weights`]. Errors: RelayError for a text or weights that are none.
    pub(crate) fn read(name: &str, text: &str, weights: &[u8], how: How) -> PyResult<Made> {
        let mut program = check_text_as(name, text, Phase::Main, &ReadOptions::of(relayc_driver::Dialect::Today));
        if !weights.is_empty() {
            let named = read_tensors("weights", weights).map_err(said)?;
            program.packed = Packed::of("weights", named);
        }
        Made::of(program, how)
    }
}
