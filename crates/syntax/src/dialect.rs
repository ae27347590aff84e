//! Text of older TVMs (language 9): finds its forms among the tokens and rewrites them to today's.
//!
//! One list serves both uses: the parser reads the rewritten tokens, and `relayc fmt --upgrade` writes the replacements into the
//! text. The grammar knows today's forms only. The old forms are:
//!
//! - `v0.0.4` (the lexer knows it) and `METADATA:` instead of sections
//! - `free_var %x: T` without `;`, one a line
//! - `;;` between statements
//! - `%r^` and `(%r := v)` instead of `ref_read` and `ref_write`
//! - a bare number with a type comment right behind it, `1 /* ty=int64 */`: before TVM 0.9 only the comment distinguishes a
//!   64-bit constant from a 32-bit one
//!
//! Some forms mean something else to TVM v0.14.0. They are rewritten only if the text is certainly older or the caller says so
//! ([`Dialect::Old`]): a bare integer is an int32 today, whatever the comment says.

use super::lexer::Lexed;
use super::token::{Tok, Token};
use super::version::{OLD_VERSION, VERSION};
use relayc_base::{FileId, Span};
use std::sync::Arc;

/// How text is read if today's form and the older one differ in meaning.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Dialect {
    /// As TVM v0.14.0 reads it, unless the text begins with `v0.0.4`.
    #[default]
    Today,
    /// As the TVM that printed it meant it: type comments give the types of bare numbers, and calls of operators that have changed
    /// are what they are today.
    Old,
}

/// A form of an older TVM, and its replacement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OldForm {
    /// The text to replace; empty if something is missing.
    pub(crate) span: Span,
    pub(crate) replacement: String,
    /// The whole construct in today's form, for a message; `None` where another replacement of the same construct has it.
    pub(crate) today: Option<&'static str>,
}

/// The first construct in an old form: its place, today's form, and how many constructs there are.
pub(crate) fn first_of(forms: &[OldForm]) -> Option<(Span, &'static str, usize)> {
    let mut constructs = forms.iter().filter_map(|form| Some((form.span, form.today?)));
    let (span, today) = constructs.next()?;
    Some((span, today, 1 + constructs.count()))
}

/// The last version of TVM that may have printed a text with old forms and this header: 7 for 0.7.
pub(super) fn age(header: Option<&str>) -> u8 {
    // The last forms to go were int64 constants without a suffix.
    if header == Some(OLD_VERSION) { 6 } else { 8 }
}

/// Limit of tokens in an operand of `^` and `:=`; rewriting longer ones in each round would be quadratic.
const MAX_OPERAND: usize = 4096;

/// Finds the old forms of a text and rewrites its tokens to today's.
///
/// Takes back the lexer's reports about old forms.
pub(super) fn modernise(file: FileId, source: &str, lexed: &mut Lexed, dialect: Dialect) -> Vec<OldForm> {
    let header = lexed.tokens.first().filter(|token| token.tok == Tok::Version).copied();
    let is_v004 = header.is_some_and(|header| header.text(source) == OLD_VERSION);
    let mut pass = Pass { file, source, forms: vec![], is_old: is_v004 || dialect == Dialect::Old };
    if let Some(header) = header.filter(|_| is_v004) {
        pass.replace(header.start, header.end, format!("#[version = {VERSION}]"), "#[version = \"0.0.5\"]");
    }
    // Most text has none of these, and looking for them costs a pass over the tokens each.
    let may_have_refs = lexed.tokens.iter().any(|token| token.tok == Tok::Caret) || source.contains(":=");
    if may_have_refs {
        lexed.tokens = pass.references(&lexed.tokens).into();
    }
    if header.is_none() || is_v004 {
        lexed.tokens = pass.free_vars(Arc::unwrap_or_clone(std::mem::take(&mut lexed.tokens))).into();
    }
    if is_v004 {
        lexed.tokens = pass.sequences(Arc::unwrap_or_clone(std::mem::take(&mut lexed.tokens))).into();
    }
    if let Some(metadata) = lexed.tokens.last().filter(|token| token.tok == Tok::Metadata)
        && let Some(colon) = metadata.text(source).strip_prefix("METADATA").and_then(|rest| rest.find(':'))
    {
        pass.replace(metadata.start, metadata.start + "METADATA:".len() as u32 + colon as u32, "#[metadata]", "#[metadata]");
    }
    pass.numbers(lexed);
    pass.forms.sort_by_key(|form| form.span.start);
    pass.forms
}

struct Pass<'s> {
    file: FileId,
    source: &'s str,
    forms: Vec<OldForm>,
    is_old: bool,
}

impl Pass<'_> {
    fn replace(&mut self, start: u32, end: u32, replacement: impl Into<String>, today: &'static str) {
        self.forms.push(OldForm { span: self.span(start, end), replacement: replacement.into(), today: Some(today) });
    }

    /// Replaces another part of the construct replaced last.
    fn replace_also(&mut self, start: u32, end: u32, replacement: &str) {
        self.forms.push(OldForm { span: self.span(start, end), replacement: replacement.into(), today: None });
    }

    fn span(&self, start: u32, end: u32) -> Span {
        Span { file: self.file, start, end }
    }

    /// `%r^` becomes `ref_read(%r)`, `(%r := v)` becomes `ref_write(%r, v)`.
    fn references(&mut self, tokens: &[Token]) -> Vec<Token> {
        let mut out: Vec<Token> = Vec::with_capacity(tokens.len() + 8);
        // Where in `out` the open parentheses are.
        let mut open: Vec<usize> = Vec::new();
        // Where the operand of the last token began.
        let mut last_closed = None;
        let mut at = 0;
        while let Some(&token) = tokens.get(at) {
            let touches = |next: &&Token| next.start == token.end;
            match token.tok {
                Tok::LParen => open.push(out.len()),
                Tok::RParen => last_closed = open.pop(),
                _ => {}
            }
            let is_write =
                token.tok == Tok::Colon && tokens.get(at + 1).filter(touches).is_some_and(|next| next.tok == Tok::Assign);
            if token.tok == Tok::Caret
                && let Some(start) = operand_start(&out, last_closed)
                && out.len() - start < MAX_OPERAND
            {
                let first = out[start].start;
                out.splice(start..start, [empty(Tok::RefRead, first), empty(Tok::LParen, first)]);
                out.push(Token { tok: Tok::RParen, ..token });
                self.replace(first, first, "ref_read(", "ref_read(%r)");
                self.replace_also(token.start, token.end, ")");
                // What is closed now is the whole `ref_read`.
                last_closed = Some(start + 1);
            } else if is_write
                && let Some(&paren) = open.last()
                && out.len() - paren < MAX_OPERAND
            {
                let first = out[paren].start;
                out.insert(paren, empty(Tok::RefWrite, first));
                open.pop();
                open.push(paren + 1);
                // Right behind the reference, unless a comment stands between.
                let before = out.last().map_or(token.start, |last| last.end);
                let is_blank = self.source[before as usize..token.start as usize].trim().is_empty();
                let before = if is_blank { before } else { token.start };
                out.push(Token { tok: Tok::Comma, end: token.end + 1, ..token });
                self.replace(first, first, "ref_write", "ref_write(%r, %v)");
                self.replace_also(before, token.end + 1, ",");
                at += 1;
            } else {
                out.push(token);
            }
            at += 1;
        }
        out
    }

    /// `free_var %x: T` that ends with its line, if none of the text's ends with a `;`.
    fn free_vars(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        let is_free_var = |token: &Token| token.tok == Tok::FreeVar;
        if !tokens.first().is_some_and(is_free_var) && !self.is_old {
            return tokens;
        }
        let ends_line = |i: usize| {
            let (last, next) = (tokens[i], tokens.get(i + 1));
            next.is_none_or(|next| self.source[last.end as usize..next.start as usize].contains('\n'))
        };
        let mut ends = Vec::new();
        for start in (0..tokens.len()).filter(|&i| is_free_var(&tokens[i])) {
            let Some(end) = (start..tokens.len()).find(|&i| ends_line(i)) else { continue };
            if tokens[start..=end].iter().any(|token| token.tok == Tok::Semi) {
                return tokens;
            }
            ends.push(end);
        }
        let mut out = Vec::with_capacity(tokens.len() + ends.len());
        let mut ends = ends.into_iter().peekable();
        for (i, token) in tokens.into_iter().enumerate() {
            out.push(token);
            if ends.next_if_eq(&i).is_some() {
                out.push(empty(Tok::Semi, token.end));
                self.replace(token.end, token.end, ";", "free_var %x: T;");
            }
        }
        out
    }

    /// `a;; b` becomes `a; b`.
    fn sequences(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        let mut out: Vec<Token> = Vec::with_capacity(tokens.len());
        for token in tokens {
            let doubled =
                out.last().is_some_and(|last| last.tok == Tok::Semi && last.end == token.start && last.start < last.end);
            if token.tok == Tok::Semi && doubled {
                self.replace(token.start, token.end, "", "%a; %b");
            } else {
                out.push(token);
            }
        }
        out
    }

    /// Bare numbers whose type is given only by the comment behind them.
    fn numbers(&mut self, lexed: &mut Lexed) {
        let mut comments = lexed.comments.iter().peekable();
        let mut reported: Vec<u32> = Vec::new();
        for token in lexed.tokens.iter().filter(|token| matches!(token.tok, Tok::Int | Tok::Float)) {
            while comments.next_if(|comment| comment.start < token.end).is_some() {}
            let Some(comment) = comments.peek() else { break };
            let between = self.source.get(token.end as usize..comment.start as usize);
            if between.is_none_or(|between| between.len() > 1) {
                continue;
            }
            let Some(dtype) = type_comment(&self.source[comment.start as usize..comment.end as usize]) else { continue };
            let text = token.text(self.source);
            let body = text.strip_suffix(['f', 'i']).unwrap_or(text);
            let is_float = body.len() < text.len() && text.ends_with('f');
            if !body.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-')) {
                continue;
            }
            // A float without a suffix is no number to TVM v0.14.0, so nothing else can be meant.
            let is_bare_float = body.len() == text.len() && super::literal::parse_int(text).is_err();
            let suffix = match dtype {
                "int16" if !is_float && !is_bare_float => "i16",
                "int64" if !is_float && !is_bare_float => "i64",
                "float16" if is_float || is_bare_float => "f16",
                "float32" if is_bare_float => "f",
                // A whole number, too: a float64 printed without a suffix.
                "float64" => "f64",
                _ => continue,
            };
            if !self.is_old && !is_bare_float {
                continue;
            }
            let start = token.start + body.len() as u32;
            self.replace(start, token.end, suffix, suffix_example(suffix));
            reported.push(token.start);
            lexed.typed_numbers.insert(token.start, format!("{body}{suffix}").into());
        }
        // Without a comment an old float without a suffix is a float32.
        if self.is_old {
            for token in Arc::make_mut(&mut lexed.tokens).iter_mut().filter(|token| token.tok == Tok::Int) {
                let text = token.text(self.source);
                let float = format!("{text}f");
                if !lexed.typed_numbers.contains_key(&token.start)
                    && super::literal::parse_int(text).is_err()
                    && text.contains(['.', 'e'])
                    && super::literal::parse_float(&float).is_ok()
                {
                    reported.push(token.start);
                    self.replace(token.end, token.end, "f", suffix_example("f"));
                    lexed.typed_numbers.insert(token.start, float.into());
                }
            }
        }
        if lexed.typed_numbers.is_empty() {
            return;
        }
        reported.sort_unstable();
        lexed.diagnostics.retain(|report| reported.binary_search(&report.span().start).is_err());
        for token in Arc::make_mut(&mut lexed.tokens) {
            if lexed.typed_numbers.get(&token.start).is_some_and(|text| text.contains('f')) && token.tok == Tok::Int {
                token.tok = Tok::Float;
            }
        }
    }
}

/// A number with this suffix.
fn suffix_example(suffix: &str) -> &'static str {
    match suffix {
        "i16" => "1i16",
        "i64" => "1i64",
        "f16" => "1f16",
        "f64" => "1f64",
        _ => "1f",
    }
}

/// A token that stands for missing text.
fn empty(tok: Tok, at: u32) -> Token {
    Token { tok, start: at, end: at }
}

/// The start of the operand that ends the tokens: a name, or a pair of parentheses with its callee.
fn operand_start(tokens: &[Token], last_closed: Option<usize>) -> Option<usize> {
    let last = tokens.len().checked_sub(1)?;
    match tokens[last].tok {
        Tok::Local | Tok::Global | Tok::Graph => Some(last),
        Tok::Int if last >= 2 && tokens[last - 1].tok == Tok::Dot => Some(last - 2),
        Tok::RParen => {
            let paren = last_closed?;
            let called = paren.checked_sub(1).filter(|&at| {
                matches!(tokens[at].tok, Tok::Local | Tok::Global | Tok::Graph | Tok::Ident | Tok::Ref | Tok::RefRead)
            });
            Some(called.unwrap_or(paren))
        }
        _ => None,
    }
}

/// The scalar type that a comment `/* ty=int64 */` states, with or without a span behind it.
fn type_comment(comment: &str) -> Option<&str> {
    let words = comment.strip_prefix("/*")?.strip_suffix("*/")?.trim();
    let ty = words.strip_prefix("ty=")?;
    ty.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;

    /// The text with its old forms written as today's.
    fn upgraded(text: &str, dialect: Dialect) -> String {
        let mut lexed = lex(FileId(0), text);
        let forms = modernise(FileId(0), text, &mut lexed, dialect);
        let mut out = text.to_owned();
        for form in forms.iter().rev() {
            out.replace_range(form.span.start as usize..form.span.end as usize, &form.replacement);
        }
        out
    }

    #[test]
    fn old_forms_are_written_as_todays() {
        let cases = [
            ("v0.0.4\n%r^", "#[version = \"0.0.5\"]\nref_read(%r)"),
            ("(%r := 1)", "ref_write(%r, 1)"),
            ("(%r // old\n := 1)", "ref_write(%r // old\n , 1)"),
            ("(%0.1 := f(%x)^)", "ref_write(%0.1, ref_read(f(%x)))"),
            ("free_var %x: int32\n%x", "free_var %x: int32;\n%x"),
            ("free_var %x: int32;\n%x", "free_var %x: int32;\n%x"),
            ("1.5 /* ty=float64 */", "1.5f64 /* ty=float64 */"),
            ("1 /* ty=int64 */", "1 /* ty=int64 */"),
            (
                "v0.0.4\ndef @main() { %x;; %y }\nMETADATA: \n{}",
                "#[version = \"0.0.5\"]\ndef @main() { %x; %y }\n#[metadata] \n{}",
            ),
        ];
        for (old, new) in cases {
            assert_eq!(upgraded(old, Dialect::Today), new);
        }
    }

    #[test]
    fn bare_numbers_are_what_their_comments_say_in_old_text() {
        let cases = [
            ("(1 /* ty=int64 */, 2 /* ty=int32 */)", "(1i64 /* ty=int64 */, 2 /* ty=int32 */)"),
            ("3 /* ty=float64 span=x:1:1 */", "3f64 /* ty=float64 span=x:1:1 */"),
            ("0.5f /* ty=float16 */", "0.5f16 /* ty=float16 */"),
            ("1.5", "1.5f"),
            ("7 /* ty=Tensor[(1), int64] */", "7 /* ty=Tensor[(1), int64] */"),
        ];
        for (old, new) in cases {
            assert_eq!(upgraded(old, Dialect::Old), new);
        }
    }
}
