//! Tokens that begin a statement, a binding or a definition.

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
