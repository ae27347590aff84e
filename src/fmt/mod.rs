//! Source text to formatted source text: the layout is canonical, everything said is the author's.
//!
//! [`format`] keeps the order of definitions, statements and attributes, names, literals as they are spelled, all
//! parentheses, all comments, and single empty lines. Its layout is close to what TVM prints, with lines of at most 100
//! characters where that can be: lists that do not fit have an element a line, chains of infix operators break before each
//! operator.
//!
//! It promises: the result is the same program with the same comments (`verify.rs` looks each time); formatting it again
//! changes nothing; time and memory are linear; nothing recurses.
//!
//! How: nodes say what they are made of (`nodes.rs`, in steps of `ops.rs`), the steps take the tokens of the source one after
//! the other with the comments between them (`write.rs`, `comments.rs`), and the result is a document that decides where
//! lines end (`doc.rs`). Deliberately not here: files, and texts with syntax errors, which stay as they are.

mod comments;
mod doc;
mod errors;
mod nodes;
mod ops;
mod verify;
mod write;

use crate::base::{FileId, Span};
use crate::diag::{self, Diagnostic};
use crate::syntax::lexer::{self, Lexed};
use crate::syntax::{self, ast::Ast};
use std::sync::Arc;
use verify::Text;

/// Formats a text. Errors: all its syntax errors; E0801 if the result is too long for a source text; E0901 if it
/// would not be the same program.
pub fn format(file: FileId, source: &str) -> Result<String, Vec<Diagnostic>> {
    let lexed = lexer::lex(file, source);
    let ast = read(file, source.into(), &lexed)?;
    let bug = |at: u32| vec![errors::would_change(Span { file, start: at, end: at })];
    let formatted = write::write(&ast, &lexed.tokens, &lexed.comments).map_err(|lost| bug(lost.0))?;
    if formatted.len() > lexer::MAX_SOURCE {
        return Err(vec![errors::too_large(Span { file, start: 0, end: 0 }, lexer::MAX_SOURCE)]);
    }
    let again = lexer::lex(verify::FORMATTED, &formatted);
    let new_ast = read(verify::FORMATTED, formatted.as_str().into(), &again).map_err(|_| bug(0))?;
    match verify::difference(&Text { lexed: &lexed, ast: &ast }, &Text { lexed: &again, ast: &new_ast }) {
        Some(at) => Err(bug(at)),
        None => Ok(formatted),
    }
}

/// The tree of a text, or its errors; a text of nothing but comments has a tree too.
fn read(file: FileId, source: Arc<str>, lexed: &Lexed) -> Result<Ast, Vec<Diagnostic>> {
    if lexed.tokens.is_empty() && !diag::has_errors(&lexed.diagnostics) && source.len() <= lexer::MAX_SOURCE {
        return Ok(Ast::new(source));
    }
    let (ast, mut diagnostics) = syntax::parse(file, source);
    if !diag::has_errors(&diagnostics) {
        return Ok(ast);
    }
    diagnostics.retain(Diagnostic::is_error);
    Err(diagnostics)
}

#[cfg(test)]
mod tests;
