//! The lines of a comparison: what differs, then the text of each side.

use crate::base::text::{escape_control, shortened};
use crate::base::{Sources, Span};
use std::fmt::Write;

/// A place of a program.
#[derive(Clone, Copy)]
pub struct Where<'p> {
    pub name: &'p str,
    pub sources: &'p Sources,
    pub span: Span,
}

/// More differences than this are only counted.
const SHOWN: usize = 100;

/// So much of a line is shown.
const WIDTH: usize = 100;

/// Differences found so far.
#[derive(Default)]
pub struct Lines {
    text: String,
    n: usize,
}

impl Lines {
    pub fn len(&self) -> usize {
        self.n
    }

    /// Adds a difference and the lines it is about.
    pub fn push(&mut self, words: &str, places: &[Where]) {
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

    /// All of them, and a last line.
    pub fn finish(mut self, last: &str) -> String {
        if self.n > SHOWN {
            let _ = writeln!(self.text, "... and {} more", self.n - SHOWN);
        }
        let _ = writeln!(self.text, "{last}");
        self.text
    }
}

/// `file:line:column` and the text of the line.
fn place(at: &Where) -> Option<(String, String)> {
    let (line, column) = at.sources.line_col(at.span)?;
    let text = &at.sources.file(at.span.file)?.text;
    let line_text = text.lines().nth(line.saturating_sub(1)).unwrap_or("");
    Some((format!("{}:{line}:{column}", at.name), escape_control(&shortened(line_text.trim(), WIDTH)).into_owned()))
}
