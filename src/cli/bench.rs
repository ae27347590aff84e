//! `relayc bench`: measures the latency of a compiled program over many runs.

mod artifact;
mod sizes;

use super::compiled::{self, Ready};
use super::{Console, choices, exit, seconds};
use crate::engine::compile::{Isa, Settings};
use crate::engine::measure::{self, MachineLimits, Times};
use crate::engine::subgraphs::CompileTrigger;
use relayc_base::text::duration;
use relayc_driver::inspect;
use relayc_driver::timings::Timings;
use serde_json::{Value, json};
use std::time::Duration;

/// Measure the latency of a program, or of an artifact of `relayc build`.
///
/// `--set` takes several sizes as well: `--set seq=16,64` calls the program with each in turn, `--set seq=16..512` with sizes drawn
/// from the range. Its weights are packed once; its code is made at the first call with a size, or before, on another thread, if
/// sizes come in equal steps.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    program: compiled::Given,
    #[command(flatten)]
    passes: compiled::Passes,
    /// Seconds of warming up.
    #[arg(long, value_name = "SECONDS", default_value = "0.3", value_parser = seconds)]
    warmup: Duration,
    /// Seconds of measuring.
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    seconds: Duration,
    /// Print the figures as JSON, `relayc.bench/1`.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    if inspect::is_elf(&args.program.file) {
        return artifact::run(console, args);
    }
    if sizes::several(&args.program.set) {
        if let Some(flag) = args.program.choices.given() {
            return console.usage(format_args!("`{flag}` is for one size: strategies depend on it"));
        }
        if args.passes.are_given() {
            return console.usage("`--passes` is for one size: `relayc opt --passes … | relayc bench -` takes several");
        }
        return sizes::run(console, args);
    }
    let start = std::time::Instant::now();
    let settings = match args.program.machine(console) {
        Ok(settings) => settings,
        Err(code) => return code,
    };
    let mut timings = Timings::default();
    let (artifact, place) = timings.time("cache", || match args.passes.are_given() {
        true => (None, None),
        false => args.program.look_up(console, &settings),
    });
    if let Some(text) = artifact.and_then(|artifact| artifact::kept(console, args, artifact, &settings, (start, timings))) {
        return console.data(&text);
    }
    let compiled = args.program.changed(console, &args.passes);
    let compiled = compiled.and_then(|program| args.program.compile_checked(console, program, settings, CompileTrigger::ItPays));
    let mut ready = match compiled {
        Ok(ready) => ready,
        Err(code) => return code,
    };
    let ready_ms = start.elapsed().as_secs_f64() * 1e3;
    let probed = measure::probe(&ready.settings);
    match measure::latency(&ready.prepared, &ready.bound, args.warmup, args.seconds) {
        Ok(times) => {
            choices::say_unused(console, &ready.settings);
            if !args.json {
                args.program.say_times(console, &ready.timings);
            }
            let Settings { threads, isa, .. } = ready.settings;
            let figures = Figures { times, probed, threads, isa, ready_ms };
            let text = if args.json { as_json(&ready, &figures, args.program.time_passes) } else { as_text(&ready, &figures) };
            if let (Some(place), Some(ports)) = (place, ready.ports.take()) {
                place.keep(console, &ready.prepared, ports);
            }
            console.data(&text)
        }
        Err(diagnostic) => {
            console.diagnostics(std::slice::from_ref(&*diagnostic), &ready.sources);
            exit::of_run(&[*diagnostic])
        }
    }
}

/// What was measured.
struct Figures {
    times: Times,
    probed: MachineLimits,
    threads: usize,
    isa: Isa,
    ready_ms: f64,
}

impl Figures {
    fn text(&self) -> String {
        let times = &self.times;
        format!(
            "p50 {}  p90 {}  p99 {}  min {}  ({} runs, {} threads, {})\n\
             ready after {:.1} ms\n\
             machine: {:.1} GFLOP/s, {:.1} GB/s read\n",
            duration(times.at(0.5)),
            duration(times.at(0.9)),
            duration(times.at(0.99)),
            duration(times.at(0.0)),
            times.count(),
            self.threads,
            measure::isa_name(self.isa),
            self.ready_ms,
            self.probed.gflops,
            self.probed.read_gbs,
        )
    }

    fn json(&self) -> Value {
        let times = &self.times;
        json!({
            "schema": "relayc.bench/1",
            "p50_ms": times.at(0.5),
            "p90_ms": times.at(0.9),
            "p99_ms": times.at(0.99),
            "min_ms": times.at(0.0),
            "runs": times.count(),
            "threads": self.threads,
            "isa": measure::isa_name(self.isa),
            "ready_ms": self.ready_ms,
            "probe": { "gflops": self.probed.gflops, "read_gbs": self.probed.read_gbs },
        })
    }
}

fn as_text(ready: &Ready, figures: &Figures) -> String {
    let words = match ready.prepared.summary() {
        words if words.is_empty() => words,
        words => format!("{words}\n"),
    };
    format!("{}{words}", figures.text())
}

fn as_json(ready: &Ready, figures: &Figures, parts: bool) -> String {
    let mut value = figures.json();
    value["fallbacks"] = json!(ready.prepared.fallbacks());
    if parts {
        value["times"] = ready.timings.json();
    }
    format!("{value}\n")
}
