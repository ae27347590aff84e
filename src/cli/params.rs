//! `relayc params`: lists, reads, converts and compares weight files.

use super::diff::{self, Allowed};
use super::{Console, Reading, exit, named_tensors, weight_files};
use clap::Subcommand;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_base::text::{count, one_line};
use relayc_driver::{self as driver, Phase, ReadOptions, compare, endings, params, tensors};
use relayc_sys::{self as sys, Content};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(about = format!("List, read, convert and compare weight files ({}), or make them part of a program", named_tensors()))]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Ls(Ls),
    Get(Get),
    Convert(Convert),
    Diff(Diff),
    Bind(Bind),
    Unbind(Unbind),
}

/// List the tensors: name, shape, dtype, bytes.
#[derive(clap::Args)]
struct Ls {
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Compare them with the parameters of a program; exit 1 if a type differs.
    #[arg(long = "match", value_name = "NET.relay")]
    program: Option<PathBuf>,
    /// The function with the parameters.
    #[arg(long, value_name = "NAME", default_value = "main", requires = "program")]
    entry: String,
    /// Print JSON, `relayc.params/1`.
    #[arg(long)]
    json: bool,
}

/// Print a tensor, or write it.
#[derive(clap::Args)]
struct Get {
    file: PathBuf,
    name: String,
    #[arg(short, long, value_name = "FILE", help = format!("Write the tensor: .npy, or {} under its name", named_tensors()))]
    output: Option<PathBuf>,
}

/// Write the same tensors in another format, one by one.
#[derive(clap::Args)]
struct Convert {
    from: PathBuf,
    #[arg(short, long, value_name = "FILE", help = format!("The file to write; its name gives the format: {}", named_tensors()))]
    output: PathBuf,
}

/// Compare two files; exit 1 if they differ.
#[derive(clap::Args)]
struct Diff {
    a: PathBuf,
    b: PathBuf,
    #[command(flatten)]
    tolerance: Allowed,
    /// Print JSON, `relayc.diff/1`.
    #[arg(long)]
    json: bool,
}

/// Turn weights into constants of a program's text, which then runs without them.
#[derive(clap::Args)]
struct Bind {
    #[command(flatten)]
    reading: Reading,
    /// The program; `-` is standard input.
    file: PathBuf,
    #[arg(long, value_name = "FILE", required = true, help = weight_files("Weights"))]
    params: Vec<PathBuf>,
    /// The function with the parameters.
    #[arg(long, value_name = "NAME", default_value = "main")]
    entry: String,
    /// The text to write; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Turn the constants of a program's text into parameters, and write their values.
#[derive(clap::Args)]
struct Unbind {
    #[command(flatten)]
    reading: Reading,
    /// The program; `-` is standard input.
    file: PathBuf,
    #[arg(long, value_name = "FILE", help = format!("The weights to write: {}", named_tensors()))]
    params: PathBuf,
    /// The function with the constants.
    #[arg(long, value_name = "NAME", default_value = "main")]
    entry: String,
    /// The text to write; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let done = match &args.action {
        Action::Ls(args) => ls(console, args),
        Action::Get(args) => get(args).map_err(|wrong| said(console, &[wrong])),
        Action::Convert(args) => convert(console, args).map_err(|wrong| said(console, &[wrong])),
        Action::Diff(args) => diff(console, args),
        Action::Bind(args) => bind(console, args),
        Action::Unbind(args) => unbind(console, args),
    };
    done.unwrap_or_else(|code| code)
}

/// Prints the errors; returns the exit code.
fn said(console: &Console, wrong: &[Diagnostic]) -> u8 {
    console.files(wrong, &Sources::default())
}

fn ls(console: &Console, args: &Ls) -> Result<u8, u8> {
    let how = ReadOptions { entry: args.entry.clone(), ..ReadOptions::of(driver::Dialect::Today) };
    let program = args.program.as_ref().map(|file| console.checked(file, Phase::Main, &how)).transpose()?;
    let program = program.as_ref().map(|program| (program, args.entry.as_str()));
    let listing = params::list(&args.files, program).map_err(|wrong| said(console, &wrong))?;
    let text = if args.json || console.is_json() { format!("{}\n", listing.json()) } else { listing.text() };
    sys::stdout(&text).map_err(|wrong| said(console, &[wrong]))?;
    Ok(if listing.fits() { exit::FINE } else { exit::PROGRAM })
}

fn get(args: &Get) -> Result<u8, Diagnostic> {
    let tensor = params::get(&args.file, &args.name)?;
    match &args.output {
        Some(path) => params::save(path, &args.name, tensor)?,
        None => sys::stdout(&format!("{}: {}\n{}\n", one_line(&args.name), tensor.type_text(), tensor.preview()))?,
    }
    Ok(exit::FINE)
}

fn convert(console: &Console, args: &Convert) -> Result<u8, Diagnostic> {
    sys::replaces_none(&[&args.output], &[&args.from], "the tensors are read from")?;
    let n = params::convert(&args.from, &args.output)?;
    if console.verbose {
        console.words(&format!("{}\n", count(n, "tensor")));
    }
    Ok(exit::FINE)
}

fn diff(console: &Console, args: &Diff) -> Result<u8, u8> {
    let found = compare::tensors(&args.a, &args.b, args.tolerance.tolerance()).map_err(|wrong| said(console, &[wrong]))?;
    diff::print(console, &found, args.json)
}

fn bind(console: &Console, args: &Bind) -> Result<u8, u8> {
    args.output.as_deref().map_or(Ok(()), endings::program).map_err(|wrong| said(console, &[wrong]))?;
    let mut program = console.checked(&args.file, Phase::Main, &args.reading.how(&args.entry, &[]))?;
    let bound = params::bind(&mut program, &args.entry, &args.params).map_err(|wrong| console.files(&wrong, &program.sources))?;
    let read: Vec<&Path> = args.params.iter().chain([&args.file]).map(PathBuf::as_path).collect();
    let to: Vec<&Path> = args.output.as_deref().into_iter().collect();
    sys::replaces_none(&to, &read, "the program is read from").map_err(|wrong| said(console, &[wrong]))?;
    let written = match &args.output {
        Some(path) => sys::write_atomic(&[(path, bound.text.as_bytes())]),
        None => sys::stdout(&bound.text),
    };
    written.map_err(|wrong| said(console, &[wrong]))?;
    if console.verbose {
        console.words(&format!("{} bound\n", count(bound.n_bound, "weight")));
    }
    Ok(exit::FINE)
}

fn unbind(console: &Console, args: &Unbind) -> Result<u8, u8> {
    args.output.as_deref().map_or(Ok(()), endings::program).map_err(|wrong| said(console, &[wrong]))?;
    let mut program = console.checked(&args.file, Phase::Main, &args.reading.how(&args.entry, &[]))?;
    let unbound = params::unbind(&mut program, &args.entry).map_err(|wrong| console.files(&[wrong], &program.sources))?;
    let format = endings::of_tensors(&args.params, Some(tensors::params::FORMAT)).map_err(|wrong| said(console, &[wrong]))?;
    let content = tensors::making_of(&args.params, format, &unbound.weights);
    let mut files = vec![(args.params.as_path(), content)];
    files.extend(args.output.as_deref().map(|path| (path, Content::Bytes(unbound.text.as_bytes()))));
    let to: Vec<&Path> = files.iter().map(|(path, _)| *path).collect();
    let free = sys::replaces_none(&to, &[&args.file], "the program is read from");
    free.and_then(|()| sys::write_all(files)).map_err(|wrong| said(console, &[wrong]))?;
    if args.output.is_none() {
        sys::stdout(&unbound.text).map_err(|wrong| said(console, &[wrong]))?;
    }
    if console.verbose {
        console.words(&format!("{} to parameters\n", count(unbound.weights.len(), "constant")));
    }
    Ok(exit::FINE)
}
