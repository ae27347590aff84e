//! Tokens that begin a statement, a binding or a definition, and lines that do.

use super::token::{Tok, TokSet, Token};

/// Tokens that begin a statement or an expression and never go on with one.
pub(super) const STARTS: TokSet = TokSet::of(&[
    Tok::Let,
    Tok::FreeVar,
    Tok::Match,
    Tok::MatchPartial,
    Tok::If,
    Tok::Fn,
    Tok::Ref,
    Tok::RefRead,
    Tok::RefWrite,
    Tok::Ident,
    Tok::Tensor,
    Tok::Local,
    Tok::Global,
    Tok::Graph,
    Tok::Meta,
    Tok::Int,
    Tok::Float,
    Tok::Str,
    Tok::True,
    Tok::False,
    Tok::Underscore,
]);

/// Whether a definition begins at a token; `extern type` is one.
pub(super) fn begins_def(tokens: &[Token], at: usize) -> bool {
    let after_extern = at > 0 && tokens[at - 1].tok == Tok::Extern;
    match tokens[at].tok {
        Tok::Def | Tok::Extern | Tok::KnownDefs => true,
        Tok::Type => !after_extern,
        _ => false,
    }
}

/// Whether a token begins a statement for certain, or does so at the start of a line.
pub(super) fn starts_statement(tokens: &[Token], at: usize, source: &str) -> bool {
    binds(tokens, at) || (tokens.get(at).is_some_and(|token| STARTS.has(token.tok)) && starts_line(tokens, at, source))
}

pub(super) fn binds(tokens: &[Token], at: usize) -> bool {
    let tok = |i: usize| tokens.get(i).map(|token| token.tok);
    match tok(at) {
        Some(Tok::Let | Tok::FreeVar) => true,
        Some(Tok::Graph) => tok(at + 1) == Some(Tok::Assign),
        _ => false,
    }
}

pub(super) fn starts_line(tokens: &[Token], at: usize, source: &str) -> bool {
    let before = at.checked_sub(1).and_then(|i| tokens.get(i)).map_or(0, |token| token.end as usize);
    tokens.get(at).is_some_and(|token| source.get(before..token.start as usize).is_some_and(|gap| gap.contains('\n')))
}

/// The lines after a statement.
#[derive(Clone, Copy)]
pub(super) struct Indents<'t> {
    tokens: &'t [Token],
    source: &'t str,
    /// How far the line of the statement is indented.
    indent: usize,
}

impl<'t> Indents<'t> {
    /// Of the statement that starts at `unit`.
    pub(crate) fn new(tokens: &'t [Token], unit: usize, source: &'t str) -> Indents<'t> {
        Indents { tokens, source, indent: tokens.get(unit).map_or(0, |token| indent(source, token.start as usize)) }
    }

    /// Whether a token begins a line that is indented no further than the statement, as the next statement does.
    pub(crate) fn begins(self, at: usize) -> bool {
        starts_line(self.tokens, at, self.source) && indent(self.source, self.tokens[at].start as usize) <= self.indent
    }
}

/// How far the line around a place is indented.
pub(super) fn indent(source: &str, at: usize) -> usize {
    let start = source.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |line_break| line_break + 1);
    source.as_bytes()[start..].iter().take_while(|byte| byte.is_ascii_whitespace() && **byte != b'\n').count()
}
