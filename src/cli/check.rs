//! `relayc check`: parse, resolve, infer; say everything that is wrong.

use super::{Console, Reading, exit};
use crate::driver::{self, Until};
use std::path::PathBuf;

/// Check programs: infer every shape, explain every mistake.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    reading: Reading,
    /// The files; `-` is standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    let mut code = exit::FINE;
    for path in &args.files {
        let program = driver::check_file_as(path, Until::Infer, args.reading.dialect());
        console.diagnostics(&program.diagnostics, &program.sources);
        // Standard input has a name there; a file that could not be read has none.
        let name = program.sources.files().last().map_or_else(|| path.display().to_string(), |file| file.name.clone());
        console.summary(&program.diagnostics, &name);
        code = code.max(exit::of(&program.diagnostics));
    }
    code
}
