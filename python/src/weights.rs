//! Weights: named arrays of Python, files of tensors, and the weights that a module comes with.

use crate::arrays::{array_of, tensor_of_any};
use crate::error::said;
use crate::module::Module;
use crate::signals::with_threads;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use relayc_base::text::nearest;
use relayc_driver::bind::Packed;
use relayc_driver::bind::leaves::leaves;
use relayc_driver::run;
use relayc_driver::tensors::making_of;
use relayc_sys as sys;
use relayc_weights::{Format, Named, params as params_file, read_tensors};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(load_params, module)?)?;
    module.add_function(wrap_pyfunction!(save_params, module)?)?;
    module.add_function(wrap_pyfunction!(read_weights, module)?)?;
    module.add_function(wrap_pyfunction!(write_weights, module)?)?;
    module.add_function(wrap_pyfunction!(with_weights, module)?)?;
    module.add_function(wrap_pyfunction!(unknown_weights, module)?)?;
    module.add_function(wrap_pyfunction!(weights_of, module)?)
}

/// The tensors of a dictionary of arrays.
pub(crate) fn named_of(dict: &Bound<'_, PyDict>) -> PyResult<Named> {
    dict.iter()
        .map(|(name, value)| {
            let name: String = name.extract()?;
            let tensor = tensor_of_any(&name, &value)?;
            Ok((name, tensor))
        })
        .collect()
}

/// A dictionary of new arrays.
pub(crate) fn dict_of<'py>(py: Python<'py>, named: &Named) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    named.iter().try_for_each(|(name, tensor)| dict.set_item(name, array_of(py, tensor)?))?;
    Ok(dict)
}

/// The named arrays in the bytes of a file of tensors: .params, .npz or .safetensors.
#[pyfunction]
fn load_params<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    dict_of(py, &read_tensors("params", data).map_err(said)?)
}

/// Named arrays as the bytes of a `.params` file.
#[pyfunction]
fn save_params<'py>(py: Python<'py>, params: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &params_file::write(&named_of(params)?)))
}

fn read(path: &Path) -> PyResult<Named> {
    let bytes = sys::read_file(path, sys::Limit::data()).map_err(said)?;
    read_tensors(&path.display().to_string(), &bytes).map_err(said)
}

/// The named arrays of a file of tensors.
#[pyfunction]
fn read_weights<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    dict_of(py, &with_threads(py, || read(&path))?)
}

/// Writes named arrays to a file, in the format of its name.
#[pyfunction]
fn write_weights(py: Python<'_>, path: PathBuf, params: &Bound<'_, PyDict>) -> PyResult<()> {
    let named = named_of(params)?;
    let Some(format) = Format::of_name(&path.display().to_string()) else {
        let known = Format::extensions().join(", ");
        return Err(PyValueError::new_err(format!(
            "the name of `{}` has no known extension: use one of {known}",
            path.display()
        )));
    };
    with_threads(py, || sys::write_all(vec![(&path, making_of(&path, format, &named))])).map_err(said)
}

/// The module with weights of files and arrays for parameters of these names; they win over those that it has.
#[pyfunction]
fn with_weights(py: Python<'_>, module: &Module, files: Vec<PathBuf>, arrays: Option<&Bound<'_, PyDict>>) -> PyResult<Module> {
    let mut program = module.program.clone();
    let mut all = std::mem::take(&mut program.packed.weights);
    for file in &files {
        all.extend(with_threads(py, || read(file))?);
    }
    all.extend(arrays.map(named_of).transpose()?.unwrap_or_default());
    // The last of a name.
    let mut seen = FxHashSet::default();
    all.reverse();
    all.retain(|(name, _)| seen.insert(name.clone()));
    all.reverse();
    let from = files.first().map_or("params".to_owned(), |file| file.display().to_string());
    program.packed = Packed::of(&from, all);
    Ok(Module::new(program))
}

/// How many unknown names are told.
const TOLD: usize = 8;

/// The names without a parameter, or a field of one, in any function: the first few with the nearest known name, and the number of
/// the others. A module with errors knows no names, and has no unknown ones.
#[pyfunction]
fn unknown_weights(module: &Module, names: Vec<String>) -> (Vec<(String, Option<String>)>, usize) {
    if module.program.has_errors() {
        return (vec![], 0);
    }
    let module = &module.program.module;
    // An expression is the entry of any name.
    let entries = module.globals.iter().map(|global| &*global.name).chain(["main"]);
    let slots = entries.filter_map(|name| run::entry(module, name).ok()).flat_map(|entry| entry.slots);
    let leaves = slots.filter_map(|slot| leaves(&slot.name, slot.ty, &module.types).ok()).flatten();
    let known: BTreeSet<String> = leaves.map(|leaf| leaf.name).collect();
    let mut unknown = names.into_iter().filter(|name| !known.contains(name));
    let with_near = |name: String| {
        let near = nearest(&name, known.iter().map(String::as_str)).map(str::to_owned);
        (name, near)
    };
    let told = unknown.by_ref().take(TOLD).map(with_near).collect();
    (told, unknown.count())
}

/// The weights that a module comes with, as new arrays.
#[pyfunction]
fn weights_of<'py>(py: Python<'py>, module: &Module) -> PyResult<Bound<'py, PyDict>> {
    dict_of(py, &module.program.packed.weights)
}
