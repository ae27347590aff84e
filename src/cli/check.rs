//! `relayc check`: parse, resolve, infer; say everything that is wrong.

use super::{Console, exit};
use crate::driver::{self, Until};
use std::path::PathBuf;

/// Check programs: infer every shape, explain every mistake.
#[derive(clap::Args)]
pub struct Args {
    /// The files; `-` is standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    let mut code = exit::FINE;
    for path in &args.files {
        let program = driver::check_file(path, Until::Infer);
        console.diagnostics(&program.diagnostics, &program.sources);
        console.summary(&program.diagnostics, &path.display().to_string());
        code = code.max(exit::of(&program.diagnostics));
    }
    code
}
