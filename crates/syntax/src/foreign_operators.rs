//! Hints for operators of Python and C that Relay writes as calls: `%a ** %b` is `power(%a, %b)`, `not %c` is `logical_not(%c)`,
//! `%t[1]` is `%t.1`.
//!
//! The edits write around the operands and copy none of their text, so a report is as large as its operators are many.

use super::errors::excerpt;
use super::starts::STARTS;
use super::token::{Tok, Token};
use super::token_context::{TokenContext, put};
use relayc_base::Span;
use relayc_base::diag::codes::E0105;
use relayc_base::diag::{Diagnostic, Edit};

/// An infix operator of another language.
struct Infix {
    sign: &'static str,
    /// How tightly it binds, on the scale of [`level`].
    level: u8,
    /// What it may be here, the likeliest first.
    ours: &'static [&'static str],
}

impl Infix {
    /// Whether of several the last two operands belong together.
    fn groups_right(&self) -> bool {
        self.sign == "**"
    }
}

const INFIX: [Infix; 14] = [
    Infix { sign: "or", level: 1, ours: &["logical_or"] },
    Infix { sign: "||", level: 1, ours: &["logical_or"] },
    Infix { sign: "and", level: 2, ours: &["logical_and"] },
    Infix { sign: "&&", level: 2, ours: &["logical_and"] },
    Infix { sign: "is", level: 4, ours: &["=="] },
    Infix { sign: "<>", level: 4, ours: &["!="] },
    Infix { sign: "|", level: 6, ours: &["bitwise_or", "logical_or"] },
    Infix { sign: "xor", level: 7, ours: &["bitwise_xor", "logical_xor"] },
    Infix { sign: "&", level: 8, ours: &["bitwise_and", "logical_and"] },
    Infix { sign: "<<", level: 9, ours: &["left_shift"] },
    Infix { sign: ">>", level: 9, ours: &["right_shift"] },
    Infix { sign: "%", level: 11, ours: &["floor_mod", "mod"] },
    Infix { sign: "@", level: 11, ours: &["nn.matmul"] },
    Infix { sign: "**", level: 13, ours: &["power"] },
];

/// Prefix operators of other languages, each with how tightly it binds and what it is here.
const PREFIX: [(&str, u8, &str); 3] = [("not", 3, "logical_not"), ("!", 12, "logical_not"), ("~", 12, "bitwise_not")];

/// How tightly a word binds that Python writes between operands, and what it is here.
pub(super) fn word(text: &str) -> Option<(u8, &'static str)> {
    let infix = INFIX.iter().find(|infix| infix.sign == text && matches!(text, "and" | "or"))?;
    Some((infix.level, infix.ours[0]))
}

/// What `not` is here.
pub(super) const NOT: &str = PREFIX[0].2;

/// How tightly an infix operator of Relay binds.
fn level(tok: Tok) -> Option<u8> {
    Some(match tok {
        Tok::EqEq | Tok::NotEq => 4,
        Tok::Lt | Tok::Le | Tok::Gt | Tok::Ge => 5,
        Tok::Plus | Tok::Minus => 10,
        Tok::Star | Tok::Slash => 11,
        _ => return None,
    })
}

/// Words that stand before an operand and are none.
const WORDS: [&str; 10] = ["and", "or", "not", "is", "in", "xor", "return", "lambda", "for", "while"];

impl<'t> TokenContext<'t> {
    fn text_at(&self, at: usize) -> &'t str {
        self.tokens.get(at).map_or("", |token| token.text(self.source))
    }

    /// The infix operator that begins at a token: how many tokens it has, how tightly it binds, and its entry if it is foreign.
    fn infix_at(&self, at: usize) -> Option<(usize, u8, Option<&'static Infix>)> {
        let (first, next) = (*self.tokens.get(at)?, self.tokens.get(at + 1));
        let find = |sign: &str| INFIX.iter().find(|infix| infix.sign == sign);
        if let Some(next) = next.filter(|next| next.start == first.end)
            && level(first.tok).is_some()
            && let Some(infix) = self.source.get(first.start as usize..next.end as usize).and_then(find)
        {
            return Some((2, infix.level, Some(infix)));
        }
        match first.tok {
            Tok::Bad | Tok::Ident => find(first.text(self.source)).map(|infix| (1, infix.level, Some(infix))),
            tok => level(tok).map(|level| (1, level, None)),
        }
    }

    /// The infix operator that ends right before a token.
    fn infix_before(&self, at: usize) -> Option<(usize, u8)> {
        let one = self.infix_at(at.checked_sub(1)?);
        let two = at.checked_sub(2).and_then(|at| self.infix_at(at)).filter(|(len, ..)| *len == 2);
        two.or(one).filter(|(len, ..)| *len == 2 || one.is_some()).map(|(len, level, _)| (len, level))
    }

    fn prefix_at(&self, at: usize) -> Option<(u8, &'static str)> {
        let token = self.tokens.get(at).filter(|token| matches!(token.tok, Tok::Bad | Tok::Ident))?;
        PREFIX.iter().find(|(sign, ..)| *sign == token.text(self.source)).map(|&(_, level, ours)| (level, ours))
    }

    /// The first token of the variable, literal, call or projection that ends at `end`.
    pub(crate) fn postfix_start(&self, mut end: usize) -> Option<usize> {
        loop {
            let before = |n: usize| end.checked_sub(n).and_then(|at| self.tok(at));
            match self.tok(end)? {
                Tok::Int if before(1) == Some(Tok::Dot) => end = end.checked_sub(2)?,
                Tok::Local | Tok::Graph | Tok::Global | Tok::Int | Tok::Float | Tok::True | Tok::False | Tok::Meta => {
                    return Some(end);
                }
                Tok::Ident if WORDS.contains(&self.text_at(end)) => return None,
                Tok::Ident | Tok::Tensor if before(1) == Some(Tok::Dot) => end = end.checked_sub(2)?,
                Tok::Ident | Tok::Tensor => return Some(end),
                close @ (Tok::RParen | Tok::RBracket) => {
                    let open = self.opener(end)?;
                    let callee = open.checked_sub(1).map(|at| (at, self.tokens[at].tok));
                    match callee {
                        Some((at, Tok::Ref | Tok::RefRead | Tok::RefWrite)) => return Some(at),
                        Some((_, Tok::If | Tok::Match | Tok::MatchPartial | Tok::Fn)) => return None,
                        Some((at, Tok::Ident)) if WORDS.contains(&self.text_at(at)) => return Some(open),
                        Some((
                            at,
                            Tok::Local | Tok::Graph | Tok::Global | Tok::Ident | Tok::RParen | Tok::RBracket | Tok::Int,
                        )) => {
                            end = at;
                        }
                        _ => return (close == Tok::RParen).then_some(open),
                    }
                }
                _ => return None,
            }
        }
    }

    /// The last token of the variable, literal, call or projection that begins at `at`, behind its prefix operators.
    pub(crate) fn postfix_end(&self, mut at: usize) -> Option<usize> {
        while self.prefix_at(at).is_some() {
            at += 1;
        }
        match self.tok(at)? {
            Tok::LParen => at = self.partner(at)?,
            Tok::Ident if WORDS.contains(&self.text_at(at)) => return None,
            Tok::Local | Tok::Graph | Tok::Global | Tok::Int | Tok::Float | Tok::True | Tok::False | Tok::Meta | Tok::Ident => {}
            Tok::Ref | Tok::RefRead | Tok::RefWrite => {}
            _ => return None,
        }
        loop {
            match (self.tok(at + 1), self.tok(at + 2)) {
                (Some(Tok::LParen | Tok::LBracket), _) => at = self.partner(at + 1)?,
                (Some(Tok::Dot), Some(Tok::Int | Tok::Ident)) => at += 2,
                _ => return Some(at),
            }
        }
    }

    /// Where the left operand of an operator starts whose first token is `at`.
    pub(crate) fn left_start(&self, at: usize, level: u8) -> Option<usize> {
        let mut start = self.postfix_start(at.checked_sub(1)?)?;
        loop {
            let prefix = start.checked_sub(1).and_then(|at| self.prefix_at(at)).filter(|prefix| prefix.0 > level);
            if prefix.is_some() {
                start -= 1;
                continue;
            }
            match self.infix_before(start).filter(|(_, other)| *other >= level) {
                Some((len, _)) => start = self.postfix_start(start.checked_sub(len + 1)?)?,
                None => return Some(start),
            }
        }
    }

    /// Where the right operand ends that starts at `at`.
    pub(crate) fn right_end(&self, at: usize, level: u8) -> Option<usize> {
        let mut end = self.postfix_end(at)?;
        while let Some((len, other, _)) = self.infix_at(end + 1).filter(|(_, other, _)| *other > level) {
            let _ = other;
            end = self.postfix_end(end + 1 + len)?;
        }
        Some(end)
    }

    /// The tokens from `first` to `last` as text for a message.
    pub(crate) fn shown(&self, first: usize, last: usize) -> String {
        let (first, last) = (self.tokens[first], self.tokens[last]);
        excerpt(self.source.get(first.start as usize..last.end as usize).unwrap_or(""))
    }

    /// The edits that make a tuple of a list of variables and calls.
    pub(crate) fn as_tuple(&self, open: usize) -> Option<Vec<Edit>> {
        let close = self.partner(open)?;
        let inside = &self.tokens[open + 1..close];
        let is_loop = inside.iter().any(|token| matches!(token.text(self.source), "for" | "if"));
        let holds_variables = inside.iter().any(|token| matches!(token.tok, Tok::Local | Tok::Graph | Tok::LParen));
        let closing = if inside.iter().any(|token| token.tok == Tok::Comma) { ")" } else { ",)" };
        let edits = || vec![put(self.tokens[open].span(self.file), "("), put(self.tokens[close].span(self.file), closing)];
        (holds_variables && !is_loop).then(edits)
    }

    /// The place before a token.
    pub(crate) fn front(&self, at: usize) -> Span {
        let place = self.tokens[at].span(self.file);
        Span { end: place.start, ..place }
    }

    /// The place behind a token.
    pub(crate) fn rear(&self, at: usize) -> Span {
        self.tokens[at].span(self.file).end_point()
    }

    /// The tokens from `first` to `last`, with the blanks before them.
    pub(crate) fn with_blanks(&self, first: usize, last: usize) -> Span {
        let place = self.tokens[first].span(self.file).to(self.tokens[last].span(self.file));
        let before = first.checked_sub(1).map_or(0, |at| self.tokens[at].end);
        let blank = self.source.get(before as usize..place.start as usize).is_some_and(|gap| gap.trim().is_empty());
        if blank { Span { start: before, ..place } } else { place }
    }
}

/// `%a and %b`, `%a ** %b`, `%a % %b`.
pub(super) fn infix(scene: &TokenContext) -> Option<Diagnostic> {
    let is_foreign = |at: usize| scene.infix_at(at).filter(|(.., infix)| infix.is_some());
    // Of two characters the second one does not fit.
    let pair = scene.at.checked_sub(1).and_then(is_foreign).filter(|(len, ..)| *len == 2).map(|found| (scene.at - 1, found));
    let here = || is_foreign(scene.at).filter(|_| scene.wants_operator()).map(|found| (scene.at, found));
    let (first, (len, level, infix)) = pair.or_else(here)?;
    let infix = infix?;
    let place = scene.tokens[first].span(scene.file).to(scene.tokens[first + len - 1].span(scene.file));
    let report = Diagnostic::new(E0105, format!("there is no operator `{}`", infix.sign)).at(place, "not an operator of Relay");
    if let &[sign @ ("==" | "!=")] = infix.ours {
        let negated = sign == "==" && scene.text_at(first + len) == "not";
        let (place, sign) = match negated {
            true => (place.to(scene.tokens[first + len].span(scene.file)), "!="),
            false => (place, sign),
        };
        return Some(report.fix(format!("write `{sign}`"), place, sign).certain());
    }
    let (Some(start), Some(mut end)) = (scene.left_start(first, level), scene.right_end(first + len, level)) else {
        return Some(infix.ours.iter().fold(report, |report, ours| report.help(format!("write `{ours}(…, …)`"))));
    };
    // The same operator again, mostly with the call so far as its left operand.
    let mut calls = vec![(first, len, end)];
    while let Some((len, _, Some(again))) = scene.infix_at(end + 1).filter(|(.., again)| again.is_some())
        && again.sign == infix.sign
        && let Some(next) = scene.right_end(end + 1 + len, level)
    {
        calls.push((end + 1, len, next));
        end = next;
    }
    let shown = (scene.shown(start, first - 1), scene.shown(first + len, calls[0].2));
    let only = infix.ours.len() == 1 && infix.ours != ["nn.matmul"];
    let report = infix.ours.iter().fold(report, |report, ours| {
        let attrs = if *ours == "nn.matmul" { ", units=None" } else { "" };
        let right = infix.groups_right();
        let mut edits = vec![put(scene.front(start), &format!("{ours}(").repeat(if right { 1 } else { calls.len() }))];
        for (i, &(first, len, end)) in calls.iter().enumerate() {
            edits.push(put(scene.with_blanks(first, first + len - 1), comma(scene, first + len)));
            match right {
                true if i + 1 < calls.len() => edits.push(put(scene.front(first + len), &format!("{ours}("))),
                true => edits.push(put(scene.rear(end), &")".repeat(calls.len()))),
                false => edits.push(put(scene.rear(end), &format!("{attrs})"))),
            }
        }
        let again = if right && calls.len() > 1 { format!("{ours}({}, …)", shown.1) } else { shown.1.clone() };
        report.fix_all(format!("write `{ours}({}, {again}{attrs})`", shown.0), edits)
    });
    Some(if only { report.certain() } else { report })
}

/// A comma before a token, with a blank if none stands there.
fn comma(scene: &TokenContext, at: usize) -> &'static str {
    if scene.tokens[at - 1].end == scene.tokens[at].start { ", " } else { "," }
}

/// `not %c`, `!%c`, `~%x`.
pub(super) fn prefix(scene: &TokenContext) -> Option<Diagnostic> {
    // A word has been read as an operator's name.
    let is_word = scene.wants_operator() && scene.found().is_some_and(|tok| STARTS.has(tok));
    let word = scene.at.checked_sub(1).filter(|&at| is_word && scene.tok(at) == Some(Tok::Ident));
    let sign = (scene.found()? == Tok::Bad && scene.wants_expr()).then_some(scene.at);
    let at = word.or(sign)?;
    let (level, ours) = scene.prefix_at(at)?;
    let place = scene.tokens[at].span(scene.file);
    let report =
        Diagnostic::new(E0105, format!("there is no operator `{}`", scene.text_at(at))).at(place, "not an operator of Relay");
    let Some(end) = scene.right_end(at + 1, level) else { return Some(report.help(format!("write `{ours}(…)`"))) };
    let grouped = scene.tok(at + 1) == Some(Tok::LParen) && scene.partner(at + 1) == Some(end);
    if grouped {
        return Some(report.fix(format!("write `{ours}{}`", scene.shown(at + 1, end)), place, ours).certain());
    }
    let title = format!("write `{ours}({})`", scene.shown(at + 1, end));
    let head = Span { end: scene.tokens[at + 1].start, ..place };
    Some(report.fix_all(title, vec![put(head, &format!("{ours}(")), put(scene.rear(end), ")")]).certain())
}

/// `%x ^ %y`, which reads as a reference of TVM 0.6 (`dialect.rs`).
pub(super) fn xor(scene: &TokenContext) -> Option<Diagnostic> {
    let at = scene.at.checked_sub(1).filter(|&at| scene.text_at(at) == "^" && scene.wants_operator())?;
    let (start, end) = (scene.postfix_start(at)?, scene.right_end(scene.at, 7)?);
    let report =
        Diagnostic::new(E0105, "there is no operator `^`").at(scene.tokens[at].span(scene.file), "not an operator of Relay");
    let edits = vec![put(scene.front(start), "bitwise_xor("), put(scene.with_blanks(at, at), ","), put(scene.rear(end), ")")];
    let title = format!("write `bitwise_xor({}, {})`", scene.shown(start, at - 1), scene.shown(scene.at, end));
    Some(report.fix_all(title, edits).certain())
}

/// `%x += %y`.
pub(super) fn augmented(scene: &TokenContext) -> Option<Diagnostic> {
    let before = scene.before(1).filter(|before| level(before.tok).is_some() && before.end == scene.place().start)?;
    (scene.found()? == Tok::Assign && scene.wants_expr()).then(|| {
        let place = before.span(scene.file).to(scene.place());
        Diagnostic::new(E0105, "there is no assignment")
            .at(place, "not an operator of Relay")
            .note("a variable keeps its value")
            .help("bind another name: `let %y = %x + …;`")
    })
}

/// The divisor of Python's `%a // %b`, which a comment hides; `end` is where the operand before it ends.
pub fn divisor(source: &str, end: usize) -> Option<&str> {
    const INFIX_WORDS: [&str; 7] = ["and", "or", "if", "else", "not", "in", "is"];
    let comment = source.get(end..)?.trim_start_matches([' ', '\t']).strip_prefix("//")?;
    let line = comment.lines().next()?.trim();
    // Words one behind the other are a sentence.
    let is_word = |piece: &str| piece.bytes().all(|byte| byte.is_ascii_alphabetic()) && !INFIX_WORDS.contains(&piece);
    let mut last = false;
    let is_sentence = line.split_whitespace().map(is_word).any(|word| std::mem::replace(&mut last, word) && word);
    let is_operand = line.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '%' | '(' | '_' | '-'));
    (is_operand && !is_sentence).then_some(line)
}

/// `%a // %b;`, where the next line does not go on with `%a`.
pub(super) fn floor_division(scene: &TokenContext) -> Option<Diagnostic> {
    let end = scene.behind().start as usize;
    let line = scene.is_divided(scene.at.checked_sub(1)?).then(|| divisor(scene.source, end))??;
    let operand = line.trim_end_matches(';');
    if operand.len() == line.len() && !line.starts_with(['%', '(']) {
        return None;
    }
    let start = scene.left_start(scene.at, 11)?;
    let signs = end + scene.source.get(end..)?.find("//")?;
    let from = signs + scene.source.get(signs..)?.find(operand)?;
    let span = |start: usize, end: usize| Span::new(scene.file, start, end);
    let report = Diagnostic::new(E0105, "there is no operator `//`").at(span(signs, signs + 2), "begins a comment");
    let until = from + operand.len();
    let edits = vec![put(scene.front(start), "floor_divide("), put(span(end, from), ", "), put(span(until, until), ")")];
    let shown = (scene.shown(start, scene.at - 1), excerpt(operand));
    Some(report.fix_all(format!("write `floor_divide({}, {})`", shown.0, shown.1), edits))
}

/// `%x %2`: a graph variable, where a remainder is meant. In a list, one that is bound above rather lacks a comma.
pub(super) fn remainder(scene: &TokenContext) -> Option<Diagnostic> {
    let number = scene.text().strip_prefix('%')?;
    if scene.expected.has(Tok::Comma) && scene.is_bound(scene.at) {
        return None;
    }
    let goes_on = scene.found()? == Tok::Graph && scene.wants_operator() && scene.tok(scene.at + 1) != Some(Tok::Assign);
    if !goes_on || super::starts::starts_line(scene.tokens, scene.at, scene.source) {
        return None;
    }
    let start = scene.left_start(scene.at, 11)?;
    let report = scene.message().at(scene.place(), "a graph variable, not a remainder");
    let edits = |ours: &str| {
        let place = scene.with_blanks(scene.at, scene.at);
        vec![put(scene.front(start), &format!("{ours}(")), put(place, &format!(", {number})"))]
    };
    let shown = scene.shown(start, scene.at - 1);
    let titled = |ours: &str| format!("for a remainder write `{ours}({shown}, {})`", excerpt(number));
    Some(report.fix_all(titled("floor_mod"), edits("floor_mod")))
}

/// What the text says of a variable.
#[derive(Clone, Copy, PartialEq)]
enum Bound {
    Tuple,
    Tensor,
    Unknown,
}

/// What the nearest binding of a variable before a token says of it.
fn bound(scene: &TokenContext, name: Token) -> Bound {
    let text = name.text(scene.source).trim_start_matches('%');
    // `%x.shape[0]`.
    if text.contains('.') {
        return Bound::Tensor;
    }
    let binds = |at: &usize| {
        let token = scene.tokens[*at];
        matches!(token.tok, Tok::Local | Tok::Graph | Tok::Ident)
            && matches!(scene.tok(at + 1), Some(Tok::Assign | Tok::Colon))
            && token.text(scene.source).trim_start_matches('%') == text
    };
    let Some(at) = (0..scene.at).rev().find(binds) else { return Bound::Unknown };
    let is_tuple = |open: usize| {
        let Some(close) = scene.partner(open) else { return false };
        let mut depth = 0usize;
        scene.tokens[open + 1..close].iter().any(|token| {
            match token.tok {
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth += 1,
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && token.tok == Tok::Comma
        })
    };
    match (scene.tok(at + 1), scene.tok(at + 2)) {
        (_, Some(Tok::LParen)) if is_tuple(at + 2) => Bound::Tuple,
        (Some(Tok::Colon), Some(Tok::Tensor)) => Bound::Tensor,
        (Some(Tok::Assign), Some(Tok::Ident)) => match called(scene, at + 2) {
            "split" | "batch_norm" | "unbind" | "TupleWrapper" => Bound::Tuple,
            _ => Bound::Unknown,
        },
        _ => Bound::Unknown,
    }
}

/// The last part of the name that starts at a token.
fn called<'t>(scene: &TokenContext<'t>, mut at: usize) -> &'t str {
    while (scene.tok(at + 1), scene.tok(at + 2)) == (Some(Tok::Dot), Some(Tok::Ident)) {
        at += 2;
    }
    scene.text_at(at)
}

/// `%t[1]`, `f(%x)[0]`, `%x[0:2]`.
pub(super) fn index(scene: &TokenContext) -> Option<Diagnostic> {
    // Of a function's name they are type arguments.
    let is_value = match scene.before_tok(1)? {
        Tok::Local | Tok::Graph | Tok::RParen | Tok::Int => true,
        Tok::Ident => scene.is_bound_before(scene.at - 1),
        _ => false,
    };
    if scene.found()? != Tok::LBracket || !is_value || !(scene.wants_operator() || scene.expected.has(Tok::Dot)) {
        return None;
    }
    let close = scene.partner(scene.at)?;
    let last = scene.at - 1;
    let start = scene.postfix_start(last)?;
    let place = scene.place().to(scene.tokens[close].span(scene.file));
    let report = Diagnostic::new(E0105, "nothing is indexed with brackets").at(place, "not expected here");
    let inside = scene.at + 1..close;
    if let [only] = &scene.tokens[inside.clone()]
        && only.tok == Tok::Int
    {
        let number = only.text(scene.source);
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(
                report.note("fields of a tuple are counted from 0; `take` and `strided_slice` read elements of tensors"),
            );
        }
        let known = if last == start { bound(scene, scene.tokens[last]) } else { bound_call(scene, start) };
        let shown = scene.shown(start, last);
        let simple = last == start || (scene.tok(start) == Some(Tok::LParen) && scene.partner(start) == Some(last));
        let (title, edits) = if simple {
            (format!("{shown}.{number}"), vec![put(place, &format!(".{number}"))])
        } else {
            (format!("({shown}).{number}"), vec![put(scene.front(start), "("), put(place, &format!(").{number}"))])
        };
        let taken = vec![put(scene.front(start), "take("), put(place, &format!(", {number}, axis=0)"))];
        let field = |report: Diagnostic| report.fix_all(format!("a field of a tuple is `{title}`"), edits.clone());
        let element = |report: Diagnostic| {
            report.fix_all(format!("a part of a tensor is `take({shown}, {number}, axis=0)`"), taken.clone())
        };
        return Some(match known {
            Bound::Tuple => field(report).certain(),
            Bound::Tensor => element(report).certain(),
            Bound::Unknown => element(field(report)),
        });
    }
    let Some(attrs) = slices(scene, inside) else {
        return Some(report.help("elements of a tensor are read by `take` and `strided_slice`"));
    };
    let edits = vec![put(scene.front(start), "strided_slice("), put(place, &format!(", {attrs})"))];
    let title = format!("write `strided_slice({}, {attrs})`", scene.shown(start, last));
    Some(report.fix_all(title, edits).certain())
}

/// What the text says of a call's result.
fn bound_call(scene: &TokenContext, start: usize) -> Bound {
    match called(scene, start) {
        "split" | "batch_norm" => Bound::Tuple,
        _ => Bound::Unknown,
    }
}

/// The attributes of a `strided_slice` for `0:2, :, 1:`.
fn slices(scene: &TokenContext, inside: std::ops::Range<usize>) -> Option<String> {
    const MOST: usize = 40;
    if inside.len() > MOST {
        return None;
    }
    let (mut begins, mut ends, mut strides, mut axes) = (vec![], vec![], vec![], vec![]);
    for (axis, part) in scene.tokens[inside].split(|token| token.tok == Tok::Comma).enumerate() {
        let mut numbers: [Option<&str>; 3] = [None; 3];
        let mut n = 0;
        for token in part {
            match token.tok {
                Tok::Colon if n < 2 => n += 1,
                Tok::Int if numbers[n].is_none() => numbers[n] = Some(token.text(scene.source)),
                _ => return None,
            }
        }
        if n == 0 {
            return None;
        }
        if numbers != [None; 3] {
            begins.push(numbers[0].unwrap_or("0").to_owned());
            ends.push(numbers[1].unwrap_or("2147483647").to_owned());
            strides.push(numbers[2].unwrap_or("1").to_owned());
            axes.push(axis.to_string());
        }
    }
    let list = |items: &[String]| format!("[{}]", items.join(", "));
    let shown = format!("begin={}, end={}, strides={}, axes={}", list(&begins), list(&ends), list(&strides), list(&axes));
    (!axes.is_empty() && strides.iter().all(|stride| !stride.starts_with('-'))).then_some(shown)
}

/// Whether a method that is called with arguments may mean something else than the operator of its name: in PyTorch `split` takes the size
/// of the parts, `transpose` two axes to swap, and `repeat` repeats the whole.
pub fn is_ambiguous_method(name: &str, has_arguments: bool) -> bool {
    const METHODS: [&str; 7] = ["gather", "repeat", "scatter", "split", "std", "transpose", "where"];
    has_arguments && METHODS.contains(&name)
}

/// `nn.relu(%x).sum(axis=[1])`, `f(%x).shape`.
pub(super) fn method(scene: &TokenContext) -> Option<Diagnostic> {
    let dotted = scene.found()? == Tok::Ident && scene.before_tok(1)? == Tok::Dot && scene.expected.has(Tok::Int);
    if !dotted || scene.expected.has(Tok::Ident) {
        return None;
    }
    let last = scene.at.checked_sub(2)?;
    let report = Diagnostic::new(E0105, "there are no methods").at(scene.place(), "not a field");
    let name = scene.text();
    let start = scene.postfix_start(last)?;
    let shown = scene.shown(start, last);
    let call = scene.tok(scene.at + 1) == Some(Tok::LParen);
    let ours = match name {
        "shape" if !call => "shape_of",
        "T" if !call => "transpose",
        _ if call => name,
        _ => return Some(report.note("fields of tuples are numbers: `.0`")),
    };
    let rest = scene.tokens[scene.at - 1].span(scene.file);
    let behind = match (call, scene.tok(scene.at + 2)) {
        (true, Some(Tok::RParen)) => (rest.to(scene.tokens[scene.at + 1].span(scene.file)), ""),
        (true, _) => (rest.to(scene.tokens[scene.at + 1].span(scene.file)), ", "),
        (false, _) if ours == "transpose" => (rest.to(scene.place()), ", axes=None)"),
        (false, _) => (rest.to(scene.place()), ", dtype=\"int32\")"),
    };
    let edits = vec![put(scene.front(start), &format!("{ours}(")), put(behind.0, behind.1)];
    let has_arguments = behind.1 == ", ";
    let more = if has_arguments { ", …" } else { "" };
    let report = report.fix_all(format!("write `{}({shown}{more})`", excerpt(ours)), edits);
    Some(if is_ambiguous_method(name, has_arguments && call) { report } else { report.certain() })
}
