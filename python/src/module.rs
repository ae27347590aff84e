//! `Module`: a program that was read, as an object of Python.

use crate::bridge::write;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use relayc_driver::Program;

/// A program of Relay: its functions and data types.
#[pyclass(module = "relayc._relayc")]
pub(crate) struct Module {
    pub(crate) program: Program,
}

impl Module {
    pub(crate) fn new(program: Program) -> Module {
        Module { program }
    }
}

#[pymethods]
impl Module {
    /// The functions by their global variables and the data types by their headers, as nodes of `relayc.tvm`.
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        write::module(py, &self.program.module, &Default::default())
    }
}
