//! `RelayError`: diagnostics as an exception whose text is the rendered message.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_driver::error::Error;

/// The exception for an error of the library. Its class is `relayc._errors.RelayError`, its argument the rendered message, `code` the
/// code of the first error.
pub(crate) fn raised(error: &Error) -> PyErr {
    Python::attach(|py| match class(py) {
        Ok(class) => {
            let raised = PyErr::from_type(class.clone(), error.to_string());
            // An exception without its code is still the right one.
            let _ = raised.value(py).setattr("code", error.code());
            raised
        }
        Err(missing) => missing,
    })
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
