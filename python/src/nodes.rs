//! Functions on nodes of `relayc.tvm`: their text, their inference, their passes.

use crate::bridge::read::{self, Read};
use crate::bridge::{Known, address, write};
use crate::error::wrong;
use crate::module::Module;
use crate::signals::with_threads;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};
use relayc_base::Idx;
use relayc_base::diag::has_errors;
use relayc_check::infer;
use relayc_driver::optimise::{self, PassPlan, Step, Target};
use relayc_driver::show::Options;
use relayc_driver::{Phase, Program, ReadOptions, check_text_as};
use relayc_ir::print::{HEADER, print};
use relayc_ir::{self as ir, Root};
use relayc_ops as ops;
use relayc_passes::{Arg, ArgKind, PassCx};
use rustc_hash::FxHashSet;

/// The functions of a module and its data types.
type Parts<'py> = (Bound<'py, PyDict>, Bound<'py, PyDict>);

/// The text of a module, an expression or a type, as TVM v0.14 prints it.
#[pyfunction]
pub(crate) fn astext(node: &Bound<'_, PyAny>, show_meta_data: bool) -> PyResult<String> {
    let options = Options { types: true, meta: show_meta_data, exact: false, dim_names: false };
    if node.hasattr(intern!(node.py(), "type_definitions"))? {
        let read = read_module(node)?;
        return Ok(print(&read.module, ops::table(), options));
    }
    match read::any(node)? {
        read::Any::Expr(read) => Ok(print(&read.module, ops::table(), options)),
        read::Any::Text(text) => Ok(format!("{HEADER}{text}")),
    }
}

/// Reads the text of a module and infers its types.
#[pyfunction]
#[pyo3(signature = (source, source_name, init_module=None))]
pub(crate) fn parse_module(
    py: Python<'_>,
    source: &str,
    source_name: &str,
    init_module: Option<&Bound<'_, PyAny>>,
) -> PyResult<Module> {
    let text = match init_module.filter(|module| !module.is_none()) {
        Some(module) => beside(source, &astext(module, true)?),
        None => source.to_owned(),
    };
    checked(with_threads(py, || check_text_as(source_name, &text, Phase::InferModule, &options()))).map(Module::new)
}

/// `source` with the definitions of a printed module in scope. They stand on the line of the header: constructors come before their
/// uses, and the lines of `source` keep their numbers.
fn beside(source: &str, module: &str) -> String {
    let (_, definitions) = module.split_once('\n').unwrap_or_default();
    let (definitions, metadata) = definitions.split_at(definitions.find("#[metadata]").unwrap_or(definitions.len()));
    let header = source.find("#[version").unwrap_or_default();
    let end = source[header..].find('\n').map_or(source.len(), |end| header + end);
    let (before, after) = if source[header..].starts_with("#[version") { source.split_at(end) } else { ("", source) };
    format!("{before} {}{after}\n{metadata}", definitions.replace('\n', " "))
}

/// Reads the text of an expression.
#[pyfunction]
pub(crate) fn parse_expr<'py>(py: Python<'py>, source: &str, source_name: &str) -> PyResult<Bound<'py, PyAny>> {
    let text = if source.trim_start().starts_with("#[version") { source.to_owned() } else { format!("{HEADER}{source}") };
    let program = checked(with_threads(py, || check_text_as(source_name, &text, Phase::Resolve, &options())))?;
    match program.module.root {
        Root::Expr(root) => write::expr(py, &program.module, &Default::default(), root),
        Root::Globals => Err(PyValueError::new_err("the text is a module: read it with `tvm.relay.parse`")),
    }
}

/// Infers the types of a module. Nodes that are complete keep their identity and get their types.
#[pyfunction]
pub(crate) fn infer_module<'py>(module: &Bound<'py, PyAny>) -> PyResult<Parts<'py>> {
    let read = typed(module)?;
    write::module(module.py(), &read.module, &read.known)
}

/// Runs a pass of `relayc passes` on a module. Options are arguments of the pass by name; those that it does not declare are those of
/// TVM's pass that mean nothing here. Expressions are nodes of the module.
///
/// Errors: RelayError for a name that no pass has, for an option of the wrong kind, and for a program that the pass cannot rewrite.
#[pyfunction]
#[pyo3(signature = (module, name, options=None))]
pub(crate) fn run_pass<'py>(
    module: &Bound<'py, PyAny>,
    name: &str,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Parts<'py>> {
    let pass = relayc_passes::find(name).ok_or_else(|| crate::error::said(*optimise::unknown_pass(name)))?;
    let mut read = if pass.needs_types { typed(module)? } else { read_module(module)? };
    let mut args = vec![];
    for (option, value) in options.into_iter().flatten() {
        let option: String = option.extract()?;
        if let Some(param) = pass.params.iter().find(|param| param.name == option) {
            let value = if param.kind == ArgKind::Exprs { numbers(&value, &read.known)? } else { argument(&value)? };
            args.push((option, value));
        }
    }
    let step = Step::new(name, args).map_err(|error| crate::error::said(*error))?;
    let plan = PassPlan::requested(vec![step.clone()], Target::V3);
    with_threads(module.py(), || match pass.needs_types {
        true => optimise::optimise(&mut read.module, &plan, &mut ()),
        false => {
            let cx = PassCx { args: step.args(), ..plan.cx() };
            (pass.run)(&mut read.module, &cx).map(drop).map_err(|error| *error)
        }
    })
    .map_err(crate::error::said)?;
    write::module(module.py(), &read.module, &read.known)
}

/// The numbers of the expressions that were read from these nodes.
fn numbers(nodes: &Bound<'_, PyAny>, known: &Known) -> PyResult<Arg> {
    let wanted: FxHashSet<usize> = nodes.try_iter()?.map(|node| Ok(address(&node?))).collect::<PyResult<_>>()?;
    let found = known.exprs.iter().filter(|(_, node)| wanted.contains(&(node.as_ptr() as usize)));
    let mut numbers: Vec<usize> = found.map(|(id, _)| id.index()).collect();
    numbers.sort_unstable();
    Ok(Arg::List(numbers.into_iter().map(|number| Arg::Word(number.to_string())).collect()))
}

/// A value of Python as the argument of a pass: words, lists of them, and lists by name.
fn argument(value: &Bound<'_, PyAny>) -> PyResult<Arg> {
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Arg::Word(value.is_true().to_string()));
    }
    if let Ok(entries) = value.cast::<PyDict>() {
        return entries
            .iter()
            .map(|(name, value)| Ok((name.extract()?, argument(&value)?)))
            .collect::<PyResult<_>>()
            .map(Arg::Map);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return value.try_iter()?.map(|item| argument(&item?)).collect::<PyResult<_>>().map(Arg::List);
    }
    Ok(Arg::Word(value.str()?.extract()?))
}

/// The module of the native side, typed.
#[pyfunction]
pub(crate) fn native_of(module: &Bound<'_, PyAny>) -> PyResult<Module> {
    Ok(Module::new(program(typed(module)?.module)))
}

fn options() -> ReadOptions {
    ReadOptions::of(relayc_driver::Dialect::Today)
}

fn checked(program: Program) -> PyResult<Program> {
    if program.has_errors() { Err(wrong(program.diagnostics, &program.sources)) } else { Ok(program) }
}

/// A program without a text.
pub(crate) fn program(module: ir::Module) -> Program {
    let (sources, diagnostics, timings, packed) = Default::default();
    Program { sources, module, diagnostics, timings, packed }
}

fn read_module(module: &Bound<'_, PyAny>) -> PyResult<Read> {
    let py = module.py();
    read::module(&module.getattr(intern!(py, "functions"))?, &module.getattr(intern!(py, "type_definitions"))?)
}

/// The module with types. Errors: RelayError, with the places in the text of the module.
fn typed(module: &Bound<'_, PyAny>) -> PyResult<Read> {
    let mut read = read_module(module)?;
    let text_of =
        |module: &ir::Module| print(module, ops::table(), Options { types: false, meta: true, exact: true, dim_names: false });
    let before = read.module.clone();
    let diagnostics = with_threads(module.py(), || infer::infer(&mut read.module, ops::table()));
    if !has_errors(&diagnostics) {
        return Ok(read);
    }
    // The same errors with places, where the text of the program shows them.
    let program = with_threads(module.py(), || check_text_as("module", &text_of(&before), Phase::InferModule, &options()));
    if program.has_errors() {
        return Err(wrong(program.diagnostics, &program.sources));
    }
    Err(wrong(diagnostics, &relayc_base::Sources::new()))
}
