//! E0101 in words: a token that does not fit, what would have, and the mistakes behind the usual cases.

use super::parse::Failure;
use super::token::{Token, words};
use crate::base::Span;
use crate::base::text::join_words;
use crate::diag::Diagnostic;
use crate::diag::codes::E0101;

/// The report of a token that does not fit.
pub(super) fn report(tokens: &[Token], failure: &Failure, whole: Span, source: &str) -> Diagnostic {
    let expected: Vec<String> = failure.expected.iter().map(|tok| words(tok).to_owned()).collect();
    let (found, place) = match tokens.get(failure.at) {
        Some(token) => (format!("`{}`", super::errors::excerpt(token.text(source))), token.span(whole.file)),
        None => ("the end of the file".to_owned(), whole.end_point()),
    };
    Diagnostic::new(E0101, format!("expected {}, found {found}", join_words(&expected, "or"))).at(place, "not expected here")
}
