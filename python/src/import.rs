//! Models of other formats as programs.

use crate::bridge::tensors::NativeTensor;
use crate::error::{said, wrong};
use crate::module::Module;
use crate::signals::with_threads;
use crate::weights::named_of;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use relayc_base::Sources;
use relayc_base::diag::render::{Format, render};
use relayc_driver::import::{read_mxnet, read_onnx};
use relayc_driver::{Dialect, Phase, ReadOptions, check_text_as};

/// Reads an ONNX model (`kind` is "onnx") or the JSON of an MXNet symbol ("mxnet") as a program with its weights by the names of its
/// parameters, the model's names of the inputs by the names of their parameters, and the rendered warnings. `shapes` are texts such as
/// `data=1,3,224,224`; `weights` are arrays by name, for MXNet.
///
/// Errors: RelayError for a model that cannot be imported.
#[pyfunction]
#[pyo3(signature = (data, kind, *, name="model", shapes=vec![], weights=None))]
pub(crate) fn import_model<'py>(
    py: Python<'py>,
    data: Vec<u8>,
    kind: &str,
    name: &str,
    shapes: Vec<String>,
    weights: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Module, Bound<'py, PyDict>, Bound<'py, PyDict>, String)> {
    let mut sources = Sources::new();
    let model = match kind {
        "onnx" => with_threads(py, || read_onnx(name, data, (&shapes, &[]), None, &mut sources)),
        "mxnet" => {
            let weights = weights.map(named_of).transpose()?.unwrap_or_default();
            with_threads(py, || read_mxnet(name, &data, (&shapes, weights), &mut sources))
        }
        other => return Err(PyValueError::new_err(format!("models are of kind \"onnx\" or \"mxnet\", not \"{other}\""))),
    };
    let model = model.map_err(|diagnostics| wrong(diagnostics, &sources))?;
    let program = with_threads(py, || check_text_as(name, &model.text, Phase::InferModule, &ReadOptions::of(Dialect::Today)));
    if let Some(error) = program.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        return Err(said(error.clone()));
    }
    let weights = PyDict::new(py);
    for (name, tensor) in model.weights {
        weights.set_item(name, NativeTensor { tensor })?;
    }
    let inputs = PyDict::new(py);
    for (ours, theirs) in model.inputs {
        inputs.set_item(ours, theirs)?;
    }
    Ok((Module::new(program), weights, inputs, render(&model.warnings, &sources, Format::Plain, false)))
}
