//! `relayc profile`: where the time of a run goes, a row for each group of operators.

use super::compiled;
use super::{Console, exit};
use crate::diag::{Diagnostic, codes};
use crate::driver::measure;
use crate::driver::parts::Prepared;
use crate::driver::profile::{self, Profile, Row};
use crate::sys;
use clap::ValueEnum;
use std::time::Duration;

/// Show the time of each group of a program, and how near it comes to the machine's limits.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    program: compiled::Given,
    /// Seconds of measuring.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    seconds: f64,
    /// The order of the groups.
    #[arg(long, value_enum, default_value_t = Sort::Program)]
    sort: Sort,
    /// Print the figures as JSON, `relayc.profile/1`.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Sort {
    /// As they are run.
    Program,
    /// The longest first.
    Time,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    let ready = match args.program.compile(console) {
        Ok(ready) => ready,
        Err(code) => return code,
    };
    let Prepared::Whole(compiled) = &ready.prepared else {
        let message = "a program that branches has no list of kernels, each with its time";
        let diagnostic = Diagnostic::new(codes::E0601, message).help("`relayc bench` says how long it takes as a whole");
        console.diagnostics(std::slice::from_ref(&diagnostic), &ready.sources);
        return exit::of_run(&[diagnostic]);
    };
    let seconds = Duration::try_from_secs_f64(args.seconds).unwrap_or_default();
    let mut rows = match profile::profile(compiled, &ready.bound, seconds, &ready.sources) {
        Ok(rows) => rows,
        Err(diagnostic) => {
            console.diagnostics(std::slice::from_ref(&*diagnostic), &ready.sources);
            return exit::of_run(&[*diagnostic]);
        }
    };
    // The probe of the machine has memory of its own.
    let peak = sys::peak_memory();
    let probed = measure::probe(&ready.settings);
    if args.sort == Sort::Time {
        rows.sort_by(|a: &Row, b: &Row| b.ms.total_cmp(&a.ms));
    }
    let profile = Profile { rows: &rows, compiled, settings: &ready.settings, probed: &probed, peak };
    let text = if args.json { format!("{}\n", profile.json()) } else { profile.table() };
    args.program.say_times(console, &ready.timings);
    match sys::stdout(&text) {
        Ok(()) => exit::FINE,
        Err(diagnostic) => console.files(&[diagnostic], &ready.sources),
    }
}
