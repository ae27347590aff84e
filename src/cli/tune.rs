//! `relayc tune`: measures the strategies of a program's kernels, and writes the faster ones to a file.

use super::{Console, choices, compiled, exit, progress, seconds};
use crate::engine::compile::{Settings, target_name};
use crate::engine::tune::{self, Subject, Tuned};
use crate::engine::tuning::{Tuning, processor};
use relayc_base::diag::Diagnostic;
use relayc_base::text::count;
use relayc_driver::optimise;
use relayc_sys as sys;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// Measure the strategies of a program's kernels, and write the faster ones to a file.
///
/// `--tuning` uses the file. It is text, sorted by processor and by the shapes of a step; what it has of other processors and of
/// other shapes stays.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    program: compiled::Given,
    /// The file to write.
    #[arg(short, long, value_name = "NET.tuning")]
    output: PathBuf,
    /// Seconds of measuring; compilation comes on top.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    seconds: Duration,
    /// Print JSON, `relayc.tune/1`.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(console: &Console, args: &Args) -> Result<u8, u8> {
    let given = &args.program;
    if let Some(flag) = given.choices.given() {
        return Err(console.usage(format_args!("`{flag}` is for commands that use choices: `relayc tune` measures all of them")));
    }
    let settings = given.machine(console)?;
    let mut program = given.checked(console)?;
    let sources = program.sources.clone();
    let files = |diagnostic: Diagnostic| console.files(&[diagnostic], &sources);
    // A file of another kind is not replaced.
    let mut tuning = if args.output.is_file() { choices::read(&args.output).map_err(files)? } else { Tuning::default() };
    let read: Vec<&std::path::Path> = given.values.params.iter().chain([&given.file]).map(PathBuf::as_path).collect();
    sys::replaces_none(&[&args.output], &read, "the program is read from").map_err(files)?;
    let bound = optimise::bind_all(&mut program, &given.entry, &given.requests_when_set());
    let (_, bound) = bound.map_err(|wrong| console.files(&wrong, &sources))?;
    let subject = Subject { program: &program, entry: &given.entry, args: &bound, settings: &settings, limits: &given.limits() };
    let tuned = progress::spin(console, "measuring strategies", || tune::tune(&subject, args.seconds));
    let tuned = tuned.map_err(|refused| given.refused(console, refused, &sources))?;
    let said = if args.json || console.is_json() { json(&tuned, &settings) } else { report(&tuned, &settings) };
    tuning.replace(&processor(settings.isa), &tuned.measured, tuned.entries);
    sys::write_atomic(&[(&args.output, tuning.text().as_bytes())]).map_err(files)?;
    sys::stdout(&said).map_err(files)?;
    Ok(exit::FINE)
}

fn json(tuned: &Tuned, settings: &Settings) -> String {
    let Tuned { entries, measured, strategies, left, before, after } = tuned;
    let entries =
        entries.iter().map(|(key, entry)| json!({ "step": key, "strategy": entry.strategy, "measured": entry.comment }));
    let value = json!({
        "schema": "relayc.tune/1", "threads": settings.threads, "target": target_name(settings.isa), "strategies": strategies,
        "shapes": measured.len(), "not_measured": left, "before_ms": before, "after_ms": after, "entries": entries.collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

fn report(tuned: &Tuned, settings: &Settings) -> String {
    let Tuned { entries, measured, strategies, left, before, after } = tuned;
    let left = if *left > 0 { format!(", {left} more not for lack of time (`--seconds`)") } else { String::new() };
    let machine = format!("{}, {}", count(settings.threads, "thread"), target_name(settings.isa));
    let mut out = format!("{strategies} strategies of {} shapes measured{left}\n", measured.len());
    for (key, entry) in entries {
        out += &format!("{} of the time: {key} = {}\n", entry.comment.split(' ').next().unwrap_or_default(), entry.strategy);
    }
    out += &match entries.is_empty() {
        true => format!("no gain: the models' choices stay, {before:.3} ms a run ({machine})\n"),
        false => format!("{before:.3} ms a run before, {after:.3} ms after: {:.3} of it ({machine})\n", after / before),
    };
    out
}
