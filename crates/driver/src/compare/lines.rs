//! The lines of a comparison: each difference, then the text of both sides.

use relayc_base::text::{escape_control, shortened};
use relayc_base::{Sources, Span};
use std::fmt::Write;

/// A place in a program.
#[derive(Clone, Copy)]
pub(crate) struct SidePlace<'p> {
    pub(crate) name: &'p str,
    pub(crate) sources: &'p Sources,
    pub(crate) span: Span,
}

/// Limit of differences that are shown; the rest is counted.
const SHOWN: usize = 100;

/// The shown width of a line.
const WIDTH: usize = 100;

/// The differences so far.
#[derive(Default)]
pub(crate) struct Lines {
    text: String,
    n: usize,
}

impl Lines {
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// Adds a difference and the lines that it concerns.
    pub(crate) fn push(&mut self, words: &str, places: &[SidePlace]) {
        self.n += 1;
        if self.n > SHOWN {
            return;
        }
        let _ = writeln!(self.text, "{}", escape_control(words));
        let shown: Vec<(String, String)> = places.iter().filter_map(place).collect();
        let width = shown.iter().map(|(place, _)| place.chars().count()).max().unwrap_or(0);
        for (place, line) in shown {
            let _ = writeln!(self.text, "    {place:width$}  {line}");
        }
    }

    /// Returns all lines, and a last one.
    pub(crate) fn finish(mut self, last: &str) -> String {
        if self.n > SHOWN {
            let _ = writeln!(self.text, "... and {} more", self.n - SHOWN);
        }
        let _ = writeln!(self.text, "{last}");
        self.text
    }
}

/// `file:line:column` and the text of the line.
fn place(at: &SidePlace) -> Option<(String, String)> {
    let (line, column) = at.sources.line_col(at.span)?;
    let text = &at.sources.file(at.span.file)?.text;
    let line_text = text.lines().nth(line.saturating_sub(1)).unwrap_or("");
    Some((format!("{}:{line}:{column}", at.name), escape_control(&shortened(line_text.trim(), WIDTH)).into_owned()))
}
