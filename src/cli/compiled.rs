//! What commands that compile a program have in common: the program, its weights and inputs, the machine.

use super::{Console, Reading, exit};
use crate::base::Sources;
use crate::diag::{Diagnostic, codes};
use crate::driver::bind::{Bound, Requests};
use crate::driver::compile::{self, Assembled, Isa, MAX_THREADS, Machine, Policy, Refused, Settings};
use crate::driver::emit;
use crate::driver::fault::Fault;
use crate::driver::optimise::{self, MAX_LEVEL};
use crate::driver::parts::{self, Prepared, When};
use crate::driver::run::Limits;
use crate::driver::specialise;
use crate::driver::timings::Timings;
use crate::driver::{self, How, Program, Until, show};
use crate::sys;
use std::path::PathBuf;

/// A program and what goes into it.
#[derive(clap::Args)]
pub struct Given {
    #[command(flatten)]
    pub reading: Reading,
    /// The program; `-` is standard input.
    pub file: PathBuf,
    /// The function to run.
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub entry: String,
    /// Weights: .params, .npz or .safetensors; may be repeated, the last file that has a name wins.
    #[arg(long, value_name = "FILE")]
    pub params: Vec<PathBuf>,
    /// One input: `@x.npy`, `@b.npz:key`, `@pic.png:imagenet`, `1x3xf32=[1,2,3]`, `1x3xf32=0.5`, `zeros`, `ones`, `rand:seed=7`.
    #[arg(short = 'i', long = "input", value_name = "NAME=SPEC")]
    pub input: Vec<String>,
    /// Inputs by parameter name: .npz, .params or .safetensors.
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// What fills the parameters that nothing else binds: `zeros`, `ones`, `rand[:seed=N]`.
    #[arg(long, value_name = "FILLING")]
    pub fill: Option<String>,
    /// The number of a `?` dimension: parameter, axis, number.
    #[arg(long, value_name = "NAME.AXIS=N")]
    pub set: Vec<String>,
    /// How much the program is optimised before it is compiled, from 0 to 3.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = MAX_LEVEL, value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_LEVEL)))]
    pub level: u8,
    /// How near sums stay to how they are written.
    #[arg(long, value_enum, default_value_t = AccuracyName::Fast)]
    pub accuracy: AccuracyName,
    /// The machine that is compiled for.
    #[arg(long, value_enum, default_value_t = TargetName::Native)]
    pub target: TargetName,
    /// How many threads to use; the result does not depend on it. Without it RELAYC_NUM_THREADS says, else OMP_NUM_THREADS, else
    /// there is one for each processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS as i64))]
    pub threads: Option<u16>,
    /// The most bytes a tensor, and all inputs together, may have; `K`, `M` and `G` multiply by 1,024.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub max_memory: Option<u64>,
    /// Say what each step of the way took: reading, inference, every pass, planning, code, packing of weights.
    #[arg(long)]
    pub time_passes: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum AccuracyName {
    /// Within 1e-4 of an output's largest magnitude on a whole network.
    Fast,
    /// Sums as they are written.
    Strict,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum TargetName {
    /// This machine.
    Native,
    /// AVX2 and FMA.
    #[value(name = "x86-64-v3")]
    V3,
    /// AVX-512.
    #[value(name = "x86-64-v4")]
    V4,
}

impl TargetName {
    pub fn machine(self) -> Machine {
        match self {
            TargetName::Native => Machine::Native,
            TargetName::V3 => Machine::Common(Isa::Avx2),
            TargetName::V4 => Machine::Common(Isa::Avx512),
        }
    }
}

impl Given {
    pub fn requests(&self) -> Requests {
        Requests {
            params: self.params.clone(),
            inputs: self.input.clone(),
            inputs_file: self.inputs.clone(),
            fill: self.fill.clone(),
            set: self.set.clone(),
            max_memory: self.max_memory,
            packed: Default::default(),
        }
    }

    /// Says what the way to a compiled program took, if that is wanted.
    pub fn say_times(&self, console: &Console, timings: &Timings) {
        if self.time_passes {
            console.words(&timings.table());
        }
    }

    pub fn limits(&self) -> Limits {
        let max_tensor_bytes = self.max_memory.unwrap_or_else(sys::default_memory_limit).min(Limits::default().max_tensor_bytes);
        Limits { max_tensor_bytes, ..Limits::default() }
    }

    /// How to compile for this machine to run it; `None` where nothing can be. The exit code for a target that it is not, and for an
    /// environment that asks for no machine there is, which has been said.
    pub fn settings(&self, console: &Console) -> Result<Option<Settings>, u8> {
        let settings = self.settings_to_show(console)?;
        settings.as_ref().map_or(Ok(()), Settings::runs_here).map_err(|diagnostic| {
            console.diagnostics(std::slice::from_ref(&diagnostic), &Sources::default());
            exit::of_run(&[diagnostic])
        })?;
        Ok(settings)
    }

    /// How many threads are asked for: by the flag, else by the environment. The exit code for a variable of relayc's that is no
    /// number of threads, which has been said.
    pub fn threads_wanted(&self, console: &Console) -> Result<Option<usize>, u8> {
        if let Some(threads) = self.threads {
            return Ok(Some(usize::from(threads)));
        }
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&n| n > 0);
        if let Some(own) = std::env::var_os("RELAYC_NUM_THREADS") {
            let own = own.to_string_lossy();
            let threads = number(&own).filter(|&n| n <= MAX_THREADS).map(Some);
            return threads.ok_or_else(|| {
                console.words(&format!("error: RELAYC_NUM_THREADS is `{own}`: expected a number from 1 to {MAX_THREADS}\n"));
                exit::USAGE
            });
        }
        // Others' variable: a number for each level of nesting, of which the first is meant; what is no number is theirs to refuse.
        let others = std::env::var("OMP_NUM_THREADS").unwrap_or_default();
        Ok(number(others.split(',').next().unwrap_or_default()).map(|n| n.min(MAX_THREADS)))
    }

    /// How to compile for any machine. Otherwise as [`Given::settings`].
    pub fn settings_to_show(&self, console: &Console) -> Result<Option<Settings>, u8> {
        let threads = self.threads_wanted(console)?;
        let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
        let accuracy = match self.accuracy {
            AccuracyName::Fast => Policy::Fast,
            AccuracyName::Strict => Policy::Strict,
        };
        let fault = Fault::wanted();
        if let Some(fault) = fault.as_ref().ok().copied().flatten().filter(|_| !console.quiet) {
            console.words(&format!("warning: {}\n", fault.words()));
        }
        let settings = fault.and_then(|fault| {
            let settings = Settings::of(self.target.machine(), self.level, threads)?;
            Ok(settings.map(|settings| Settings { accuracy, fault, ..settings }))
        });
        settings.map_err(|words: String| {
            console.words(&format!("error: {words}\n"));
            exit::USAGE
        })
    }

    /// The program at a stage of its way to code, as text. The exit code where there is none, which has been said.
    pub fn emit(&self, console: &Console, stage: Stage) -> Result<String, u8> {
        let stage = match stage {
            Stage::Tokens => return self.emit_reading(console, emit::Reading::Tokens),
            Stage::Ast => return self.emit_reading(console, emit::Reading::Ast),
            Stage::Ir => return self.emit_ir(console, Until::Resolve),
            Stage::Types => return self.emit_ir(console, Until::Main),
            Stage::Groups => emit::Compiling::Groups,
            Stage::Plan => emit::Compiling::Plan,
            Stage::Kernels => emit::Compiling::Kernels,
            Stage::Asm => emit::Compiling::Asm,
        };
        let settings = self.settings_to_show(console)?.ok_or_else(|| self.not_compiled(console, compile::NO_MACHINE))?;
        let mut program = self.checked(console)?;
        let sources = program.sources.clone();
        optimise::bind_weights(&mut program, &self.entry, &self.params).map_err(|wrong| console.files(&wrong, &sources))?;
        // What is set is in the types by now.
        let requests = Requests { set: vec![], ..self.requests() };
        let sized = match stage {
            emit::Compiling::Groups => Ok(()),
            _ => specialise::to_inputs(&mut program, &self.entry, &requests),
        };
        // Sizes that nothing gives are missed only where nothing is compiled without them.
        let missing = match sized {
            Err(wrong) if wrong.iter().any(|wrong| wrong.code != codes::E0704) => return Err(console.files(&wrong, &sources)),
            Err(missing) => missing,
            Ok(()) => vec![],
        };
        match emit::compiling(&mut program, &self.entry, &settings, &self.limits(), stage) {
            Ok(text) => {
                self.say_times(console, &program.timings);
                Ok(text)
            }
            Err(Refused::Not(_)) if !missing.is_empty() => Err(console.files(&missing, &sources)),
            Err(refused) => Err(self.refused(console, refused, &sources)),
        }
    }

    /// Plans a checked program, weights as constants, and emits its code. The exit code where that fails, which has been said.
    pub fn assembled(&self, console: &Console, mut program: Program) -> Result<Planned, u8> {
        let settings = self.settings_to_show(console)?.ok_or_else(|| self.not_compiled(console, compile::NO_MACHINE))?;
        let bound = optimise::bind_weights(&mut program, &self.entry, &self.params);
        bound.map_err(|wrong| console.files(&wrong, &program.sources))?;
        let Program { module, timings, .. } = &mut program;
        match compile::assembled(module, &self.entry, &settings, &self.limits(), timings) {
            Ok(all) => Ok(Planned { program, all }),
            Err(refused) => Err(self.refused(console, refused, &program.sources)),
        }
    }

    fn emit_reading(&self, console: &Console, stage: emit::Reading) -> Result<String, u8> {
        let (text, diagnostics, sources) = emit::reading(&self.file, self.reading.dialect(), stage);
        console.diagnostics(&diagnostics, &sources);
        if crate::diag::has_errors(&diagnostics) { Err(exit::of(&diagnostics)) } else { Ok(text) }
    }

    fn emit_ir(&self, console: &Console, until: Until) -> Result<String, u8> {
        let program = driver::check_file(&self.file, until, &self.how());
        console.diagnostics(&program.diagnostics, &program.sources);
        let options = show::Options { types: until > Until::Resolve, meta: false, exact: false };
        if program.has_errors() { Err(exit::of(&program.diagnostics)) } else { Ok(show::print(&program, options)) }
    }

    /// How the program is read.
    pub fn how(&self) -> How {
        How { set: self.set.clone(), entry: self.entry.clone(), ..How::of(self.reading.dialect()) }
    }

    /// The program with the dimensions that are set. The exit code where something is wrong with it, which has been said.
    fn checked(&self, console: &Console) -> Result<Program, u8> {
        let program = driver::check_file(&self.file, Until::Main, &self.how());
        console.diagnostics(&program.diagnostics, &program.sources);
        if program.has_errors() { Err(exit::of(&program.diagnostics)) } else { Ok(program) }
    }

    /// Reads, checks and binds, weights as constants, and compiles. The exit code where that fails, which has been said.
    pub fn compile(&self, console: &Console) -> Result<Ready, u8> {
        self.compile_when(console, When::ItPays)
    }

    /// As [`Given::compile`]; `when` is for the parts of a program that is not compiled as a whole.
    pub fn compile_when(&self, console: &Console, when: When) -> Result<Ready, u8> {
        let settings = self.machine(console)?;
        self.compile_checked(console, self.checked(console)?, settings, when)
    }

    /// How to compile for this machine to run it. The exit code where nothing can be, which has been said.
    pub fn machine(&self, console: &Console) -> Result<Settings, u8> {
        self.settings(console)?.ok_or_else(|| self.not_compiled(console, compile::NO_MACHINE))
    }

    /// As [`Given::compile_when`], of a program that was read and checked.
    pub fn compile_checked(&self, console: &Console, mut program: Program, settings: Settings, when: When) -> Result<Ready, u8> {
        // What is set is in the types by now.
        let requests = Requests { set: vec![], ..self.requests() };
        let bound = optimise::bind_all(&mut program, &self.entry, &requests);
        let (_, bound) = bound.map_err(|wrong| console.files(&wrong, &program.sources))?;
        match parts::prepare_taking(&mut program, &self.entry, Some(&bound), &settings, self.limits(), when) {
            Ok(prepared) => {
                let timings = prepared.timings().map_or(program.timings.clone(), |own| program.timings.then(own));
                Ok(Ready { prepared, bound, settings, sources: program.sources, timings })
            }
            Err(refused) => Err(self.refused(console, refused, &program.sources)),
        }
    }

    /// Says why there is nothing compiled; the exit code.
    fn refused(&self, console: &Console, refused: Refused, sources: &Sources) -> u8 {
        match refused {
            Refused::Not(reason) => self.not_compiled(console, reason.words()),
            Refused::Wrong(diagnostic) => {
                console.diagnostics(std::slice::from_ref(&*diagnostic), sources);
                exit::of_run(&[*diagnostic])
            }
        }
    }

    fn not_compiled(&self, console: &Console, reason: &str) -> u8 {
        let message = format!("`@{}` is not compiled: {reason}", self.entry);
        let diagnostic = Diagnostic::new(codes::E0601, message).help("`relayc run --engine interp` interprets it");
        console.diagnostics(std::slice::from_ref(&diagnostic), &Sources::default());
        exit::of_run(&[diagnostic])
    }
}

/// What `--emit` shows.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum Stage {
    /// The tokens of the text, with their places.
    Tokens,
    /// The nodes of the syntax tree.
    Ast,
    /// The program with its names resolved.
    Ir,
    /// The program with the types of its expressions.
    Types,
    /// The optimised program, its groups fused.
    Groups,
    /// For each group the strategy, why it was chosen and what else there was; then the buffers.
    Plan,
    /// What each kernel computes.
    Kernels,
    /// The machine code of each step.
    Asm,
}

/// A compiled program and its inputs.
pub struct Ready {
    pub prepared: Prepared,
    pub bound: Vec<Bound>,
    pub settings: Settings,
    pub sources: Sources,
    /// What it took from the file to here.
    pub timings: Timings,
}

/// A program that is planned, and its plan.
pub struct Planned {
    /// Optimised.
    pub program: Program,
    pub all: Assembled,
}

/// `512M`, `2G`, `1000000`.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a number, perhaps with K, M or G behind it".to_owned())?;
    number.checked_shl(shift).filter(|bytes| bytes >> shift == number).ok_or_else(|| "too many bytes".to_owned())
}
