//! `relayc export`: a program in another format.

use super::{Console, Reading, exit};
use crate::base::text::count;
use crate::diag::Diagnostic;
use crate::driver::{self, How, Until, export};
use crate::sys;
use clap::ValueEnum;
use std::path::PathBuf;

/// Write a program in another format.
///
/// Weights become part of the model, parameters without are its inputs: `relayc export net.relay --to onnx -o net.onnx --params
/// net.params`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    reading: Reading,
    /// The program; `-` is standard input.
    file: PathBuf,
    /// The format.
    #[arg(long, value_enum)]
    to: Target,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The function to export.
    #[arg(long, value_name = "NAME", default_value = "main")]
    entry: String,
    /// Weights: .params or .npz; may be repeated, the last file that has a name wins.
    #[arg(long, value_name = "FILE")]
    params: Vec<PathBuf>,
    /// The number of a `?` dimension: parameter, axis, number.
    #[arg(long, value_name = "NAME.AXIS=N")]
    set: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Target {
    /// ONNX, operator set 17.
    Onnx,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    let how = How { set: args.set.clone(), entry: args.entry.clone(), ..How::of(args.reading.dialect()) };
    let program = driver::check_file(&args.file, Until::Main, &how);
    console.diagnostics(&program.diagnostics, &program.sources);
    if program.has_errors() {
        return exit::of(&program.diagnostics);
    }
    match write(console, args, &program) {
        Ok(()) => exit::FINE,
        Err(diagnostics) => {
            console.diagnostics(&diagnostics, &program.sources);
            exit::of_files(&diagnostics)
        }
    }
}

fn write(console: &Console, args: &Args, program: &driver::Program) -> Result<(), Vec<Diagnostic>> {
    let Target::Onnx = args.to;
    let model = export::to_onnx(program, &args.entry, &args.params)?;
    sys::write_atomic(&[(&args.output, &model.bytes)]).map_err(|error| vec![error])?;
    if console.verbose {
        let (nodes, inputs) = (count(model.n_nodes, "node"), count(model.n_inputs, "input"));
        console.words(&format!("{nodes}, {inputs}, {}\n", count(model.n_initializers, "initializer")));
    }
    Ok(())
}
