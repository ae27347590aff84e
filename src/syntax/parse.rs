//! The parser: tokens in, tree and diagnostics out.

use super::ast::Ast;
use super::build::Builder;
use super::errors;
use super::lexer::{self, Lexed, MAX_SOURCE};
use super::token::{Tok, TokSet, Token};
use super::unexpected;
use crate::base::{FileId, Span};
use crate::diag::{self, Diagnostic};
use lalrpop_util::ParseError;
use std::cell::Cell;
use std::sync::Arc;

lalrpop_util::lalrpop_mod!(
    #[allow(clippy::all, clippy::pedantic, unused, reason = "generated code follows its own rules")]
    grammar,
    "/relay.rs"
);

/// Where the grammar stopped, and what would have gone on.
pub(super) struct Failure {
    /// The index of the token that does not fit; the number of tokens at the end of the text.
    pub at: usize,
    pub expected: TokSet,
}

/// Reads a text: the tree, with `Error` nodes where text was not understood, and all problems in text order.
pub fn parse(file: FileId, source: Arc<str>) -> (Ast, Vec<Diagnostic>) {
    let whole = Span::new(file, 0, source.len().min(MAX_SOURCE));
    if source.len() > MAX_SOURCE {
        let report = errors::source_too_large(Span { end: 0, ..whole }, source.len(), MAX_SOURCE);
        return (Ast::new(source), vec![report]);
    }
    let mut lexed = lexer::lex(file, &source);
    let mut diagnostics = std::mem::take(&mut lexed.diagnostics);
    let version = (lexed.tokens.first().map(|t| t.tok) == Some(Tok::Version)).then(|| lexed.tokens.remove(0).span(file));
    let metadata = lexed.tokens.pop_if(|token| token.tok == Tok::Metadata).map(|token| metadata_text(token, file, &source));
    let mut ast = match start_symbol(&lexed.tokens, version) {
        None => {
            diagnostics.push(errors::no_program(Span { start: 0, ..whole }));
            Ast::new(source)
        }
        Some(start) => {
            if start == Tok::Module && version.is_none() {
                let first = lexed.tokens[0].span(file);
                diagnostics.push(errors::missing_version(Span { end: 0, ..whole }, first));
            }
            let mut builder = Builder::new(file, source);
            if let Err(failure) = run(&mut builder, start, &lexed) {
                diagnostics.push(unexpected::report(&lexed.tokens, &failure, whole, &builder.ast.source));
            }
            diagnostics.append(&mut builder.diagnostics);
            builder.ast
        }
    };
    ast.version = version;
    ast.metadata = metadata;
    diag::sort(&mut diagnostics);
    (ast, diagnostics)
}

/// What the text is, by its first token and its header; nothing where there is neither.
fn start_symbol(tokens: &[Token], version: Option<Span>) -> Option<Tok> {
    let defines = |token: &Token| matches!(token.tok, Tok::Def | Tok::Type | Tok::Extern);
    match tokens.first() {
        None => version.map(|_| Tok::Module),
        // No expression holds a `def`, so a misspelt first word does not make the text an expression.
        Some(first) if defines(first) || tokens.iter().any(|token| token.tok == Tok::Def) => Some(Tok::Module),
        Some(_) => Some(Tok::Expr),
    }
}

/// The JSON text of a metadata section.
fn metadata_text(token: Token, file: FileId, source: &str) -> Span {
    let head = token.text(source).find(']').map_or(0, |end| end as u32 + 1);
    Span { start: token.start + head, ..token.span(file) }
}

fn run(builder: &mut Builder, start: Tok, lexed: &Lexed) -> Result<(), Failure> {
    let delivered = Cell::new(0usize);
    let tokens = lexed.tokens.iter().map(|token| {
        delivered.set(delivered.get() + 1);
        (token.start, token.tok, token.end)
    });
    let result = grammar::FileParser::new().parse(builder, std::iter::once((0, start, 0)).chain(tokens));
    result.map_err(|error| match error {
        ParseError::UnrecognizedToken { expected, .. } => {
            Failure { at: delivered.get() - 1, expected: TokSet::from_names(&expected) }
        }
        ParseError::UnrecognizedEof { expected, .. } => Failure { at: delivered.get(), expected: TokSet::from_names(&expected) },
        ParseError::InvalidToken { .. } | ParseError::ExtraToken { .. } | ParseError::User { .. } => {
            Failure { at: delivered.get().saturating_sub(1), expected: TokSet::default() }
        }
    })
}
