//! `relayc bench` for artifacts of `relayc build`.

use super::{Args, Figures};
use crate::cli::{Console, exit};
use crate::engine::artifact::{self, Artifact};
use crate::engine::compile::{Isa, Settings};
use crate::engine::measure;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_driver::bind::Bound;
use relayc_driver::optimise::MAX_LEVEL;
use relayc_driver::timings::Timings;
use relayc_sys as sys;
use serde_json::json;
use std::time::Instant;

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let own = [(args.program.keeping.cache, "--cache"), (args.passes.are_given(), "--passes")];
    if let Some(code) = args.program.refused_for_artifact(console, &own) {
        return code;
    }
    let threads = match args.program.threads_wanted(console) {
        Ok(threads) => threads.unwrap_or(0),
        Err(code) => return code,
    };
    match measured(args, threads) {
        Ok(text) => sys::stdout(&text).map_or_else(|wrong| console.files(&[wrong], &Sources::default()), |()| exit::FINE),
        Err((wrong, is_running)) => {
            console.diagnostics(&wrong, &Sources::default());
            if is_running { exit::of_run(&wrong) } else { exit::of_files(&wrong) }
        }
    }
}

/// The figures as text. Errors: what is wrong, and whether the artifact ran already.
fn measured(args: &Args, threads: usize) -> Result<String, (Vec<Diagnostic>, bool)> {
    let start = Instant::now();
    let artifact = artifact::open(&args.program.file).map_err(|wrong| (vec![wrong], false))?;
    let bound = artifact.bind(&args.program.requests()).map_err(|wrong| (wrong, false))?;
    let figures = figures(args, artifact, &bound, (threads, args.program.target.machine().isa()), start)?;
    Ok(if args.json { format!("{}\n", figures.json()) } else { figures.text() })
}

/// The figures of a program that was kept; `None` for whatever fails, which is left to the program compiled anew.
pub(super) fn kept(
    console: &Console,
    args: &Args,
    artifact: Artifact,
    settings: &Settings,
    (start, mut timings): (Instant, Timings),
) -> Option<String> {
    let bound = timings.time("bind", || artifact.bind(&args.program.requests_for_kept())).ok()?;
    let figures = figures(args, artifact, &bound, (settings.threads, Some(settings.isa)), start).ok()?;
    if !args.json {
        args.program.say_times(console, &timings);
        return Some(format!("{}from the cache\n", figures.text()));
    }
    let mut value = figures.json();
    value["fallbacks"] = json!([]);
    if args.program.time_passes {
        value["times"] = timings.json();
    }
    Some(format!("{value}\n"))
}

/// Measures an artifact on this many threads, or on all for 0. Errors: as [`measured`].
fn figures(
    args: &Args,
    artifact: Artifact,
    bound: &[Bound],
    (threads, isa): (usize, Option<Isa>),
    start: Instant,
) -> Result<Figures, (Vec<Diagnostic>, bool)> {
    let loaded = artifact.load().map_err(|wrong| (vec![wrong], false))?;
    let loading = start.elapsed();
    let found = loaded.latency(bound, threads, isa, (args.warmup, args.seconds)).map_err(|wrong| (vec![wrong], true))?;
    let ready_ms = (loading + found.created).as_secs_f64() * 1e3;
    // The probe wants a machine, which the artifact has run on.
    let native = Settings::native(MAX_LEVEL, found.threads).ok().flatten();
    let probed = native.map_or_else(Default::default, |native| measure::probe(&Settings { isa: found.isa, ..native }));
    Ok(Figures { times: found.times, probed, threads: found.threads, isa: found.isa, ready_ms })
}
