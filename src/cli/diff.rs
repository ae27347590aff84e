//! `relayc diff`: compares two programs, or the tensors of two files.

use super::params::Allowed;
use super::{Console, Reading, exit};
use relayc_base::Sources;
use relayc_driver::compare::{self, Differences, programs};
use relayc_driver::{self as driver, Phase, ReadOptions};
use relayc_sys as sys;
use std::path::PathBuf;

/// Compare two programs, or the tensors of two files; exit 1 if they differ.
///
/// Programs are compared by what they compute, function by function. Files of tensors are weight files (`relayc params`), .npy and
/// images; `FILE:NAME` is one tensor of a file.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
    a: PathBuf,
    b: PathBuf,
    /// Compare the canonical texts of programs, line by line.
    #[arg(long)]
    text: bool,
    #[command(flatten)]
    allowed: Allowed,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let found = if compare::is_of_tensors(&args.a) || compare::is_of_tensors(&args.b) {
        compare::tensors(&args.a, &args.b, args.allowed.tolerance()).map_err(|wrong| console.files(&[wrong], &Sources::default()))
    } else {
        of_programs(console, args)
    };
    match found {
        Ok(found) => match sys::stdout(&found.text) {
            Ok(()) if found.same => exit::FINE,
            Ok(()) => exit::PROGRAM,
            Err(wrong) => console.files(&[wrong], &Sources::default()),
        },
        Err(code) => code,
    }
}

fn of_programs(console: &Console, args: &Args) -> Result<Differences, u8> {
    let how = ReadOptions::of(args.reading.dialect());
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
    Ok(if args.text { programs::texts(a, b) } else { programs::programs(a, b) })
}
