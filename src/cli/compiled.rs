//! Arguments and steps shared by commands that compile a program: the program, its weights and inputs, the machine.

#[cfg(feature = "jit")]
use super::cache;
use super::choices::{self, Choices};
use super::{Console, Reading, Values, exit};
#[cfg(feature = "jit")]
use crate::engine::artifact::Artifact;
#[cfg(feature = "jit")]
use crate::engine::cache::{Ports, Wanted};
use crate::engine::compile::{self, Assembled, Isa, MAX_THREADS, Machine, Policy, Refused, Settings};
use crate::engine::emit as code;
use crate::engine::external::{self, Externals};
use crate::engine::fault_injection::Fault;
use crate::engine::subgraphs::{self, CompileTrigger, Prepared};
use relayc_base::Sources;
use relayc_base::diag::{Diagnostic, codes};
use relayc_driver::bind::{Bound, Requests};
use relayc_driver::emit;
use relayc_driver::optimise::{self, MAX_LEVEL, PassPlan};
use relayc_driver::run::{self, Limits};
use relayc_driver::specialise;
use relayc_driver::timings::Timings;
use relayc_driver::{Phase, Program, ReadOptions, show};
use relayc_sys as sys;
use std::path::PathBuf;
use std::time::Duration;

/// A program and its inputs.
#[derive(clap::Args)]
pub(crate) struct Given {
    #[command(flatten)]
    pub reading: Reading,
    /// The program; `-` is standard input.
    pub file: PathBuf,
    /// The function to run.
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub entry: String,
    #[command(flatten)]
    pub values: Values,
    /// The size of a dynamic dimension: parameter, axis, number; or the name of a size and its number.
    #[arg(long, value_name = "NAME.AXIS=N|SIZE=N")]
    pub set: Vec<String>,
    /// The level of optimisation, from 0 to 3.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = MAX_LEVEL, value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_LEVEL)))]
    pub level: u8,
    /// How closely sums follow their written order.
    #[arg(long, value_enum, default_value_t = AccuracyName::Fast)]
    pub accuracy: AccuracyName,
    /// The machine to compile for.
    #[arg(long, value_enum, default_value_t = TargetName::Native)]
    pub target: TargetName,
    #[command(flatten)]
    pub choices: Choices,
    /// The number of threads; the result does not depend on it. The default is RELAYC_NUM_THREADS, else OMP_NUM_THREADS, else one
    /// for each processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS as i64))]
    pub threads: Option<u16>,
    /// The most bytes of a tensor, and of all inputs together; `K`, `M` and `G` multiply by 1,024.
    #[arg(long, value_name = "BYTES", value_parser = super::parse_bytes)]
    pub max_memory: Option<u64>,
    /// Print the time of each step: reading, inference, every pass, planning, code, packing of weights.
    #[arg(long)]
    pub time_passes: bool,
    #[cfg(feature = "jit")]
    #[command(flatten)]
    pub keeping: cache::Keeping,
    /// A compiler for the functions with `Compiler="NAME"`: a command that gets the function, its weights, and the shared object to
    /// write. May be repeated.
    #[arg(long, value_name = "NAME=CMD", value_parser = external::parse)]
    pub external: Vec<external::Compiler>,
}

/// Passes to run on a program before it is used.
#[derive(clap::Args)]
pub(crate) struct Passes {
    /// Run these passes first, in this order, as `relayc opt --passes` does.
    #[arg(long, value_name = "PASS,…")]
    passes: Option<String>,
}

impl Passes {
    pub(crate) fn are_given(&self) -> bool {
        self.passes.is_some()
    }

    /// Runs the passes on a program, after its weights became constants. The exit code on failure, after reporting it.
    pub(crate) fn run(
        &self,
        console: &Console,
        program: &mut Program,
        (entry, params): (&str, &[PathBuf]),
        target: optimise::Target,
    ) -> Result<(), u8> {
        let Some(text) = &self.passes else { return Ok(()) };
        let how = PassPlan { entry: Some(entry.to_owned()), ..PassPlan::requested(console.steps(text)?, target) };
        let done = optimise::bind_weights(program, entry, params)
            .and_then(|()| optimise::optimise(&mut program.module, &how, &mut ()).map_err(|wrong| vec![wrong]));
        done.map_err(|wrong| console.files(&wrong, &program.sources))
    }
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub(crate) enum AccuracyName {
    /// Within 1e-4 of an output's largest magnitude on a whole network.
    Fast,
    /// Within the rounding errors of the sums as written, each in a few parts.
    Strict,
}

impl AccuracyName {
    pub(crate) fn policy(self) -> Policy {
        match self {
            AccuracyName::Fast => Policy::Fast,
            AccuracyName::Strict => Policy::Strict,
        }
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum TargetName {
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
    /// The machine that passes work for. Errors: an invalid environment variable, in words.
    pub(crate) fn of_passes(self) -> Result<optimise::Target, String> {
        Ok(match self {
            TargetName::Native => compile::native_target()?,
            TargetName::V3 => optimise::Target::V3,
            TargetName::V4 => optimise::Target::V4,
        })
    }

    pub(crate) fn machine(self) -> Machine {
        match self {
            TargetName::Native => Machine::Native,
            TargetName::V3 => Machine::Common(Isa::Avx2),
            TargetName::V4 => Machine::Common(Isa::Avx512),
        }
    }
}

impl Given {
    pub(crate) fn requests(&self) -> Requests {
        Requests { set: self.set.clone(), max_memory: self.max_memory, ..self.values.requests() }
    }

    /// The requests for a program that has what is set in its types.
    pub(crate) fn requests_when_set(&self) -> Requests {
        Requests { set: vec![], ..self.requests() }
    }

    /// The compiled program in the cache, and its place there, if `--cache` is given.
    #[cfg(feature = "jit")]
    pub(crate) fn look_up(&self, console: &Console, settings: &Settings) -> (Option<Artifact>, Option<cache::Place>) {
        // A library of another compiler and the files beside a model are no part of the key.
        if !self.external.is_empty() || self.reading.external_data {
            return (None, None);
        }
        let wanted = Wanted {
            program: &self.file,
            params: &self.values.params,
            dialect: self.reading.dialect(),
            entry: &self.entry,
            set: &self.set,
            max_memory: self.max_memory,
            strategies: &self.choices.strategy,
            tuning: self.choices.tuning.as_deref(),
            settings,
        };
        self.keeping.look_up(console, &wanted)
    }

    /// The requests for the inputs of a kept program, whose weights and sizes are inside.
    #[cfg(feature = "jit")]
    pub(crate) fn requests_for_kept(&self) -> Requests {
        Requests { params: vec![], set: vec![], ..self.requests() }
    }

    /// The exit code, after reporting it, if a flag is given that does not apply to an artifact: one about a program's text or its
    /// compilation, or one of the command's own.
    #[cfg(feature = "jit")]
    pub(crate) fn refused_for_artifact(&self, console: &Console, own: &[(bool, &str)]) -> Option<u8> {
        let given = [
            (!self.values.params.is_empty(), "--params"),
            (self.reading.compat, "--compat"),
            (self.reading.external_data, "--external-data"),
            (self.entry != "main", "--entry"),
            (self.level != MAX_LEVEL, "-O"),
            (self.accuracy != AccuracyName::Fast, "--accuracy"),
            (self.time_passes, "--time-passes"),
            (self.choices.given().is_some(), self.choices.given().unwrap_or_default()),
            (!self.external.is_empty(), "--external"),
        ];
        let (_, flag) = given.iter().chain(own).find(|(given, _)| *given)?;
        Some(console.usage(format_args!("`{flag}` is for programs in text: an artifact is compiled already, its weights inside")))
    }

    /// Prints the time of each step to a compiled program, if requested.
    pub(crate) fn say_times(&self, console: &Console, timings: &Timings) {
        if self.time_passes {
            console.words(&timings.table());
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        run::limits(self.max_memory)
    }

    /// The settings to compile for this machine and run; `None` if it cannot compile. The exit code for a target other than this
    /// machine or an invalid environment variable, after reporting it.
    pub(crate) fn settings(&self, console: &Console) -> Result<Option<Settings>, u8> {
        let settings = self.settings_to_show(console)?;
        settings.as_ref().map_or(Ok(()), Settings::runs_here).map_err(|diagnostic| {
            console.diagnostics(std::slice::from_ref(&diagnostic), &Sources::default());
            exit::of_run(&[diagnostic])
        })?;
        Ok(settings)
    }

    /// The requested number of threads: from the flag, else from the environment. The exit code if relayc's variable is not a
    /// number of threads, after reporting it.
    pub(crate) fn threads_wanted(&self, console: &Console) -> Result<Option<usize>, u8> {
        if let Some(threads) = self.threads {
            return Ok(Some(usize::from(threads)));
        }
        run::threads_of_environment(MAX_THREADS).map_err(|words| console.usage(words))
    }

    /// The settings to compile for any machine. Otherwise as [`Given::settings`].
    pub(crate) fn settings_to_show(&self, console: &Console) -> Result<Option<Settings>, u8> {
        let threads = self.threads_wanted(console)?;
        let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
        let accuracy = self.accuracy.policy();
        let fault = Fault::wanted();
        if let Some(fault) = fault.as_ref().ok().copied().flatten() {
            console.changed(fault.summary());
        }
        let settings = fault.and_then(|fault| {
            let settings = Settings::of(self.target.machine(), self.level, threads)?;
            Ok(settings.map(|settings| Settings { accuracy, fault, ..settings }))
        });
        settings.map_err(|words| console.usage(words))
    }

    /// The program at a stage of compilation, as text. The exit code on failure, after reporting it.
    pub(crate) fn emit(&self, console: &Console, stage: Stage) -> Result<String, u8> {
        let stage = match stage {
            Stage::Tokens => return self.emit_reading(console, emit::Reading::Tokens),
            Stage::Ast => return self.emit_reading(console, emit::Reading::Ast),
            Stage::Ir => return self.emit_ir(console, Phase::Resolve),
            Stage::Types => return self.emit_ir(console, Phase::Main),
            Stage::Groups => code::Stage::Groups,
            Stage::Plan => code::Stage::Plan,
            Stage::Kernels => code::Stage::Kernels,
            Stage::Asm => code::Stage::Asm,
        };
        let settings = self.settings_to_show(console)?.ok_or_else(|| self.not_compiled(console, compile::no_machine()))?;
        let mut program = self.checked(console)?;
        let sources = program.sources.clone();
        let settings = self.choices.chosen(console, settings, &sources)?;
        console.lacking(&program, &self.entry, &self.values.params);
        optimise::bind_weights(&mut program, &self.entry, &self.values.params)
            .map_err(|wrong| console.files(&wrong, &sources))?;
        let sized = match stage {
            code::Stage::Groups => Ok(()),
            _ => specialise::to_inputs(&mut program, &self.entry, &self.requests_when_set()),
        };
        // Sizes that nothing gives are missed only where nothing is compiled without them.
        let missing = match sized {
            Err(wrong) if wrong.iter().any(|wrong| wrong.code != codes::E0704) => return Err(console.files(&wrong, &sources)),
            Err(missing) => missing,
            Ok(()) => vec![],
        };
        match code::stage(&mut program, &self.entry, &settings, &self.limits(), stage) {
            Ok(text) => {
                choices::say_unused(console, &settings);
                self.say_times(console, &program.timings);
                Ok(text)
            }
            Err(Refused::Not(_)) if !missing.is_empty() => Err(console.files(&missing, &sources)),
            Err(refused) => Err(self.refused(console, refused, &sources)),
        }
    }

    /// Plans a checked program with weights as constants, and emits its code. The exit code on failure, after reporting it.
    pub(crate) fn assembled(&self, console: &Console, mut program: Program) -> Result<Planned, u8> {
        let settings = self.settings_to_show(console)?.ok_or_else(|| self.not_compiled(console, compile::no_machine()))?;
        let settings = self.choices.chosen(console, settings, &program.sources)?;
        console.lacking(&program, &self.entry, &self.values.params);
        let bound = optimise::bind_weights(&mut program, &self.entry, &self.values.params);
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
        if relayc_base::diag::has_errors(&diagnostics) { Err(exit::of(&diagnostics)) } else { Ok(text) }
    }

    fn emit_ir(&self, console: &Console, until: Phase) -> Result<String, u8> {
        let program = console.checked(&self.file, until, &self.how())?;
        let dim_names = show::names_sizes(&program.module);
        Ok(show::print(&program, show::Options { types: until > Phase::Resolve, meta: false, exact: false, dim_names }))
    }

    /// The options for reading the program.
    pub(crate) fn how(&self) -> ReadOptions {
        self.reading.how(&self.entry, &self.set)
    }

    /// Reads and checks the program, with dimensions set. The exit code on errors, after reporting them.
    pub(crate) fn checked(&self, console: &Console) -> Result<Program, u8> {
        console.checked(&self.file, Phase::Main, &self.how())
    }

    /// As [`Given::checked`], with these passes run on the program.
    #[cfg(feature = "jit")]
    pub(crate) fn changed(&self, console: &Console, passes: &Passes) -> Result<Program, u8> {
        let mut program = self.checked(console)?;
        self.change(console, passes, &mut program)?;
        Ok(program)
    }

    /// Runs these passes on the program, if there are any. The exit code on failure, after reporting it.
    pub(crate) fn change(&self, console: &Console, passes: &Passes, program: &mut Program) -> Result<(), u8> {
        if !passes.are_given() {
            return Ok(());
        }
        let target = self.target.of_passes().map_err(|words| console.usage(words))?;
        passes.run(console, program, (&self.entry, &self.values.params), target)
    }

    /// Reads, checks, binds weights as constants, and compiles; `when` applies to the subgraphs of a program that is not compiled
    /// as a whole. The exit code on failure, after reporting it.
    #[cfg(feature = "jit")]
    pub(crate) fn compile(&self, console: &Console, settings: Settings, when: CompileTrigger) -> Result<Ready, u8> {
        self.compile_checked(console, self.checked(console)?, settings, when)
    }

    /// The settings to compile for this machine and run. The exit code if it cannot compile, after reporting it.
    pub(crate) fn machine(&self, console: &Console) -> Result<Settings, u8> {
        self.settings(console)?.ok_or_else(|| self.not_compiled(console, compile::no_machine()))
    }

    /// As [`Given::compile`], for a program that has been read and checked.
    pub(crate) fn compile_checked(
        &self,
        console: &Console,
        mut program: Program,
        settings: Settings,
        when: CompileTrigger,
    ) -> Result<Ready, u8> {
        let settings = self.choices.chosen(console, settings, &program.sources)?;
        #[cfg(feature = "jit")]
        let weights = self.keeping.cache.then(|| cache::weights(&program, &self.values.params));
        let bound = optimise::bind_all(&mut program, &self.entry, &self.requests_when_set());
        let found = bound.map_err(|wrong| console.files(&wrong, &program.sources))?;
        #[cfg(feature = "jit")]
        let ports = weights.map(|weights| cache::ports(weights, &found.0, &program));
        let bound = found.1;
        let externals = self.externals(&mut program, None).map_err(|wrong| console.files(&[wrong], &program.sources))?;
        match subgraphs::prepare_taking(&mut program, &self.entry, Some(&bound), &settings, self.limits(), when, externals) {
            Ok(prepared) => {
                #[cfg(feature = "jit")]
                let timings = prepared.timings().map_or(program.timings.clone(), |own| program.timings.then(own));
                Ok(Ready {
                    prepared,
                    bound,
                    #[cfg(feature = "jit")]
                    settings,
                    sources: program.sources,
                    #[cfg(feature = "jit")]
                    ports,
                    #[cfg(feature = "jit")]
                    timings,
                })
            }
            Err(refused) => Err(self.refused(console, refused, &program.sources)),
        }
    }

    /// Compiles the functions of outside compilers, each within the time. Weights are constants by now. Errors: those of
    /// [`external::compile`].
    pub(crate) fn externals(&self, program: &mut Program, timeout: Option<Duration>) -> Result<Externals, Diagnostic> {
        sys::interruptible(|| external::compile(&mut program.module, &self.entry, &self.external, timeout))
    }

    /// Reports why nothing was compiled; returns the exit code.
    pub(crate) fn refused(&self, console: &Console, refused: Refused, sources: &Sources) -> u8 {
        match refused {
            Refused::Not(reason) => self.not_compiled(console, reason.text()),
            Refused::Wrong(diagnostic) => {
                console.diagnostics(std::slice::from_ref(&*diagnostic), sources);
                exit::of_run(&[*diagnostic])
            }
        }
    }

    fn not_compiled(&self, console: &Console, reason: &str) -> u8 {
        let diagnostic = run::not_compiled(&self.entry, reason).help("`relayc run --engine interp` interprets it");
        console.diagnostics(std::slice::from_ref(&diagnostic), &Sources::default());
        exit::of_run(&[diagnostic])
    }
}

/// The stage that `--emit` shows.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub(crate) enum Stage {
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
    /// The strategy of each group, its reason and its alternatives; then the buffers.
    Plan,
    /// The computation of each kernel.
    Kernels,
    /// The machine code of each step.
    Asm,
}

/// A compiled program and its inputs.
pub(crate) struct Ready {
    pub prepared: Prepared,
    pub bound: Vec<Bound>,
    #[cfg(feature = "jit")]
    pub settings: Settings,
    pub sources: Sources,
    /// What it has to be kept by, if it may be kept.
    #[cfg(feature = "jit")]
    pub ports: Option<Result<Ports, &'static str>>,
    /// The time of each step since reading the file.
    #[cfg(feature = "jit")]
    pub timings: Timings,
}

/// A planned program, and its plan.
pub(crate) struct Planned {
    /// The optimised program.
    pub program: Program,
    pub all: Assembled,
}
