//! `relayc profile`: measures the time of each group of operators in a run.

mod artifact;

use super::compiled::{self, Ready};
use super::{Console, choices, exit, seconds};
use crate::engine::compile::Compiled;
use crate::engine::measure;
use crate::engine::profile::{self, Profile, Row, SubgraphsProfile};
use crate::engine::subgraphs::{CompileTrigger, PartialProgram, Prepared};
use clap::ValueEnum;
use relayc_base::diag::Diagnostic;
use relayc_driver::inspect;
use relayc_sys as sys;
use std::time::Duration;

/// Show the time of each group of a program, or of each step of an artifact, and how close it comes to the machine's limits.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    program: compiled::Given,
    /// Seconds of measuring.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    seconds: Duration,
    /// The order of the groups.
    #[arg(long, value_enum, default_value_t = Sort::Program)]
    sort: Sort,
    /// Print the figures as JSON, `relayc.profile/2`.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Sort {
    /// The order of execution.
    Program,
    /// The longest first.
    Time,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    if inspect::is_elf(&args.program.file) {
        return artifact::run(console, args);
    }
    let settings = match args.program.machine(console) {
        Ok(settings) => settings,
        Err(code) => return code,
    };
    // What the compiler chose is not kept, so a kept program is compiled too.
    let (kept, place) = args.program.look_up(console, &settings);
    let mut ready = match args.program.compile(console, settings, CompileTrigger::Called) {
        Ok(ready) => ready,
        Err(code) => return code,
    };
    let text = match &ready.prepared {
        Prepared::Whole(compiled) => whole(args, &ready, compiled, args.seconds),
        Prepared::Partial(partial) => partially_compiled(args, &ready, partial, args.seconds),
    };
    choices::say_unused(console, &ready.settings);
    args.program.say_times(console, &ready.timings);
    let text = match text {
        Ok(text) => text,
        Err(diagnostic) => {
            console.diagnostics(std::slice::from_ref(&*diagnostic), &ready.sources);
            return exit::of_run(&[*diagnostic]);
        }
    };
    if let (None, Some(place), Some(ports)) = (kept, place, ready.ports.take()) {
        place.keep(console, &ready.prepared, ports);
    }
    console.data(&text)
}

/// Profiles a program that is compiled as a whole.
fn whole(args: &Args, ready: &Ready, compiled: &Compiled, seconds: Duration) -> Result<String, Box<Diagnostic>> {
    let mut rows = profile::profile(compiled, &ready.bound, seconds, &ready.sources)?;
    // The probe of the machine has memory of its own.
    let peak = sys::peak_memory();
    let probed = measure::probe(&ready.settings);
    args.sort(&mut rows);
    let profile = Profile::of(&rows, compiled, &ready.settings, &probed, peak);
    Ok(if args.json { format!("{}\n", profile.json()) } else { profile.table() })
}

/// Profiles a program compiled in subgraphs, one by one.
fn partially_compiled(
    args: &Args,
    ready: &Ready,
    partial: &PartialProgram,
    seconds: Duration,
) -> Result<String, Box<Diagnostic>> {
    let measured = partial.measure(&ready.bound, seconds)?;
    let peak = sys::peak_memory();
    let probed = measure::probe(&ready.settings);
    let mut subgraphs = profile::of_parts(&measured, &ready.sources);
    subgraphs.iter_mut().for_each(|one| args.sort(&mut one.rows));
    let profile = SubgraphsProfile {
        measured: &measured,
        subgraphs: &subgraphs,
        words: partial.summary(),
        settings: &ready.settings,
        probed: &probed,
        peak,
        sources: &ready.sources,
    };
    Ok(if args.json { format!("{}\n", profile.json()) } else { profile.table() })
}

impl Args {
    fn sort(&self, rows: &mut [Row]) {
        if self.sort == Sort::Time {
            rows.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        }
    }
}
