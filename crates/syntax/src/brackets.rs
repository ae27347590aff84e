//! Finds mismatched brackets before the grammar sees the text, reports them and repairs them.
//!
//! Otherwise a missing or extra bracket would be noticed far from its place, and the text after it would be misread. The work is
//! done per definition, since `def`, `type` and `extern` appear inside no bracket. A definition whose brackets match is left
//! alone. Where a closing bracket does not fit, all repairs are tried; the one after which the brackets match for longest wins.
//! Some places identify the mistake: a binding after a `;` inside parentheses, an `else` inside a block, a `}` further left than
//! its block.

use super::errors;
use super::starts::{STARTS, binds, starts_line};
use super::token::{Tok, TokSet, Token};
use relayc_base::diag::Diagnostic;
use relayc_base::limits::NESTING;
use relayc_base::{FileId, Span};

/// How many tokens ahead a repair is tested.
const HORIZON: usize = 20_000;

/// Limit of repaired brackets; past it the text is given up.
const MAX_MENDED: usize = 1000;

/// Whether the brackets of a text match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Balance {
    Matched,
    Unmatched,
    /// The bracket at this index is too deep.
    TooDeep(usize),
}

/// Tokens with matching brackets, and the reports about the repairs.
pub(super) struct Mended {
    pub(crate) tokens: Vec<Token>,
    pub(crate) reports: Vec<Diagnostic>,
    /// The byte offsets of insertions, deletions and replacements.
    pub(crate) places: Vec<u32>,
    /// Whether there were too many to repair; the tokens end there.
    pub(crate) given_up: bool,
}

fn is_open(tok: Tok) -> bool {
    matches!(tok, Tok::LParen | Tok::LBracket | Tok::LBrace)
}

fn is_close(tok: Tok) -> bool {
    matches!(tok, Tok::RParen | Tok::RBracket | Tok::RBrace)
}

/// Whether a definition starts at a token; `f(type=1)` is a keyword misused as a name.
fn starts_def(tokens: &[Token], at: usize) -> bool {
    let next = tokens.get(at + 1).map(|token| token.tok);
    match tokens[at].tok {
        Tok::Def => true,
        Tok::Type => next == Some(Tok::Ident),
        Tok::Extern => next == Some(Tok::Type),
        _ => false,
    }
}

/// The closing bracket of an opening one, and its text.
fn closer(open: Tok) -> (Tok, &'static str) {
    match open {
        Tok::LParen => (Tok::RParen, ")"),
        Tok::LBracket => (Tok::RBracket, "]"),
        _ => (Tok::RBrace, "}"),
    }
}

/// Whether the brackets match, definition by definition.
pub(super) fn balance(tokens: &[Token]) -> Balance {
    let max_depth = NESTING.count();
    let mut open: Vec<Tok> = vec![];
    let mut matched = true;
    for (at, token) in tokens.iter().enumerate() {
        if is_open(token.tok) {
            if open.len() == max_depth {
                return Balance::TooDeep(at);
            }
            open.push(token.tok);
        } else if is_close(token.tok) {
            matched &= open.pop().is_some_and(|opened| closer(opened).0 == token.tok);
        } else if starts_def(tokens, at) && !open.is_empty() {
            matched = false;
            open.clear();
        }
    }
    if matched && open.is_empty() { Balance::Matched } else { Balance::Unmatched }
}

/// Mends the brackets of a text. `cut` is the place of a comment or string without an end: it may hide brackets, so
/// brackets after it in the same definition are not reported.
pub(super) fn mend(file: FileId, source: &str, tokens: &[Token], cut: Option<u32>) -> Mended {
    let class = class_around(source, tokens);
    let all = tokens;
    let tokens = class.map_or(all, |head| &all[head + 1..all.len() - 1]);
    let mut mender = Mender {
        file,
        source,
        tokens,
        end: 0,
        cut,
        start: 0,
        open: vec![],
        last_opened_after: None,
        line: Line::default(),
        n_mended: 0,
        done: 0,
        n_tried: 0,
        out: Mended { tokens: Vec::with_capacity(tokens.len() + 16), reports: vec![], places: vec![], given_up: false },
    };
    if let Some(head) = class {
        let (first, brace, last) = (all[0].span(file), all[head].span(file), all[all.len() - 1].span(file));
        mender.out.reports.push(errors::class_around(first, first.to(brace), last, all[0].text(source)));
        mender.out.places.extend([brace.start, last.start]);
    }
    let mut start = 0;
    while start < tokens.len() {
        let end = (start + 1..tokens.len()).find(|&at| starts_def(tokens, at)).unwrap_or(tokens.len());
        mender.end = end;
        if balance(&tokens[start..end]) == Balance::Matched {
            mender.out.tokens.extend_from_slice(&tokens[start..end]);
        } else {
            mender.definition(start);
        }
        if mender.out.given_up {
            break;
        }
        start = end;
    }
    mender.out
}

/// The `{` of `class Net { … }` around all definitions of a text; an index.
fn class_around(source: &str, tokens: &[Token]) -> Option<usize> {
    const WORDS: [&str; 10] =
        ["class", "module", "namespace", "struct", "interface", "object", "impl", "mod", "package", "IRModule"];
    let first = tokens.first().filter(|first| first.tok == Tok::Ident && WORDS.contains(&first.text(source)))?;
    let head = tokens.iter().position(|token| token.tok == Tok::LBrace)?;
    let is_whole = head + 1 < tokens.len() && starts_def(tokens, head + 1) && tokens.last()?.tok == Tok::RBrace;
    let on_line = !source.get(first.start as usize..tokens[head].start as usize)?.contains('\n');
    (is_whole && on_line).then_some(head)
}

#[derive(Clone, Copy)]
struct Open {
    tok: Tok,
    span: Span,
    /// The token before it.
    after: Option<Tok>,
    /// How far its line is indented.
    indent: usize,
    /// Whether a binding stands directly inside.
    binds: bool,
}

/// The line of the current token.
#[derive(Clone, Copy, Default)]
struct Line {
    indent: usize,
    /// Whether the current token is the line's first.
    first: bool,
}

struct Mender<'t> {
    file: FileId,
    source: &'t str,
    tokens: &'t [Token],
    /// The end of the current definition.
    end: usize,
    cut: Option<u32>,
    /// Where the current definition starts, in bytes.
    start: u32,
    open: Vec<Open>,
    /// The token before the opening bracket that was closed last.
    last_opened_after: Option<Tok>,
    line: Line,
    n_mended: usize,
    /// Tokens before this one are dealt with.
    done: usize,
    /// How often a bracket that closes everything was looked at.
    n_tried: usize,
    out: Mended,
}

/// A way to mend a closing bracket that does not fit.
#[derive(Clone, Copy)]
enum Way {
    /// It is one too many.
    Drop,
    /// It should have been the innermost bracket's.
    Replace,
    /// This many brackets were not closed before it.
    Close(usize),
}

impl Mender<'_> {
    fn definition(&mut self, start: usize) {
        self.open.clear();
        self.last_opened_after = None;
        self.start = self.tokens[start].start;
        for at in start..self.end {
            self.advance_line(at);
            if self.n_mended > MAX_MENDED {
                self.out.given_up = true;
                return;
            }
            let token = self.tokens[at];
            if at < self.done || self.hints(at) {
                continue;
            }
            if is_open(token.tok) {
                self.open(at);
            } else if self.closes_too_early(at) {
                self.out.places.push(token.start);
                self.drop(at);
            } else if is_close(token.tok) {
                self.close(at);
            } else {
                if let (true, Some(top)) = (binds(self.tokens, at), self.open.last_mut()) {
                    top.binds = true;
                }
                self.out.tokens.push(token);
            }
        }
        let (place, found) = match self.tokens.get(self.end) {
            Some(next) => (next.span(self.file), format!("`{}`", next.text(self.source))),
            None => (Span::new(self.file, self.source.len(), self.source.len()), "the end of the file".to_owned()),
        };
        if !self.open.is_empty() {
            self.close_above(0, place, &found);
        }
    }

    /// Keeps the indentation of the current line.
    fn advance_line(&mut self, at: usize) {
        let token = self.tokens[at];
        let before = at.checked_sub(1).map_or(0, |i| self.tokens[i].end as usize);
        let gap = self.source.get(before..token.start as usize).unwrap_or("");
        self.line.first = at == 0 || gap.contains('\n');
        if let Some(line_break) = gap.rfind('\n') {
            self.line.indent = gap.len() - line_break - 1;
        }
    }

    fn tok(&self, at: usize) -> Option<Tok> {
        self.tokens.get(at).map(|token| token.tok)
    }

    fn open(&mut self, at: usize) {
        let token = self.tokens[at];
        let after = at.checked_sub(1).and_then(|i| self.tok(i));
        self.open.push(Open { tok: token.tok, span: token.span(self.file), after, indent: self.line.indent, binds: false });
        self.out.tokens.push(token);
    }

    /// Whether a `}` would close all that is open in the middle of a definition whose rest would match without it.
    fn closes_too_early(&mut self, at: usize) -> bool {
        let in_middle = at + 1 < self.end && !self.tok(at + 1).is_some_and(is_close);
        let closes_all = self.tokens[at].tok == Tok::RBrace && self.open.len() == 1;
        if !in_middle || !closes_all || self.n_tried == MAX_MENDED {
            return false;
        }
        self.n_tried += 1;
        self.matches_for(at + 1, &[]) < self.matches_for(at + 1, &self.open_toks(1))
    }

    /// Places where a bracket is missing, before the bracket that does not fit is reached. Tells whether the token at
    /// the place is itself left out.
    fn hints(&mut self, at: usize) -> bool {
        self.close_before_line(at);
        let Some(&top) = self.open.last() else { return false };
        let before = at.checked_sub(1).and_then(|i| self.tok(i));
        let token = self.tokens[at];
        let keep = match token.tok {
            Tok::Semi if top.tok != Tok::LBrace && !top.binds => {
                // A sequence in parentheses is rare, one that starts without a binding and goes on with one rarer.
                let next_line = at + 1 < self.end && starts_line(self.tokens, at + 1, self.source);
                let brace = self.open.iter().rposition(|open| open.tok == Tok::LBrace || open.binds);
                (next_line || binds(self.tokens, at + 1)).then(|| brace.map_or(0, |i| i + 1))
            }
            Tok::LBrace if top.tok == Tok::LBracket => Some(self.open.len() - 1),
            // `[2, 2, padding=…`: a list holds no attributes.
            Tok::Comma if top.tok == Tok::LBracket && top.after != Some(Tok::Tensor) && self.begins_attr(at + 1) => {
                Some(self.open.len() - 1)
            }
            // `Tensor[(2), float32, %y: …`, `Tensor[(2), float32 = …`: a type holds no parameter and no value.
            Tok::Comma if top.after == Some(Tok::Tensor) && self.tok(at + 1) == Some(Tok::Local) => Some(self.open.len() - 1),
            Tok::Assign if top.after == Some(Tok::Tensor) => Some(self.open.len() - 1),
            // A `{` after a value in parentheses: the parameters, the condition or the scrutinee end before it.
            Tok::LBrace if top.tok == Tok::LParen && self.ends_head(top, at) => Some(self.open.len() - 1),
            Tok::Arrow => self.params(before),
            Tok::Else if top.tok == Tok::LBrace && before != Some(Tok::RBrace) => Some(self.open.len() - 1),
            Tok::RBrace if self.line.first && top.tok == Tok::LBrace && top.indent > self.line.indent => {
                let partner = self.open.iter().rposition(|open| open.tok == Tok::LBrace && open.indent == self.line.indent);
                partner.map(|i| i + 1)
            }
            _ => None,
        };
        let Some(keep) = keep.filter(|&keep| keep < self.open.len()) else { return false };
        if token.tok == Tok::LBrace {
            let mut closed = self.open_toks(keep);
            closed.push(Tok::LBrace);
            if self.matches_for(at + 1, &closed) < self.matches_for(at + 1, &self.open_toks(self.open.len())) {
                self.report(errors::extra_opener(token.span(self.file), token.text(self.source)));
                self.out.places.push(token.start);
                return true;
            }
        }
        self.close_above(keep, token.span(self.file), &format!("`{}`", token.text(self.source)));
        false
    }

    /// The parenthesis of the parameters that a `->` ends, unless it is closed; an index into the open brackets.
    fn params(&self, before: Option<Tok>) -> Option<usize> {
        let is_head = |after: Option<Tok>| matches!(after, Some(Tok::Fn | Tok::Global | Tok::RBracket));
        let closed = before == Some(Tok::RParen) && is_head(self.last_opened_after);
        let params = self.open.iter().rposition(|open| open.tok == Tok::LParen && is_head(open.after));
        params.filter(|_| !closed)
    }

    /// Closes what an unfinished statement opened, before a statement on a line that is indented no further.
    fn close_before_line(&mut self, at: usize) {
        let token = self.tokens[at];
        if !self.line.first || !STARTS.has(token.tok) || self.n_tried == MAX_MENDED {
            return;
        }
        let indent = self.line.indent;
        let keep = self.open.iter().rposition(|open| open.binds || open.indent < indent).map_or(0, |i| i + 1);
        if keep >= self.open.len() {
            return;
        }
        self.n_tried += 1;
        let with = self.matches_for(at, &self.open_toks(self.open.len()));
        let without = self.matches_for(at, &self.open_toks(keep));
        // A second unfinished statement ends both; but a body may begin with a binding.
        let in_call = binds(self.tokens, at) && self.open[keep..].iter().all(|open| open.tok != Tok::LBrace);
        if without > with || (without == with && in_call) {
            let end = self.out.tokens.last().map_or(0, |token| token.end as usize);
            self.close_above(keep, Span::new(self.file, end, end), &format!("`{}`", token.text(self.source)));
        }
    }

    /// Whether `name=` is here.
    fn begins_attr(&self, at: usize) -> bool {
        self.tok(at) == Some(Tok::Ident) && self.tok(at + 1) == Some(Tok::Assign)
    }

    fn open_toks(&self, n: usize) -> Vec<Tok> {
        self.open[..n].iter().map(|open| open.tok).collect()
    }

    /// Whether a `{` ends the head that `top` opened: `fn (%x: T {`, `if (%c {`, `match (%x {`.
    fn ends_head(&self, top: Open, brace: usize) -> bool {
        let (value, before) = (self.tok(brace - 1), brace.checked_sub(2).and_then(|i| self.tok(i)));
        let is_match = |tok: Option<Tok>| matches!(tok, Some(Tok::Match | Tok::MatchPartial));
        match top.after {
            Some(Tok::Fn | Tok::Global) => matches!(value, Some(Tok::Ident | Tok::RBracket)),
            Some(Tok::If | Tok::Match | Tok::MatchPartial) => match value {
                Some(Tok::Local | Tok::Graph | Tok::Int | Tok::Float | Tok::Meta | Tok::Global | Tok::True | Tok::False) => {
                    !is_match(before)
                }
                Some(Tok::RParen) => !is_match(self.last_opened_after) && self.last_opened_after != Some(Tok::Fn),
                _ => false,
            },
            _ => false,
        }
    }

    /// Closes all open brackets but the first `keep`, before a token that was found instead.
    fn close_above(&mut self, keep: usize, place: Span, found: &str) {
        let open: Vec<(Span, &'static str)> = self.open[keep..].iter().map(|open| (open.span, closer(open.tok).1)).collect();
        let mut insert = self.out.tokens.len();
        let tok = |at: usize| self.out.tokens.get(at).map(|token| token.tok);
        let before = [3, 2, 1].map(|n| insert.checked_sub(n).and_then(tok));
        if let (true, [_, _, Some(Tok::Semi)]) = (keep > 0, before) {
            // A value ends before the `;` of its statement.
            insert -= 1;
        } else if let ([Some(_), Some(Tok::Comma), Some(Tok::Ident)], Some(of), "`]`") = (before, self.open.last(), found)
            && (of.tok, of.after) == (Tok::LParen, Some(Tok::LBracket))
        {
            // The dimensions end before the dtype.
            insert -= 2;
        }
        let end = insert.checked_sub(1).map_or(0, |last| self.out.tokens[last].end);
        self.last_opened_after = self.open[keep].after;
        let closers = self.open.drain(keep..).rev().map(|open| Token { tok: closer(open.tok).0, start: end, end });
        self.out.tokens.splice(insert..insert, closers);
        self.out.places.push(end);
        let behind = Span::new(self.file, end as usize, end as usize);
        self.report_at(place.start, errors::unclosed(&open, place, found, behind));
    }

    fn report(&mut self, report: Diagnostic) {
        self.report_at(report.span().start, report);
    }

    /// Reports a mistake that showed at `at`.
    fn report_at(&mut self, at: u32, report: Diagnostic) {
        self.n_mended += 1;
        let hidden = self.cut.is_some_and(|cut| self.start <= cut && cut <= at);
        if !hidden {
            self.out.reports.push(report);
        }
    }

    fn close(&mut self, at: usize) {
        let token = self.tokens[at];
        if self.open.last().is_some_and(|top| closer(top.tok).0 == token.tok) {
            self.last_opened_after = self.open.pop().and_then(|open| open.after);
            self.out.tokens.push(token);
            return;
        }
        let span = token.span(self.file);
        let text = token.text(self.source);
        self.out.places.push(token.start);
        if self.crossed(at) {
            return;
        }
        let is_list = token.tok == Tok::RBracket && self.open.iter().all(|open| open.tok != Tok::LBracket);
        if is_list && self.missing_opener(token.tok).is_some() {
            return self.drop(at);
        }
        match self.best_way(at) {
            Way::Drop => self.drop(at),
            Way::Replace => {
                let Some(top) = self.open.pop() else { return };
                self.last_opened_after = top.after;
                let (tok, wanted) = closer(top.tok);
                self.out.tokens.push(Token { tok, ..token });
                self.report(errors::mismatched(top.span, wanted, span, text));
            }
            Way::Close(n) => {
                self.close_above(self.open.len() - n, span, &format!("`{text}`"));
                self.last_opened_after = self.open.pop().and_then(|open| open.after);
                self.out.tokens.push(token);
            }
        }
    }

    /// `([ )]`: two closing brackets in the wrong order are one mistake.
    fn crossed(&mut self, at: usize) -> bool {
        let [.., outer, inner] = self.open[..] else { return false };
        let (token, next) = (self.tokens[at], self.tok(at + 1));
        if at + 1 >= self.end || closer(outer.tok).0 != token.tok || Some(closer(inner.tok).0) != next {
            return false;
        }
        // `Tensor[(2, float32])`: one that is missing, where that makes the rest match.
        let rest = self.open_toks(self.open.len() - 2);
        if 1 + self.matches_for(at + 2, &rest) < self.matches_for(at + 1, &rest) {
            return false;
        }
        let place = token.span(self.file).to(self.tokens[at + 1].span(self.file));
        let wanted = [closer(inner.tok).1, closer(outer.tok).1].concat();
        let found = &self.source[place.start as usize..place.end as usize];
        let report = errors::crossed(place, inner.span, found, &wanted);
        self.out.tokens.push(Token { tok: closer(inner.tok).0, ..token });
        self.out.tokens.push(Token { tok: token.tok, ..self.tokens[at + 1] });
        self.last_opened_after = outer.after;
        self.open.truncate(self.open.len() - 2);
        self.done = at + 2;
        self.report(report);
        true
    }

    /// The way after which the brackets match for longest; of equals the first.
    fn best_way(&self, at: usize) -> Way {
        let tok = self.tokens[at].tok;
        let partner = self.open.iter().rposition(|open| closer(open.tok).0 == tok);
        let mut ways = vec![];
        if let Some(partner) = partner {
            ways.push((Way::Close(self.open.len() - 1 - partner), partner));
        }
        // What closes the body of a definition is its last bracket.
        let in_middle = at + 1 < self.end && !self.tok(at + 1).is_some_and(is_close);
        let closes_body = self.open.len() == 1 && self.open[0].tok == Tok::LBrace && in_middle;
        if !self.open.is_empty() && !closes_body {
            ways.push((Way::Replace, self.open.len() - 1));
        }
        ways.push((Way::Drop, self.open.len()));
        let scored = ways.into_iter().map(|(way, n_open)| (self.matches_for(at + 1, &self.open_toks(n_open)), way));
        scored.reduce(|best, next| if next.0 > best.0 { next } else { best }).map_or(Way::Drop, |(_, way)| way)
    }

    /// For how many tokens from `at` on the brackets match if these are open.
    fn matches_for(&self, at: usize, open: &[Tok]) -> usize {
        let mut open = open.to_vec();
        let end = self.end.min(at + HORIZON);
        for i in at..end {
            let tok = self.tokens[i].tok;
            if is_open(tok) {
                open.push(tok);
            } else if is_close(tok) && open.pop().is_none_or(|opened| closer(opened).0 != tok) {
                return i - at;
            }
        }
        // All the way, if nothing stays open at the end of the definition.
        (end - at) + usize::from(end < self.end || open.is_empty())
    }

    /// Leaves out a closing bracket, or puts in the opening one that is missing before it.
    fn drop(&mut self, at: usize) {
        let token = self.tokens[at];
        let (span, text) = (token.span(self.file), token.text(self.source));
        let Some(insert) = self.missing_opener(token.tok) else {
            if let Some(early) = self.closed_too_early(token.tok) {
                let removed = self.out.tokens.remove(early);
                self.out.tokens.push(token);
                self.out.places.push(removed.start);
                return self.report(errors::closed_too_early(removed.span(self.file), span));
            }
            self.report(errors::unopened(span, text));
            return;
        };
        let (tok, sign) = match token.tok {
            Tok::RParen => (Tok::LParen, "("),
            Tok::RBracket => (Tok::LBracket, "["),
            _ => (Tok::LBrace, "{"),
        };
        let before = self.out.tokens[insert - 1];
        self.out.places.push(before.end);
        let report = errors::missing_opener(span, text, sign, before.span(self.file), before.text(self.source));
        self.report(report);
        self.out.tokens.insert(insert, Token { tok, start: before.end, end: before.end });
        self.out.tokens.push(token);
    }

    /// `f(%x), axis=1)`: the first of the parentheses, an index into the tokens put out so far.
    fn closed_too_early(&self, close: Tok) -> Option<usize> {
        const ENDS: TokSet = TokSet::of(&[Tok::Semi, Tok::LBrace, Tok::RBrace]);
        let out = &self.out.tokens;
        let pattern = [Tok::RParen, Tok::Comma, Tok::Ident, Tok::Assign];
        let from = out.iter().rposition(|token| ENDS.has(token.tok)).unwrap_or(0);
        let found = out[from..].windows(4).rposition(|window| window.iter().map(|token| token.tok).eq(pattern));
        found.filter(|_| close == Tok::RParen).map(|at| from + at)
    }

    /// Where the opening bracket of a closing one was left out: between two tokens that never stand next to each other.
    /// An index into the tokens put out so far. Of several places it is the last after which all brackets match.
    fn missing_opener(&self, close: Tok) -> Option<usize> {
        let out = &self.out.tokens;
        let from = out.len().saturating_sub(HORIZON);
        let start = (from..out.len()).rev().find(|&at| starts_def(out, at)).unwrap_or(from);
        let gap = match close {
            Tok::RParen => misses_paren,
            Tok::RBrace => misses_brace,
            _ => misses_bracket,
        };
        let heads = head_ends(&out[start..]);
        let is_dimensions = |at: usize| close == Tok::RParen && misses_dimensions(&out[..at], out[at].tok);
        let is_gap = |at: usize| gap(&out[at - 1], &out[at], heads[at - 1 - start]) || is_dimensions(at);
        let gaps = (start + 1..out.len()).rev().filter(|&at| is_gap(at));
        gaps.take(MAX_GAPS).find(|&at| self.matches_with(start, at, close))
    }

    /// Whether the brackets put out from `start` on match if the partner of `close` is put in before `at` and `close`
    /// comes next.
    fn matches_with(&self, start: usize, at: usize, close: Tok) -> bool {
        let out = &self.out.tokens;
        let mut open = vec![];
        let toks =
            out[start..at].iter().map(|token| Ok(token.tok)).chain([Err(())]).chain(out[at..].iter().map(|token| Ok(token.tok)));
        for tok in toks.chain([Ok(close)]) {
            match tok {
                Err(()) => open.push(close),
                Ok(tok) if is_open(tok) => open.push(closer(tok).0),
                Ok(tok) if is_close(tok) && open.pop() != Some(tok) => return false,
                Ok(_) => {}
            }
        }
        open.into_iter().eq(self.open.iter().map(|open| closer(open.tok).0))
    }
}

/// How many places for a missing bracket are tried.
const MAX_GAPS: usize = 16;

/// Whether a `(` is missing between two tokens.
fn misses_paren(before: &Token, token: &Token, _: bool) -> bool {
    const CALLABLE: TokSet = TokSet::of(&[Tok::Ident, Tok::Global, Tok::Local, Tok::Graph]);
    match before.tok {
        Tok::If | Tok::Ref | Tok::RefRead | Tok::RefWrite => token.tok != Tok::LParen,
        Tok::Fn => !matches!(token.tok, Tok::LParen | Tok::LBracket),
        tok => CALLABLE.has(tok) && STARTS.has(token.tok),
    }
}

/// Whether the `(` of a type's dimensions is missing: `Tensor[2, 3), float32]`.
fn misses_dimensions(before: &[Token], tok: Tok) -> bool {
    let is_type = matches!(before, [.., tensor, open] if (tensor.tok, open.tok) == (Tok::Tensor, Tok::LBracket));
    is_type && matches!(tok, Tok::Int | Tok::Question | Tok::Ident | Tok::RParen)
}

/// Whether a `[` is missing between two tokens: `Tensor(2), float32]`, `padding=1, 1]`.
fn misses_bracket(before: &Token, token: &Token, _: bool) -> bool {
    match before.tok {
        Tok::Tensor => matches!(token.tok, Tok::LParen | Tok::Int),
        Tok::Assign => matches!(token.tok, Tok::Int | Tok::Float | Tok::Str),
        _ => false,
    }
}

/// Whether a `{` is missing between two tokens; `head` is whether the first ends a head, which a `{` follows.
fn misses_brace(before: &Token, token: &Token, head: bool) -> bool {
    match before.tok {
        Tok::Else => !matches!(token.tok, Tok::LBrace | Tok::If),
        Tok::RParen if head => !matches!(token.tok, Tok::LBrace | Tok::Arrow | Tok::Minus),
        Tok::RParen => matches!(token.tok, Tok::Let | Tok::FreeVar | Tok::Match | Tok::MatchPartial | Tok::Graph),
        Tok::RBracket | Tok::Ident => STARTS.has(token.tok),
        _ => false,
    }
}

/// For each token whether it closes the parentheses of a condition, a scrutinee or parameters.
fn head_ends(tokens: &[Token]) -> Vec<bool> {
    const HEADS: TokSet = TokSet::of(&[Tok::If, Tok::Match, Tok::MatchPartial, Tok::Fn]);
    let mut open = vec![];
    let mut heads = vec![false; tokens.len()];
    for (at, token) in tokens.iter().enumerate() {
        if is_open(token.tok) {
            let before = |n: usize| at.checked_sub(n).map(|i| tokens[i].tok);
            let of_def = before(1) == Some(Tok::Global) && before(2) == Some(Tok::Def);
            open.push(of_def || before(1).is_some_and(|tok| HEADS.has(tok)));
        } else if is_close(token.tok) {
            heads[at] = open.pop().unwrap_or(false) && token.tok == Tok::RParen;
        }
    }
    heads
}
