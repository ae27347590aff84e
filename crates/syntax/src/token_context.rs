//! A token that does not fit, and the tokens around it.

use super::errors::excerpt;
use super::starts::starts_statement;
use super::token::{OPERATORS, Tok, TokSet, Token, words};
use relayc_base::diag::codes::E0101;
use relayc_base::diag::{Diagnostic, Edit};
use relayc_base::text::join_words;
use relayc_base::{FileId, Span};

/// All there is to know about a token that does not fit.
pub(super) struct TokenContext<'t> {
    pub(crate) file: FileId,
    pub(crate) source: &'t str,
    pub(crate) tokens: &'t [Token],
    pub(crate) at: usize,
    pub(crate) expected: TokSet,
}

impl<'t> TokenContext<'t> {
    pub(crate) fn tok(&self, at: usize) -> Option<Tok> {
        self.tokens.get(at).map(|token| token.tok)
    }

    pub(crate) fn found(&self) -> Option<Tok> {
        self.tok(self.at)
    }

    /// The `n`th token before the one that does not fit.
    pub(crate) fn before(&self, n: usize) -> Option<Token> {
        self.at.checked_sub(n).map(|at| self.tokens[at])
    }

    pub(crate) fn before_tok(&self, n: usize) -> Option<Tok> {
        self.before(n).map(|token| token.tok)
    }

    /// The place of the token that does not fit; at the end of the text the place behind it.
    pub(crate) fn place(&self) -> Span {
        let end = Span::new(self.file, self.source.len(), self.source.len());
        self.tokens.get(self.at).map_or(end, |token| token.span(self.file))
    }

    /// The place right behind the token before.
    pub(crate) fn behind(&self) -> Span {
        self.before(1).map_or(Span { end: self.place().start, ..self.place() }, |token| token.span(self.file).end_point())
    }

    pub(crate) fn text(&self) -> &'t str {
        self.tokens.get(self.at).map_or("", |token| token.text(self.source))
    }

    /// The token that does not fit, in words.
    pub(crate) fn found_words(&self) -> String {
        match self.found() {
            None => "the end of the file".to_owned(),
            Some(Tok::Str) => "a string".to_owned(),
            Some(_) => {
                // Tokens that stand for an older form have no text: what it begins with follows.
                let written = self.tokens[self.at..].iter().map(|token| token.text(self.source)).find(|text| !text.is_empty());
                format!("`{}`", excerpt(written.unwrap_or_default()))
            }
        }
    }

    /// The token before, as it is shown in an example.
    pub(crate) fn last_word(&self) -> String {
        match self.before(1) {
            Some(token) if matches!(token.tok, Tok::Local | Tok::Graph | Tok::Ident | Tok::Int) => {
                excerpt(token.text(self.source))
            }
            _ => "…".to_owned(),
        }
    }

    pub(crate) fn message(&self) -> Diagnostic {
        let expected = fold(self.expected);
        let message = match &expected[..] {
            [] => format!("{} is not expected here", self.found_words()),
            expected => format!("expected {}, found {}", join_words(expected, "or"), self.found_words()),
        };
        Diagnostic::new(E0101, message)
    }

    pub(crate) fn plain(&self) -> Diagnostic {
        let label = if self.found().is_none() { "the text ends here" } else { "not expected here" };
        self.message().at(self.place(), label)
    }

    /// Whether the name at a token is bound above it.
    pub(crate) fn is_bound(&self, name: usize) -> bool {
        // So far up it is looked for: there may be many errors.
        const NEAR: usize = 10_000;
        let text = self.tokens[name].text(self.source);
        let binds = |pair: &[Token]| pair[1].tok == Tok::Assign && pair[0].text(self.source) == text;
        self.tokens[name.saturating_sub(NEAR)..name].windows(2).any(binds)
    }

    /// Whether an expression may begin here.
    pub(crate) fn wants_expr(&self) -> bool {
        self.expected.has_all(OPERANDS)
    }

    /// Whether an expression has just ended.
    pub(crate) fn wants_operator(&self) -> bool {
        self.expected.has_all(OPERATORS)
    }

    /// Whether it stands in the value of a binding, outside of brackets.
    pub(crate) fn in_binding(&self) -> bool {
        let mut depth = 0usize;
        for at in (0..self.at).rev() {
            match self.tokens[at].tok {
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth += 1,
                Tok::LParen | Tok::LBracket | Tok::LBrace if depth == 0 => return false,
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth -= 1,
                Tok::Semi | Tok::FatArrow if depth == 0 => return false,
                Tok::Assign if depth == 0 => return true,
                _ => {}
            }
        }
        false
    }

    /// Whether it touches the token before it.
    pub(crate) fn touches_before(&self) -> bool {
        self.before(1).is_some_and(|before| before.end == self.place().start)
    }
}

/// What every expression may begin with.
const OPERANDS: TokSet = TokSet::of(&[Tok::Int, Tok::Local, Tok::Fn]);

/// What an expression, a statement or an attribute value may begin with.
const BEGINNINGS: TokSet = TokSet::of(&[
    Tok::Int,
    Tok::Float,
    Tok::True,
    Tok::False,
    Tok::Local,
    Tok::Global,
    Tok::Graph,
    Tok::Meta,
    Tok::Ident,
    Tok::Tensor,
    Tok::Fn,
    Tok::If,
    Tok::Ref,
    Tok::RefRead,
    Tok::RefWrite,
    Tok::LParen,
    Tok::LBrace,
    Tok::Let,
    Tok::Match,
    Tok::MatchPartial,
    Tok::FreeVar,
    Tok::Str,
    Tok::LBracket,
]);

const TYPES: TokSet = TokSet::of(&[Tok::Tensor, Tok::Ident, Tok::Fn, Tok::Ref, Tok::LParen, Tok::Underscore, Tok::Meta]);
const PATTERNS: TokSet = TokSet::of(&[Tok::Underscore, Tok::Local, Tok::Ident, Tok::Tensor, Tok::LParen]);
const DEFINITIONS: TokSet = TokSet::of(&[Tok::Def, Tok::Type, Tok::Extern]);
const DIMS: TokSet = TokSet::of(&[Tok::Int, Tok::Question, Tok::Meta]);
pub(super) const NAMES: TokSet = TokSet::of(&[Tok::Ident, Tok::Tensor]);

/// What may follow an operand besides operators; not worth a word beside them.
const SUFFIXES: TokSet = TokSet::of(&[Tok::LParen, Tok::Dot]);

/// Keywords, none of which can be a name.
pub(super) const KEYWORDS: TokSet = TokSet::of(&[
    Tok::Let,
    Tok::Fn,
    Tok::Def,
    Tok::If,
    Tok::Else,
    Tok::Type,
    Tok::Match,
    Tok::MatchPartial,
    Tok::Extern,
    Tok::FreeVar,
    Tok::Ref,
    Tok::RefRead,
    Tok::RefWrite,
    Tok::True,
    Tok::False,
    Tok::Underscore,
]);

/// The expected tokens in few words: what belongs together has one name.
fn fold(mut expected: TokSet) -> Vec<String> {
    let mut folded = vec![];
    let mut take = |expected: &mut TokSet, all: TokSet, gone: TokSet, name: &'static str| {
        if expected.has_all(all) {
            folded.push(name.to_owned());
            *expected = expected.without(gone);
        }
    };
    // In a list after its first comma everything may follow; the separators are what is missing.
    let in_list = expected.has(Tok::Comma) && expected.has_all(OPERATORS);
    if expected.has(Tok::Comma) && expected.has(Tok::RParen) {
        // A sequence in parentheses is rarely meant.
        expected = expected.without(TokSet::of(&[Tok::Semi]));
    }
    if expected.has(Tok::Arrow) {
        expected = expected.without(TokSet::of(&[Tok::Minus]));
    }
    if in_list {
        expected = expected.without(OPERATORS).without(BEGINNINGS).without(SUFFIXES);
    } else if expected.has_all(OPERATORS) {
        expected = expected.without(SUFFIXES);
        take(&mut expected, OPERATORS, OPERATORS, "an operator");
    }
    if expected.has(Tok::Str) && expected.has(Tok::Int) {
        take(&mut expected, OPERANDS, BEGINNINGS, "an attribute value");
    } else {
        take(&mut expected, OPERANDS, BEGINNINGS, "an expression");
        take(&mut expected, TYPES, TYPES, "a type");
        take(&mut expected, PATTERNS, PATTERNS, "a pattern");
        take(&mut expected, DEFINITIONS, DEFINITIONS, "a definition");
        take(&mut expected, DIMS, DIMS, "a dimension");
        take(&mut expected, NAMES, NAMES, "a name");
    }
    let mut listed: Vec<String> = expected.iter().map(|tok| words(tok).to_owned()).collect();
    listed.append(&mut folded);
    listed
}

impl TokenContext<'_> {
    /// The index of the bracket that closes the one at `open`.
    pub(crate) fn partner(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in open..self.tokens.len() {
            match self.tokens[at].tok {
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth += 1,
                Tok::RParen | Tok::RBracket | Tok::RBrace => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The index of the bracket that the one at `close` closes.
    pub(crate) fn opener(&self, close: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in (0..=close).rev() {
            match self.tokens[at].tok {
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth += 1,
                Tok::LParen | Tok::LBracket | Tok::LBrace => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The innermost open bracket around the token that does not fit.
    pub(crate) fn around(&self) -> Option<usize> {
        let mut depth = 0usize;
        for at in (0..self.at).rev() {
            match self.tokens[at].tok {
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth += 1,
                Tok::LParen | Tok::LBracket | Tok::LBrace if depth == 0 => return Some(at),
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Whether the innermost bracket around it holds the parameters of a function.
    pub(crate) fn in_parameters(&self) -> bool {
        let Some(open) = self.around().filter(|&open| self.tokens[open].tok == Tok::LParen) else { return false };
        let before = |at: usize, n: usize| at.checked_sub(n).and_then(|at| self.tok(at));
        // Behind the type parameters, if there are some.
        let head = if before(open, 1) == Some(Tok::RBracket) { self.opener(open - 1) } else { Some(open) };
        head.is_some_and(|head| match before(head, 1) {
            Some(Tok::Global) => before(head, 2) == Some(Tok::Def),
            tok => tok == Some(Tok::Fn),
        })
    }

    /// The last token of the variable, literal or call that begins at `at`.
    pub(crate) fn operand_end(&self, at: usize) -> Option<usize> {
        match (self.tok(at)?, self.tok(at + 1)) {
            (Tok::Local | Tok::Global | Tok::Graph | Tok::Ident, Some(Tok::LParen)) => self.partner(at + 1),
            (Tok::LParen, _) => self.partner(at),
            (Tok::Local | Tok::Graph | Tok::Int | Tok::Float | Tok::Meta, next) => (next != Some(Tok::Dot)).then_some(at),
            _ => None,
        }
    }

    /// The first token of the statement before the last `;`.
    pub(crate) fn last_statement(&self) -> Option<usize> {
        const ENDS: TokSet = TokSet::of(&[Tok::RParen, Tok::RBracket, Tok::RBrace, Tok::Local, Tok::Graph, Tok::Int, Tok::Float]);
        let mut depth = 0usize;
        let semi = self.at.checked_sub(1)?;
        for at in (0..semi).rev() {
            match self.tokens[at].tok {
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth += 1,
                Tok::LParen | Tok::LBracket | Tok::LBrace | Tok::Semi | Tok::FatArrow if depth == 0 => return Some(at + 1),
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth -= 1,
                _ => {}
            }
            // Above, a `;` may be missing.
            let ended = at.checked_sub(1).is_some_and(|before| ENDS.has(self.tokens[before].tok));
            if depth == 0 && ended && starts_statement(self.tokens, at, self.source) {
                return Some(at);
            }
        }
        Some(0)
    }

    /// The name that a statement binds.
    pub(crate) fn bound_by(&self, start: usize) -> Option<&str> {
        let name = match (self.tok(start)?, self.tok(start + 1)?) {
            (Tok::Let, Tok::Local) => start + 1,
            (Tok::Graph, Tok::Assign) => start,
            _ => return None,
        };
        Some(self.tokens[name].text(self.source))
    }

    /// The argument that does not fit, moved before the attributes of its call.
    pub(crate) fn before_attributes(&self) -> Option<Vec<Edit>> {
        let end = self.operand_end(self.at)?;
        let open = self.around()?;
        let first = (open + 1..self.at).find(|&at| self.tok(at) == Some(Tok::Ident) && self.tok(at + 1) == Some(Tok::Assign))?;
        let argument = self.place().to(self.tokens[end].span(self.file));
        let text = self.source.get(argument.start as usize..argument.end as usize)?;
        // With the comma before it, which separated it from the attribute there.
        let removed = self.before(1)?.span(self.file).to(argument);
        let first = self.tokens[first].span(self.file);
        Some(vec![put(Span { end: first.start, ..first }, &format!("{text}, ")), put(removed, "")])
    }
}

pub(super) fn put(span: Span, text: &str) -> Edit {
    Edit { span, text: text.to_owned() }
}
