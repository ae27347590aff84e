//! `relayc print`: the canonical text, byte-identical with TVM's `astext`.

use super::{Console, Reading, Setting, exit};
use crate::diag::Severity;
use crate::driver::{self, Until, show};
use crate::sys;
use std::path::PathBuf;

/// Print a program as TVM v0.14.0 prints it.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    setting: Setting,
    /// The file; `-` is standard input.
    file: PathBuf,
    /// With the inferred types as comments.
    #[arg(long)]
    types: bool,
    /// With the metadata section, where there is one.
    #[arg(long)]
    meta: bool,
    /// Floats with as many digits as it takes to read them back to the bit; TVM prints six.
    #[arg(long)]
    exact: bool,
    /// A bare expression as `@main` of a module, its free variables as parameters.
    #[arg(long)]
    module: bool,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    let until = match (args.module, args.types) {
        (true, _) => Until::Main,
        (false, _) if !args.setting.set.is_empty() => Until::Infer,
        (false, true) => Until::InferModule,
        (false, false) => Until::Resolve,
    };
    let mut program = driver::check_file(&args.file, until, &args.setting.how(&args.reading));
    // TVM prints what it cannot compile, and so does this.
    program
        .diagnostics
        .iter_mut()
        .filter(|diagnostic| diagnostic.typed)
        .for_each(|diagnostic| diagnostic.severity = Severity::Warning);
    console.diagnostics(&program.diagnostics, &program.sources);
    if program.has_errors() {
        return exit::of(&program.diagnostics);
    }
    match sys::stdout(&show::print(&program, show::Options { types: args.types, meta: args.meta, exact: args.exact })) {
        Ok(()) => exit::FINE,
        Err(diagnostic) => {
            console.diagnostics(std::slice::from_ref(&diagnostic), &program.sources);
            exit::of(&[diagnostic])
        }
    }
}
