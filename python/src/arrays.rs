//! Arrays of NumPy as the memory of runs: a run reads its inputs and writes its outputs where the arrays have their elements.
//!
//! An array takes part without a copy if its elements are in order, aligned, and in this machine's byte order. Another one is
//! copied once as an input (`relayc._arrays.as_array`), and refused as an output. bfloat16, which NumPy does not have, is two raw
//! bytes (`V2`), as in .npz files; arrays of `ml_dtypes` and of 16-bit numbers are taken as well.

#![allow(unsafe_code, reason = "the elements of arrays are seen through pointers")]

use numpy::npyffi::{self, PY_ARRAY_API, flags};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use relayc_driver::bind::rearranged;
use relayc_engine::compile::bytes as elements;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;

/// An array of any element type.
pub(crate) type Array<'py> = Bound<'py, PyUntypedArray>;

/// A tensor that a run takes or gives.
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    /// The extent of each axis; `None` if a call gives it.
    pub(crate) dims: Vec<Option<usize>>,
    /// The extents, if all are known.
    known: Vec<usize>,
    /// The extents in words: `8`, `n`, `2*n`, `?`.
    pub(crate) texts: Vec<String>,
    descr: Py<PyArrayDescr>,
}

impl Port {
    /// A port whose dimensions without a number are open.
    pub(crate) fn new(py: Python<'_>, name: &str, dtype: DType, texts: Vec<String>) -> PyResult<Port> {
        let dims: Vec<Option<usize>> = texts.iter().map(|text| text.parse().ok()).collect();
        let known = dims.iter().copied().collect::<Option<_>>().unwrap_or_default();
        Ok(Port { name: name.to_owned(), dtype, dims, known, texts, descr: descr_of(py, dtype)?.unbind() })
    }

    /// The shape of a port without open dimensions.
    pub(crate) fn known(&self) -> &[usize] {
        &self.known
    }

    pub(crate) fn is_open(&self) -> bool {
        self.dims.iter().any(Option::is_none)
    }

    /// `(n, 3)`, for messages.
    pub(crate) fn shape_text(&self) -> String {
        shape_text(&self.texts)
    }

    fn takes_shape(&self, shape: &[usize]) -> bool {
        shape.len() == self.dims.len() && self.dims.iter().zip(shape).all(|(dim, n)| dim.is_none_or(|dim| dim == *n))
    }

    /// The array of an argument: itself if its elements can be read in place, otherwise a copy of it. Errors: TypeError for another
    /// element type, ValueError for another shape.
    pub(crate) fn input<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        let array = match value.cast::<PyUntypedArray>() {
            // An array of a class of its own may mean more than its elements: some are masked.
            Ok(array) if self.has_dtype(array) && has_flags(array, flags::NPY_ARRAY_CARRAY_RO) && is_plain(array) => {
                array.clone()
            }
            _ => {
                let array = coerce(value, &self.name, &self.dtype.to_string())?.cast_into::<PyUntypedArray>()?;
                if !(self.has_dtype(&array) && has_flags(&array, flags::NPY_ARRAY_CARRAY_RO)) {
                    return Err(PyTypeError::new_err(format!("`{}`: expected an array of {}", self.name, self.dtype)));
                }
                array
            }
        };
        if !self.takes_shape(array.shape()) {
            return Err(self.wrong_shape(array.shape()));
        }
        Ok(array)
    }

    fn wrong_shape(&self, shape: &[usize]) -> PyErr {
        let found: Vec<String> = shape.iter().map(usize::to_string).collect();
        let fits =
            |axis: Option<usize>, dim: usize| self.dims[dim].is_none_or(|wanted| wanted == axis.map_or(1, |axis| shape[axis]));
        let help = rearranged((shape.len(), |axis| shape[axis] == 1), self.dims.len(), fits)
            .map(|(view, words)| format!("; array{view} {words}"));
        let (name, expected, found) = (&self.name, self.shape_text(), shape_text(&found));
        PyValueError::new_err(format!("`{name}`: expected the shape {expected}, found {found}{}", help.unwrap_or_default()))
    }

    /// Whether the elements of an array are those of the port, in this machine's byte order.
    fn has_dtype(&self, array: &Array<'_>) -> bool {
        let descr = array.dtype();
        if descr.itemsize() as u64 != self.dtype.bytes() || !matches!(descr.byteorder(), b'=' | b'|' | NATIVE) {
            return false;
        }
        let kind = descr.kind();
        // Two raw bytes are none of a structure.
        (kind == kind_of(self.dtype) || kind == b'u' && self.dtype == DType::BF16) && !descr.has_fields()
    }

    /// A new array for an output, whose elements nobody has set.
    pub(crate) fn allocate<'py>(&self, py: Python<'py>, shape: &[usize]) -> PyResult<Array<'py>> {
        empty(self.descr.bind(py).clone(), shape)
    }

    /// Checks an array that the caller gives for an output of this shape. Errors: TypeError if it is no array of these elements,
    /// ValueError if it has another shape, is read-only, or has its elements in another order.
    pub(crate) fn output<'py>(&self, value: &Bound<'py, PyAny>, shape: Option<&[usize]>) -> PyResult<Array<'py>> {
        let name = &self.name;
        let array = match value.cast::<PyUntypedArray>() {
            Ok(array) => array.clone(),
            Err(_) => view(value, name)?.cast_into::<PyUntypedArray>()?,
        };
        if !self.has_dtype(&array) {
            let found = array.dtype();
            return Err(PyTypeError::new_err(format!(
                "output `{name}`: expected an array of {} in this machine's byte order, found {}; an output is never converted: \
                 make it with numpy.empty(shape, \"{}\")",
                self.dtype,
                found.str()?,
                self.dtype
            )));
        }
        if let Some(shape) = shape.filter(|shape| *shape != array.shape()) {
            let [expected, found] =
                [shape, array.shape()].map(|shape| shape_text(&shape.iter().map(usize::to_string).collect::<Vec<_>>()));
            return Err(PyValueError::new_err(format!("output `{name}`: expected the shape {expected}, found {found}")));
        }
        if !has_flags(&array, flags::NPY_ARRAY_WRITEABLE) {
            return Err(PyValueError::new_err(format!("output `{name}` is read-only: give an array that may be written")));
        }
        if !has_flags(&array, flags::NPY_ARRAY_CARRAY) {
            return Err(PyValueError::new_err(format!(
                "output `{name}` is not contiguous in C order and aligned: an output is written in place, never copied to; give \
                 such an array and assign it afterwards"
            )));
        }
        Ok(array)
    }
}

/// The mark of this machine's byte order.
const NATIVE: u8 = if cfg!(target_endian = "big") { b'>' } else { b'<' };

fn shape_text(dims: &[String]) -> String {
    match dims {
        [one] => format!("({one},)"),
        dims => format!("({})", dims.join(", ")),
    }
}

/// Whether an array is of NumPy's own class.
fn is_plain(array: &Array<'_>) -> bool {
    array.is_exact_instance_of::<PyUntypedArray>()
}

fn has_flags(array: &Array<'_>, wanted: i32) -> bool {
    // SAFETY: an array object has these fields.
    let found = unsafe { (*array.as_array_ptr()).fields.flags };
    found & wanted == wanted
}

/// The array that another object stands for, as `relayc._arrays.as_array` makes it.
fn coerce<'py>(value: &Bound<'py, PyAny>, name: &str, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    AS_ARRAY.import(value.py(), "relayc._arrays", "as_array")?.call1((value, name, dtype))
}

/// An array that shares the memory of another object, as `relayc._arrays.view` makes it.
fn view<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static VIEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    VIEW.import(value.py(), "relayc._arrays", "view")?.call1((value, name))
}

/// NumPy's letter for the kind of an element type.
fn kind_of(dtype: DType) -> u8 {
    match dtype {
        DType::BOOL => b'b',
        DType::BF16 => b'V',
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => b'u',
        dtype if dtype.is_float() => b'f',
        _ => b'i',
    }
}

/// NumPy's description of an element type.
fn descr_of(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyArrayDescr>> {
    let name = if dtype == DType::BF16 { "V2".to_owned() } else { dtype.to_string() };
    PyArrayDescr::new(py, name)
}

/// A new array, whose elements nobody has set.
fn empty<'py>(descr: Bound<'py, PyArrayDescr>, shape: &[usize]) -> PyResult<Array<'py>> {
    let py = descr.py();
    let mut dims: Vec<npyffi::npy_intp> = shape.iter().map(|&dim| dim as npyffi::npy_intp).collect();
    // SAFETY: the dimensions are as many as it is told; the call takes the description, and gives a new array or an error.
    unsafe {
        let array = PY_ARRAY_API.PyArray_Empty(py, dims.len() as i32, dims.as_mut_ptr(), descr.into_dtype_ptr(), 0);
        Ok(Bound::from_owned_ptr_or_err(py, array)?.cast_into_unchecked())
    }
}

/// The shape of an array.
pub(crate) fn shape<'a>(array: &'a Array<'_>) -> &'a [usize] {
    array.shape()
}

/// Writes the elements of a tensor into an array of its type.
pub(crate) fn fill(array: &Array<'_>, tensor: &Tensor) {
    bytes_mut(array).copy_from_slice(&elements(tensor));
}

/// The number of bytes of an array's elements.
pub(crate) fn n_bytes(array: &Array<'_>) -> usize {
    array.len() * array.dtype().itemsize()
}

/// The bytes of an array whose elements are in order.
///
/// Nobody else may write them meanwhile. That is the caller's to keep, as in all of NumPy that works without the interpreter lock.
pub(crate) fn bytes<'a>(array: &'a Array<'_>) -> &'a [u8] {
    match n_bytes(array) {
        0 => none(),
        // SAFETY: the reference keeps the array, which has so many bytes in order.
        n => unsafe { std::slice::from_raw_parts((*array.as_array_ptr()).fields.data.cast(), n) },
    }
}

/// The bytes of an array that is an output: in order, and nobody else's.
#[expect(clippy::mut_from_ref, reason = "the array is a reference to memory that Python owns")]
pub(crate) fn bytes_mut<'a>(array: &'a Array<'_>) -> &'a mut [u8] {
    match n_bytes(array) {
        0 => relayc_sys::bytes_of_mut::<u64>(&mut []),
        // SAFETY: as above, and the array may be written. A run has each output once ([`require_apart`]).
        n => unsafe { std::slice::from_raw_parts_mut((*array.as_array_ptr()).fields.data.cast(), n) },
    }
}

/// No bytes, at an address that every element type may have.
fn none() -> &'static [u8] {
    relayc_sys::bytes_of::<u64>(&[])
}

/// Requires that outputs share no memory with inputs or each other. Errors: ValueError.
pub(crate) fn require_apart(inputs: &[Array<'_>], outputs: &[Array<'_>]) -> PyResult<()> {
    let range = |array: &Array<'_>| bytes(array).as_ptr_range();
    for (at, output) in outputs.iter().enumerate().filter(|(_, output)| n_bytes(output) > 0) {
        let own = range(output);
        let meets = |other: &Array<'_>| {
            let other = range(other);
            own.start < other.end && other.start < own.end
        };
        let other = match () {
            () if inputs.iter().any(meets) => "an input",
            () if outputs[..at].iter().any(meets) => "another output",
            () => continue,
        };
        return Err(PyValueError::new_err(format!("output {at} shares memory with {other}: give an array of its own")));
    }
    Ok(())
}

/// The tensor with the elements of an array.
pub(crate) fn tensor_of(port: &Port, array: &Array<'_>) -> PyResult<Tensor> {
    let tensor = Tensor::from_le_bytes(port.dtype, array.shape(), bytes(array));
    tensor.ok_or_else(|| PyValueError::new_err(format!("`{}` holds bytes that are no {}", port.name, port.dtype)))
}

/// A new array with the elements of a tensor.
pub(crate) fn array_of<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Array<'py>> {
    let array = empty(descr_of(py, tensor.dtype())?, tensor.shape())?;
    fill(&array, tensor);
    Ok(array)
}

/// The tensor of any array, of the element type that it has. Errors: TypeError for one that Relay has no tensors of.
pub(crate) fn tensor_of_any(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    static DTYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let array = coerce(value, name, "")?;
    let dtype: String = DTYPE.import(value.py(), "relayc._arrays", "dtype_name")?.call1((&array,))?.extract()?;
    tensor_of_type(name, array.as_any(), dtype_named(name, &dtype)?)
}

/// The tensor of an array that holds elements of this type. Errors: TypeError for an array of others.
pub(crate) fn tensor_of_type(name: &str, array: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Tensor> {
    let py = array.py();
    let array = array.cast::<PyUntypedArray>().map_err(|_| {
        let found = array.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        PyTypeError::new_err(format!("`{name}`: expected an array, found {found}"))
    })?;
    let port = Port::new(py, name, dtype, array.shape().iter().map(usize::to_string).collect())?;
    tensor_of(&port, &port.input(array.as_any())?)
}

/// The element type of a name. Errors: TypeError for one that tensors do not have.
pub(crate) fn dtype_named(of: &str, name: &str) -> PyResult<DType> {
    DType::parse(name).filter(|dtype| DType::RUNTIME.contains(dtype)).ok_or_else(|| {
        // Half of a complex number would be lost.
        let real = if name.starts_with("complex") { ".real" } else { "" };
        PyTypeError::new_err(format!("`{of}`: Relay has no tensors of {name}; convert it: array{real}.astype(\"float32\")"))
    })
}
