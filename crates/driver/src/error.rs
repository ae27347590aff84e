//! The error type of the library: diagnostics and their rendered text.

#![warn(missing_docs)]

use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_base::diag::render::{self, Format};
use std::fmt;

/// An error with its codes; displays as `relayc` prints it to a pipe.
#[derive(Clone)]
pub struct Error {
    /// Errors, and accompanying warnings, in text order.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Each diagnostic as a line of JSON and as text.
    rendered: Vec<(String, String)>,
}

impl Error {
    /// Of diagnostics, and the texts they are about.
    pub fn new(diagnostics: Vec<Diagnostic>, sources: &Sources) -> Error {
        let shown = |diagnostic, format| render::render(std::slice::from_ref(diagnostic), sources, format, false);
        let rendered = diagnostics.iter().map(|said| (shown(said, Format::Json), shown(said, Format::Plain))).collect();
        Error { diagnostics, rendered }
    }

    /// Of a diagnostic that is about no text.
    pub fn said(diagnostic: Diagnostic) -> Error {
        Error::new(vec![diagnostic], &Sources::new())
    }

    /// The errors, and accompanying warnings, in text order.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Each diagnostic as a line of JSON (`relayc.diag/1`) and as text.
    pub fn rendered(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rendered.iter().map(|(json, text)| (json.as_str(), text.as_str()))
    }

    /// The code of the first error, such as `E0301`.
    pub fn code(&self) -> &'static str {
        self.diagnostics.iter().find(|d| d.is_error()).map_or("", |d| d.code.id())
    }

    fn text(&self) -> String {
        self.rendered().map(|(_, text)| text).collect()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.text().trim_end())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl std::error::Error for Error {}
