//! The native module of the Python package `relayc`.

mod operators;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
fn _relayc(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(operators::operators, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
