//! The graph of TVM's graph executor that a program is in groups, with the constants that it takes as inputs.

use crate::error::wrong;
use crate::module::Module;
use crate::weights::dict_of;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use relayc_driver::export;
use relayc_weights::read_tensors;

/// The graph as JSON, and its constants by the names of their nodes. Errors: RelayError for a program that the graph executor cannot
/// run.
#[pyfunction]
pub(crate) fn graph_of<'py>(py: Python<'py>, module: &Module, entry: &str, level: u8) -> PyResult<(String, Bound<'py, PyDict>)> {
    let mut program = module.program.clone();
    let graph = py.detach(|| export::to_graph_json(&mut program, entry, &[], level));
    let graph = graph.map_err(|diagnostics| wrong(diagnostics, &program.sources))?;
    let bytes = graph.constants.unwrap_or_else(export::no_constants);
    let constants = read_tensors("constants", &bytes).map_err(crate::error::said)?;
    Ok((graph.json, dict_of(py, &constants)?))
}
