//! `relayc print`: prints the canonical text, byte-identical with TVM's `astext`.

use super::{Console, Reading, Setting, exit};
use relayc_base::diag::Severity;
use relayc_driver::{self as driver, Phase, show};
use relayc_sys as sys;
use std::path::PathBuf;

/// Print a program as TVM v0.14.0 prints it.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    setting: Setting,
    /// The file; `-` is standard input.
    file: PathBuf,
    /// Print the inferred types as comments.
    #[arg(long)]
    types: bool,
    /// Print the metadata section, if there is one.
    #[arg(long)]
    meta: bool,
    /// Print floats with enough digits to read them back exactly; TVM prints six.
    #[arg(long)]
    exact: bool,
    /// Print sizes by their names, such as `2*batch`, where they have one; TVM cannot read that.
    #[arg(long)]
    dim_names: bool,
    /// Print a bare expression as `@main` of a module, with its free variables as parameters.
    #[arg(long)]
    module: bool,
}

/// The note above a text whose sizes have lost their names, which no command can read.
const NO_NAMES: &str = "the names of sizes are in the metadata section, which is left out: `--dim-names` or `--meta` keeps them";

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let until = match (args.module, args.types) {
        (true, _) => Phase::Main,
        (false, _) if !args.setting.set.is_empty() => Phase::Infer,
        (false, true) => Phase::InferModule,
        (false, false) => Phase::Resolve,
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
    let options = show::Options { types: args.types, meta: args.meta, exact: args.exact, dim_names: args.dim_names };
    let text = show::print(&program, options);
    let lost = !args.meta && show::names_sizes(&program.module) && text.contains("meta[tir.");
    if lost {
        console.note(NO_NAMES);
    }
    match sys::stdout(&text) {
        Ok(()) => exit::FINE,
        Err(diagnostic) => {
            console.diagnostics(std::slice::from_ref(&diagnostic), &program.sources);
            exit::of(&[diagnostic])
        }
    }
}
