//! Diagnostics: what went wrong, where, why, and what to write instead.
//!
//! Each module that finds problems builds [`Diagnostic`]s in its `errors.rs`. `codes.rs` is the table of all kinds, each with a
//! page in `explain/`. Only `render.rs` knows how diagnostics look, with `excerpt.rs` for long lines. Absent: the wording of any
//! single mistake.

pub mod codes;
mod excerpt;
pub mod fix;
pub mod render;

use crate::text::count;
use crate::{FileId, Span};
pub use codes::Code;

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    Warning,
    Error,
}

/// A place in a text and the words shown there.
#[derive(Clone, PartialEq, Debug)]
pub struct Label {
    pub span: Span,
    pub text: String,
    /// Marks the place of the mistake itself; the other labels explain it.
    pub primary: bool,
}

/// Advice: what to write instead.
#[derive(Clone, PartialEq, Debug)]
pub struct Help {
    pub text: String,
    /// The edits that carry it out; empty for advice only.
    pub edits: Vec<Edit>,
    /// Whether the edits are certainly what the author meant, so that a tool may apply them without asking.
    pub certain: bool,
    /// Whether an edit found later says the same for the text at hand and replaces this help.
    pub general: bool,
}

impl Help {
    fn new(text: impl Into<String>, edits: Vec<Edit>) -> Help {
        Help { text: text.into(), edits, certain: false, general: false }
    }
}

/// Replaces the text of `span`.
#[derive(Clone, PartialEq, Debug)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

impl Edit {
    /// Writes text before and behind `span`.
    pub fn around(span: Span, before: &str, after: &str) -> Vec<Edit> {
        let start = Span { end: span.start, ..span };
        vec![Edit { span: start, text: before.to_owned() }, Edit { span: span.end_point(), text: after.to_owned() }]
    }
}

/// An operator's equation that does not hold, with its numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Equation {
    /// As the rule states it: `data.C == weight.I * groups`.
    pub rule: String,
    /// The rule with numbers: `64 == 32 * 1`.
    pub values: String,
}

/// One message to the user.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// Lower case, no full stop, no advice.
    pub message: String,
    pub labels: Vec<Label>,
    pub equation: Option<Equation>,
    pub notes: Vec<String>,
    pub helps: Vec<Help>,
    /// Whether the program has its types despite this error: it prints with them, but cannot run.
    pub typed: bool,
}

impl Diagnostic {
    /// A diagnostic of this kind; a code that starts with `W` makes a warning.
    pub fn new(code: Code, message: impl Into<String>) -> Diagnostic {
        let severity = if code.id().starts_with('W') { Severity::Warning } else { Severity::Error };
        Diagnostic {
            code,
            severity,
            message: message.into(),
            labels: vec![],
            equation: None,
            notes: vec![],
            helps: vec![],
            typed: false,
        }
    }

    /// Adds the place of the mistake.
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into(), primary: true });
        self
    }

    /// Adds a second place that explains the first.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        if !span.is_none() {
            self.labels.push(Label { span, text: text.into(), primary: false });
        }
        self
    }

    pub fn equation(mut self, rule: impl Into<String>, values: impl Into<String>) -> Self {
        self.equation = Some(Equation { rule: rule.into(), values: values.into() });
        self
    }

    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.helps.push(Help::new(text, vec![]));
        self
    }

    /// Adds a help that an edit for the text at hand may replace.
    pub fn general_help(mut self, text: impl Into<String>) -> Self {
        self.helps.push(Help { general: true, ..Help::new(text, vec![]) });
        self
    }

    /// Adds a help that replaces the text of `span`.
    pub fn fix(mut self, text: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        let edits = if span.is_none() { vec![] } else { vec![Edit { span, text: replacement.into() }] };
        self.helps.push(Help::new(text, edits));
        self
    }

    /// Marks the edits of the last help as certainly what was meant.
    pub fn certain(mut self) -> Self {
        if let Some(help) = self.helps.last_mut() {
            help.certain = true;
        }
        self
    }

    /// Adds a help with several edits.
    pub fn fix_all(mut self, text: impl Into<String>, edits: Vec<Edit>) -> Self {
        let edits = if edits.iter().any(|edit| edit.span.is_none()) { vec![] } else { edits };
        self.helps.push(Help::new(text, edits));
        self
    }

    /// The first primary place; [`Span::NONE`] if the message has none.
    pub fn span(&self) -> Span {
        self.labels.iter().find(|label| label.primary).map_or(Span::NONE, |label| label.span)
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Where a place comes in text order; what has none comes last.
fn place_key(span: Span) -> (bool, FileId, u32) {
    (span.is_none(), span.file, span.start)
}

/// Sorts diagnostics into text order; the sort is stable.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by_key(|d| place_key(d.span()));
}

/// Errors as they are found, maybe millions: the first in text order are kept, the others only counted.
#[derive(Debug)]
pub struct FirstErrors {
    /// At most twice as many as are to be kept.
    kept: Vec<Diagnostic>,
    max: usize,
    /// Before it stand all that are to be kept, once some were dropped.
    end: Option<(bool, FileId, u32)>,
    n_found: usize,
}

impl FirstErrors {
    /// One is always kept, so that errors are known to be there.
    pub fn new(max: usize) -> FirstErrors {
        FirstErrors { kept: vec![], max: max.max(1), end: None, n_found: 0 }
    }

    /// Whether an error at a place or behind it may be kept.
    pub fn wants(&self, at: Span) -> bool {
        self.end.is_none_or(|end| place_key(at) < end)
    }

    /// Counts an error that is not wanted.
    pub fn count(&mut self) {
        self.n_found += 1;
    }

    pub fn push(&mut self, error: Diagnostic) {
        self.n_found += 1;
        self.kept.push(error);
        if self.kept.len() >= 2 * self.max {
            self.limit();
            self.end = self.kept.last().map(|last| place_key(last.span()));
        }
    }

    /// How many were found.
    pub fn n_found(&self) -> usize {
        self.n_found
    }

    fn limit(&mut self) {
        sort(&mut self.kept);
        self.kept.truncate(self.max);
    }

    /// The first in text order, and how many more there are.
    pub fn finish(mut self) -> (Vec<Diagnostic>, usize) {
        self.limit();
        let n_more = self.n_found - self.kept.len();
        (self.kept, n_more)
    }
}

/// Sorts the diagnostics of a file into text order and keeps `max` of them, errors before warnings. The last one says how many more
/// there are, with the `n_dropped` that others left out.
pub fn sort_and_limit(diagnostics: &mut Vec<Diagnostic>, max: usize, n_dropped: usize) {
    sort(diagnostics);
    let n_found = diagnostics.len();
    if n_found > max {
        let n_errors = diagnostics.iter().filter(|d| d.is_error()).count().min(max);
        let mut left = [max - n_errors, n_errors];
        diagnostics.retain(|d| {
            let left = &mut left[usize::from(d.is_error())];
            let is_kept = *left > 0;
            *left -= usize::from(is_kept);
            is_kept
        });
    }
    let n_more = n_found - diagnostics.len() + n_dropped;
    if let Some(last) = diagnostics.last_mut().filter(|_| n_more > 0) {
        last.notes.push(format!("this file has {}, not shown", count(n_more, "more problem")));
    }
}

/// Adds a diagnostic if there are fewer than `max`; false if one is dropped. An error is not lost to warnings alone.
pub fn push_limited(diagnostics: &mut Vec<Diagnostic>, diagnostic: Diagnostic, max: usize) -> bool {
    if diagnostics.len() < max {
        diagnostics.push(diagnostic);
        return true;
    }
    if let Some(last) = diagnostics.last_mut().filter(|last| diagnostic.is_error() && !last.is_error()) {
        *last = diagnostic;
    }
    false
}

/// Whether any of them is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(code: Code, start: usize) -> Diagnostic {
        Diagnostic::new(code, "message").at(Span::new(FileId(0), start, start), "")
    }

    fn starts(diagnostics: &[Diagnostic]) -> Vec<u32> {
        diagnostics.iter().map(|diagnostic| diagnostic.span().start).collect()
    }

    #[test]
    fn warnings_give_way_to_errors() {
        let all =
            || vec![at(codes::E0101, 9), at(codes::W0001, 0), at(codes::E0101, 7), at(codes::W0001, 8), at(codes::W0001, 1)];
        for (max, kept) in [(5, &[0, 1, 7, 8, 9][..]), (4, &[0, 1, 7, 9]), (3, &[0, 7, 9]), (2, &[7, 9]), (1, &[7]), (0, &[])] {
            let mut diagnostics = all();
            sort_and_limit(&mut diagnostics, max, 2);
            assert_eq!(starts(&diagnostics), kept);
            let said = format!("this file has {} more problems, not shown", 5 - kept.len() + 2);
            assert!(diagnostics.last().is_none_or(|last| last.notes == [said]));
        }
    }

    #[test]
    fn the_first_errors_are_kept_in_whatever_order_they_come() {
        for step in [1, 7, 11, 29] {
            let mut errors = FirstErrors::new(4);
            for start in (0..30).map(|at| at * step % 30) {
                let error = at(codes::E0301, start);
                if errors.wants(error.span()) {
                    errors.push(error)
                } else {
                    errors.count()
                }
                assert!(errors.kept.len() < 8);
            }
            let (kept, n_more) = errors.finish();
            assert_eq!((starts(&kept), n_more), (vec![0, 1, 2, 3], 26));
        }
        let one = || at(codes::E0301, 5);
        let mut errors = FirstErrors::new(0);
        [one(), one(), one()].into_iter().for_each(|error| errors.push(error));
        assert_eq!(errors.finish(), (vec![one()], 2));
    }

    #[test]
    fn an_error_takes_the_place_of_the_last_warning() {
        let mut kept = vec![];
        let pushed = [codes::W0001, codes::W0001, codes::W0001, codes::E0101, codes::E0101];
        let fits: Vec<bool> = pushed.iter().zip(0..).map(|(&code, start)| push_limited(&mut kept, at(code, start), 2)).collect();
        assert_eq!(fits, [true, true, false, false, false]);
        assert_eq!(starts(&kept), [0, 3]);
    }
}
