//! `Executable`: a compiled program that is called with arrays of NumPy.

use crate::arrays::{Array, Port};
use crate::compile::{How, Made, duration, level_of, sizes_of, threads_of};
use crate::engines::{Call, Engine};
use crate::error::{raised, said};
use crate::module::Module;
use crate::profile;
use crate::signals::{Idle, PerProcess, with_threads};
use crate::signature::{Nest, Param, Signature};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use relayc_driver::endings;
use relayc_engine::artifact::{self, Ready};
use relayc_engine::build::{self, Request};
use relayc_engine::compile::Settings;
use relayc_engine::library::Error;
use relayc_sys as sys;
use std::path::PathBuf;
use std::sync::Arc;

/// A compiled program: call it with arrays, by position or by name.
///
/// Arrays that are C-contiguous, aligned and native are read and written in place; others are copied once as inputs, and refused
/// as outputs. Any number of threads may call it at one time. It pickles as program, options and weights, or as the path of its
/// artifact, and is compiled where it is unpickled, for as many threads as that process has if none were asked for; a process
/// that is forked may go on using it.
#[pyclass(frozen, module = "relayc._relayc")]
pub(crate) struct Executable {
    signature: Signature,
    engine: PerProcess<Engine>,
    source: Source,
}

/// What an executable is made from.
enum Source {
    Program(Arc<Made>),
    Artifact { ready: Arc<Ready>, path: PathBuf, how: How },
}

impl Source {
    fn how(&self) -> &How {
        match self {
            Source::Program(made) => &made.how,
            Source::Artifact { how, .. } => how,
        }
    }

    fn engine(&self, py: Python<'_>, signature: &Signature) -> PyResult<Engine> {
        match self {
            Source::Program(made) => made.engine(py, signature),
            Source::Artifact { ready, how, .. } => {
                Ok(Engine::Artifact { ready: ready.clone(), threads: how.threads, isa: how.machine.isa(), idle: Idle::default() })
            }
        }
    }
}

/// An input or output: its name, element type and shape.
#[pyclass(frozen, module = "relayc._relayc", name = "Port")]
pub(crate) struct PyPort {
    /// The parameter without `%`, `out` for the result; fields of tuples are `name.0`, `name.1`.
    #[pyo3(get)]
    name: String,
    /// TVM's name of the element type.
    #[pyo3(get)]
    dtype: String,
    /// The extent of each axis: a number, or the text of an open dimension.
    #[pyo3(get)]
    shape: Py<PyTuple>,
}

#[pymethods]
impl PyPort {
    #[new]
    fn new(name: String, dtype: String, shape: Py<PyTuple>) -> PyPort {
        PyPort { name, dtype, shape }
    }

    fn __reduce__<'py>(slf: &Bound<'py, PyPort>) -> (Bound<'py, PyType>, (String, String, Py<PyTuple>)) {
        let PyPort { name, dtype, shape } = slf.get();
        (slf.get_type(), (name.clone(), dtype.clone(), shape.clone_ref(slf.py())))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Port(name={:?}, dtype={:?}, shape={})", self.name, self.dtype, self.shape.bind(py).repr()?))
    }
}

fn shown(py: Python<'_>, port: &Port) -> PyResult<PyPort> {
    let dims = port.dims.iter().zip(&port.texts).map(|(dim, text)| match dim {
        Some(n) => Ok(n.into_pyobject(py)?.into_any()),
        None => Ok(text.into_pyobject(py)?.into_any()),
    });
    let shape = PyTuple::new(py, dims.collect::<PyResult<Vec<_>>>()?)?.unbind();
    Ok(PyPort { name: port.name.clone(), dtype: port.dtype.to_string(), shape })
}

impl Executable {
    fn new(py: Python<'_>, made: Made) -> PyResult<Executable> {
        let made = Arc::new(made);
        let signature = made.signature(py)?;
        let engine = made.engine(py, &signature)?;
        Ok(Executable { signature, engine: PerProcess::new(engine), source: Source::Program(made) })
    }

    fn engine(&self, py: Python<'_>) -> PyResult<Arc<Engine>> {
        self.engine.get(|| self.source.engine(py, &self.signature))
    }

    fn made(&self, what: &str) -> PyResult<&Arc<Made>> {
        match &self.source {
            Source::Program(made) => Ok(made),
            Source::Artifact { path, .. } => Err(PyTypeError::new_err(format!(
                "`{}` is compiled already: {what} needs the program, which `relayc.load` reads",
                path.display()
            ))),
        }
    }
}

#[pymethods]
impl Executable {
    /// Runs once. Returns the result: an array, or a tuple as the program's result is one.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let inputs = self.signature.bind(args, kwargs)?;
        let call = Call { signature: &self.signature, inputs: &inputs, outputs: None };
        let arrays = self.engine(py)?.run(py, &call)?;
        self.signature.result.assemble(py, &mut arrays.into_iter())
    }

    /// Runs once and writes the result into `outputs`: an array, or a tuple as the program's result is one.
    #[pyo3(signature = (outputs, *args, **kwargs))]
    fn run_into<'py>(
        &self,
        py: Python<'py>,
        outputs: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<()> {
        let outputs = Some(self.signature.given(outputs)?);
        let inputs = self.signature.bind(args, kwargs)?;
        self.engine(py)?.run(py, &Call { signature: &self.signature, inputs: &inputs, outputs })?;
        Ok(())
    }

    /// Runs once with the tensors of all parameters in order, and gives those of the result in order, in `outputs` if there are
    /// any.
    #[pyo3(signature = (inputs, outputs=None))]
    fn _run_flat<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<Bound<'py, PyAny>>,
        outputs: Option<Vec<Bound<'py, PyAny>>>,
    ) -> PyResult<Vec<Array<'py>>> {
        let Signature { inputs: ports, outputs: results, .. } = &self.signature;
        let counts = [(ports.len(), Some(inputs.len())), (results.len(), outputs.as_ref().map(Vec::len))];
        if let Some((expected, found)) = counts.into_iter().find_map(|(n, found)| Some((n, found.filter(|&found| found != n)?))) {
            return Err(PyTypeError::new_err(format!("expected {expected} tensors, found {found}")));
        }
        let inputs = ports.iter().zip(&inputs).map(|(port, value)| port.input(value)).collect::<PyResult<Vec<_>>>()?;
        self.engine(py)?.run(py, &Call { signature: &self.signature, inputs: &inputs, outputs })
    }

    /// The graph of TVM's graph executor that an artifact has, as JSON.
    #[getter]
    fn _graph(&self) -> Option<&str> {
        match &self.source {
            Source::Program(_) => None,
            Source::Artifact { ready, .. } => Some(ready.graph()),
        }
    }

    /// The tensors that a call takes, in order.
    #[getter]
    fn inputs(&self, py: Python<'_>) -> PyResult<Vec<PyPort>> {
        self.signature.inputs.iter().map(|port| shown(py, port)).collect()
    }

    /// The tensors that a call gives, in order.
    #[getter]
    fn outputs(&self, py: Python<'_>) -> PyResult<Vec<PyPort>> {
        self.signature.outputs.iter().map(|port| shown(py, port)).collect()
    }

    /// The names of the parameters, in order.
    #[getter]
    fn parameters(&self) -> Vec<&str> {
        self.signature.params.iter().map(|param| param.name.as_str()).collect()
    }

    /// The options it was compiled with; of an artifact, those that are known of it.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let how = self.source.how();
        let dict = PyDict::new(py);
        dict.set_item("entry", &how.entry)?;
        dict.set_item("threads", how.threads)?;
        if let Source::Program(_) = self.source {
            dict.set_item("accuracy", how.accuracy_name())?;
            dict.set_item("target", how.target_name())?;
            dict.set_item("level", how.level)?;
            dict.set_item("sizes", how.sizes)?;
        }
        Ok(dict)
    }

    /// The operators without a kernel, which are evaluated as the interpreter does; of subgraphs, those compiled by now.
    #[getter]
    fn fallbacks(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        let engine = self.engine(py)?;
        // Who makes code holds locks of the engine, and may wait for the interpreter lock.
        Ok(with_threads(py, || engine.fallbacks()))
    }

    /// The milliseconds of single runs, ascending, after a warm-up. They do not include what a call from Python adds.
    #[pyo3(signature = (args, kwargs, *, seconds, warmup))]
    fn _times<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        seconds: f64,
        warmup: f64,
    ) -> PyResult<Vec<f64>> {
        let [seconds, warmup] = [("seconds", seconds), ("warmup", warmup)].map(|(name, time)| duration(name, time));
        let inputs = self.signature.bind(args, kwargs)?;
        let call = Call { signature: &self.signature, inputs: &inputs, outputs: None };
        let engine = self.engine(py)?;
        let room = engine.run(py, &call)?;
        Ok(engine.times(py, &call, &room, (warmup?, seconds?))?.into_sorted())
    }

    /// The time of each group of operators, as a table and as JSON of `relayc.profile/2`.
    #[pyo3(signature = (args, kwargs, *, seconds))]
    fn _profile<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        seconds: f64,
    ) -> PyResult<(String, String)> {
        let made = self.made("a profile")?;
        let inputs = self.signature.bind(args, kwargs)?;
        let call = Call { signature: &self.signature, inputs: &inputs, outputs: None };
        profile::of(py, made, &call.values()?, seconds)
    }

    /// Measures single runs, without what a call from Python adds: `.p50_ms`, `.min_ms`, and others. Without arguments, floats are
    /// random, and all else is zero.
    #[pyo3(signature = (*args, seconds=1.0, warmup=0.2, **kwargs))]
    fn bench<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        seconds: f64,
        warmup: f64,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "bench", (slf, args, dict(slf.py(), kwargs), seconds, warmup))
    }

    /// Measures each group of operators in runs of some seconds; `str()` of the result is a table. Without arguments, floats are
    /// random, and all else is zero.
    #[pyo3(signature = (*args, seconds=1.0, **kwargs))]
    fn profile<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        seconds: f64,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "profile", (slf, args, dict(slf.py(), kwargs), seconds))
    }

    /// Writes a shared object with code for machines of the targets, by default "x86-64-v3" and "x86-64-v4", and the weights. It
    /// needs neither relayc nor a compiler. `sizes` are those of open dimensions, `"n=1,4"`; it has code for each combination.
    #[pyo3(signature = (path, *, targets=None, sizes=None))]
    fn save<'py>(
        slf: &Bound<'py, Self>,
        path: Bound<'py, PyAny>,
        targets: Option<Bound<'py, PyAny>>,
        sizes: Option<Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        in_python(slf, "save", (slf, path, targets, sizes)).map(|_| ())
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "shown", (slf,))
    }

    /// How the tensors of each parameter nest: None for one, a list for a tuple.
    #[getter]
    fn _nests<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.signature.params.iter().map(|param| param.nest.object(py)).collect()
    }

    /// Writes a shared object for machines of the targets, with its weights inside.
    fn _write_artifact(
        &self,
        py: Python<'_>,
        path: PathBuf,
        name: &str,
        targets: Vec<String>,
        sizes: Vec<String>,
    ) -> PyResult<()> {
        let made = self.made("another artifact")?;
        endings::one_of(&path, "a shared object", &["so"]).map_err(said)?;
        with_threads(py, || {
            let bytes = artifact_of(made, name, &targets, sizes)?;
            sys::write_atomic(&[(&path, &bytes)]).map_err(said)
        })
    }

    /// The text of the program; that of an artifact is the text it was built from.
    fn text(&self) -> String {
        match &self.source {
            Source::Program(made) => made.text_and_weights().0,
            Source::Artifact { ready, .. } => ready.source().to_owned(),
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let native = py.import("relayc._relayc")?;
        let how = self.source.how();
        match &self.source {
            Source::Program(made) => {
                let (text, weights) = with_threads(py, || made.text_and_weights());
                let options = (&how.entry, how.asked, how.accuracy_name(), how.target_name(), how.level, how.sizes);
                let args = ("program", text, PyBytes::new(py, &weights), options).into_pyobject(py)?;
                Ok((native.getattr("compile_text")?, args))
            }
            Source::Artifact { path, .. } => {
                let args = (path.as_os_str(), how.asked, how.target_name()).into_pyobject(py)?;
                Ok((native.getattr("load_artifact")?, args))
            }
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let how = self.source.how();
        let ports = |ports: &[Port]| {
            ports.iter().map(|port| format!("{}: {}{}", port.name, port.dtype, port.shape_text())).collect::<Vec<_>>().join(", ")
        };
        let (inputs, outputs) = (ports(&self.signature.inputs), ports(&self.signature.outputs));
        let (kind, threads) = (self.engine(py)?.kind(), relayc_base::text::count(how.threads, "thread"));
        Ok(format!("<relayc.Executable @{}({inputs}) -> {outputs}, {kind}, {threads}>", how.entry))
    }
}

/// Calls a function of `relayc._executable`.
fn in_python<'py>(
    executable: &Bound<'py, Executable>,
    name: &str,
    args: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    executable.py().import("relayc._executable")?.getattr(name)?.call1(args)
}

fn dict<'py>(py: Python<'py>, kwargs: Option<&Bound<'py, PyDict>>) -> Bound<'py, PyDict> {
    kwargs.cloned().unwrap_or_else(|| PyDict::new(py))
}

/// The bytes of an artifact. Errors: RelayError, ValueError for a target.
fn artifact_of(made: &Made, name: &str, targets: &[String], sizes: Vec<String>) -> PyResult<Vec<u8>> {
    let mut settings = vec![];
    for target in targets {
        let How { threads, level, entry, .. } = &made.how;
        let machine = How::of(entry, Some(*threads), made.how.accuracy_name(), target, *level, 1)?.machine;
        let found = Settings::of(machine, *level, build::THREADS).map_err(PyValueError::new_err)?;
        settings.extend(found.map(|found| Settings { accuracy: made.how.accuracy, ..found }));
    }
    let request = Request {
        entry: made.how.entry.clone(),
        settings,
        sizes,
        limits: crate::compile::limits(),
        asm: false,
        object: false,
        name: name.to_owned(),
    };
    let built = build::build(&made.program, &request);
    built.map(|built| built.so).map_err(|wrong| raised(&Error::new(wrong, &made.program.sources)))
}

/// Adds the class and its makers to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Executable>()?;
    module.add_class::<PyPort>()?;
    module.add_function(wrap_pyfunction!(compile, module)?)?;
    module.add_function(wrap_pyfunction!(compile_text, module)?)?;
    module.add_function(wrap_pyfunction!(load_artifact, module)?)
}

type Options<'py> = (String, Bound<'py, PyAny>, String, String, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Compiles a text with its weights, the bytes of a file of tensors: what an executable is pickled as.
#[pyfunction]
pub(crate) fn compile_text(py: Python<'_>, name: &str, text: &str, weights: &[u8], options: Options<'_>) -> PyResult<Executable> {
    let (entry, threads, accuracy, target, level, sizes) = options;
    let how = How::of(&entry, threads_of(&threads)?, &accuracy, &target, level_of(&level)?, sizes_of(&sizes)?)?;
    let made = with_threads(py, || Made::read(name, text, weights, how))?;
    Executable::new(py, made)
}

/// Compiles an entry of a module.
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
#[pyfunction]
#[pyo3(signature = (module, *, entry="main", threads=None, accuracy="fast", target="native", level=3, sizes=128))]
pub(crate) fn compile(
    py: Python<'_>,
    module: &Module,
    entry: &str,
    #[pyo3(from_py_with = threads_of)] threads: Option<usize>,
    accuracy: &str,
    target: &str,
    #[pyo3(from_py_with = level_of)] level: u8,
    #[pyo3(from_py_with = sizes_of)] sizes: usize,
) -> PyResult<Executable> {
    let how = How::of(entry, threads, accuracy, target, level, sizes)?;
    let made = with_threads(py, || Made::of(module.program.clone(), how))?;
    Executable::new(py, made)
}

/// Loads an artifact of `relayc build` or `Executable.save`. It is code: load only what you trust.
#[pyfunction]
#[pyo3(signature = (path, threads=None, target="native"))]
pub(crate) fn load_artifact(
    py: Python<'_>,
    path: PathBuf,
    #[pyo3(from_py_with = threads_of)] threads: Option<usize>,
    target: &str,
) -> PyResult<Executable> {
    let how = How::of("main", threads, "fast", target, 3, 1)?;
    let ready = with_threads(py, || artifact::open(&path)?.load()).map_err(said)?;
    let ready = Arc::new(ready);
    let how = How { entry: ready.entry().to_owned(), ..how };
    let mut inputs = vec![];
    for port in ready.inputs() {
        inputs.push(Port::new(py, &port.name, port.dtype, port.dims)?);
    }
    let mut outputs = vec![];
    for port in ready.outputs() {
        outputs.push(Port::new(py, &port.name, port.dtype, port.dims)?);
    }
    let params = inputs.iter().map(|port| Param::new(py, port.name.clone(), Nest::Tensor)).collect();
    let signature = Signature { params, inputs, result: Nest::of_count(outputs.len()), outputs };
    let source = Source::Artifact { ready, path, how };
    let engine = source.engine(py, &signature)?;
    Ok(Executable { signature, engine: PerProcess::new(engine), source })
}
