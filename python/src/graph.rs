//! The graph of TVM's graph executor that a program is in groups, with the constants that it takes as inputs.

use crate::arrays::tensor_of_any;
use crate::error::{said, wrong};
use crate::module::Module;
use crate::weights::dict_of;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use relayc_driver::export;
use relayc_driver::optimise::{self, PassPlan, Target};
use relayc_exchange::graph_json;
use relayc_ir::tensor::Tensor;
use relayc_weights::read_tensors;

/// The graph as JSON, and its constants by the names of their nodes. Errors: RelayError for a program that the graph executor cannot
/// run.
#[pyfunction]
pub(crate) fn graph_of<'py>(py: Python<'py>, module: &Module, entry: &str, level: u8) -> PyResult<(String, Bound<'py, PyDict>)> {
    let mut program = module.program.clone();
    let graph = py.detach(|| export::to_graph_json(&mut program, entry, &[], level));
    let graph = graph.map_err(|diagnostics| wrong(diagnostics, &program.sources))?;
    let bytes = graph.constants.unwrap_or_else(export::no_constants);
    let constants = read_tensors("constants", &bytes).map_err(said)?;
    Ok((graph.json, dict_of(py, &constants)?))
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
    optimise::bind_weights(&mut program, entry, &[]).map_err(|diagnostics| wrong(diagnostics, &program.sources))?;
    let how = PassPlan { entry: Some(entry.to_owned()), ..PassPlan::level(level, Target::V3) };
    py.detach(|| optimise::optimise(&mut program.module, &how, &mut ())).map_err(said)?;
    let module = &mut program.module;
    let Some(global) = module.find_global(entry) else { return Err(PyKeyError::new_err(entry.to_owned())) };
    let (_, named) = graph_json::of_function(module, module.globals[global].func).map_err(said)?;
    for (name, value) in constants.iter() {
        let name: String = name.extract()?;
        let tensor = tensor_of_any(py, &name, &value)?;
        let known = named.iter().find(|(known, _)| *known == name).map(|(_, tensor)| tensor);
        let known = known.ok_or_else(|| PyKeyError::new_err(format!("there is no constant `{name}`")))?;
        let found = module.consts.ids().find(|&id| is_shared(&module.consts[id], known));
        let found = found.filter(|_| (known.dtype(), known.shape()) == (tensor.dtype(), tensor.shape()));
        let found = found.ok_or_else(|| {
            pyo3::exceptions::PyValueError::new_err(format!(
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

/// Whether two tensors are one, with the same elements in memory.
fn is_shared(one: &Tensor, other: &Tensor) -> bool {
    let address = |tensor: &Tensor| relayc_ir::with_data!(tensor.data(), |array| (array.as_ptr() as usize, array.len()));
    one.dtype() == other.dtype() && address(one) == address(other)
}
