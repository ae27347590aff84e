//! The native module of the Python package `relayc`.

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
fn _relayc(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
