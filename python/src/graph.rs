//! The graph of TVM's graph executor that a program is in groups, with the constants that it takes as inputs.

use crate::arrays::tensor_of_any;
use crate::bridge::tensors::NativeTensor;
use crate::error::wrong;
use crate::module::Module;
use crate::signals::with_threads;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use relayc_driver::{Program, export};
use relayc_exchange::graph_json::{self, Graph};
use relayc_ir::tensor::Tensor;
use relayc_weights::Named;

/// The graph as JSON, and its constants by the names of their nodes, which share memory with the module.
///
/// Errors: RelayError for a program that the graph executor cannot run.
#[pyfunction]
pub(crate) fn graph_of<'py>(py: Python<'py>, module: &Module, entry: &str, level: u8) -> PyResult<(String, Bound<'py, PyDict>)> {
    let mut program = module.program.clone();
    let (graph, constants) = grouped(py, &mut program, entry, level)?;
    let tensors = PyDict::new(py);
    constants.into_iter().try_for_each(|(name, tensor)| tensors.set_item(name, NativeTensor { tensor }))?;
    Ok((graph_json::write(&graph), tensors))
}

/// The module in the groups of the graph, with other tensors for some of its constants. Errors: KeyError for a name that no constant
/// has, ValueError for a tensor of another type.
#[pyfunction]
pub(crate) fn with_constants(
    py: Python<'_>,
    module: &Module,
    entry: &str,
    level: u8,
    constants: &Bound<'_, PyDict>,
) -> PyResult<Module> {
    let mut program = module.program.clone();
    let (_, named) = grouped(py, &mut program, entry, level)?;
    let module = &mut program.module;
    for (name, value) in constants.iter() {
        let name: String = name.extract()?;
        let tensor = tensor_of_any(&name, &value)?;
        let known = named.iter().find(|(known, _)| *known == name).map(|(_, tensor)| tensor);
        let known = known.ok_or_else(|| PyKeyError::new_err(format!("there is no constant `{name}`")))?;
        let found = module.consts.ids().find(|&id| is_shared(&module.consts[id], known));
        let found = found.filter(|_| (known.dtype(), known.shape()) == (tensor.dtype(), tensor.shape()));
        let found = found.ok_or_else(|| {
            PyValueError::new_err(format!(
                "`{name}`: expected {} of the shape {:?}, found {} of the shape {:?}",
                known.dtype(),
                known.shape(),
                tensor.dtype(),
                tensor.shape()
            ))
        })?;
        module.consts[found] = tensor;
    }
    Ok(Module::new(program))
}

/// The program in the groups of its graph, the graph, and its constants. Errors: RelayError.
fn grouped(py: Python<'_>, program: &mut Program, entry: &str, level: u8) -> PyResult<(Graph, Named)> {
    let grouped = with_threads(py, || export::grouped(program, entry, &[], level));
    grouped.map_err(|diagnostics| wrong(diagnostics, &program.sources))
}

/// Whether two tensors are one, with the same elements in memory.
fn is_shared(one: &Tensor, other: &Tensor) -> bool {
    let address = |tensor: &Tensor| relayc_ir::with_data!(tensor.data(), |array| (array.as_ptr() as usize, array.len()));
    one.dtype() == other.dtype() && address(one) == address(other)
}
