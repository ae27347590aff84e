//! Runs with any values: data types, references and tuples besides tensors.
//!
//! Python says what an object is, and makes objects of results, through a codec: `codec.take(object)` gives `("tensor", array)`,
//! `("tuple", fields)`, `("adt", constructor, fields)` or `("ref", object)`, and `codec.tensor(array, dtype)`,
//! `codec.tuple(fields)`, `codec.adt(type, constructor, index, fields)` and `codec.ref(object)` make one. Values may be as deep
//! as memory allows: nothing recurses over them.

use crate::arrays::{Port, array_of, tensor_of, tensor_of_any};
use crate::compile::{How, level_of, limits, threads_of};
use crate::error::wrong;
use crate::module::Module;
use crate::signals::{PerProcess, begin, ended, with_threads};
use crate::subgraphs::BySubgraphs;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use relayc_base::diag::Diagnostic;
use relayc_driver::Program;
use relayc_driver::bind::Bound as Data;
use relayc_driver::optimise;
use relayc_driver::run::{self, to_bound};
use relayc_engine::library::Error;
use relayc_interp::{Cell, Value};
use relayc_ir::types::{Ty, TyData, dims_of};
use relayc_ir::{self as ir, CtorId};
use rustc_hash::FxHashMap;

/// An entry of a module for runs with any values, on the interpreter or by subgraphs.
#[pyclass(frozen, module = "relayc._relayc")]
pub(crate) struct Evaluator {
    engine: PerProcess<Engine>,
    program: Program,
    how: How,
    compiled: bool,
}

enum Engine {
    Reference,
    Compiled(Box<BySubgraphs>),
}

impl Engine {
    fn of(program: &Program, how: &How, compiled: bool) -> Engine {
        match compiled {
            true => Engine::Compiled(Box::new(BySubgraphs::new(program.clone(), how.clone()))),
            false => Engine::Reference,
        }
    }
}

#[pymethods]
impl Evaluator {
    /// An entry of a module. `compiled` runs its dataflow as machine code where that pays.
    #[new]
    #[pyo3(signature = (module, *, entry="main", compiled=false, threads=None, accuracy="fast", level=3))]
    fn new(
        module: &Module,
        entry: &str,
        compiled: bool,
        #[pyo3(from_py_with = threads_of)] threads: Option<usize>,
        accuracy: &str,
        #[pyo3(from_py_with = level_of)] level: u8,
    ) -> PyResult<Evaluator> {
        let how = How::of(entry, threads, accuracy, "native", level, 128)?;
        let mut program = module.program.clone();
        if program.has_errors() {
            return Err(wrong(program.diagnostics, &program.sources));
        }
        let bound = optimise::bind_weights(&mut program, entry, &[]);
        bound.map_err(|diagnostics| wrong(diagnostics, &program.sources))?;
        let engine = PerProcess::new(Engine::of(&program, &how, compiled));
        Ok(Evaluator { engine, program, how, compiled })
    }

    /// The names of the parameters, in order.
    #[getter]
    fn parameters(&self) -> PyResult<Vec<String>> {
        let entry = run::entry(&self.program.module, &self.how.entry);
        let entry = entry.map_err(|error| wrong(vec![error], &self.program.sources))?;
        Ok(entry.slots.into_iter().map(|slot| slot.name).collect())
    }

    /// Runs once, with arguments in the order of the parameters.
    fn run<'py>(&self, py: Python<'py>, args: &Bound<'py, PyList>, codec: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let module = &self.program.module;
        let of_program = |diagnostic: Diagnostic| wrong(vec![diagnostic], &self.program.sources);
        let entry = run::entry(module, &self.how.entry).map_err(of_program)?;
        if entry.slots.len() != args.len() {
            return Err(PyTypeError::new_err(format!("expected {} arguments, found {}", entry.slots.len(), args.len())));
        }
        let reader = Reader::new(py, module, codec);
        let taken = entry.slots.iter().zip(args.iter()).map(|(slot, arg)| reader.value(&slot.name, slot.ty, arg));
        let taken = taken.collect::<PyResult<Vec<Value>>>()?;
        let data: Option<Vec<Data>> = taken.iter().cloned().map(|value| to_bound(value).ok()).collect();
        begin();
        let engine = self.engine.get(|| Ok(Engine::of(&self.program, &self.how, self.compiled)))?;
        let result = with_threads(py, || match &*engine {
            Engine::Compiled(programs) => {
                let partial = programs.at(data.as_deref())?;
                partial.value(taken).map_err(|error| ended(&Error::new(vec![*error], &self.program.sources)))
            }
            Engine::Reference => run::value(module, &entry, taken, data.as_deref(), limits())
                .map_err(|error| ended(&Error::new(vec![error], &self.program.sources))),
        })?;
        written(py, module, &result, codec)
    }
}

/// Makes values of objects.
struct Reader<'a, 'py> {
    py: Python<'py>,
    module: &'a ir::Module,
    codec: &'a Bound<'py, PyAny>,
    ctors: FxHashMap<&'a str, CtorId>,
}

/// A value with fields, some of which are still to be read.
struct Pending<'py> {
    make: Make,
    /// The objects of the fields, the last one first, with their types where these are known.
    left: Vec<(Bound<'py, PyAny>, Option<Ty>)>,
    done: Vec<Value>,
}

enum Make {
    Tuple,
    Adt(CtorId),
    Cell,
}

impl Pending<'_> {
    fn value(mut self) -> Value {
        match self.make {
            Make::Tuple => Value::tuple(self.done),
            Make::Adt(ctor) => Value::adt(ctor, self.done),
            Make::Cell => Value::Cell(Cell::new(self.done.pop().expect("a reference has one value"))),
        }
    }
}

impl<'a, 'py> Reader<'a, 'py> {
    fn new(py: Python<'py>, module: &'a ir::Module, codec: &'a Bound<'py, PyAny>) -> Reader<'a, 'py> {
        let ctors = module.ctors.ids().map(|id| (&*module.ctors[id].name, id)).collect();
        Reader { py, module, codec, ctors }
    }

    /// The value of an argument. Errors: TypeError and ValueError for an object of another type.
    fn value(&self, name: &str, ty: Ty, object: Bound<'py, PyAny>) -> PyResult<Value> {
        let mut stack: Vec<Pending<'py>> = vec![];
        let mut next = (object, Some(ty));
        loop {
            let mut done = match self.step(name, next)? {
                Step::Done(value) => value,
                Step::Open(pending) => {
                    stack.push(pending);
                    // An empty tuple has no field to read.
                    match self.advance(&mut stack) {
                        Some(field) => {
                            next = field;
                            continue;
                        }
                        None => stack.pop().expect("it was pushed").value(),
                    }
                }
            };
            loop {
                let Some(top) = stack.last_mut() else { return Ok(done) };
                top.done.push(done);
                match self.advance(&mut stack) {
                    Some(field) => {
                        next = field;
                        break;
                    }
                    None => done = stack.pop().expect("it is there").value(),
                }
            }
        }
    }

    /// The next field of the innermost value.
    fn advance(&self, stack: &mut [Pending<'py>]) -> Option<(Bound<'py, PyAny>, Option<Ty>)> {
        stack.last_mut()?.left.pop()
    }

    fn step(&self, name: &str, (object, ty): (Bound<'py, PyAny>, Option<Ty>)) -> PyResult<Step<'py>> {
        let taken = self.codec.call_method1(intern!(self.py, "take"), (object,))?.cast_into::<PyTuple>()?;
        let kind: String = taken.get_item(0)?.extract()?;
        let types = &self.module.types;
        match kind.as_str() {
            "tensor" => self.tensor(name, &taken.get_item(1)?, ty).map(|tensor| Step::Done(Value::Tensor(tensor))),
            "tuple" => {
                let fields = taken.get_item(1)?.try_iter()?.collect::<PyResult<Vec<_>>>()?;
                if let Some(ty) = ty.filter(|&ty| types.as_tensor(ty).is_some()) {
                    return Err(PyTypeError::new_err(format!("`{name}`: expected {}, found a tuple", types.text(ty))));
                }
                let known = ty.and_then(|ty| types.as_tuple(ty));
                if known.is_some_and(|known| known.len() != fields.len()) {
                    let expected = known.map_or(0, <[Ty]>::len);
                    return Err(PyTypeError::new_err(format!(
                        "`{name}`: expected a tuple of {expected}, found {}",
                        fields.len()
                    )));
                }
                let typed = fields.into_iter().enumerate().map(|(at, field)| (field, known.map(|known| known[at])));
                let mut left: Vec<_> = typed.collect();
                left.reverse();
                Ok(Step::Open(Pending { make: Make::Tuple, left, done: vec![] }))
            }
            "adt" => {
                let ctor: String = taken.get_item(1)?.extract()?;
                let &id = self
                    .ctors
                    .get(ctor.as_str())
                    .ok_or_else(|| PyTypeError::new_err(format!("`{name}`: the module has no constructor `{ctor}`")))?;
                let mut left = taken.get_item(2)?.try_iter()?.map(|field| Ok((field?, None))).collect::<PyResult<Vec<_>>>()?;
                left.reverse();
                Ok(Step::Open(Pending { make: Make::Adt(id), left, done: vec![] }))
            }
            "ref" => Ok(Step::Open(Pending { make: Make::Cell, left: vec![(taken.get_item(1)?, None)], done: vec![] })),
            other => Err(PyTypeError::new_err(format!("`{name}`: a value of the kind `{other}`"))),
        }
    }

    fn tensor(&self, name: &str, object: &Bound<'py, PyAny>, ty: Option<Ty>) -> PyResult<relayc_ir::tensor::Tensor> {
        let types = &self.module.types;
        let other = |ty: &Ty| !matches!(types.data(*ty), TyData::Tensor { .. } | TyData::Param { .. });
        if let Some(ty) = ty.filter(other) {
            return Err(PyTypeError::new_err(format!("`{name}`: expected {}, found a tensor", types.text(ty))));
        }
        let Some((dims, dtype)) = ty.and_then(|ty| types.as_tensor(ty)) else {
            return tensor_of_any(name, object);
        };
        let texts = match dims_of(dims) {
            Some(dims) => dims.iter().map(i64::to_string).collect(),
            None => dims.iter().map(|dim| dim.value().map_or("?".to_owned(), |dim| dim.to_string())).collect(),
        };
        let port = Port::new(self.py, name, dtype, texts)?;
        tensor_of(&port, &port.input(object)?)
    }
}

enum Step<'py> {
    Done(Value),
    Open(Pending<'py>),
}

/// The object of a value. Errors: TypeError for a function.
fn written<'py>(py: Python<'py>, module: &ir::Module, value: &Value, codec: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    enum Task {
        Read(Value),
        Make(Value, usize),
    }
    let (mut tasks, mut done) = (vec![Task::Read(value.clone())], Vec::<Bound<'py, PyAny>>::new());
    while let Some(task) = tasks.pop() {
        match task {
            Task::Read(Value::Tensor(tensor)) => {
                let array = array_of(py, &tensor)?;
                done.push(codec.call_method1(intern!(py, "tensor"), (array, tensor.dtype().to_string()))?);
            }
            Task::Read(Value::Closure(_)) => {
                return Err(PyTypeError::new_err(
                    "the result holds a function, which is no value of Python: call it in the program",
                ));
            }
            Task::Read(value) => {
                let fields: Vec<Value> = match &value {
                    Value::Tuple(fields) | Value::Adt(_, fields) => fields.to_vec(),
                    Value::Cell(cell) => vec![cell.get()],
                    Value::Tensor(_) | Value::Closure(_) => vec![],
                };
                tasks.push(Task::Make(value, fields.len()));
                tasks.extend(fields.into_iter().rev().map(Task::Read));
            }
            Task::Make(value, n) => {
                let fields = done.split_off(done.len() - n);
                done.push(match value {
                    Value::Adt(ctor, _) => {
                        let (ctor, id) = (&module.ctors[ctor], ctor);
                        let adt = &module.adts[ctor.adt];
                        let index = adt.ctors.iter().position(|&other| other == id).unwrap_or(0);
                        codec.call_method1(intern!(py, "adt"), (&*adt.name, &*ctor.name, index, fields))?
                    }
                    Value::Cell(_) => codec.call_method1(intern!(py, "ref"), (fields[0].clone(),))?,
                    _ => codec.call_method1(intern!(py, "tuple"), (fields,))?,
                });
            }
        }
    }
    Ok(done.pop().expect("a value was made"))
}

/// Arguments by position and by name, in the order of the parameters. Errors: TypeError.
#[pyfunction]
fn arguments<'py>(
    parameters: Vec<String>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let params = parameters.into_iter().map(|name| crate::signature::Param::new(args.py(), name, crate::signature::Nest::Tensor));
    crate::signature::arguments(&params.collect::<Vec<_>>(), args, Some(kwargs))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Evaluator>()?;
    module.add_function(wrap_pyfunction!(arguments, module)?)
}
