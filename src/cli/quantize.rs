//! `relayc quantize`: 8-bit integers in the place of floats, by the ranges that activations have on samples.

use super::{Console, Reading, Values, exit, named_tensors, to_file};
use clap::ValueEnum;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_driver::bind::{self, Bound, Requests};
use relayc_driver::endings;
use relayc_driver::quantize::{self, Method, Options, Ready};
use relayc_driver::tensors;
use relayc_driver::{Phase, Program, optimise, params, run, show};
use relayc_ir::Module;
use relayc_sys::{self as sys, Content};
use std::path::{Path, PathBuf};

/// Quantize a program to 8 bits by the ranges of its activations on samples, and say how accurate the result is.
///
/// `relayc quantize net.onnx --sample a.npz --sample b.npz -o net8.relay --params-out net8.params`. Convolutions, dense layers and
/// products with constant weights get data of uint8 and weights of int8; the text says so with `qnn.quantize` and `qnn.dequantize`,
/// which `relayc run` turns into products of integers where the machine has them.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
    /// The program, or a model of ONNX; `-` is standard input.
    file: PathBuf,
    /// The function to quantize.
    #[arg(long, value_name = "NAME", default_value = "main")]
    entry: String,
    /// The size of a dynamic dimension: parameter, axis, number; or the name of a size and its number. May be repeated.
    #[arg(long, value_name = "NAME.AXIS=N|SIZE=N")]
    set: Vec<String>,
    #[command(flatten)]
    values: Values,
    /// The inputs of a sample by parameter name: .params, .npz or .safetensors. May be repeated.
    #[arg(long, value_name = "FILE")]
    sample: Vec<PathBuf>,
    /// The number of random samples of `--fill rand`, each of the next seed.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "sample", value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// How the range of an activation is chosen.
    #[arg(long, value_enum, default_value_t = MethodName::MinMax)]
    method: MethodName,
    /// The part of the numbers, in per cent, that `--method percentile` keeps; 99.99 without it.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    percentile: Option<f64>,
    /// Give all outputs of a product one scale for its weights, in place of one for each.
    #[arg(long)]
    per_tensor: bool,
    /// The text to write; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[arg(long, value_name = "FILE", help = format!("The weight file to write: {}; without it the weights are in the text", named_tensors()))]
    params_out: Option<PathBuf>,
    /// Print the report as JSON, `relayc.quantize/1`.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum MethodName {
    /// From the least to the greatest number.
    MinMax,
    /// All but a small part at both ends.
    Percentile,
    /// Up to the magnitude that keeps the most of the distribution (Kullback and Leibler).
    Kl,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|percent| *percent > 0.0 && *percent <= 100.0);
    number.ok_or_else(|| "expected a number above 0, up to 100".to_owned())
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    if args.percentile.is_some() && args.method != MethodName::Percentile {
        return console.usage("--percentile needs `--method percentile`");
    }
    let mut read = args.values.files(&args.file);
    read.extend(args.sample.iter().map(PathBuf::as_path));
    let written: Vec<&Path> = args.params_out.iter().chain(&args.output).map(PathBuf::as_path).collect();
    let free = sys::replaces_none(&written, &read, "the program is quantized from");
    let named = free.and_then(|()| {
        args.params_out.as_deref().map_or(Ok(()), |path| weight_format(path).map(drop))?;
        args.output.as_deref().map_or(Ok(()), endings::program)
    });
    if let Err(wrong) = named {
        return console.files(&[wrong], &Sources::default());
    }
    let until = Phase::Main;
    let mut program = match console.checked(&args.file, until, &args.reading.how(&args.entry, &args.set)) {
        Ok(program) => program,
        Err(code) => return code,
    };
    match quantized(console, args, &mut program) {
        Ok(()) => exit::FINE,
        Err(wrong) => console.files(&wrong, &program.sources),
    }
}

/// The format of the file for the weights.
fn weight_format(path: &Path) -> Result<tensors::Format, Diagnostic> {
    endings::of_tensors(path, Some(tensors::params::FORMAT))
}

fn quantized(console: &Console, args: &Args, program: &mut Program) -> Result<(), Vec<Diagnostic>> {
    let one = |wrong| vec![wrong];
    let requests = args.values.requests();
    console.lacking(program, &args.entry, &requests.params);
    optimise::bind_weights(program, &args.entry, &requests.params)?;
    let samples = samples(args, program, &requests)?;
    let method = match args.method {
        MethodName::MinMax => Method::MinMax,
        MethodName::Percentile => Method::Percentile(args.percentile.unwrap_or(99.99)),
        MethodName::Kl => Method::Kl,
    };
    let options = Options { method, per_channel: !args.per_tensor };
    let prepare = |module: Module| ready(module, &args.entry);
    let report = quantize::quantize(program, &args.entry, &samples, options, &prepare).map_err(one)?;
    let unbound = match &args.params_out {
        Some(_) => Some(params::unbind(program, &args.entry).map_err(one)?),
        None => None,
    };
    let text = match &unbound {
        Some(unbound) => unbound.text.clone(),
        None => show::print(program, show::complete(&program.module)),
    };
    let mut files: Vec<(&Path, Content)> = vec![];
    if let (Some(path), Some(unbound)) = (&args.params_out, &unbound) {
        files.push((path, tensors::making_of(path, weight_format(path).map_err(one)?, &unbound.weights)));
    }
    files.extend(to_file(&args.output).map(|path| (path, Content::Bytes(text.as_bytes()))));
    sys::write_all(files).map_err(one)?;
    let said = if args.json { format!("{:#}\n", report.json()) } else { report.text() };
    match to_file(&args.output) {
        Some(_) => sys::stdout(&said).map_err(one),
        None => {
            console.words(&said);
            sys::stdout(&text).map_err(one)
        }
    }
}

/// The values of the parameters in each sample.
fn samples(args: &Args, program: &Program, requests: &Requests) -> Result<Vec<Vec<Bound>>, Vec<Diagnostic>> {
    let entry = run::entry(&program.module, &args.entry).map_err(|wrong| vec![wrong])?;
    let of = |requests: Requests| bind::bind(&entry.slots, &program.module.types, &Requests { params: vec![], ..requests });
    if !args.sample.is_empty() {
        return args.sample.iter().map(|file| of(Requests { inputs_file: Some(file.clone()), ..requests.clone() })).collect();
    }
    let seed = |fill: &String| {
        fill.strip_prefix("rand").map(|rest| rest.strip_prefix(":seed=").and_then(|n| n.parse().ok()).unwrap_or(0))
    };
    let first: Option<u64> = requests.fill.as_ref().and_then(seed);
    let filled = |at: u64| first.map(|first| format!("rand:seed={}", first.wrapping_add(at))).or_else(|| requests.fill.clone());
    (0..args.samples).map(|at| of(Requests { fill: filled(at), ..requests.clone() })).collect()
}

/// A program that is compiled if it can be, else interpreted.
fn ready(module: Module, entry: &str) -> Result<Ready, Diagnostic> {
    #[cfg(feature = "jit")]
    if let Ok(Some(settings)) = relayc_engine::compile::Settings::native(optimise::MAX_LEVEL, 1)
        && let Ok(compiled) =
            relayc_engine::compile::compile_taking(&mut module.clone(), entry, &settings, run::Limits::default())
    {
        return Ok(Box::new(move |args| compiled.run(&args).map_err(|wrong| *wrong)));
    }
    quantize::interpreted(module, entry)
}
