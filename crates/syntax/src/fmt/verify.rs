//! Checks that a formatted text has the tokens, the tree and the comments of the original.
//!
//! Two differences are allowed. A comma after the last element may come or go, and one between elements may be missing in the
//! original. So commas are left out of the comparison of tokens. To show that no list was split, the kinds of the nodes of both
//! trees are compared in building order. And `- >` is `->`.

use crate::ast::Ast;
use crate::lexer::Lexed;
use crate::token::{Tok, Token};
use relayc_base::{FileId, Span};
use std::mem::discriminant;

/// A text with its tokens and its tree.
pub(crate) struct Text<'a> {
    pub(crate) lexed: &'a Lexed,
    pub(crate) ast: &'a Ast,
}

/// The byte offset at which the original and the formatted text differ; `None` if they agree.
pub(crate) fn difference(old: &Text, new: &Text) -> Option<u32> {
    let (old_source, new_source): (&str, &str) = (&old.ast.source, &new.ast.source);
    let mut old_words = words(&old.lexed.tokens, old_source);
    let mut new_words = words(&new.lexed.tokens, new_source);
    loop {
        match (old_words.next(), new_words.next()) {
            (None, None) => break,
            (Some((old_tok, old_text, _)), Some((new_tok, new_text, _)))
                if old_tok == new_tok
                    && (old_text == new_text || old_tok == Tok::Metadata && old_text.lines().eq(new_text.lines())) => {}
            (old, _) => return Some(old.map_or(old_source.len() as u32, |(.., at)| at)),
        }
    }
    if !same_shape(old.ast, new.ast) {
        return Some(0);
    }
    same_comments(old, new)
}

/// The byte offset at which the comments differ. Comments may move past commas, not past each other.
pub(crate) fn same_comments(old: &Text, new: &Text) -> Option<u32> {
    let (old_source, new_source): (&str, &str) = (&old.ast.source, &new.ast.source);
    let (old_comments, new_comments) = (&old.lexed.comments, &new.lexed.comments);
    let differs = |(old, new): &(&Span, &Span)| !same_comment(old_source, **old, new_source, **new);
    if let Some((old, _)) = old_comments.iter().zip(new_comments).find(differs) {
        return Some(old.start);
    }
    (old_comments.len() != new_comments.len()).then_some(old_source.len() as u32)
}

/// The tokens without commas, `- >` as `->`, and the metadata section without trailing blanks.
fn words<'a>(tokens: &'a [Token], source: &'a str) -> impl Iterator<Item = (Tok, &'a str, u32)> {
    let is_arrow = |at: usize| tokens[at].tok == Tok::Minus && tokens.get(at + 1).is_some_and(|next| next.tok == Tok::Gt);
    tokens.iter().enumerate().filter_map(move |(at, token)| match token.tok {
        Tok::Comma => None,
        Tok::Minus if is_arrow(at) => None,
        Tok::Gt if at > 0 && is_arrow(at - 1) => Some((Tok::Arrow, "->", token.start)),
        tok => Some((tok, token.text(source).trim_end(), token.start)),
    })
}

/// Whether two trees have the same nodes, built in the same order.
pub(crate) fn same_shape(old: &Ast, new: &Ast) -> bool {
    discriminant(&old.root) == discriminant(&new.root)
        && (old.defs.len(), old.funcs.len()) == (new.defs.len(), new.funcs.len())
        && old.exprs.iter().map(|e| discriminant(&e.kind)).eq(new.exprs.iter().map(|e| discriminant(&e.kind)))
        && old.stmts.iter().map(|s| discriminant(&s.kind)).eq(new.stmts.iter().map(|s| discriminant(&s.kind)))
        && old.types.iter().map(|t| discriminant(&t.kind)).eq(new.types.iter().map(|t| discriminant(&t.kind)))
        && old.pats.iter().map(|p| discriminant(&p.kind)).eq(new.pats.iter().map(|p| discriminant(&p.kind)))
        && old.values.iter().map(|v| discriminant(&v.kind)).eq(new.values.iter().map(|v| discriminant(&v.kind)))
}

/// Whether two comments are the same but for blanks at the ends of lines.
fn same_comment(old_source: &str, old: Span, new_source: &str, new: Span) -> bool {
    let text = |source: &'_ str, span: Span| source.get(span.start as usize..span.end as usize).unwrap_or("").to_owned();
    let (old, new) = (text(old_source, old), text(new_source, new));
    old == new || old.lines().map(str::trim).eq(new.lines().map(str::trim))
}

/// The file id under which formatted texts are read back.
pub(crate) const FORMATTED: FileId = FileId(u32::MAX - 1);
