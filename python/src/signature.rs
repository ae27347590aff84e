//! What an entry takes and gives, as calls of Python see it.
//!
//! An argument is a parameter, by position or by name; a tuple parameter takes a tuple. A result is an array or a tuple.

use crate::arrays::{Array, Port};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use relayc_base::text::{count, nearest};
use relayc_driver::bind::Bound as Values;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{Ty, Types};
use std::borrow::Cow;

/// How the tensors of a value nest.
pub(crate) enum Nest {
    Tensor,
    Tuple(Vec<Nest>),
}

impl Nest {
    /// That of a type, whose depth is limited; `None` if it holds anything but tensors.
    pub(crate) fn of(ty: Ty, types: &Types) -> Option<Nest> {
        match types.as_tuple(ty) {
            Some(fields) => fields.iter().map(|&field| Nest::of(field, types)).collect::<Option<_>>().map(Nest::Tuple),
            None => types.as_tensor(ty).map(|_| Nest::Tensor),
        }
    }

    /// None for a tensor, a list for a tuple.
    pub(crate) fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Nest::Tensor => Ok(py.None().into_bound(py)),
            Nest::Tuple(fields) => {
                Ok(PyList::new(py, fields.iter().map(|field| field.object(py)).collect::<PyResult<Vec<_>>>()?)?.into_any())
            }
        }
    }

    /// One tensor alone, several as a tuple.
    pub(crate) fn of_count(n: usize) -> Nest {
        if n == 1 { Nest::Tensor } else { Nest::Tuple((0..n).map(|_| Nest::Tensor).collect()) }
    }

    /// The tensors of a value, in order. Errors: TypeError for another nesting.
    fn flatten<'py>(&self, name: &str, value: &Bound<'py, PyAny>, out: &mut Vec<Bound<'py, PyAny>>) -> PyResult<()> {
        let Nest::Tuple(fields) = self else {
            out.push(value.clone());
            return Ok(());
        };
        let wrong = || PyTypeError::new_err(format!("`{name}`: expected a tuple of {}, found {}", fields.len(), kind(value)));
        if !(value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyList>()) || value.len()? != fields.len() {
            return Err(wrong());
        }
        fields.iter().enumerate().try_for_each(|(at, field)| field.flatten(&format!("{name}.{at}"), &value.get_item(at)?, out))
    }

    /// A value of Python from its tensors, in order.
    pub(crate) fn assemble<'py>(
        &self,
        py: Python<'py>,
        arrays: &mut impl Iterator<Item = Array<'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Nest::Tensor => Ok(arrays.next().expect("an array for each tensor").into_any()),
            Nest::Tuple(fields) => {
                let fields = fields.iter().map(|field| field.assemble(py, arrays)).collect::<PyResult<Vec<_>>>()?;
                Ok(PyTuple::new(py, fields)?.into_any())
            }
        }
    }

    /// A value of the library from its tensors, in order.
    pub(crate) fn values(&self, tensors: &mut impl Iterator<Item = Tensor>) -> Values {
        match self {
            Nest::Tensor => Values::Tensor(tensors.next().expect("a tensor for each leaf")),
            Nest::Tuple(fields) => Values::Tuple(fields.iter().map(|field| field.values(tensors)).collect()),
        }
    }
}

fn kind(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string());
    match value.len() {
        Ok(n) if value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyList>() => format!("{name} of {n}"),
        _ => name,
    }
}

/// A parameter.
pub(crate) struct Param {
    pub(crate) name: String,
    key: Py<PyString>,
    pub(crate) nest: Nest,
}

impl Param {
    pub(crate) fn new(py: Python<'_>, name: String, nest: Nest) -> Param {
        Param { key: PyString::intern(py, &name).unbind(), name, nest }
    }
}

/// What an entry takes and gives.
pub(crate) struct Signature {
    pub(crate) params: Vec<Param>,
    /// The tensors of the parameters, in order.
    pub(crate) inputs: Vec<Port>,
    pub(crate) result: Nest,
    /// The tensors of the result, in order.
    pub(crate) outputs: Vec<Port>,
}

impl Signature {
    /// The arrays of a call's arguments, in order. Errors: as [`arguments`] and [`Port::input`].
    pub(crate) fn bind<'py>(&self, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Vec<Array<'py>>> {
        let mut leaves = Vec::with_capacity(self.inputs.len());
        for (param, value) in self.params.iter().zip(arguments(&self.params, args, kwargs)?) {
            param.nest.flatten(&param.name, &value, &mut leaves)?;
        }
        self.inputs.iter().zip(&leaves).map(|(port, value)| port.input(value)).collect()
    }

    /// The arrays that a caller gives for the outputs, in order. Errors: TypeError for another nesting.
    pub(crate) fn given<'py>(&self, outputs: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut found = Vec::with_capacity(self.outputs.len());
        match (&self.result, outputs.cast::<PyTuple>()) {
            // One array may stand in a tuple, as several do.
            (Nest::Tensor, Ok(one)) if one.len() == 1 => found.push(one.get_item(0)?),
            (Nest::Tensor, Err(_)) if outputs.is_instance_of::<PyList>() && outputs.len()? == 1 => {
                found.push(outputs.get_item(0)?)
            }
            _ => self.result.flatten("outputs", outputs, &mut found)?,
        }
        Ok(found)
    }
}

/// The arguments of a call, by parameter. Errors: TypeError for one that is missing, given twice, or unknown.
pub(crate) fn arguments<'py>(
    params: &[Param],
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = args.py();
    if args.len() > params.len() {
        let most = count(params.len(), "argument");
        return Err(wrong(params, &format!("expected at most {most}, found {}", args.len())));
    }
    let mut found: Vec<Bound<'py, PyAny>> = args.iter().collect();
    let (mut n_named, mut missing) = (0, vec![]);
    for param in &params[args.len()..] {
        match kwargs.map(|kwargs| kwargs.get_item(param.key.bind(py))).transpose()?.flatten() {
            Some(value) => {
                n_named += 1;
                found.push(value);
            }
            None => missing.push(param.name.as_str()),
        }
    }
    if let Some(kwargs) = kwargs.filter(|kwargs| kwargs.len() > n_named) {
        return Err(unknown(params, args.len(), kwargs)?);
    }
    match missing[..] {
        [] => Ok(found),
        [one] => Err(wrong(params, &format!("`{one}` is missing"))),
        _ => Err(wrong(params, &format!("missing: `{}`", missing.join("`, `")))),
    }
}

/// The error for a name that no parameter has, or one that has its argument by position.
fn unknown(params: &[Param], n_args: usize, kwargs: &Bound<'_, PyDict>) -> PyResult<PyErr> {
    for name in kwargs.keys() {
        let name: String = name.extract()?;
        match params.iter().position(|param| param.name == name) {
            Some(at) if at < n_args => return Ok(wrong(params, &format!("`{name}` is given by position and by name"))),
            Some(_) => {}
            None => {
                let near = nearest(&name, params.iter().map(|param| param.name.as_str()));
                let near = near.map_or(String::new(), |near| format!("; there is `{near}`"));
                return Ok(wrong(params, &format!("there is no input `{name}`{near}")));
            }
        }
    }
    Ok(wrong(params, "an argument is given twice"))
}

/// TypeError, with what the entry takes.
fn wrong(params: &[Param], words: &str) -> PyErr {
    let names: Vec<Cow<str>> = params.iter().map(|param| Cow::from(&param.name)).collect();
    PyTypeError::new_err(format!("{words}; the inputs are: {}", if names.is_empty() { "none".into() } else { names.join(", ") }))
}
