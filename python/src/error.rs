//! `RelayError`: diagnostics as an exception whose text is the rendered message.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_driver::error::Error;

/// The exception for an error of the library. Its class is `relayc._errors.RelayError`, its argument the rendered message, `code` the
/// code of the first error, `_rendered` each diagnostic as JSON and as text.
pub(crate) fn raised(error: &Error) -> PyErr {
    Python::attach(|py| match class(py) {
        Ok(class) => {
            let raised = PyErr::from_type(class.clone(), in_python(&error.to_string()));
            // An exception without its code is still the right one.
            let _ = raised.value(py).setattr("code", error.code());
            let rendered: Vec<(&str, String)> = error.rendered().map(|(json, text)| (json, in_python(text))).collect();
            let _ = PyTuple::new(py, rendered).and_then(|rendered| raised.value(py).setattr("_rendered", rendered));
            raised
        }
        Err(missing) => missing,
    })
}

/// A rendered message with options of Python for those of the command line. Excerpts of programs stay as they are.
fn in_python(text: &str) -> String {
    let said = |line: &str| line.starts_with("error[") || line.starts_with("  = ") || line.starts_with(" = ");
    text.split_inclusive('\n').map(|line| if said(line) { options_of_python(line) } else { line.to_owned() }).collect()
}

/// A line with options of Python; every second part between backticks is code. A line of nothing but sizes is code as it is.
fn options_of_python(line: &str) -> String {
    if let Some((start, sizes)) = line.split_once("= help: --set ") {
        let sizes: Vec<String> = sizes.trim_end().split(" --set ").map(|size| format!("\"{size}\"")).collect();
        return format!("{start}= help: set=[{}]{}", sizes.join(", "), if line.ends_with('\n') { "\n" } else { "" });
    }
    let parts = line.split('`').enumerate().map(|(at, part)| match part.split_once(' ').unwrap_or((part, "")) {
        _ if at % 2 == 0 => part.replace("--set names", "set names").replace("--sizes names", "sizes names"),
        ("--entry", name) => format!("entry=\"{name}\""),
        ("--fn", name) => format!("function=\"{name}\""),
        ("--set", "") => "set".to_owned(),
        ("--set", size) => format!("set=[\"{size}\"]"),
        ("--shape", "") => "shapes".to_owned(),
        ("--shape", shape) => shapes_of_python(shape),
        ("--params", file) if !file.is_empty() => format!("params=\"{file}\""),
        ("-i", spec) => match spec.split_once("=@").map(|(_, file)| file.split_once(':').unwrap_or((file, ""))) {
            Some((file, "PRESET")) => format!("relayc.read_image(\"{file}\", PRESET, net.inputs[0])"),
            Some((file, "")) => format!("numpy.load(\"{file}\")"),
            _ => part.to_owned(),
        },
        ("relayc", command) if command.starts_with("params ls ") && !command.contains(" --") => {
            format!("relayc.load_params(\"{}\")", &command["params ls ".len()..])
        }
        ("relayc", command) if command.starts_with("import ") && command.ends_with(".onnx -o NET.relay --params NET.params") => {
            format!("relayc.import_onnx(\"{}\")", command["import ".len()..].split(" -o ").next().unwrap_or_default())
        }
        ("relayc", "import --keep-going") => "import_onnx(path, keep_going=True)".to_owned(),
        ("relayc", "import -i NAME=SPEC") => "import_onnx(path, inputs=[\"NAME=SPEC\"])".to_owned(),
        ("relayc", shape) if shape.starts_with("import --shape ") => {
            let shapes = shape.trim_start_matches("import").split(" --shape ").skip(1).map(shapes_of_python).collect::<Vec<_>>();
            format!("import_onnx(path, {})", shapes.join(", "))
        }
        ("--sizes", "") => "sizes".to_owned(),
        ("--sizes", sizes) => format!("sizes=[\"{sizes}\"]"),
        ("relayc", "build --sizes") => "Executable.save(path, sizes=…)".to_owned(),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// A message about flags of `relayc model` with the options of Python: `--image-shape` is `image_shape`.
pub(crate) fn flags_of_python(text: &str) -> String {
    let mut parts = text.split("--");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |said, part| {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(part.len());
        said + &part[..end].replace('-', "_") + &part[end..]
    })
}

/// `data=batch,3` as `shapes={"data": ("batch", 3)}`.
fn shapes_of_python(shape: &str) -> String {
    let Some((name, dims)) = shape.rsplit_once('=') else { return "shapes".to_owned() };
    if dims == "…" {
        return format!("shapes={{\"{name}\": …}}");
    }
    let dims = dims.split(',').map(|dim| if dim.parse::<u64>().is_ok() { dim.to_owned() } else { format!("\"{dim}\"") });
    format!("shapes={{\"{name}\": ({})}}", dims.collect::<Vec<_>>().join(", "))
}

/// As [`raised`], for diagnostics about these texts.
pub(crate) fn wrong(diagnostics: Vec<Diagnostic>, sources: &Sources) -> PyErr {
    raised(&Error::new(diagnostics, sources))
}

/// As [`raised`], for a diagnostic that is about no text.
pub(crate) fn said(diagnostic: Diagnostic) -> PyErr {
    raised(&Error::said(diagnostic))
}

fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "relayc._errors", "RelayError")
}
