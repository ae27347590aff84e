//! Splits text into tokens (language 1). It reports bad text and continues.
//!
//! Of a text that has changed only the lines from the first change on are lexed, up to a `;` from which on the earlier tokens hold.
//!
//! The patterns of `token.rs` find where a token starts; loops here find the end of numbers, strings, comments, meta references
//! and sections. Each loop visits a byte a bounded number of times, so lexing is linear for any text. Absent: the values of
//! literals, see `literal.rs`.

use super::errors;
use super::literal::{parse_float, parse_float_attr, parse_int};
use super::token::{Tok, Token};
use super::version::{OLD_VERSION, VERSION};
use logos::Logos;
use relayc_base::diag::{self, Diagnostic};
use relayc_base::limits::{NAME_BYTES, SOURCE_BYTES, STRING_BYTES, TOKENS};
use relayc_base::text::thousands;
use relayc_base::{FileId, Span};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// How many problems of tokens, and of nodes, are kept; the rest is counted.
pub(crate) const MAX_KEPT: usize = 1000;

#[derive(Clone, Default, Debug)]
pub struct Lexed {
    pub tokens: Arc<Vec<Token>>,
    /// The comments, delimiters included, in text order.
    pub comments: Vec<Span>,
    /// Numbers of older texts in today's spelling, by their start (`dialect.rs`).
    pub(crate) typed_numbers: FxHashMap<u32, Box<str>>,
    /// In text order.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of errors that were not kept.
    pub(crate) n_dropped: usize,
    /// The start of the first comment or string without an end, or of what is behind the last token that may be: the text after it is
    /// unreliable.
    pub(crate) cut: Option<u32>,
}

pub fn lex(file: FileId, source: &str) -> Lexed {
    lex_again(file, source, None)
}

/// As [`lex`], with an earlier form of the text and what it was lexed to. The result does not depend on it.
pub fn lex_again(file: FileId, source: &str, earlier: Option<(&str, &Lexed)>) -> Lexed {
    let source = if source.len() > SOURCE_BYTES.count() { "" } else { source };
    let earlier = earlier.filter(|(_, lexed)| lexed.has_no_problem()).map(|(text, lexed)| Earlier::of(lexed, text, source));
    let mut lexer = Lexer {
        file,
        source,
        inner: Tok::lexer(source),
        tokens: Vec::with_capacity(earlier.as_ref().map_or(source.len() / 4, |earlier| earlier.lexed.tokens.len() + 64)),
        out: Lexed::default(),
        last_quote: source.rfind('"'),
        max_tokens: TOKENS.count(),
        max_bytes: NAME_BYTES.count().min(STRING_BYTES.count()),
        may_have_doc_strings: true,
        earlier,
    };
    lexer.begin();
    lexer.run();
    Lexed { tokens: lexer.tokens.into(), ..lexer.out }
}

impl Lexed {
    /// Whether every token and comment is whole.
    pub fn has_no_problem(&self) -> bool {
        self.diagnostics.is_empty() && self.cut.is_none()
    }
}

/// An earlier form of a text without problems.
struct Earlier<'e> {
    lexed: &'e Lexed,
    /// The start of the first line that has changed.
    first_line: u32,
    /// Where what is behind all changes begins in the text of today.
    behind: u32,
    /// How far that has moved, in bytes, with overflow.
    by: u32,
}

impl<'e> Earlier<'e> {
    fn of(lexed: &'e Lexed, text: &str, source: &str) -> Earlier<'e> {
        let (n_before, n_behind) = same_ends(text.as_bytes(), source.as_bytes());
        let first_line = source.as_bytes()[..n_before].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        Earlier {
            lexed,
            first_line: first_line as u32,
            behind: (source.len() - n_behind) as u32,
            by: (source.len() as u32).wrapping_sub(text.len() as u32),
        }
    }
}

/// How many bytes two texts have in common at their starts and at their ends.
pub(crate) fn same_ends(a: &[u8], b: &[u8]) -> (usize, usize) {
    const STEP: usize = 1 << 12;
    let most = a.len().min(b.len());
    let mut before = 0;
    while before + STEP <= most && a[before..before + STEP] == b[before..before + STEP] {
        before += STEP;
    }
    before += a[before..].iter().zip(&b[before..]).take_while(|(a, b)| a == b).count();
    let most = most - before;
    let mut behind = 0;
    while behind + STEP <= most && a[a.len() - behind - STEP..a.len() - behind] == b[b.len() - behind - STEP..b.len() - behind] {
        behind += STEP;
    }
    let (a, b) = (a[..a.len() - behind].iter().rev(), b[..b.len() - behind].iter().rev());
    behind += a.zip(b).take(most - behind).take_while(|(a, b)| a == b).count();
    (before, behind)
}

struct Lexer<'s> {
    file: FileId,
    source: &'s str,
    inner: logos::Lexer<'s, Tok>,
    tokens: Vec<Token>,
    /// What else was found.
    out: Lexed,
    /// What has not been lexed again so far.
    earlier: Option<Earlier<'s>>,
    /// Where the last quotation mark of the text is, until a string turns out to have no end.
    last_quote: Option<usize>,
    max_tokens: usize,
    /// No longer name or string needs a closer look.
    max_bytes: usize,
    may_have_doc_strings: bool,
}

impl Lexer<'_> {
    /// Takes the tokens of the lines before the first change. No token but one that a line break is in, or that reports a problem,
    /// depends on what follows its line.
    fn begin(&mut self) {
        let Some(Earlier { lexed, first_line, .. }) = self.earlier else { return };
        let tokens = &lexed.tokens[..lexed.tokens.partition_point(|token| token.start < first_line)];
        let comments = &lexed.comments[..lexed.comments.partition_point(|comment| comment.start < first_line)];
        // A metadata section goes on in what follows it.
        let is_whole = |last: &Token| last.end <= first_line && last.tok != Tok::Metadata;
        if tokens.last().is_none_or(is_whole) && comments.last().is_none_or(|last| last.end <= first_line) {
            self.tokens.extend_from_slice(tokens);
            self.out.comments.extend_from_slice(comments);
            self.inner.bump(first_line as usize);
        }
    }

    /// Takes the earlier tokens behind the last one, if that is a `;` behind all changes: what is read next depends on the text from
    /// there on, and on no token before the one that the `;` follows.
    fn rejoin(&mut self) -> bool {
        let Some(Earlier { lexed, behind, by, .. }) = self.earlier else { return false };
        let [.., before, last] = self.tokens[..] else { return false };
        if last.tok != Tok::Semi || last.start < behind || self.out.cut.is_some() {
            return false;
        }
        let then = last.start.wrapping_sub(by);
        let at = lexed.tokens.partition_point(|token| token.start < then);
        let is_same = lexed.tokens.get(at).is_some_and(|token| (token.tok, token.start) == (Tok::Semi, then));
        // The limit ends a text in the same place, however it is read.
        let is_too_long = self.tokens.len() + lexed.tokens.len() > self.max_tokens + at + 1;
        if !is_same || is_too_long || at == 0 || lexed.tokens[at - 1].tok != before.tok {
            return false;
        }
        let moved = |place: u32| place.wrapping_add(by);
        let tokens = lexed.tokens[at + 1..].iter();
        self.tokens.extend(tokens.map(|token| Token { start: moved(token.start), end: moved(token.end), ..*token }));
        let comments = lexed.comments[lexed.comments.partition_point(|comment| comment.start < then)..].iter();
        self.out.comments.extend(comments.map(|comment| Span {
            start: moved(comment.start),
            end: moved(comment.end),
            ..*comment
        }));
        true
    }

    fn run(&mut self) {
        while let Some(found) = self.inner.next() {
            match found {
                Err(()) => self.bad(),
                Ok(Tok::Int) => self.number(),
                Ok(Tok::Minus) => self.minus(),
                Ok(Tok::Str) => self.string(),
                Ok(Tok::Meta) => self.meta(),
                Ok(Tok::Version) => self.section(),
                Ok(Tok::Ident) if self.tokens.is_empty() && self.inner.slice() == "v0" && self.rest().starts_with(b".0.") => {
                    self.old_header();
                }
                Ok(Tok::Ident) if self.inner.slice() == "METADATA" => self.old_metadata(),
                Ok(tok @ (Tok::Local | Tok::Global)) => self.dotted(tok),
                Ok(Tok::LineComment) => self.line_comment(),
                Ok(Tok::BlockComment) => self.block_comment(),
                Ok(tok @ (Tok::Le | Tok::Ge | Tok::EqEq | Tok::NotEq)) => self.two_char_operator(tok),
                Ok(tok) => self.push(tok),
            }
            if self.rejoin() {
                return;
            }
            if self.tokens.len() > self.max_tokens {
                let span = self.span();
                self.out.cut = self.out.cut.or(Some(span.start));
                return self.report(errors::too_many_tokens(span));
            }
        }
    }

    /// The first line of texts of TVM 0.6, `v0.0.4` (language 9); the lexer stands on its `v0`.
    fn old_header(&mut self) {
        let len = self.rest().iter().take_while(|b| !b.is_ascii_whitespace()).count();
        self.inner.bump(len);
        self.push(Tok::Version);
        if self.inner.slice() != OLD_VERSION {
            let place = self.span();
            self.report(errors::wrong_version(place, self.inner.slice()));
        }
    }

    /// The token that `inner` stands on.
    fn push(&mut self, tok: Tok) {
        let span = self.inner.span();
        self.push_at(tok, span.start, span.end);
    }

    fn push_at(&mut self, tok: Tok, start: usize, end: usize) {
        self.tokens.push(Token { tok, start: start as u32, end: end as u32 });
        if end - start > self.max_bytes {
            self.check_length(tok, start, end);
        }
    }

    /// Reports a name or a string over its limit.
    fn check_length(&mut self, tok: Tok, start: usize, end: usize) {
        let (what, limit, signs) = match tok {
            Tok::Local | Tok::Global => ("name", &NAME_BYTES, 1),
            Tok::Ident => ("name", &NAME_BYTES, 0),
            Tok::Str => ("string", &STRING_BYTES, 2),
            _ => return,
        };
        let size = end - start - signs;
        if size > limit.count() {
            self.report(errors::too_long(
                Span::new(self.file, start, end),
                &format!("{what} of {} bytes", thousands(size as u64)),
                limit,
            ));
        }
    }

    fn span(&self) -> Span {
        let span = self.inner.span();
        Span::new(self.file, span.start, span.end)
    }

    fn rest(&self) -> &[u8] {
        self.inner.remainder().as_bytes()
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.out.n_dropped += usize::from(!diag::push_limited(&mut self.out.diagnostics, diagnostic, MAX_KEPT));
    }

    /// A character that starts no token. Neighbours join; the ones that can only be blanks are reported and skipped.
    fn bad(&mut self) {
        let span = self.inner.span();
        let text = self.inner.slice();
        if matches!(text, "\r" | "\u{feff}" | "\u{a0}" | "\u{200b}" | "\u{2028}" | "\u{3000}") {
            let place = self.span();
            return self.report(errors::bad_blank(place, text));
        }
        // A section has matched by its bracket.
        if text == "#" {
            let sign = self.span();
            self.report(errors::hash_comment(sign));
            return self.line_comment();
        }
        if text == "'" && self.single_quoted(span.start) {
            return;
        }
        let joins = self.tokens.last().is_some_and(|last| last.tok == Tok::Bad && last.end as usize == span.start);
        match self.tokens.last_mut() {
            Some(last) if joins => {
                last.end = span.end as u32;
                let place = last.span(self.file);
                let text = last.text(self.source);
                let report = self.out.diagnostics.last_mut().filter(|report| report.span().start == place.start);
                // Rewriting a report over and over would be quadratic in a long run.
                if let Some(report) = report.filter(|_| text.len() <= 16) {
                    *report = errors::bad_character(place, text);
                }
            }
            _ => {
                let place = self.span();
                self.push(Tok::Bad);
                self.report(errors::bad_character(place, text));
            }
        }
    }

    /// From the first digit: the longest run of `[0-9.eE+-]`, then `f` or `i` and the same again (language 1.5).
    fn number(&mut self) {
        let run = |bytes: &[u8]| bytes.iter().take_while(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')).count();
        let rest = self.rest();
        let body = run(rest);
        let (len, tok) = match rest.get(body) {
            Some(b'f') => (body + 1 + run(&rest[body + 1..]), Tok::Float),
            Some(b'i') => (body + 1 + run(&rest[body + 1..]), Tok::Int),
            _ => (body, Tok::Int),
        };
        self.inner.bump(len);
        self.push(tok);
        self.check_number(tok);
    }

    /// Reports the number just pushed if it is none; it stays in the token list, so parsing goes on.
    fn check_number(&mut self, tok: Tok) {
        let text = self.inner.slice();
        let before = &self.tokens[..self.tokens.len() - 1];
        let problem = match tok {
            Tok::Int => parse_int(text).err(),
            _ if is_attr(before) => parse_float_attr(text).err(),
            _ => parse_float(text).err(),
        };
        let Some(problem) = problem else { return };
        let place = self.span();
        self.report(errors::bad_number(place, text, &problem, before, self.source));
    }

    /// From a minus sign: the whole run, which belongs to a number if one touches it (language 1.5).
    fn minus(&mut self) {
        let start = self.inner.span().start;
        let rest = self.rest();
        let more = rest.iter().take_while(|b| **b == b'-').count();
        let after = &rest[more..];
        let digit = after.first().is_some_and(u8::is_ascii_digit);
        let special = special_float_len(after);
        self.inner.bump(more);
        if digit {
            self.inner.bump(1);
            self.number();
        } else if special > 0 {
            self.inner.bump(special);
            self.push(Tok::Float);
        } else {
            (start..=start + more).for_each(|at| self.push_at(Tok::Minus, at, at + 1));
        }
    }

    /// From the opening quote to the closing one. A string without an end stops at the end of its line, where the
    /// damage is smallest.
    fn string(&mut self) {
        let start = self.inner.span().start;
        if self.doc_string(start) {
            return;
        }
        let prefix = self.string_prefix(start);
        let rest = self.rest();
        let may_close = self.last_quote.is_some_and(|last| last > start);
        let line_end = || rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        let searched = if may_close { rest } else { &rest[..line_end()] };
        let mut at = 0;
        let closed = loop {
            match searched.get(at) {
                None => break false,
                Some(b'"') => break true,
                Some(b'\\') if matches!(searched.get(at + 1), Some(b'"' | b'\\')) => at += 2,
                Some(_) => at += 1,
            }
        };
        let len = if closed { at + 1 } else { line_end() };
        self.inner.bump(len);
        self.tokens.truncate(self.tokens.len() - usize::from(prefix.is_some()));
        self.push(Tok::Str);
        if let Some(prefix) = prefix.filter(|_| closed) {
            self.report(errors::string_prefix(prefix, self.inner.slice().contains('{')));
        }
        if !closed {
            // Every quotation mark that follows is escaped; looking for an end again from each would be quadratic.
            self.last_quote = None;
            let place = self.span();
            self.out.cut.get_or_insert(place.start);
            self.report(errors::unterminated_string(
                Span { end: place.start + 1, ..place },
                &self.source[start + 1..start + 1 + len],
            ));
        }
    }

    /// `'int8'`, from its opening quote; says whether it is a string. None spans a line, and none begins within a word.
    fn single_quoted(&mut self, start: usize) -> bool {
        let rest = self.rest();
        let in_word = self.source[..start].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let prefix = self.string_prefix(start);
        let len = rest.iter().position(|b| matches!(b, b'\n' | b'\'' | b'"'));
        let Some(len) = len.filter(|&len| rest[len] == b'\'' && (prefix.is_some() || !in_word)) else { return false };
        self.inner.bump(len + 1);
        let place = self.span();
        self.tokens.truncate(self.tokens.len() - usize::from(prefix.is_some()));
        self.push(Tok::Str);
        let text = self.inner.slice();
        self.report(errors::single_quotes(place, text, prefix));
        true
    }

    /// The `f` of `f"…"`, which Python writes before strings, if it stands right before a quote.
    fn string_prefix(&self, quote: usize) -> Option<Span> {
        let last = self.tokens.last().filter(|last| last.tok == Tok::Ident && last.end as usize == quote)?;
        let is_prefix =
            matches!(last.text(self.source), "f" | "r" | "b" | "u" | "F" | "R" | "B" | "U" | "rb" | "fr" | "rf" | "br");
        is_prefix.then(|| last.span(self.file))
    }

    /// `"""…"""` where a statement or a definition may begin, from its first quote; says whether it was one.
    fn doc_string(&mut self, start: usize) -> bool {
        const BEFORE: [Tok; 5] = [Tok::Version, Tok::LBrace, Tok::RBrace, Tok::Semi, Tok::Colon];
        let begins = self.tokens.last().is_none_or(|last| BEFORE.contains(&last.tok));
        if !begins || !self.rest().starts_with(b"\"\"") || !self.may_have_doc_strings {
            return false;
        }
        let Some(len) = self.source[start + 3..].find("\"\"\"") else {
            // Looking for an end again from each would be quadratic.
            self.may_have_doc_strings = false;
            return false;
        };
        self.inner.bump(len + 5);
        let place = self.span();
        self.out.comments.push(place);
        self.report(errors::doc_string(place, self.inner.slice()));
        true
    }

    /// From `meta[`: the key up to `]`, then `[index]` (language 1.7). A key holds no bracket, blank or quote, which
    /// also keeps the search short; anything else is the name `meta` before a bracket.
    fn meta(&mut self) {
        let start = self.inner.span().start;
        let rest = self.rest();
        let key = rest.iter().take_while(|b| !matches!(b, b'[' | b']' | b'"' | b' ' | b'\t' | b'\r' | b'\n')).count();
        let index = rest.get(key + 2..).map_or(0, |after| after.iter().take_while(|b| b.is_ascii_digit()).count());
        let len = key + 2 + index + 1;
        if rest.get(key..key + 2) == Some(b"][") && index > 0 && rest.get(len - 1) == Some(&b']') {
            self.inner.bump(len);
            self.push(Tok::Meta);
        } else {
            self.push_at(Tok::Ident, start, start + 4);
            self.push_at(Tok::LBracket, start + 4, start + 5);
        }
    }

    /// From `#[` to `]` (language 1.8). `#[metadata]` takes everything after it.
    fn section(&mut self) {
        let content = self.inner.remainder();
        let line = content.as_bytes().iter().position(|b| *b == b'\n').map_or(content, |end| &content[..end]);
        let Some(len) = line.find(']') else {
            self.inner.bump(line.trim_end().len());
            let place = self.span();
            if line.trim_start().starts_with("version") {
                self.push(Tok::Version);
            } else if line.trim() == "metadata" {
                self.inner.bump(self.inner.remainder().len());
                self.push(Tok::Metadata);
            }
            return self.report(errors::unclosed_section(place));
        };
        let name = line[..len].trim();
        self.inner.bump(len + 1);
        let place = self.span();
        if name == "metadata" {
            self.inner.bump(self.inner.remainder().len());
            self.push(Tok::Metadata);
        } else if name.starts_with("version") {
            self.push(Tok::Version);
            let value = name.split_once('=').map_or("", |(_, value)| value.trim());
            if value != VERSION {
                self.report(errors::wrong_version(place, value));
            }
        } else {
            self.report(errors::unknown_section(place, name));
            // Misspelt, it is still the header.
            if self.tokens.is_empty() && errors::meant_section(name) == Some("version") {
                self.push(Tok::Version);
            }
        }
    }

    /// `METADATA:` on a line of its own, as TVM 0.6 wrote it.
    fn old_metadata(&mut self) {
        let start = self.inner.span().start;
        let on_new_line = self.source[..start].trim_end_matches([' ', '\t']).ends_with('\n');
        let rest = self.inner.remainder();
        if on_new_line && rest.trim_start_matches(' ').starts_with(':') {
            self.inner.bump(rest.len());
            self.push(Tok::Metadata);
        } else {
            self.push(Tok::Ident);
        }
    }

    /// A variable's name goes on behind a dot, or two colons, that a name follows: `%conv.w`, `%onnx::Conv_18`. TVM prints such names and
    /// cannot read them; a projection is always a number, so nothing else is meant (language 10).
    fn dotted(&mut self, tok: Tok) {
        loop {
            let joint = match self.rest() {
                [b'.', b'A'..=b'Z' | b'a'..=b'z' | b'_', ..] => 1,
                // `%x::Tensor[…]` has a colon too many.
                [b':', b':', rest @ ..] if rest.starts_with(b"Tensor[") => break,
                [b':', b':', b'A'..=b'Z' | b'a'..=b'z' | b'_', ..] => 2,
                _ => break,
            };
            let part = self.rest()[joint..].iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'/')).count();
            self.inner.bump(joint + part);
        }
        let span = self.inner.span();
        if tok == Tok::Global && self.primfn(span.start) {
            return;
        }
        self.push_at(tok, span.start, span.end);
        const MALFORMED: &str = "-malformed-ir";
        if self.inner.remainder().starts_with(MALFORMED) {
            let name = self.inner.slice().to_owned();
            self.inner.bump(MALFORMED.len());
            let place = self.span();
            self.report(errors::malformed(place, &name));
        }
    }

    /// Skips `@f = primfn(…) {…}` at the start of a line, up to the line that a `}` begins; says whether it was one.
    fn primfn(&mut self, start: usize) -> bool {
        let rest = self.inner.remainder();
        let begins_line = start == 0 || self.source[..start].ends_with('\n');
        let Some(after) = rest.strip_prefix(" = primfn(").filter(|_| begins_line) else { return false };
        let end = after.find("\n}").map_or(rest.len(), |end| rest.len() - after.len() + end + 2);
        let (name, place) = (self.inner.slice().to_owned(), self.span());
        self.report(errors::primfn(place, &name));
        self.inner.bump(end);
        true
    }

    fn line_comment(&mut self) {
        let rest = self.inner.remainder().as_bytes();
        let len = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        // A carriage return before the line break belongs to the break.
        let len = if len > 0 && rest[len - 1] == b'\r' { len - 1 } else { len };
        self.inner.bump(len);
        let place = self.span();
        self.out.comments.push(place);
    }

    /// From `/*` to the `*/` that closes it; comments nest. TVM overlooks every second star of a run
    /// (`src/relay/parser/tokenizer.h`), so `**/` does not close a comment there; here the first `*/` does.
    fn block_comment(&mut self) {
        let rest = self.rest();
        let mut depth = 1usize;
        let mut at = 0;
        // What follows the last opening, and where TVM would not see an end.
        let (mut body, mut goes_on) = (0, None);
        while depth > 0 {
            match (rest.get(at), rest.get(at + 1)) {
                (Some(b'*'), Some(b'/')) => {
                    let stars = rest[body..=at].iter().rev().take_while(|byte| **byte == b'*').count();
                    if stars % 2 == 0 {
                        goes_on.get_or_insert(at);
                    }
                    (depth, at, body) = (depth - 1, at + 2, at + 2);
                }
                (Some(b'/'), Some(b'*')) => (depth, at, body) = (depth + 1, at + 2, at + 2),
                (Some(_), _) => at += 1,
                (None, _) => break,
            }
        }
        let opening = self.span();
        self.inner.bump(at);
        let place = self.span();
        self.out.comments.push(place);
        if let Some(at) = goes_on.filter(|_| depth == 0) {
            let start = opening.end as usize + at - 1;
            self.report(errors::comment_goes_on(Span::new(self.file, start, start + 3)));
        }
        if depth > 0 {
            self.out.cut.get_or_insert(place.start);
            self.report(errors::unterminated_comment(opening, place, self.inner.slice()));
        }
    }

    /// A two-character operator. TVM swallows an operator character glued to it (`src/relay/parser/parser.cc`), so
    /// `%a ==-%b` would mean something else there; here it is an error.
    fn two_char_operator(&mut self, tok: Tok) {
        self.push(tok);
        let rest = self.rest();
        let comment = rest.starts_with(b"//") || rest.starts_with(b"/*");
        if rest.first().is_some_and(|b| b"*/+-<>=!".contains(b)) && !comment {
            let place = self.span();
            self.report(errors::glued_operator(Span { end: place.end + 1, ..place }, self.inner.slice()));
        }
    }
}

/// Whether the literal after these tokens is the value of an attribute: `(key=`, `, key=`, `.key=`. Variables have other tokens,
/// and the type of a binding follows a colon.
fn is_attr(before: &[Token]) -> bool {
    matches!(before, [.., separator, key, assign] if assign.tok == Tok::Assign
        && !matches!(key.tok, Tok::Local | Tok::Graph)
        && matches!(separator.tok, Tok::LParen | Tok::Comma | Tok::Dot))
}

/// The length of the `inff` or `nanf` literal at the start of the bytes; 0 if there is none.
fn special_float_len(bytes: &[u8]) -> usize {
    let len = bytes.iter().take(7).take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'/')).count();
    match &bytes[..len] {
        b"inff" | b"inff16" | b"inff32" | b"inff64" | b"nanf" | b"nanf16" | b"nanf32" | b"nanf64" => len,
        _ => 0,
    }
}
