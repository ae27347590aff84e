//! Tensors from arrays of NumPy, and back.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;

/// The tensor of an array; `dtype` where NumPy's does not say it (bfloat16, which is held as 16-bit numbers).
pub(crate) fn tensor_of(array: &Bound<'_, PyAny>, dtype: Option<&str>) -> PyResult<Tensor> {
    let py = array.py();
    let name = array.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "name"))?.to_string();
    let name = match (dtype, name.as_str()) {
        (Some(dtype), _) => dtype,
        (None, name) => name,
    };
    let dtype = dtype_named(name)?;
    let shape: Vec<usize> = array.getattr(intern!(py, "shape"))?.extract()?;
    // Elements in order, of this machine's byte order.
    let kwargs = PyDict::new(py);
    kwargs.set_item("order", "C")?;
    let native = array.getattr(intern!(py, "dtype"))?.call_method1("newbyteorder", ("=",))?;
    let plain = array.call_method("astype", (native,), Some(&no_copy(py)?))?;
    let bytes = plain.call_method(intern!(py, "tobytes"), (), Some(&kwargs))?;
    let bytes = bytes.cast::<PyBytes>()?.as_bytes();
    Tensor::from_le_bytes(dtype, &shape, bytes)
        .ok_or_else(|| PyValueError::new_err(format!("an array of {name} with the shape {shape:?} is not a tensor of Relay")))
}

fn no_copy(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let kwargs = PyDict::new(py);
    kwargs.set_item("copy", false)?;
    Ok(kwargs)
}

/// The element type of a name. Errors: TypeError for one that tensors do not have.
pub(crate) fn dtype_named(name: &str) -> PyResult<DType> {
    DType::parse(name).filter(|dtype| DType::RUNTIME.contains(dtype)).ok_or_else(|| {
        PyTypeError::new_err(format!(
            "Relay has no tensors of `{name}`: convert them, for instance with `array.astype(\"float32\")`"
        ))
    })
}

/// The array of a tensor, with memory of its own; bfloat16 as 16-bit numbers.
pub(crate) fn array_of<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import(intern!(py, "numpy"))?;
    let dtype = if tensor.dtype() == DType::BF16 { "uint16".to_owned() } else { tensor.dtype().to_string() };
    let array = numpy.call_method1(intern!(py, "empty"), (PyTuple::new(py, tensor.shape())?, dtype))?;
    if !tensor.is_empty() {
        let bytes = PyBytes::new(py, &tensor.to_le_bytes());
        let flat = numpy.call_method1(intern!(py, "frombuffer"), (bytes, array.getattr("dtype")?))?;
        array.set_item(pyo3::types::PyEllipsis::get(py), flat.call_method1("reshape", (array.getattr("shape")?,))?)?;
    }
    Ok(array)
}

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
        array_of(py, &self.tensor)
    }
}
