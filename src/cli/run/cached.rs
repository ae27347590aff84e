//! `relayc run --cache` with a program that was kept: reads no text and compiles nothing.

use super::artifact::ran;
use super::{Args, Engine, Failed, Shown, finish, output_requests};
use crate::cli::cache::Place;
use crate::cli::{Console, exit};
use crate::engine::artifact::Artifact;
use crate::engine::compile::Settings;
use relayc_base::Sources;
use relayc_base::diag::codes;
use relayc_driver::timings::Timings;
use std::time::Instant;

/// Runs the kept program, if there is one; otherwise says its place.
///
/// Whatever fails before there is a result is left to the program compiled anew, which has the text that messages point into.
pub(super) fn run(console: &Console, args: &Args, settings: &Settings, start: Instant) -> Result<Option<Place>, u8> {
    if args.engine != Engine::Jit || args.is_seen() || args.passes.are_given() {
        return Ok(None);
    }
    let mut timings = Timings::default();
    let (artifact, place) = timings.time("cache", || args.program.look_up(console, settings));
    let Some(artifact) = artifact else { return Ok(place) };
    match execute(console, args, artifact, settings, (start, timings)) {
        None => Ok(None),
        Some(Ok(())) => Err(exit::FINE),
        Some(Err(Failed { diagnostics, running })) => {
            console.diagnostics(&diagnostics, &Sources::default());
            Err(if running { exit::of_run(&diagnostics) } else { exit::of_files(&diagnostics) })
        }
    }
}

fn execute(
    console: &Console,
    args: &Args,
    artifact: Artifact,
    settings: &Settings,
    (start, mut timings): (Instant, Timings),
) -> Option<Result<(), Failed>> {
    if !output_requests(args).check(&artifact.result_names()).is_empty() {
        return None;
    }
    let bound = timings.time("bind", || artifact.bind(&args.program.requests_for_kept())).ok()?;
    let view = args.view(&bound).ok()?;
    let labels = args.labels.as_deref().map(relayc_driver::top::read_labels).transpose().ok()?;
    let loaded = artifact.load().ok()?;
    let (outputs, words) = match ran(console, args, &loaded, &bound, (settings.threads, Some(settings.isa)), start) {
        Ok(ran) => ran,
        // Another run would take as long.
        Err(late) if late.code == codes::E0805 => return Some(Err(Failed { diagnostics: vec![late], running: true })),
        Err(_) => return None,
    };
    args.program.say_times(console, &timings);
    if console.verbose {
        console.words(&format!("{words}, from the cache\n"));
    }
    Some(finish(args, &outputs, None, &Shown { labels: labels.as_deref(), view: view.as_ref() }))
}
