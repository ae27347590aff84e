//! The differences that a comparison finds, each with the lines of both sides, as text and as JSON.

use relayc_base::text::{escape_control, shortened};
use relayc_base::{Sources, Span};
use serde_json::{Value, json};
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

/// The result of a comparison.
pub struct Differences {
    /// Whether the two sides are equal.
    pub same: bool,
    found: Lines,
    /// What there is to say of all of them.
    last: String,
}

impl Differences {
    pub(crate) fn new(same: bool, found: Lines, last: String) -> Differences {
        Differences { same, found, last }
    }

    /// A line for each difference, with the places below, and a last one for all.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for Found { words, places } in &self.found.shown {
            let _ = writeln!(out, "{words}");
            let width = places.iter().map(|(place, _)| place.chars().count()).max().unwrap_or(0);
            for (place, line) in places {
                let _ = writeln!(out, "    {place:width$}  {line}");
            }
        }
        if self.found.n > self.found.shown.len() {
            let _ = writeln!(out, "... and {} more", self.found.n - self.found.shown.len());
        }
        // Texts without a difference have nothing to say.
        if !self.last.is_empty() {
            let _ = writeln!(out, "{}", self.last);
        }
        out
    }

    /// `relayc.diff/1`.
    pub fn json(&self) -> Value {
        let place = |(at, line): &(String, String)| json!({ "at": at, "line": line });
        let found = self
            .found
            .shown
            .iter()
            .map(|Found { words, places }| json!({ "what": words, "places": places.iter().map(place).collect::<Vec<_>>() }));
        json!({
            "schema": "relayc.diff/1", "same": self.same, "n_differences": self.found.n, "differences": found.collect::<Vec<_>>(),
            "summary": self.last,
        })
    }
}

struct Found {
    words: String,
    /// Places and the text that stands there.
    places: Vec<(String, String)>,
}

/// The differences so far.
pub(crate) struct Lines {
    shown: Vec<Found>,
    n: usize,
    most: usize,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines { shown: vec![], n: 0, most: SHOWN }
    }
}

impl Lines {
    /// All differences are shown, however many there are.
    pub(crate) fn unlimited() -> Lines {
        Lines { most: usize::MAX, ..Lines::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// Adds a difference and the lines that it concerns.
    pub(crate) fn push(&mut self, words: &str, places: &[SidePlace]) {
        self.n += 1;
        if self.n > self.most {
            return;
        }
        let words = escape_control(words).into_owned();
        self.shown.push(Found { words, places: places.iter().filter_map(place).collect() });
    }
}

/// `file:line:column` and the text of the line.
fn place(at: &SidePlace) -> Option<(String, String)> {
    let (line, column) = at.sources.line_col(at.span)?;
    let text = &at.sources.file(at.span.file)?.text;
    let line_text = text.lines().nth(line.saturating_sub(1)).unwrap_or("");
    Some((format!("{}:{line}:{column}", at.name), escape_control(&shortened(line_text.trim(), WIDTH)).into_owned()))
}
