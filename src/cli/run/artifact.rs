//! `relayc run` for artifacts of `relayc build`: parses no text and compiles nothing.

use super::{Args, Engine, Failed, Shown, finish, limits, output_requests};
use crate::cli::deadline::{self, FailureReporter};
use crate::cli::{Console, exit};
use crate::engine::artifact::{self, Ready};
use crate::engine::compile::{self, Isa};
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_driver::bind::Bound;
use relayc_driver::outputs::Named;
use relayc_driver::top;
use std::time::Instant;

pub(crate) fn run(console: &Console, args: &Args, start: Instant) -> u8 {
    if let Some(code) = args.program.refused_for_artifact(console, &meaningless(args)) {
        return code;
    }
    let threads = match args.program.threads_wanted(console) {
        Ok(threads) => threads.unwrap_or(0),
        Err(code) => return code,
    };
    match execute(console, args, threads, start) {
        Ok(()) => exit::FINE,
        Err(Failed { diagnostics, running }) => {
            console.diagnostics(&diagnostics, &Sources::default());
            if running { exit::of_run(&diagnostics) } else { exit::of_files(&diagnostics) }
        }
    }
}

/// The flags of this command that do not apply to an artifact, and whether they are given.
fn meaningless(args: &Args) -> [(bool, &'static str); 7] {
    [
        (args.program.keeping.cache, "--cache"),
        (args.passes.are_given(), "--passes"),
        (args.emit.is_some(), "--emit"),
        (args.engine != Engine::Jit, "--engine"),
        (args.save_steps.is_some(), "--save-steps"),
        (args.check_nan, "--check-nan"),
        (!args.watch.is_empty(), "--watch"),
    ]
}

/// Runs it on this many threads, or on all for 0.
fn execute(console: &Console, args: &Args, threads: usize, start: Instant) -> Result<(), Failed> {
    let artifact = artifact::open(&args.program.file)?;
    let wrong = output_requests(args).check(&artifact.result_names());
    if !wrong.is_empty() {
        return Err(Failed::before(wrong));
    }
    let bound = artifact.bind(&args.program.requests()).map_err(Failed::before)?;
    let view = args.view(&bound)?;
    let labels = args.labels.as_deref().map(top::read_labels).transpose()?;
    let loaded = artifact.load()?;
    let running = |diagnostic| Failed { diagnostics: vec![diagnostic], running: true };
    let (outputs, words) =
        ran(console, args, &loaded, &bound, (threads, args.program.target.machine().isa()), start).map_err(running)?;
    if console.verbose {
        console.words(&format!("{words}\n"));
    }
    finish(args, &outputs, None, &Shown { labels: labels.as_deref(), view: view.as_ref() })
}

/// The outputs of a run, and how it was done, in words. Errors: those of [`Ready::run`], and E0805 after the time limit.
pub(super) fn ran(
    console: &Console,
    args: &Args,
    loaded: &Ready,
    bound: &[Bound],
    (threads, isa): (usize, Option<Isa>),
    start: Instant,
) -> Result<(Named, String), Diagnostic> {
    let ready = Instant::now();
    let limits = limits(args, ready);
    let only = |diagnostic| vec![diagnostic];
    let teller = FailureReporter { console, sources: &Sources::default(), failed: &only };
    let ran = deadline::within(&teller, &limits, || loaded.run(bound, threads, isa, &limits))?;
    let (load, run) = ((ready - start).as_secs_f64() * 1e3, ready.elapsed().as_secs_f64() * 1e3);
    let (target, threads) = (compile::target_name(ran.isa), relayc_base::text::count(ran.threads, "thread"));
    Ok((ran.outputs, format!("load {load:.1} ms, run {run:.1} ms, artifact for {target}, {threads}")))
}
