//! Values of attributes: Python values to the IR ([`raw`]) and back ([`value`]).

use super::classes::Classes;
use super::types::{TypeWriter, kind, text};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};
use relayc_ir::types::Dim;
use relayc_ir::{AttrValue, Kind};

/// What values are made of besides themselves: the constants and dimensions of the module that is read.
pub(super) trait Parts {
    /// A constant as a value.
    fn constant_value(&mut self, constant: &Bound<'_, PyAny>) -> PyResult<AttrValue>;
    /// A dimension.
    fn dim(&mut self, dim: &Bound<'_, PyAny>) -> PyResult<Dim>;
}

/// How deep lists nest in attributes. No operator has deeper ones.
const MAX_DEPTH: usize = 32;

/// A value as it would be read from text, before its field gives it a kind.
pub(super) fn raw(reader: &mut impl Parts, value: &Bound<'_, PyAny>) -> PyResult<AttrValue> {
    raw_at(reader, value, MAX_DEPTH)
}

fn raw_at(reader: &mut impl Parts, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<AttrValue> {
    if value.is_none() {
        return Ok(AttrValue::None);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(AttrValue::Bool(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(int(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(AttrValue::float(value.extract()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(AttrValue::str(&text.to_cow()?));
    }
    if value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyList>() {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(PyTypeError::new_err(format!("lists nest more than {MAX_DEPTH} deep")));
        };
        let items = value.try_iter()?.map(|item| raw_at(reader, &item?, depth)).collect::<PyResult<Vec<_>>>()?;
        return Ok(AttrValue::List(items.into()));
    }
    if let Ok(kind) = kind(value) {
        return node(reader, value, &kind);
    }
    // Numbers of NumPy.
    if let Ok(value) = value.extract::<i64>() {
        return Ok(int(value));
    }
    match value.extract::<f64>() {
        Ok(value) => Ok(AttrValue::float(value)),
        Err(_) => {
            let found = value.get_type().qualname()?;
            Err(PyTypeError::new_err(format!("expected a number, a string, a list or a constant as attribute, found {found}")))
        }
    }
}

fn int(value: i64) -> AttrValue {
    AttrValue::Int { value, bits: if i32::try_from(value).is_ok() { 32 } else { 64 } }
}

fn node(reader: &mut impl Parts, value: &Bound<'_, PyAny>, kind: &str) -> PyResult<AttrValue> {
    let py = value.py();
    let bits = |value: &Bound<'_, PyAny>| -> PyResult<(String, u8)> {
        let dtype = text(value, intern!(py, "dtype"))?;
        let digits: String = dtype.chars().filter(char::is_ascii_digit).collect();
        let bits = digits.parse().unwrap_or(32);
        Ok((dtype, bits))
    };
    match kind {
        "IntImm" => {
            let (dtype, bits) = bits(value)?;
            let value = value.getattr(intern!(py, "value"))?.extract()?;
            Ok(if dtype == "bool" { AttrValue::Bool(value != 0) } else { AttrValue::Int { value, bits } })
        }
        "FloatImm" => Ok(AttrValue::Float { value: value.getattr(intern!(py, "value"))?.extract()?, bits: bits(value)?.1 }),
        "StringImm" => Ok(AttrValue::str(&text(value, intern!(py, "value"))?)),
        "Constant" => reader.constant_value(value),
        "tir.Any" => Ok(AttrValue::Any),
        key if key.starts_with("tir.") => match reader.dim(value)? {
            Dim::Symbol(symbol) => Ok(AttrValue::Symbol(symbol)),
            Dim::Known { value, .. } => Ok(int(value)),
            Dim::Any => Ok(AttrValue::Any),
        },
        other => Err(PyTypeError::new_err(format!("a `{other}` is no value of an attribute"))),
    }
}

/// A value as TVM's nodes have it; `of` is the kind of its field, if it has one.
pub(super) fn value<'py>(
    writer: &mut TypeWriter<'_, 'py>,
    (py, classes): (Python<'py>, &Classes),
    constant: &mut dyn FnMut(relayc_ir::ConstId) -> PyResult<Py<PyAny>>,
    of: Option<Kind>,
    value: &AttrValue,
) -> PyResult<Bound<'py, PyAny>> {
    // A field that TVM declares as a machine number holds a Python number, any other an object.
    let plain = matches!(of, Some(Kind::Int | Kind::Float | Kind::Bool));
    Ok(match value {
        AttrValue::None => py.None().into_bound(py),
        AttrValue::Bool(value) if plain => PyBool::new(py, *value).to_owned().into_any(),
        AttrValue::Bool(value) => classes.int_imm.bind(py).call1(("bool", i64::from(*value)))?,
        AttrValue::Int { value, .. } if plain => value.into_pyobject(py)?.into_any(),
        AttrValue::Int { value, bits } => classes.int_imm.bind(py).call1((format!("int{bits}"), *value))?,
        AttrValue::Float { value, bits } if plain || *bits == 0 => PyFloat::new(py, *value).into_any(),
        AttrValue::Float { value, bits } => classes.float_imm.bind(py).call1((format!("float{bits}"), *value))?,
        AttrValue::Str(text) => PyString::new(py, text).into_any(),
        AttrValue::DType(dtype) => PyString::new(py, &dtype.map_or(String::new(), |dtype| dtype.to_string())).into_any(),
        AttrValue::List(items) => {
            let list = PyList::empty(py);
            for item in items.iter() {
                list.append(self::value(writer, (py, classes), constant, None, item)?)?;
            }
            classes.array.bind(py).call1((list,))?
        }
        AttrValue::Any => classes.any.bind(py).call0()?,
        AttrValue::Symbol(symbol) => writer.dim(Dim::Symbol(*symbol))?,
        AttrValue::Const(id, _) => constant(*id)?.into_bound(py),
        // Objects that only a metadata section holds have no node here.
        AttrValue::Object(_) | AttrValue::Expr(_) => py.None().into_bound(py),
    })
}
