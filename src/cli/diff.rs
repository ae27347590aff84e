//! `relayc diff`: what differs between two programs, or between the tensors of two files.

use super::params::Allowed;
use super::{Console, Reading, exit};
use crate::base::Sources;
use crate::driver::compare::{self, Found, programs};
use crate::driver::{self, How, Until};
use crate::sys;
use std::path::PathBuf;

/// Say what differs between two programs, or between the tensors of two files; exit 1 if anything does.
///
/// Programs are compared by what they compute, function by function. Files of tensors are .params, .npz, .safetensors, .npy and
/// pictures; `FILE:NAME` is one tensor of a file.
#[derive(clap::Args)]
pub struct Args {
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

pub fn run(console: &Console, args: &Args) -> u8 {
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

fn of_programs(console: &Console, args: &Args) -> Result<Found, u8> {
    let how = How::of(args.reading.dialect());
    let read = |file| {
        let program = driver::check_file(file, Until::Main, &how);
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
