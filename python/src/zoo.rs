//! The networks of `relay.testing`.

use crate::module::Module;
use crate::nodes::program;
use crate::signals::with_threads;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use relayc_zoo::{self as zoo, Config};

/// Builds a network of `relayc model` from its flags, such as `--batch=4`; inference finds the types of its weights.
///
/// Errors: ValueError for a name, flag or value that the zoo does not have.
#[pyfunction]
pub(crate) fn network(py: Python<'_>, name: &str, flags: Vec<String>) -> PyResult<Module> {
    let built = with_threads(py, || zoo::find(name).and_then(|network| Config::parse(network, &flags)?.build()));
    let module = built.map_err(|error| PyValueError::new_err(format!("{}; {}", error.message, error.help)))?;
    Ok(Module::new(program(module)))
}
