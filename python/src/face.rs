//! Programs as `relayc.Module` sees them: read, checked, changed by passes, drawn; the zoo, and the manual of operators.

use crate::compile::level_of;
use crate::error::{flags_of_python, raised, said, wrong};
use crate::module::Module;
use crate::signals::with_threads;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use relayc_base::diag::has_errors;
use relayc_base::diag::render::{Format, render};
use relayc_driver::bind::Packed;
use relayc_driver::import::{Request, import, onnx_bytes};
use relayc_driver::model::{self, ModelError};
use relayc_driver::optimise::{self, PassPlan, Target};
use relayc_driver::show::{self, Options};
use relayc_driver::viz::{self, Form, Part};
use relayc_driver::{self as driver, Dialect, Phase, Program, ReadOptions, check_text_as, manual};
use relayc_weights::read_tensors;
use relayc_zoo as zoo;
use std::path::PathBuf;

/// Reads and checks a text. What is wrong with it is among its diagnostics.
#[pyfunction]
#[pyo3(signature = (text, name="<string>"))]
fn read_text(py: Python<'_>, text: &str, name: &str) -> Module {
    Module::new(with_threads(py, || check_text_as(name, text, Phase::Main, &ReadOptions::of(Dialect::Today))))
}

/// Reads and checks a file: a text, a model of ONNX, an archive. `set` are sizes of dynamic dimensions, `data.0=8` or `n=8`.
/// Errors: RelayError for a file without a program; what is wrong with a program is among its diagnostics.
#[pyfunction]
#[pyo3(signature = (path, *, set=vec![], entry="main"))]
fn read_file(py: Python<'_>, path: PathBuf, set: Vec<String>, entry: &str) -> PyResult<Module> {
    let how = ReadOptions { set, entry: entry.to_owned(), ..ReadOptions::of(Dialect::Today) };
    with_threads(py, || driver::read_file(&path, Phase::Main, &how)).map(Module::new).map_err(|error| raised(&error))
}

/// Imports a model of another format with its weights: the file, or `data`, the bytes of an ONNX model, which messages call `path`.
/// Returns the rendered warnings as well. Errors: RelayError.
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
#[pyfunction]
#[pyo3(signature = (path, *, data=None, weights=vec![], shapes=vec![], inputs=vec![], keep_going=false, external_data=false))]
fn import_file(
    py: Python<'_>,
    path: PathBuf,
    data: Option<Vec<u8>>,
    weights: Vec<PathBuf>,
    shapes: Vec<String>,
    inputs: Vec<String>,
    keep_going: bool,
    external_data: bool,
) -> PyResult<(Module, String)> {
    const WEIGHTS: &str = "model.params";
    let name = path.display().to_string();
    let request = Request { model: path, weights, params: Some(WEIGHTS.into()), shapes, inputs, keep_going, external_data };
    let outcome = with_threads(py, || match data {
        Some(bytes) => onnx_bytes(bytes, &request),
        None => import(&request),
    });
    let Some(imported) = outcome.imported else { return Err(wrong(outcome.diagnostics, &outcome.sources)) };
    let mut program = with_threads(py, || check_text_as(&name, &imported.text, Phase::Main, &ReadOptions::of(Dialect::Today)));
    if let Some(bytes) = imported.weights {
        program.packed = Packed::of(&name, read_tensors(WEIGHTS, &bytes).map_err(said)?);
    }
    Ok((Module::new(program), render(&outcome.diagnostics, &outcome.sources, Format::Plain, false)))
}

/// The diagnostics of a program with those of the lints, as lines of JSON (`relayc.diag/1`), and as they are rendered one by one.
#[pyfunction]
fn diagnostics(py: Python<'_>, module: &Module) -> Vec<(String, String)> {
    let program = &module.program;
    let linted = with_threads(py, || linted(program));
    let (found, sources) = match &linted {
        Some(linted) => (&linted.diagnostics, &linted.sources),
        None => (&program.diagnostics, &program.sources),
    };
    let shown = |format| move |diagnostic| render(std::slice::from_ref(diagnostic), sources, format, false);
    found.iter().map(|diagnostic| (shown(Format::Json)(diagnostic), shown(Format::Plain)(diagnostic))).collect()
}

/// The program of its one text, with lints.
fn linted(program: &Program) -> Option<Program> {
    let mut files = program.sources.files();
    let file = files.next().filter(|_| files.next().is_none())?;
    let linted = check_text_as(&file.name, &file.text, Phase::Lint, &ReadOptions::of(Dialect::Today));
    // The text of an archive is not the one that was checked if sizes are set.
    (linted.has_errors() == program.has_errors()).then_some(linted)
}

/// Whether a program has errors.
#[pyfunction]
fn has_error(module: &Module) -> bool {
    has_errors(&module.program.diagnostics)
}

/// Requires a program without errors. Errors: RelayError.
#[pyfunction]
fn require_sound(module: &Module) -> PyResult<()> {
    sound(module).map(|_| ())
}

fn sound(module: &Module) -> PyResult<&Program> {
    let program = &module.program;
    if program.has_errors() { Err(wrong(program.diagnostics.clone(), &program.sources)) } else { Ok(program) }
}

/// The canonical text.
#[pyfunction]
fn print(module: &Module, types: bool, meta: bool) -> String {
    let dim_names = show::names_sizes(&module.program.module);
    show::print(&module.program, Options { types, meta, exact: meta, dim_names })
}

/// The module after passes with these names, or after those of a level if there are no names. Errors: KeyError for an unknown pass,
/// RelayError.
#[pyfunction]
fn optimized(
    py: Python<'_>,
    module: &Module,
    passes: Vec<String>,
    #[pyo3(from_py_with = level_of)] level: u8,
    entry: Option<String>,
) -> PyResult<Module> {
    let mut program = sound(module)?.clone();
    let plan = match passes.is_empty() {
        true => PassPlan::level(level, Target::V3),
        false => {
            PassPlan::named(passes.iter().map(String::as_str), Target::V3).map_err(|error| PyKeyError::new_err(error.message))?
        }
    };
    let plan = PassPlan { entry, ..plan };
    with_threads(py, || optimise::optimise(&mut program.module, &plan, &mut ())).map_err(said)?;
    Ok(Module::new(program))
}

/// A drawing of a program as text: "term", "dot", "svg" or "html". Errors: ValueError for another form or an impossible width,
/// RelayError.
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
#[pyfunction]
#[pyo3(signature = (
    module, form, *, function=None, around=None, depth=viz::DEPTH, weights=false, fold=true, width=viz::WIDTH as i64, title="-"
))]
fn draw(
    py: Python<'_>,
    module: &Module,
    form: &str,
    function: Option<&str>,
    around: Option<String>,
    depth: usize,
    weights: bool,
    fold: bool,
    width: i64,
    title: &str,
) -> PyResult<String> {
    let form = match form {
        "term" => Form::Term { width: columns(width)? },
        "dot" => Form::Dot,
        "svg" => Form::Svg,
        "html" => Form::Html { title: title.to_owned(), heat: None, memory: None },
        other => {
            let message = format!("form is \"{other}\": expected \"term\", \"dot\", \"svg\" or \"html\"");
            return Err(PyValueError::new_err(message));
        }
    };
    let mut program = module.program.clone();
    viz::soften(&mut program);
    if program.has_errors() {
        return Err(wrong(program.diagnostics, &program.sources));
    }
    let function = function.map(|name| name.trim_start_matches('@').to_owned());
    let part = Part { function, around, depth, weights, unfolded: !fold };
    let drawn = with_threads(py, || viz::graph(&program, &part).map(|graph| viz::text(&graph, &program.sources, form)));
    drawn.map_err(|error| wrong(vec![error], &program.sources))
}

/// The columns of a terminal. Errors: ValueError.
fn columns(width: i64) -> PyResult<usize> {
    if viz::WIDTHS.contains(&width) {
        return Ok(width as usize);
    }
    let (least, most) = (viz::WIDTHS.start(), viz::WIDTHS.end());
    Err(PyValueError::new_err(format!("width is {width}: expected a number from {least} to {most}")))
}

/// The name, the default and the meaning of a flag.
type Flag = (&'static str, &'static str, &'static str);

/// The networks of the zoo: name, what it is, and its flags.
#[pyfunction]
fn zoo_networks() -> Vec<(&'static str, &'static str, Vec<Flag>)> {
    let networks = zoo::networks().iter().map(|network| {
        let flags = network.flags.iter().map(|flag| (flag.name, flag.default, flag.doc)).collect();
        (network.name, network.doc, flags)
    });
    networks.chain(zoo::LIBRARIES.iter().map(|library| (library.name, library.doc, vec![]))).collect()
}

/// A network of the zoo, with weights of a seed. Errors: ValueError for an unknown name or flag.
#[pyfunction]
fn zoo_build(py: Python<'_>, name: &str, flags: Vec<String>, seed: Option<u32>) -> PyResult<Module> {
    let built = with_threads(py, || model::build(name, &flags, seed)).map_err(|error| match error {
        ModelError::Usage { message, help } => PyValueError::new_err(flags_of_python(&format!("{message}: {help}"))),
        ModelError::Found(diagnostics) => wrong(diagnostics, &Default::default()),
    })?;
    let text = &built.text;
    let mut program = with_threads(py, || check_text_as(name, text, Phase::Main, &ReadOptions::of(Dialect::Today)));
    program.packed = Packed::of(name, built.weights.unwrap_or_default());
    Ok(Module::new(program))
}

/// The names of operators that contain a text, and the page of the manual if it is one's name. Errors: KeyError with a suggestion.
#[pyfunction]
fn operator_pages(name: &str) -> PyResult<Vec<(&'static str, &'static str)>> {
    let found = manual::look_up(name).map_err(|near| {
        let near = near.map_or(String::new(), |near| format!(": there is `{near}`"));
        PyKeyError::new_err(format!("there is no operator `{name}`{near}"))
    })?;
    Ok(found.iter().map(|def| (def.name, def.summary())).collect())
}

/// The page of an operator in the manual. Errors: KeyError.
#[pyfunction]
fn operator_page(name: &str) -> PyResult<String> {
    match manual::look_up(name) {
        Ok(found) if found.len() == 1 => Ok(found[0].page()),
        Ok(found) => {
            let names: Vec<&str> = found.iter().take(8).map(|def| def.name).collect();
            Err(PyKeyError::new_err(format!("there is no operator `{name}`: there are `{}`", names.join("`, `"))))
        }
        Err(near) => {
            let near = near.map_or(String::new(), |near| format!(": there is `{near}`"));
            Err(PyKeyError::new_err(format!("there is no operator `{name}`{near}")))
        }
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_text, module)?)?;
    module.add_function(wrap_pyfunction!(read_file, module)?)?;
    module.add_function(wrap_pyfunction!(import_file, module)?)?;
    module.add_function(wrap_pyfunction!(diagnostics, module)?)?;
    module.add_function(wrap_pyfunction!(has_error, module)?)?;
    module.add_function(wrap_pyfunction!(require_sound, module)?)?;
    module.add_function(wrap_pyfunction!(print, module)?)?;
    module.add_function(wrap_pyfunction!(optimized, module)?)?;
    module.add_function(wrap_pyfunction!(draw, module)?)?;
    module.add_function(wrap_pyfunction!(zoo_networks, module)?)?;
    module.add_function(wrap_pyfunction!(zoo_build, module)?)?;
    module.add_function(wrap_pyfunction!(operator_pages, module)?)?;
    module.add_function(wrap_pyfunction!(operator_page, module)?)
}
