//! `relayc run`: check, bind inputs and weights, execute, show or write the result.

use super::{Console, Reading, exit, progress};
use crate::diag::{Diagnostic, codes};
use crate::driver::bind::{self, Bound, Requests};
use crate::driver::compile::{self, Refused, Settings};
use crate::driver::optimise::{self, MAX_LEVEL};
use crate::driver::outputs::{self, Named, OutputRequests, Tolerance};
use crate::driver::run::{self, Entry, Limits};
use crate::driver::{self, How, Program, Until, top};
use crate::sys;
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Execute a program.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    reading: Reading,
    /// The program; `-` is standard input.
    file: PathBuf,
    /// The function to run.
    #[arg(long, value_name = "NAME", default_value = "main")]
    entry: String,
    /// Weights: .params, .npz or .npy; may be repeated, the last file that has a name wins.
    #[arg(long, value_name = "FILE")]
    params: Vec<PathBuf>,
    /// One input: `@x.npy`, `@b.npz:key`, `@pic.png:imagenet`, `1x3xf32=[1,2,3]`, `1x3xf32=0.5`, `zeros`, `ones`, `rand:seed=7`.
    #[arg(short = 'i', long = "input", value_name = "NAME=SPEC")]
    input: Vec<String>,
    /// Inputs by parameter name.
    #[arg(long, value_name = "FILE.npz")]
    inputs: Option<PathBuf>,
    /// What fills the parameters that nothing else binds: `zeros`, `ones`, `rand[:seed=N]`.
    #[arg(long, value_name = "FILLING")]
    fill: Option<String>,
    /// The number of a `?` dimension: parameter, axis, number.
    #[arg(long, value_name = "NAME.AXIS=N")]
    set: Vec<String>,
    /// Write one output.
    #[arg(short = 'o', long = "output", value_name = "NAME=@FILE.npy")]
    output: Vec<String>,
    /// Write all outputs.
    #[arg(long, value_name = "FILE.npz")]
    outputs: Option<PathBuf>,
    /// Compare an output with what is expected; exit 1 if it differs.
    #[arg(long, value_name = "NAME=SPEC")]
    expect: Vec<String>,
    /// The relative tolerance of `--expect`.
    #[arg(long, default_value_t = 1e-5)]
    rtol: f64,
    /// The absolute tolerance of `--expect`.
    #[arg(long, default_value_t = 1e-6)]
    atol: f64,
    /// Show the K best classes of the first output.
    #[arg(long, value_name = "K")]
    top: Option<usize>,
    /// The classes' names, one a line.
    #[arg(long, value_name = "FILE", requires = "top")]
    labels: Option<PathBuf>,
    /// What executes it.
    #[arg(long, value_enum, default_value_t = Engine::Jit)]
    engine: Engine,
    /// How much the program is optimised before it is compiled, from 0 to 3.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = MAX_LEVEL, value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_LEVEL)))]
    level: u8,
    /// How many threads to use; the result does not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// The most bytes a tensor, and all inputs together, may have; `K`, `M` and `G` multiply by 1,024.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    max_memory: Option<u64>,
    /// Give up after so many seconds.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Engine {
    /// Machine code for this machine.
    Jit,
    /// The reference interpreter.
    Interp,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    let start = Instant::now();
    let until = if args.engine == Engine::Jit { Until::Main } else { Until::Infer };
    let mut program = driver::check_file(&args.file, until, &How::of(args.reading.dialect()));
    console.diagnostics(&program.diagnostics, &program.sources);
    if program.has_errors() {
        return exit::of(&program.diagnostics);
    }
    let sources = program.sources.clone();
    let result = prepare(args, &mut program).and_then(|(entry, bound)| execute(console, args, program, &entry, bound, start));
    match result {
        Ok(()) => exit::FINE,
        Err(Failed { diagnostics, running }) => {
            console.diagnostics(&diagnostics, &sources);
            if running { exit::of_run(&diagnostics) } else { exit::of_files(&diagnostics) }
        }
    }
}

/// Why a run ends, and whether the program was running.
struct Failed {
    diagnostics: Vec<Diagnostic>,
    running: bool,
}

impl Failed {
    fn before(diagnostics: Vec<Diagnostic>) -> Failed {
        Failed { diagnostics, running: false }
    }
}

impl From<Diagnostic> for Failed {
    fn from(diagnostic: Diagnostic) -> Failed {
        Failed::before(vec![diagnostic])
    }
}

/// Everything that can be wrong before the first instruction, so that no time is lost to a misspelt file name.
fn prepare(args: &Args, program: &mut Program) -> Result<(Entry, Vec<Bound>), Failed> {
    let mut params = args.params.clone();
    if args.engine == Engine::Jit && program.module.find_global(&args.entry).is_some() {
        optimise::bind_weights(program, &args.entry, &args.params).map_err(Failed::before)?;
        params.clear();
    }
    let module = &program.module;
    let entry = run::entry(module, &args.entry)?;
    let requests = output_requests(args);
    let wrong = requests.check(&outputs::result_names(entry.ret, &module.types));
    if !wrong.is_empty() {
        return Err(Failed::before(wrong));
    }
    if let Some(threads) = args.threads {
        // The pool is made once in a process, and this is the first use of it.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global();
    }
    let requests = Requests {
        params,
        inputs: args.input.clone(),
        inputs_npz: args.inputs.clone(),
        fill: args.fill.clone(),
        set: args.set.clone(),
        max_memory: args.max_memory,
    };
    let bound = bind::bind(&entry.slots, &module.types, &requests).map_err(Failed::before)?;
    Ok((entry, bound))
}

fn output_requests(args: &Args) -> OutputRequests {
    OutputRequests { files: args.output.clone(), npz: args.outputs.clone() }
}

fn execute(
    console: &Console,
    args: &Args,
    program: Program,
    entry: &Entry,
    bound: Vec<Bound>,
    start: Instant,
) -> Result<(), Failed> {
    let labels = args.labels.as_deref().map(top::read_labels).transpose()?;
    let ready = Instant::now();
    let timeout = args.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let limits = Limits {
        max_tensor_bytes: args.max_memory.unwrap_or_else(sys::default_memory_limit).min(Limits::default().max_tensor_bytes),
        deadline: timeout.and_then(|timeout| ready.checked_add(timeout)),
        ..Limits::default()
    };
    let running = |diagnostic| Failed { diagnostics: vec![diagnostic], running: true };
    let (result, words) = progress::spin(console, "running", || compute(args, program, entry, bound, limits)).map_err(running)?;
    let named = outputs::named(&result);
    if console.verbose {
        let (load, run) = ((ready - start).as_secs_f64() * 1e3, ready.elapsed().as_secs_f64() * 1e3);
        console.words(&format!("load {load:.1} ms, run {run:.1} ms, {words}\n"));
    }
    outputs::write(&named, &output_requests(args)).map_err(Failed::before)?;
    show(args, &named, labels.as_deref())?;
    let differences = outputs::check_expectations(&named, &args.expect, Tolerance { rtol: args.rtol, atol: args.atol });
    if differences.is_empty() { Ok(()) } else { Err(Failed::before(differences)) }
}

/// The result, and how it came about.
fn compute(args: &Args, program: Program, entry: &Entry, bound: Vec<Bound>, limits: Limits) -> Result<(Bound, String), Diagnostic> {
    if args.engine == Engine::Interp {
        return Ok((run::interpret(&program, entry, bound, limits)?, "engine interp".into()));
    }
    let threads = args.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()), usize::from);
    let settings = Settings::native(args.level, threads).map_err(|words| Diagnostic::new(codes::E0704, words))?;
    match compile::compile(program, &args.entry, &settings, limits.clone()) {
        Ok(compiled) => {
            let words = match compiled.program.fallbacks()[..] {
                [] => "engine jit".to_owned(),
                ref names => format!("engine jit, without a kernel: {}", names.join(", ")),
            };
            Ok((compiled.run(&bound).map_err(|error| *error)?, words))
        }
        Err((program, Refused::Not(reason))) => {
            let words = format!("engine interp, as the program is not compiled: {}", reason.words());
            Ok((run::interpret(&program, entry, bound, limits)?, words))
        }
        Err((_, Refused::Wrong(diagnostic))) => Err(*diagnostic),
    }
}

/// What goes to standard output: the best classes, or the outputs unless they went elsewhere.
fn show(args: &Args, named: &Named, labels: Option<&[String]>) -> Result<(), Diagnostic> {
    if let Some(k) = args.top {
        let Some((name, output)) = named.first() else {
            return Err(Diagnostic::new(codes::E0705, "there is no output to rank"));
        };
        return sys::stdout(&top::table(&top::top(name, output, k, labels)?));
    }
    let elsewhere = !args.output.is_empty() || args.outputs.is_some() || !args.expect.is_empty();
    if elsewhere {
        return Ok(());
    }
    let texts = named.iter().map(|(name, tensor)| format!("{name}: {}\n{}\n", tensor.type_text(), tensor.preview()));
    sys::stdout(&texts.collect::<String>())
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
