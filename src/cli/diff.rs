//! `relayc diff`: compares two programs, or the tensors of two files.

use super::{Console, Reading, exit, named_tensors, tolerance, weight_files};
use relayc_base::Sources;
use relayc_driver::bind::{self, Requests};
use relayc_driver::compare::values::{self, Allowed as Bounds, Runs};
use relayc_driver::compare::{self, Differences, programs};
use relayc_driver::outputs::Tolerance;
use relayc_driver::run::Limits;
use relayc_driver::{self as driver, Phase};
use relayc_sys as sys;
use std::path::PathBuf;

/// Compare two programs, or the tensors of two files; exit 1 if they differ.
///
/// Programs are compared by their definitions, function by function, or with `--run` by their results. Files of tensors are weight
/// files (`relayc params`), .npy and images; `FILE:NAME` is one tensor of a file.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
    a: PathBuf,
    b: PathBuf,
    /// Compare the canonical texts of programs, line by line.
    #[arg(long)]
    text: bool,
    /// Run both programs on the interpreter, N times on given or random inputs, and compare what they compute: floats within 1e-4 of an
    /// output's largest magnitude, unless `--rtol` or `--atol` is given. A difference names the calls where the values part.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "text")]
    run: Option<u64>,
    /// The function to run.
    #[arg(long, value_name = "NAME", default_value = "main", requires = "run")]
    entry: String,
    #[arg(long, value_name = "FILE", requires = "run", help = weight_files("Weights of both programs"))]
    params: Vec<PathBuf>,
    /// An input of both programs; what is missing is random. May be repeated.
    #[arg(short, long, value_name = "NAME=SPEC", requires = "run")]
    input: Vec<String>,
    #[arg(long, value_name = "FILE", requires = "run", help = format!("Inputs of both programs: {}", named_tensors()))]
    inputs: Option<PathBuf>,
    /// The size of a dynamic dimension, which is random otherwise.
    #[arg(long, value_name = "NAME.AXIS=N|SIZE=N", requires = "run")]
    set: Vec<String>,
    #[command(flatten)]
    allowed: Allowed,
    /// Print JSON, `relayc.diff/1`.
    #[arg(long)]
    json: bool,
}

/// The allowed difference of floats: `|a - b| <= atol + rtol * |b|`.
#[derive(clap::Args)]
pub(super) struct Allowed {
    /// The relative tolerance of floats; 0 if neither is given.
    #[arg(long, value_parser = tolerance)]
    rtol: Option<f64>,
    /// The absolute tolerance of floats; 0 if neither is given.
    #[arg(long, value_parser = tolerance)]
    atol: Option<f64>,
}

impl Allowed {
    pub(crate) fn tolerance(&self) -> Tolerance {
        self.given().unwrap_or(Tolerance { rtol: 0.0, atol: 0.0 })
    }

    /// The tolerance, if the command line gives one.
    pub(crate) fn given(&self) -> Option<Tolerance> {
        let given = self.rtol.is_some() || self.atol.is_some();
        given.then(|| Tolerance { rtol: self.rtol.unwrap_or(0.0), atol: self.atol.unwrap_or(0.0) })
    }
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let found = if compare::is_of_tensors(&args.a) || compare::is_of_tensors(&args.b) {
        compare::tensors(&args.a, &args.b, args.allowed.tolerance()).map_err(|wrong| console.files(&[wrong], &Sources::default()))
    } else {
        of_programs(console, args)
    };
    found.and_then(|found| print(console, &found, args.json)).unwrap_or_else(|code| code)
}

/// Prints the differences; returns the exit code. Errors: the exit code, after reporting the error.
pub(super) fn print(console: &Console, found: &Differences, json: bool) -> Result<u8, u8> {
    let text = if json || console.is_json() { format!("{}\n", found.json()) } else { found.text() };
    sys::stdout(&text).map_err(|wrong| console.files(&[wrong], &Sources::default()))?;
    Ok(if found.same { exit::FINE } else { exit::PROGRAM })
}

fn of_programs(console: &Console, args: &Args) -> Result<Differences, u8> {
    // Sizes that are set by their names are those of the whole program; axes are those of the inputs.
    let sized = args.set.iter().any(|setting| bind::size_setting(setting).is_some());
    let set = if sized { args.set.as_slice() } else { &[] };
    let how = match args.run {
        Some(_) => args.reading.how(&args.entry, set),
        None => args.reading.how("main", &[]),
    };
    let read = |file| {
        let program = driver::check_file(file, Phase::Main, &how);
        console.diagnostics(&program.diagnostics, &program.sources);
        program
    };
    let (from, to) = (read(&args.a), read(&args.b));
    for program in [&from, &to] {
        if program.has_errors() {
            // A program that is wrong is no program that differs.
            return Err(exit::of(&program.diagnostics).max(exit::USAGE));
        }
    }
    let (a_name, b_name) = (args.a.display().to_string(), args.b.display().to_string());
    let a = programs::Side { name: &a_name, program: &from };
    let b = programs::Side { name: &b_name, program: &to };
    let Some(n) = args.run else {
        return Ok(if args.text { programs::texts(a, b) } else { programs::programs(a, b, args.allowed.tolerance()) });
    };
    let requests = Requests {
        params: args.params.clone(),
        inputs: args.input.clone(),
        inputs_file: args.inputs.clone(),
        set: args.set.clone(),
        ..Requests::default()
    };
    let allowed = args.allowed.given().map_or(Bounds::OfScale, Bounds::Each);
    let runs = Runs { entry: &args.entry, n, requests: &requests, allowed, failures: true, limits: &Limits::default() };
    values::runs(a, b, &runs).map_err(|wrong| console.files(&wrong, &from.sources))
}
