//! `relayc export`: writes a program in another format.

use super::{Console, Inputs, Reading, exit, weight_files};
use clap::ValueEnum;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_base::text::count;
use relayc_driver::optimise::MAX_LEVEL;
use relayc_driver::{Phase, Program, endings, export};
use relayc_sys as sys;
use std::path::{Path, PathBuf};

/// Write a program in another format.
///
/// Weights become part of the model; the other parameters are its inputs: `relayc export net.relay -o net.onnx
/// --params net.params`. The graph of TVM's graph executor has its weights in a second file: `-o net.json
/// --params net.params --params-out graph.params`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
    /// The program; `-` is standard input.
    file: PathBuf,
    /// The format; by default the ending of the file says it: `.onnx` or `.json`.
    #[arg(long, value_enum)]
    to: Option<Target>,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The function to export.
    #[arg(long, value_name = "NAME", default_value = "main")]
    entry: String,
    #[arg(long, value_name = "FILE", help = weight_files("Weights"))]
    params: Vec<PathBuf>,
    #[command(flatten)]
    inputs: Inputs,
    /// The .params file for the constants of a graph; `--to graph-json` only.
    #[arg(long, value_name = "FILE")]
    params_out: Option<PathBuf>,
    /// The level of optimisation before the program becomes a graph, from 0 to 3; `--to graph-json` only.
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_LEVEL)))]
    level: Option<u8>,
    /// Read the model back, and compare what it computes with what the program computes, on random inputs; `--to onnx` only. If they
    /// differ, nothing is written.
    #[arg(long)]
    verify: bool,
    /// The size of a dynamic dimension: parameter, axis, number; or the name of a size and its number.
    #[arg(long, value_name = "NAME.AXIS=N|SIZE=N")]
    set: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Target {
    /// ONNX, operator set 17.
    Onnx,
    /// The graph of TVM's graph executor, with a node for each fused group; it does not contain the nodes' functions.
    GraphJson,
}

impl Target {
    /// What is written, and the ending of its file.
    fn file(self) -> (&'static str, &'static str) {
        match self {
            Target::Onnx => ("a model of ONNX", "onnx"),
            Target::GraphJson => ("a graph", "json"),
        }
    }

    /// The format whose files end as this one does. Errors: E0721.
    fn of(output: &Path) -> Result<Target, Diagnostic> {
        let is_of = |target: &&Target| output.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(target.file().1));
        let all = Target::value_variants();
        all.iter().find(is_of).copied().ok_or_else(|| {
            let endings: Vec<String> = all.iter().map(|target| format!(".{}", target.file().1)).collect();
            endings::unknown(output, "an exported program", &endings).help("or choose the format: `--to onnx`")
        })
    }
}

pub(crate) fn run(console: &Console, args: &Args) -> Result<u8, u8> {
    let said = |wrong| console.files(&[wrong], &Sources::new());
    let to = args.to.map_or_else(|| Target::of(&args.output), Ok).map_err(said)?;
    if to == Target::Onnx && (args.params_out.is_some() || args.level.is_some()) {
        return Err(console.usage("`--params-out` and `-O` are for `--to graph-json`: weights become part of an ONNX model"));
    }
    if to != Target::Onnx && args.verify {
        return Err(console.usage("`--verify` is for `--to onnx`: a graph does not contain its functions"));
    }
    let read: Vec<&Path> = args.params.iter().chain([&args.file]).map(PathBuf::as_path).collect();
    let written: Vec<&Path> = args.params_out.iter().chain([&args.output]).map(PathBuf::as_path).collect();
    sys::replaces_none(&written, &read, "the model is made from").map_err(said)?;
    args.params_out
        .as_deref()
        .map_or(Ok(()), |path| endings::one_of(path, "the constants of a graph", &["params"]))
        .map_err(said)?;
    let (what, ending) = to.file();
    endings::one_of(&args.output, what, &[ending]).map_err(said)?;
    let mut program = console.checked(&args.file, Phase::Main, &args.reading.how(&args.entry, &args.set))?;
    console.inputs(&program, &args.entry, &args.params, &args.inputs)?;
    let written = match to {
        Target::Onnx => write_onnx(console, args, &program),
        Target::GraphJson => write_graph(console, args, &mut program),
    };
    written.map_err(|wrong| console.files(&wrong, &program.sources))
}

fn write_onnx(console: &Console, args: &Args, program: &Program) -> Result<u8, Vec<Diagnostic>> {
    let model = export::to_onnx(program, &args.entry, &args.params)?;
    if args.verify {
        export::verify(program, &args.entry, &args.params, &model)?;
    }
    sys::write_atomic(&[(&args.output, &model.bytes)]).map_err(|error| vec![error])?;
    if console.verbose {
        let (nodes, inputs) = (count(model.n_nodes, "node"), count(model.n_inputs, "input"));
        console.words(&format!("{nodes}, {inputs}, {}\n", count(model.n_initializers, "initializer")));
    }
    Ok(exit::FINE)
}

fn write_graph(console: &Console, args: &Args, program: &mut Program) -> Result<u8, Vec<Diagnostic>> {
    let graph = export::to_graph_json(program, &args.entry, &args.params, args.level.unwrap_or(MAX_LEVEL))?;
    let mut files: Vec<(&Path, &[u8])> = vec![(&args.output, graph.json.as_bytes())];
    let constants = graph.params();
    match (&args.params_out, &constants) {
        (Some(path), Some(constants)) => files.push((path, constants)),
        (Some(_), None) => console.note("the graph has no constants, so `--params-out` is not written"),
        (None, Some(_)) => {
            let words = "the graph takes its constants as inputs: `--params-out FILE.params` names a file for them";
            return Ok(console.usage(words));
        }
        (None, None) => {}
    }
    sys::write_atomic(&files).map_err(|error| vec![error])?;
    if console.verbose {
        console.words(&format!("{}, {}\n", count(graph.n_inputs, "input"), count(graph.n_calls, "call")));
    }
    Ok(exit::FINE)
}
