//! `relayc profile`: where the time of a run goes, a row for each kernel.

use super::compiled;
use super::{Console, exit};
use crate::diag::{Diagnostic, codes};
use crate::driver::measure;
use crate::driver::parts::Prepared;
use crate::sys;
use std::time::Duration;

/// Show the time of each kernel of a program.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    program: compiled::Given,
    /// Seconds of measuring.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    seconds: f64,
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
    let rows = match measure::profile(compiled, &ready.bound, seconds, &ready.sources) {
        Ok(rows) => rows,
        Err(diagnostic) => {
            console.diagnostics(std::slice::from_ref(&*diagnostic), &ready.sources);
            return exit::of_run(&[*diagnostic]);
        }
    };
    // The probe of the machine has memory of its own.
    let peak = sys::peak_memory();
    let probed = measure::probe(&ready.settings);
    match sys::stdout(&measure::table(&rows, compiled, &probed, peak)) {
        Ok(()) => exit::FINE,
        Err(diagnostic) => console.files(&[diagnostic], &ready.sources),
    }
}
