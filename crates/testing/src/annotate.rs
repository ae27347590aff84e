//! Caret annotations: expectations below the place that they describe.
//!
//! ```text
//!   nn.leaky_relu(%x, alpha=0.5f)
//! //^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ Tensor[(2), float32]
//!                 //^^ error[E0201]: the variable `%x` is not defined
//! ```
//!
//! The carets mark exactly the span of an expression (or of a bound variable) with this type, or the first place of a diagnostic. The
//! message of a diagnostic may be omitted. Several annotations may describe one line of the program.

use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::count;
use relayc_base::{FileId, Sources, Span};
use relayc_driver::Program;
use relayc_driver::show::types_at;

/// An expectation for a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Annotation {
    /// The line of the annotation, from 1.
    line: usize,
    span: Span,
    expected: Expected,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Expected {
    Type(String),
    /// `error` or `warning`, the code, and the message if it is written.
    Diagnostic {
        code: String,
        message: Option<String>,
    },
}

/// Parses the annotations of a text, which is the first of the sources.
pub(crate) fn parse(text: &str) -> Result<Vec<Annotation>, String> {
    let mut annotations = Vec::new();
    // The line the carets are about, with its offset in the text.
    let mut target: (usize, &str) = (0, "");
    let mut offset = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        let at = offset;
        offset += line.len();
        let Some(rest) = line.trim_start().strip_prefix("//").map(str::trim_start).filter(|rest| rest.starts_with('^')) else {
            target = (at, line);
            continue;
        };
        let n = rest.chars().take_while(|&c| c == '^').count();
        let first = line.chars().take_while(|&c| c != '^').count();
        let column = |column: usize| target.1.char_indices().nth(column).map_or(target.1.trim_end().len(), |(at, _)| at);
        let span = Span::new(FileId(0), target.0 + column(first), target.0 + column(first + n));
        let expected = expected(rest.trim_start_matches('^').trim()).ok_or(format!("line {}: nothing expected", i + 1))?;
        annotations.push(Annotation { line: i + 1, span, expected });
    }
    Ok(annotations)
}

fn expected(text: &str) -> Option<Expected> {
    let diagnostic = text.strip_prefix("error[").or(text.strip_prefix("warning["));
    if let Some((code, rest)) = diagnostic.and_then(|rest| rest.split_once(']')) {
        let message = rest.strip_prefix(':').map(|message| message.trim().to_owned());
        return Some(Expected::Diagnostic { code: code.to_owned(), message });
    }
    (!text.is_empty()).then(|| Expected::Type(text.to_owned()))
}

/// The type of what has none: an operator's name, a wrong expression.
const NO_TYPE: &str = "<error>";

/// The value that begins where `span` does and ends nearest to its end: how many carets it takes, and its type.
fn from_here(program: &Program, span: Span) -> String {
    let module = &program.module;
    let begins = module.exprs.iter().map(|expr| expr.span).filter(|of| (of.file, of.start) == (span.file, span.start));
    let valued = begins.filter_map(|of| Some((of, types_at(program, of).into_iter().find(|ty| ty != NO_TYPE)?)));
    let nearest = valued.min_by_key(|(of, _)| of.end.abs_diff(span.end));
    nearest.map_or(String::new(), |(of, ty)| {
        format!("; the one that begins here has {} characters and is `{ty}`", of.end - of.start)
    })
}

/// Checks the annotations. If one describes a diagnostic, all diagnostics must be annotated, except a missing version header,
/// which most tests leave out.
pub(crate) fn check(annotations: &[Annotation], program: &Program) -> Result<(), String> {
    let mut failures = Vec::new();
    let mut unmatched: Vec<&Diagnostic> = program.diagnostics.iter().collect();
    for annotation in annotations {
        let line = annotation.line;
        match &annotation.expected {
            Expected::Type(expected) => {
                let found = types_at(program, annotation.span);
                if !found.contains(expected) {
                    let found: Vec<String> = found.into_iter().filter(|found| found != NO_TYPE).collect();
                    let what = match &found[..] {
                        [] => format!("no value lies at exactly this place{}", from_here(program, annotation.span)),
                        found => format!("found `{}` at exactly this place", found.join("` and `")),
                    };
                    failures.push(format!("line {line}: expected `{expected}`, {what}"));
                }
            }
            Expected::Diagnostic { code, message } => {
                let matches = |d: &&Diagnostic| {
                    d.span() == annotation.span && d.code.id() == code && message.as_ref().is_none_or(|m| *m == d.message)
                };
                match unmatched.iter().position(matches) {
                    Some(index) => drop(unmatched.remove(index)),
                    None => failures.push(format!("line {line}: no such diagnostic at exactly this place")),
                }
            }
        }
    }
    let annotated = annotations.iter().any(|a| matches!(a.expected, Expected::Diagnostic { .. }));
    unmatched.retain(|d| if annotated { d.code != codes::W0001 } else { d.is_error() });
    if !unmatched.is_empty() {
        let n = count(unmatched.len(), "diagnostic");
        let list: String = unmatched.iter().map(|d| format!("\n{}", brief(d, &program.sources))).collect();
        failures.push(format!("{n} not expected:{list}"));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// A diagnostic in the form of an annotation, with its line and columns.
fn brief(diagnostic: &Diagnostic, sources: &Sources) -> String {
    let span = diagnostic.span();
    let place = sources.line_col(span).map_or(String::new(), |(line, column)| {
        format!("line {line}, columns {column} to {}: ", column + (span.end - span.start).max(1) as usize - 1)
    });
    let level = if diagnostic.is_error() { "error" } else { "warning" };
    format!("  {place}{level}[{}]: {}", diagnostic.code.id(), diagnostic.message)
}
