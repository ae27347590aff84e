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
    text: String,
}

impl Error {
    /// Of diagnostics, and the texts they are about.
    pub fn new(diagnostics: Vec<Diagnostic>, sources: &Sources) -> Error {
        let text = render::render(&diagnostics, sources, Format::Plain, false);
        Error { diagnostics, text }
    }

    /// Of a diagnostic that is about no text.
    pub fn said(diagnostic: Diagnostic) -> Error {
        Error::new(vec![diagnostic], &Sources::new())
    }

    /// The errors, and accompanying warnings, in text order.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The code of the first error, such as `E0301`.
    pub fn code(&self) -> &'static str {
        self.diagnostics.iter().find(|d| d.is_error()).map_or("", |d| d.code.id())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.text.trim_end())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}
