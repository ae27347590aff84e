//! Texts in which git has left both versions of a conflict: the first one is read.

use super::lexer::Lexed;
use relayc_base::diag::Diagnostic;
use relayc_base::diag::codes::E0101;
use relayc_base::{FileId, Span};
use std::sync::Arc;

const OURS: &str = "<<<<<<<";
const BASE: &str = "|||||||";
const THEIRS: &str = "=======";
const END: &str = ">>>>>>>";

/// A conflict, by the places of its lines in the text.
struct Conflict {
    /// The line before the first version.
    ours: (usize, usize),
    /// From the line behind the first version to the last line.
    rest: (usize, usize),
    theirs: (usize, usize),
}

/// Takes what is not of the first version out of the tokens, and reports each conflict; says whether there are any.
pub(super) fn leave_out(file: FileId, source: &str, lexed: &mut Lexed) -> bool {
    let mut found = if source.contains(OURS) { conflicts(source) } else { vec![] };
    // Not in a comment.
    found.retain(|conflict| lexed.tokens.binary_search_by_key(&conflict.ours.0, |token| token.start as usize).is_ok());
    if found.is_empty() {
        return false;
    }
    let gone: Vec<(usize, usize)> = found.iter().flat_map(|conflict| [conflict.ours, conflict.rest]).collect();
    let is_gone = |start: u32| {
        let after = gone.partition_point(|(from, _)| *from <= start as usize);
        after.checked_sub(1).is_some_and(|at| (start as usize) < gone[at].1)
    };
    let kept = lexed.tokens.iter().filter(|token| !is_gone(token.start)).copied().collect();
    lexed.tokens = Arc::new(kept);
    lexed.diagnostics.retain(|report| !is_gone(report.span().start));
    lexed.cut = lexed.cut.filter(|cut| !is_gone(*cut));
    let span = |(start, end): (usize, usize)| Span::new(file, start, end);
    lexed.diagnostics.extend(found.iter().map(|conflict| {
        Diagnostic::new(E0101, "a conflict that git could not resolve")
            .at(span(conflict.ours), "the one version, which is read")
            .also(span(conflict.theirs), "the other version")
            .help(format!("keep what is right of the two, and remove the lines of `{OURS}`, `{THEIRS}` and `{END}`"))
    }));
    true
}

fn conflicts(source: &str) -> Vec<Conflict> {
    let is =
        |line: &str, sign: &str| line.strip_prefix(sign).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\r']));
    let (mut found, mut ours, mut rest, mut theirs) = (vec![], None, None, None);
    let mut start = 0;
    for line in source.split('\n') {
        let place = (start, start + line.trim_end().len());
        start += line.len() + 1;
        if is(line, OURS) {
            (ours, rest, theirs) = (Some(place), None, None);
        } else if is(line, BASE) || is(line, THEIRS) {
            rest = rest.or(ours.map(|_| place));
            theirs = theirs.or(Some(place).filter(|_| rest.is_some() && is(line, THEIRS)));
        } else if is(line, END) {
            if let (Some(ours), Some(rest), Some(theirs)) = (ours, rest, theirs) {
                found.push(Conflict { ours, rest: (rest.0, place.1), theirs });
            }
            (ours, rest, theirs) = (None, None, None);
        }
    }
    found
}
