//! Imports a model of another format: as text, with its weights.
//!
//! The program is made, checked and printed before anything is written. Messages point into a text form of the model, one node a
//! line (`formats::onnx::import`). In the printed program a comment after each call names its node, `/* span=conv1:0:0 */`, as in
//! the output of TVM's importer.

mod archive;
mod darknet;
mod mxnet;
mod shape;

use super::misplaced::{misplaced, no_other_binary};
use super::{bind, endings, input_names, run, show};
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::limits::SOURCE_BYTES;
use relayc_base::text::{count, thousands};
use relayc_base::{Sources, Span};
use relayc_check::infer;
use relayc_exchange::Kind;
use relayc_exchange::onnx::import::{self, Import, Outside};
use relayc_ir::print::{self, Options};
use relayc_ops as ops;
use relayc_sys as sys;
use relayc_weights as formats;
use relayc_weights::foreign::MODEL;
use relayc_weights::{Named, params};
use std::path::{Path, PathBuf};

/// The model to import, and the options.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub model: PathBuf,
    /// The weights of a network of MXNet or Darknet.
    pub weights: Vec<PathBuf>,
    /// The weight file to write; without it the weights are in the text.
    pub params: Option<PathBuf>,
    /// `--shape`, as written.
    pub shapes: Vec<String>,
    /// `-i`, as written.
    pub inputs: Vec<String>,
    pub keep_going: bool,
    pub external_data: bool,
}

/// An imported program.
pub struct Imported {
    pub text: String,
    /// The bytes of the weight file, if requested.
    pub weights: Option<Vec<u8>>,
    /// The summary for `-v`: `12 inputs, …`, one fact a line.
    pub told: String,
}

/// The outcome of an import: the messages, the text that they point into, and the program if there is one.
pub struct Outcome {
    pub sources: Sources,
    pub diagnostics: Vec<Diagnostic>,
    pub imported: Option<Imported>,
}

/// The most bytes of weights in the text itself: 32 MiB.
const MAX_EMBEDDED: u64 = 32 << 20;

impl Outcome {
    /// An outcome with only a message.
    fn refused(diagnostic: Diagnostic) -> Outcome {
        Outcome { sources: Sources::new(), diagnostics: vec![diagnostic], imported: None }
    }
}

/// Imports a model of the format detected from its bytes, ONNX by default.
///
/// Errors are diagnostics of the outcome: those of [`import::import`], [`mxnet::import`](relayc_exchange::mxnet::import) and
/// [`darknet::import`](relayc_exchange::darknet::import), E0701 for the file, E0707 for a malformed shape, E0725 for a model that cannot
/// be imported, E0804 for weights that do not fit into a text, E0801 for a program that does not.
pub fn import(request: &Request) -> Outcome {
    let name = request.model.display().to_string();
    let bytes = match sys::read_file_if(&request.model, sys::Limit::model(), &|start| no_other_binary(&name, start, MODEL)) {
        Ok(bytes) => bytes,
        Err(error) => return Outcome::refused(error),
    };
    if let Some(Err(denied)) = request.params.as_deref().map(|path| endings::of_tensors(path, Some(params::FORMAT))) {
        return Outcome::refused(denied);
    }
    let kind = relayc_exchange::kind(&bytes);
    if !matches!(kind, Some(Kind::MxnetSymbol | Kind::DarknetCfg | Kind::Archive))
        && let Some(misplaced) = misplaced(&name, &bytes, MODEL)
    {
        return Outcome::refused(misplaced);
    }
    if !request.weights.is_empty() && !matches!(kind, Some(Kind::MxnetSymbol | Kind::DarknetCfg)) {
        return Outcome::refused(
            Diagnostic::new(codes::E0707, "`--weights` is for networks of MXNet and Darknet, whose weights are in a second file")
                .help("`--params FILE` says where the weights of the program go"),
        );
    }
    if kind.is_some() && (!request.inputs.is_empty() || request.keep_going || request.external_data) {
        let words = "`-i`, `--keep-going` and `--external-data` are for ONNX models";
        return Outcome::refused(Diagnostic::new(codes::E0707, words));
    }
    match kind {
        Some(Kind::MxnetSymbol) => mxnet::import(&bytes, request),
        Some(Kind::DarknetCfg) => darknet::import(&bytes, request),
        Some(Kind::Archive) => archive::import(request),
        _ => onnx_bytes(bytes, request),
    }
}

/// Imports an ONNX model from its bytes.
pub fn onnx_bytes(bytes: Vec<u8>, request: &Request) -> Outcome {
    let mut sources = Sources::new();
    let shapes = match shape::parse_all(&request.shapes, &mut sources) {
        Ok(shapes) => shapes,
        Err(error) => return Outcome { sources, diagnostics: vec![error], imported: None },
    };
    let constants = match request.inputs.iter().map(|input| bind::constant(input)).collect::<Result<Vec<_>, _>>() {
        Ok(constants) => constants,
        Err(error) => return Outcome { sources, diagnostics: vec![error], imported: None },
    };
    let name = request.model.display().to_string();
    let read = beside(&request.model);
    let how = Import {
        name: &name,
        file: sources.next_id(),
        shapes: &shapes,
        sizes: &[],
        constants: &constants,
        keep_going: request.keep_going,
        as_params: request.params.is_some(),
        outside: request.external_data.then_some(&read),
    };
    let (listing, mut imported) = import::import(bytes, &how);
    // Only here are inputs and weights told apart.
    if let Ok(imported) = &mut imported {
        input_names::name_inputs(&mut imported.module, &imported.inputs);
    }
    made(sources, &name, listing, imported, request)
}

/// Reads parts of a model in other files of its folder.
fn beside(model: &Path) -> impl Fn(&Outside) -> Result<Vec<u8>, Diagnostic> {
    let folder = model.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    move |outside| sys::read_inside(folder, &outside.path, outside.offset, outside.length)
}

/// The outcome of an import that made a program, or failed.
fn made(
    mut sources: Sources,
    name: &str,
    listing: import::Text,
    imported: Result<import::Imported, Vec<Diagnostic>>,
    request: &Request,
) -> Outcome {
    sources.add(name, listing.text.as_str());
    let made = imported.and_then(|imported| {
        let doubtful = shape::followed(&imported, &listing);
        if !doubtful.is_empty() {
            return Err(listing.refusals(doubtful));
        }
        let made = checked(imported, request, &|span| listing.name_at(span).map(str::to_owned));
        made.map_err(|wrong| listing.refusals(wrong))
    });
    match made {
        Ok((imported, warnings)) => Outcome { sources, diagnostics: warnings, imported: Some(imported) },
        Err(diagnostics) => Outcome { sources, diagnostics, imported: None },
    }
}

type Origin<'a> = &'a dyn Fn(Span) -> Option<String>;

/// A model where a program is expected.
pub struct Model {
    /// The program that `relayc import` writes.
    pub text: String,
    /// By the names of its parameters.
    pub weights: Named,
    /// The inputs, in order: the name of the parameter, and that of the model.
    pub inputs: Vec<(String, String)>,
    pub warnings: Vec<Diagnostic>,
}

/// Reads an ONNX model as a program; `shapes` are `--shape`, as written, and `sizes` have numbers. Its parts in other files are read
/// beside a path. Errors: as [`import`].
pub fn read_onnx(
    name: &str,
    bytes: Vec<u8>,
    (shapes, sizes): (&[String], &[(String, i64)]),
    parts_of: Option<&Path>,
    sources: &mut Sources,
) -> Result<Model, Vec<Diagnostic>> {
    if let Some(misplaced) = misplaced(name, &bytes, MODEL) {
        return Err(vec![misplaced]);
    }
    let shapes = shape::parse_all(shapes, sources).map_err(|error| vec![error])?;
    let (file, read) = (sources.next_id(), parts_of.map(beside));
    let outside = read.as_ref().map(|read| read as _);
    let how = Import { name, file, shapes: &shapes, sizes, constants: &[], keep_going: false, as_params: true, outside };
    let (listing, imported) = import::import(bytes, &how);
    model(name, listing, imported, sources)
}

/// Reads a network of MXNet with these weights as a program; `shapes` are `--shape`, as written. Errors: as [`import`].
pub fn read_mxnet(
    name: &str,
    symbol: &[u8],
    (shapes, weights): (&[String], Named),
    sources: &mut Sources,
) -> Result<Model, Vec<Diagnostic>> {
    let shapes = shape::numbers(shapes).map_err(|error| vec![error])?;
    let how = relayc_exchange::mxnet::Import { name, file: sources.next_id(), shapes: &shapes, weights, as_params: true };
    let (listing, imported) = relayc_exchange::mxnet::import(symbol, how);
    model(name, listing, imported, sources)
}

fn model(
    name: &str,
    listing: import::Text,
    imported: Result<import::Imported, Vec<Diagnostic>>,
    sources: &mut Sources,
) -> Result<Model, Vec<Diagnostic>> {
    sources.add(name, listing.text.as_str());
    let mut made = imported?;
    let doubtful = shape::followed(&made, &listing);
    if !doubtful.is_empty() {
        return Err(listing.refusals(doubtful));
    }
    let text = printed(&mut made, &|span| listing.name_at(span).map(str::to_owned))?;
    Ok(Model { text, weights: made.weights, inputs: made.inputs, warnings: made.warnings })
}

/// Infers and prints the program. Errors: those of inference, E0801 for a text that nobody would read.
fn printed(made: &mut import::Imported, origin: Origin) -> Result<String, Vec<Diagnostic>> {
    let wrong = infer::infer(&mut made.module, ops::table());
    if relayc_base::diag::has_errors(&wrong) {
        return Err(wrong.into_iter().map(|diagnostic| named(diagnostic, origin)).collect());
    }
    let options = Options { types: false, meta: true, exact: true, dim_names: show::names_sizes(&made.module) };
    let span = |span: Span| origin(span).map(|name| format!("{name}:0:0"));
    let text = print::print_with_origins(&made.module, ops::table(), options, &span);
    if text.len() <= SOURCE_BYTES.count() {
        return Ok(text);
    }
    // The names of nodes are comments: a program without them is better than none.
    let text = print::print_with_origins(&made.module, ops::table(), options, &|_| None);
    if text.len() > SOURCE_BYTES.count() {
        let (bytes, limit) = (thousands(text.len() as u64), thousands(SOURCE_BYTES.get()));
        let words = format!("as a text the model has {bytes} bytes, the limit of a text is {limit}");
        return Err(vec![Diagnostic::new(codes::E0801, words).help(SOURCE_BYTES.help())]);
    }
    Ok(text)
}

/// The program as requested.
fn checked(
    mut made: import::Imported,
    request: &Request,
    origin: Origin,
) -> Result<(Imported, Vec<Diagnostic>), Vec<Diagnostic>> {
    if request.params.is_none() {
        let embedded: u64 = made.module.consts.iter().map(|value| value.len() as u64 * value.dtype().bytes()).sum();
        if embedded > MAX_EMBEDDED {
            return Err(vec![too_large_for_text(&request.model, embedded)]);
        }
    }
    let text = printed(&mut made, origin)?;
    let told = told(&made);
    let import::Imported { weights, warnings, .. } = made;
    let weights = request.params.as_deref().map(|path| weight_file(path, &weights)).transpose().map_err(|error| vec![error])?;
    Ok((Imported { text, weights, told }, warnings))
}

/// The weights as a file of the format that its name says, `.params` where that has no ending. Errors: E0721; E0702 for names that
/// the format cannot store.
fn weight_file(path: &Path, weights: &Named) -> Result<Vec<u8>, Diagnostic> {
    formats::encode(endings::of_tensors(path, Some(params::FORMAT))?, &path.display().to_string(), weights)
}

/// Adds to a message of inference the node that it concerns.
fn named(diagnostic: Diagnostic, origin: Origin) -> Diagnostic {
    match origin(diagnostic.span()) {
        Some(node) => diagnostic.note(format!("this is node `{node}`")),
        None => diagnostic,
    }
}

/// The summary for `-v`: names that changed in the program.
fn told(made: &import::Imported) -> String {
    let import::Imported { module, weights, inputs, outputs, united, .. } = made;
    let mut out = String::new();
    for (ours, theirs) in inputs {
        out.push_str(&format!("input %{ours} is `{theirs}`\n"));
    }
    let named = run::entry(module, "main").map_or(vec![], |entry| entry.results);
    for (ours, theirs) in named.iter().zip(outputs) {
        out.push_str(&format!("result {ours} is `{theirs}`\n"));
    }
    for (gone, kept) in united {
        out.push_str(&format!("size `{gone}` is `{kept}`, as nodes need them to be equal\n"));
    }
    out + &format!("{}\n", count(weights.len(), "weight"))
}

fn too_large_for_text(model: &Path, bytes: u64) -> Diagnostic {
    let message =
        format!("`{}`: weights of {} bytes, in a text at most {}", model.display(), thousands(bytes), thousands(MAX_EMBEDDED));
    Diagnostic::new(codes::E0804, message).help("write them to a file: `--params net.params`")
}
