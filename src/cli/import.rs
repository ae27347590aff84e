//! `relayc import`: turns a model of another format into a program.

use super::{Console, exit, named_tensors};
use relayc_base::Sources;
use relayc_driver::endings;
use relayc_driver::import::{self, Request};
use relayc_sys as sys;
use std::path::{Path, PathBuf};

/// Turn a model of another format into a program.
///
/// The weights go to a file of their own: `relayc import net.onnx -o net.relay --params net.params`. A comment after each call
/// names the model's node. A network of MXNet has its own weights in a second file: `relayc import net-symbol.json --weights
/// net-0000.params --shape data=1,3,224,224 -o net.relay --params net.params`. So has one of Darknet: `relayc import yolov3.cfg
/// --weights yolov3.weights -o yolov3.relay --params yolov3.params`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The model: .onnx, a network of MXNet (-symbol.json) or Darknet (.cfg), or an archive in Model Library Format (.tar).
    model: PathBuf,
    /// The text to write; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[arg(long, value_name = "FILE", help = format!("The weight file to write: {}; without it the weights are in the text", named_tensors()))]
    params: Option<PathBuf>,
    /// The weights of a network of MXNet or Darknet; may be repeated for MXNet.
    #[arg(long, value_name = "FILE")]
    weights: Vec<PathBuf>,
    /// The shape of an input: numbers, names of sizes, `?` for a dimension of any size. Opens what a model of ONNX fixes. May be
    /// repeated.
    #[arg(long, value_name = "NAME=DIMS")]
    shape: Vec<String>,
    /// The known value of an input, which becomes part of the program: `axes=2xi64=[0, 1]`, `axes=@axes.npy`. May be repeated.
    #[arg(short, long = "input", value_name = "NAME=SPEC")]
    input: Vec<String>,
    /// Replace the results of nodes that cannot be imported by inputs of the program.
    #[arg(long)]
    keep_going: bool,
    /// Read the parts of the model in other files of its folder.
    #[arg(long)]
    external_data: bool,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let read: Vec<&Path> = args.weights.iter().chain([&args.model]).map(PathBuf::as_path).collect();
    let to: Vec<&Path> = args.output.iter().chain(&args.params).map(PathBuf::as_path).collect();
    let free = sys::replaces_none(&to, &read, "the program is made from");
    if let Err(wrong) = free.and_then(|()| args.output.as_deref().map_or(Ok(()), endings::program)) {
        return console.files(&[wrong], &Sources::new());
    }
    let request = Request {
        model: args.model.clone(),
        weights: args.weights.clone(),
        params: args.params.clone(),
        shapes: args.shape.clone(),
        inputs: args.input.clone(),
        keep_going: args.keep_going,
        external_data: args.external_data,
    };
    let outcome = import::import(&request);
    console.diagnostics(&outcome.diagnostics, &outcome.sources);
    let Some(imported) = outcome.imported else { return exit::USAGE };
    let mut files: Vec<(&Path, &[u8])> = vec![];
    files.extend(args.output.as_deref().map(|path| (path, imported.text.as_bytes())));
    files.extend(args.params.as_deref().zip(imported.weights.as_deref()));
    let written = sys::write_atomic(&files).and_then(|()| match args.output {
        Some(_) => Ok(()),
        None => sys::stdout(&imported.text),
    });
    if let Err(error) = written {
        return console.files(&[error], &outcome.sources);
    }
    if console.verbose {
        console.words(&imported.told);
    }
    exit::FINE
}
