//! Formats source text: the layout is canonical, the content stays the author's.
//!
//! [`format`] keeps the order of definitions, statements and attributes, names, the spelling of literals, all parentheses, all
//! comments, and single empty lines. Its layout is close to TVM's, with lines of at most 100 characters where possible: lists
//! that do not fit have one element a line, chains of infix operators break before each operator.
//!
//! Promises: the result is the same program with the same comments (`verify.rs` checks every time); formatting it again changes
//! nothing; time and memory are linear; nothing recurses.
//!
//! Nodes list their parts (`nodes.rs`, in steps of `ops.rs`). The steps take the tokens of the source one after another with the
//! comments between them (`write.rs`, `comments.rs`). The result is a document that decides where lines end (`doc.rs`).
//! [`upgrade`] first rewrites the forms of older TVMs. Absent: files, and texts with syntax errors, which stay as they are.

mod caret;
mod comments;
mod doc;
mod errors;
mod nodes;
mod ops;
mod upgrade;
mod verify;
mod write;

use crate::lexer::{self, Lexed};
use crate::{self as syntax, ast::Ast};
use relayc_base::diag::{self, Diagnostic, codes};
use relayc_base::limits::SOURCE_BYTES;
use relayc_base::{FileId, Span};
use std::sync::Arc;
use verify::Text;

/// The choices that a project has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// The longest line, in characters, where the text allows it.
    pub width: u32,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 100 }
    }
}

/// Formats a text in the usual style, as [`Style::format`] does.
pub fn format(file: FileId, source: &str) -> Result<String, Vec<Diagnostic>> {
    Style::default().format(file, source)
}

/// As [`format`], for a text of any TVM, as [`Style::upgrade`] does.
pub fn upgrade(file: FileId, source: &str) -> Result<String, Vec<Diagnostic>> {
    Style::default().upgrade(file, source)
}

impl Style {
    /// Formats a text. Errors: all its syntax errors; E0105 if it is of an older TVM or not all Relay; E0801 if the result is too
    /// long for a source text; E0901 if it would not be the same program.
    pub fn format(self, file: FileId, source: &str) -> Result<String, Vec<Diagnostic>> {
        let (plain, aimed) = self.layout(file, source)?;
        // Carets are where they should be only if they stay there.
        let settled =
            |aimed: &String| self.layout(file, aimed).is_ok_and(|(plain, again)| again.as_ref().unwrap_or(&plain) == aimed);
        if let Some(aimed) = aimed.filter(settled) {
            return Ok(aimed);
        }
        // Those that were under no tokens may be under some now, which they would follow the next time.
        let by_chance = if plain.contains('^') { self.layout(file, &plain).ok().and_then(|(_, aimed)| aimed) } else { None };
        Ok(by_chance.filter(settled).unwrap_or(plain))
    }

    /// The formatted text, and its variant with realigned caret annotations, if that differs.
    fn layout(self, file: FileId, source: &str) -> Result<(String, Option<String>), Vec<Diagnostic>> {
        let lexed = lexer::lex(file, source);
        let ast = read(file, source.into(), &lexed)?;
        is_covered(file, source, &lexed)?;
        if let Some(report) = upgrade::first_old_form(&ast) {
            return Err(vec![report]);
        }
        let bug = |at: u32| vec![errors::would_change(Span { file, start: at, end: at })];
        let formatted = write::write(&ast, &lexed.tokens, &lexed.comments, self.width).map_err(|lost| bug(lost.0))?;
        if formatted.len() > SOURCE_BYTES.count() {
            return Err(vec![errors::too_large(Span { file, start: 0, end: 0 })]);
        }
        let again = lexer::lex(verify::FORMATTED, &formatted);
        let new_ast = read(verify::FORMATTED, formatted.as_str().into(), &again).map_err(|_| bug(0))?;
        match verify::difference(&Text { lexed: &lexed, ast: &ast }, &Text { lexed: &again, ast: &new_ast }) {
            Some(at) => Err(bug(at)),
            None => {
                let aimed = caret::realign(source, &lexed, &formatted, &again);
                Ok((formatted, aimed))
            }
        }
    }

    /// Formats a text of any TVM as one of today's; `upgrade.rs` describes the rewriting of older forms. Errors: as [`Style::format`].
    pub fn upgrade(self, file: FileId, source: &str) -> Result<String, Vec<Diagnostic>> {
        let start = Span { file, start: 0, end: 0 };
        let text = upgrade::todays(file, source)?;
        // What is wrong now is not in the file that the user has.
        self.format(file, &text).map_err(|reports| {
            let is_bug = reports.iter().any(|report| report.code != codes::E0801);
            vec![if is_bug { errors::would_change(start) } else { errors::too_large(start) }]
        })
    }
}

/// Parses a text: its tree or its errors. A text of comments only has a tree too.
fn read(file: FileId, source: Arc<str>, lexed: &Lexed) -> Result<Ast, Vec<Diagnostic>> {
    if lexed.tokens.is_empty() && !diag::has_errors(&lexed.diagnostics) && source.len() <= SOURCE_BYTES.count() {
        return Ok(Ast::new(source));
    }
    let (ast, diagnostics) = syntax::parse(file, source);
    errors_of(diagnostics).map(|()| ast)
}

fn errors_of(mut diagnostics: Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
    diagnostics.retain(Diagnostic::is_error);
    if diagnostics.is_empty() { Ok(()) } else { Err(diagnostics) }
}

/// Checks that a text consists of tokens, comments and blanks: formatting would lose text that the lexer skips.
fn is_covered(file: FileId, source: &str, lexed: &Lexed) -> Result<(), Vec<Diagnostic>> {
    let mut comments = lexed.comments.iter().map(|comment| (comment.start, comment.end)).peekable();
    let mut tokens = lexed.tokens.iter().map(|token| (token.start, token.end)).peekable();
    let mut at = 0;
    loop {
        let comment_first = match (comments.peek(), tokens.peek()) {
            (Some(comment), Some(token)) => comment < token,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let next = if comment_first { comments.next() } else { tokens.next() };
        let (start, end) = next.unwrap_or((source.len() as u32, source.len() as u32));
        let between = source.get(at as usize..start as usize).unwrap_or("");
        if let Some(skipped) = between.find(|c: char| !c.is_ascii_whitespace()) {
            let start = at + skipped as u32;
            let end = start + between[skipped..].lines().next().map_or(0, str::len) as u32;
            return Err(vec![errors::skipped_text(Span { file, start, end })]);
        }
        if next.is_none() {
            return Ok(());
        }
        at = at.max(end);
    }
}

#[cfg(test)]
mod tests;
