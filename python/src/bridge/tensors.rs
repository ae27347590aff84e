//! Tensors of the native side as objects of Python.

use crate::arrays::array_of;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;

/// A tensor of the native side, whose elements are shared until somebody asks for an array.
#[pyclass(frozen, module = "relayc._relayc", name = "Tensor")]
pub(crate) struct NativeTensor {
    pub(crate) tensor: Tensor,
}

#[pymethods]
impl NativeTensor {
    /// The number of elements along each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.shape())
    }

    /// TVM's name of the element type.
    #[getter]
    fn dtype(&self) -> String {
        self.tensor.dtype().to_string()
    }

    /// A new array with the elements; bfloat16 as 16-bit numbers.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = array_of(py, &self.tensor)?.into_any();
        match self.tensor.dtype() {
            DType::BF16 => array.call_method1(intern!(py, "view"), ("uint16",)),
            _ => Ok(array),
        }
    }
}
