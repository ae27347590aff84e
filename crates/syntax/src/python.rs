//! Hints for statements of Python: functions and branches as indented blocks, `return`, `lambda`, `import`, names without signs.
//!
//! A block becomes braces around the lines that are indented further than its head. Within them a line that binds gets its `let`,
//! a line without a `;` gets one, and the last `return` goes. Nothing is copied: the edits write between the tokens.

use super::errors::excerpt;
use super::foreign_operators::divisor;
use super::starts::{indent, starts_line};
use super::token::{Tok, TokSet};
use super::token_context::{TokenContext, put};
use relayc_base::Span;
use relayc_base::diag::codes::{E0101, E0105};
use relayc_base::diag::{Diagnostic, Edit};
use rustc_hash::FxHashSet;

/// A block's closing brace is indented like its head, but no further.
const MAX_INDENT: usize = 64;

/// The most tokens after a binding in which its name gets its sign.
const MOST_AFTER: usize = 1 << 16;

/// The most tokens between `lambda` and its colon that are looked at.
const MOST_PARAMS: usize = 40;

/// Words that begin statements of Python without a form in Relay.
const STATEMENTS: [&str; 10] = ["for", "while", "with", "try", "raise", "del", "assert", "yield", "global", "nonlocal"];

const FLOOR_DIVISION: &str = "`//` behind this begins a comment; the floor of a quotient is `floor_divide(a, b)`";

/// The edits that make Relay of Python's lines.
struct Rewrite<'c, 't> {
    scene: &'c TokenContext<'t>,
    edits: Vec<Edit>,
    /// Names that were bound without a sign.
    names: FxHashSet<&'t str>,
    /// The names of the parameters.
    params: FxHashSet<&'t str>,
    /// A place that may mean something else, and what to say of it: the rewriting is not certain then.
    doubt: Option<(Span, &'static str)>,
}

const BOUND_TWICE: &str = "bound again, which hides no earlier value here: give it another name";

/// What a new binding of a name hides.
#[derive(Clone, Copy, PartialEq)]
enum Hides {
    Nothing,
    /// A binding of the same block, as a new assignment of Python does.
    Binding,
    /// Nothing, as it is of the same scope, or less than Python's assignment changes, as that is of a block around this one.
    Other,
}

impl<'c, 't> Rewrite<'c, 't> {
    fn new(scene: &'c TokenContext<'t>) -> Rewrite<'c, 't> {
        Rewrite { scene, edits: vec![], names: FxHashSet::default(), params: FxHashSet::default(), doubt: None }
    }

    fn text(&self, at: usize) -> &'t str {
        self.scene.tokens.get(at).map_or("", |token| token.text(self.scene.source))
    }

    fn insert(&mut self, place: Span, text: &str) {
        self.edits.push(put(place, text));
    }

    fn starts_line(&self, at: usize) -> bool {
        starts_line(self.scene.tokens, at, self.scene.source)
    }

    fn indent(&self, at: usize) -> usize {
        self.scene.tokens.get(at).map_or(0, |token| indent(self.scene.source, token.start as usize))
    }

    fn doubt(&mut self, at: usize, why: &'static str) {
        let place = self.scene.tokens.get(at).map_or(self.scene.place(), |token| token.span(self.scene.file));
        self.doubt.get_or_insert((place, why));
    }

    /// Notes that a name is bound, which a parameter must not have.
    fn claim(&mut self, at: usize) {
        if self.params.contains(self.text(at).trim_start_matches('%')) {
            self.doubt(at, BOUND_TWICE);
        }
    }

    /// Binds a name without a sign.
    fn bind(&mut self, at: usize, before: &str) {
        self.claim(at);
        let name = self.text(at);
        self.names.insert(name);
        self.insert(self.scene.front(at), &format!("{before}%"));
    }

    /// Writes the sign before a name that was bound without it.
    fn mention(&mut self, at: usize, depth: usize) {
        let tok = |at: usize| self.scene.tok(at);
        let after_dot = at.checked_sub(1).and_then(tok) == Some(Tok::Dot);
        let is_key = tok(at + 1) == Some(Tok::Assign) && depth > 0;
        if tok(at) == Some(Tok::Ident)
            && !after_dot
            && !is_key
            && tok(at + 1) != Some(Tok::LParen)
            && self.names.contains(self.text(at))
        {
            self.insert(self.scene.front(at), "%");
        }
    }

    /// Writes the signs from a token on, to the end of the block around it.
    fn mentions(&mut self, from: usize) {
        let mut depth = 0usize;
        for at in from..self.scene.tokens.len().min(from + MOST_AFTER) {
            match self.scene.tokens[at].tok {
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth += 1,
                Tok::RParen | Tok::RBracket | Tok::RBrace if depth == 0 => return,
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth -= 1,
                Tok::Def => return,
                _ => self.mention(at, depth),
            }
        }
    }

    /// Puts braces around the lines of a block with the head `head`; `first` is the first token inside. Returns the last one.
    fn block(&mut self, head: usize, first: usize) -> Option<usize> {
        let scene = self.scene;
        let on_line = !self.starts_line(first);
        let (outer, inner) = (self.indent(head), self.indent(first));
        let (mut at, mut depth, mut last_stmt) = (first, 0usize, first);
        while let Some(tok) = scene.tok(at) {
            if self.starts_line(at) && depth == 0 && at > first && (on_line || self.indent(at) <= outer) {
                break;
            }
            let begins = depth == 0 && (at == first || (self.starts_line(at) && self.indent(at) == inner));
            let goes_on = tok == Tok::Else || matches!(self.text(at), "elif" | "else") || at == 0;
            if scene.is_divided(at) {
                self.doubt(at, FLOOR_DIVISION);
            }
            if begins && !goes_on {
                if at != first && scene.tok(last_stmt) == Some(Tok::If) {
                    self.doubt(last_stmt, "has a value, which goes nowhere: `let %h = if (…) { … } else { … };`");
                }
                if at != first && !matches!(scene.tok(at - 1), Some(Tok::Semi | Tok::Comma)) {
                    self.insert(scene.rear(at - 1), ";");
                }
                last_stmt = at;
                match (tok, scene.tok(at + 1)) {
                    (Tok::Ident, Some(Tok::Assign)) => self.bind(at, "let "),
                    (Tok::Local, Some(Tok::Assign)) => {
                        self.claim(at);
                        self.insert(scene.front(at), "let ");
                    }
                    (Tok::Ident, Some(next)) if STATEMENTS.contains(&self.text(at)) && next != Tok::LParen => {
                        self.doubt(at, "has no form in Relay");
                    }
                    (Tok::Ident | Tok::Local, Some(Tok::Plus | Tok::Minus | Tok::Star | Tok::Slash))
                        if scene.tok(at + 2) == Some(Tok::Assign) =>
                    {
                        self.doubt(at, BOUND_TWICE);
                    }
                    _ => self.mention(at, depth),
                }
            } else {
                match tok {
                    Tok::LParen | Tok::LBracket | Tok::LBrace => depth += 1,
                    Tok::RParen | Tok::RBracket | Tok::RBrace if depth == 0 => break,
                    Tok::RParen | Tok::RBracket | Tok::RBrace => depth -= 1,
                    _ => self.mention(at, depth),
                }
            }
            if begins && matches!(tok, Tok::LParen | Tok::LBracket | Tok::LBrace) {
                depth += 1;
            }
            at += 1;
        }
        let last = at.checked_sub(1).filter(|last| *last >= first)?;
        self.needs_value(last_stmt, last);
        if self.text(last_stmt) == "return" && last_stmt < last {
            let word = scene.tokens[last_stmt].span(scene.file);
            self.insert(Span { end: scene.tokens[last_stmt + 1].start, ..word }, "");
        }
        if scene.tok(last) == Some(Tok::Semi) {
            self.insert(scene.tokens[last].span(scene.file), "");
        }
        let close = if on_line { " }".to_owned() } else { format!("\n{}}}", " ".repeat(outer.min(MAX_INDENT))) };
        self.insert(scene.rear(last), &close);
        Some(last)
    }

    /// Whether each branch of the last statement of a block has a value.
    fn needs_value(&mut self, stmt: usize, last: usize) {
        const NO_VALUE: &str = "the last of its block, whose value it should be";
        let binds = |at: usize| {
            let name = if self.scene.tok(at) == Some(Tok::Let) { at + 1 } else { at };
            let named = matches!(self.scene.tok(name), Some(Tok::Ident | Tok::Local | Tok::Graph));
            named && matches!(self.scene.tok(name + 1), Some(Tok::Assign | Tok::Colon))
        };
        let is_if = self.scene.tok(stmt) == Some(Tok::If);
        let (mut begun, mut has_else, mut wrong) = (stmt, false, None);
        for at in stmt + 1..=last {
            // Relay's own braces are checked as they are.
            if self.scene.tok(at) == Some(Tok::LBrace) {
                return;
            }
            if self.starts_line(at) && is_if {
                let is_else = self.scene.tok(at) == Some(Tok::Else);
                if is_else || self.text(at) == "elif" {
                    wrong = wrong.or(Some(begun).filter(|&begun| binds(begun)));
                    has_else |= is_else;
                }
                begun = at;
            }
        }
        match wrong.or(Some(begun).filter(|&begun| binds(begun))) {
            Some(at) => self.doubt(at, NO_VALUE),
            None if is_if && !has_else => self.doubt(stmt, "has no value without `else`"),
            None => {}
        }
    }

    /// A block behind a colon.
    fn suite(&mut self, head: usize, colon: usize) -> Option<usize> {
        self.insert(self.scene.tokens[colon].span(self.scene.file), " {");
        self.block(head, colon + 1)
    }

    /// Parentheses around a condition, if it has none.
    fn condition(&mut self, first: usize, end: usize) {
        let scene = self.scene;
        if end > first && !(scene.tok(first) == Some(Tok::LParen) && scene.partner(first) == Some(end - 1)) {
            self.insert(scene.front(first), "(");
            self.insert(scene.rear(end - 1), ")");
        }
    }

    fn finish(mut self, report: Diagnostic, title: impl Into<String>) -> Diagnostic {
        self.edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
        if let Some((place, why)) = self.doubt {
            return report.also(place, why).fix_all(title, self.edits);
        }
        report.fix_all(title, self.edits).certain()
    }
}

impl TokenContext<'_> {
    /// The first of some tokens from `from` on that stands outside of inner brackets; none behind the bracket around `from`.
    pub(crate) fn flat(&self, from: usize, wanted: TokSet) -> Option<usize> {
        let mut depth = 0usize;
        for at in from..self.tokens.len() {
            let tok = self.tokens[at].tok;
            if depth == 0 && wanted.has(tok) {
                return Some(at);
            }
            match tok {
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth += 1,
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth = depth.checked_sub(1)?,
                _ => {}
            }
        }
        None
    }

    /// The end of the statement or element that goes on at `from`: a separator, or what closes the bracket around it.
    fn flat_end(&self, from: usize) -> usize {
        const ENDS: TokSet = TokSet::of(&[Tok::Semi, Tok::Comma, Tok::RParen, Tok::RBracket, Tok::RBrace]);
        self.flat(from, ENDS).unwrap_or(self.tokens.len())
    }

    /// Whether a statement begins at a token.
    pub(crate) fn begins_statement(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.tok(at));
        matches!(before, None | Some(Tok::Semi | Tok::LBrace | Tok::FatArrow)) || starts_line(self.tokens, at, self.source)
    }

    /// Whether a name is bound before a token, in the scopes around it.
    pub(crate) fn is_bound_before(&self, at: usize) -> bool {
        let name = self.tokens[at].text(self.source).trim_start_matches('%');
        let mut depth = 0usize;
        for before in (at.saturating_sub(MOST_AFTER)..at).rev() {
            let token = self.tokens[before];
            match token.tok {
                Tok::RBrace => depth += 1,
                Tok::LBrace => depth = depth.saturating_sub(1),
                Tok::Def => return false,
                Tok::Local if depth == 0 && token.text(self.source).trim_start_matches('%') == name => return true,
                _ => {}
            }
        }
        false
    }

    /// What the binding of the name at a token hides.
    fn hides(&self, at: usize) -> Hides {
        let name = self.tokens[at].text(self.source).trim_start_matches('%');
        let (mut depth, mut is_outer) = (0usize, false);
        for before in (at.saturating_sub(MOST_AFTER)..at).rev() {
            let token = self.tokens[before];
            match token.tok {
                Tok::RBrace => depth += 1,
                Tok::LBrace if depth == 0 => is_outer = true,
                Tok::LBrace => depth -= 1,
                Tok::Def => return Hides::Nothing,
                Tok::Local if depth == 0 && token.text(self.source).trim_start_matches('%') == name => {
                    let binds = matches!(self.tok(before + 1), Some(Tok::Assign | Tok::Colon));
                    let is_let = before.checked_sub(1).and_then(|at| self.tok(at)) == Some(Tok::Let);
                    match binds && (is_let || self.begins_statement(before)) {
                        true if is_outer => return Hides::Other,
                        true => return Hides::Binding,
                        // A parameter; elsewhere it is mentioned.
                        false if is_outer => return Hides::Other,
                        false => {}
                    }
                }
                _ => {}
            }
        }
        Hides::Nothing
    }

    /// Whether the comment behind an operand may be the divisor of Python's `%a // %b`.
    pub(crate) fn is_divided(&self, at: usize) -> bool {
        const OPERANDS: TokSet =
            TokSet::of(&[Tok::Local, Tok::Graph, Tok::Ident, Tok::Int, Tok::Float, Tok::RParen, Tok::RBracket]);
        let token = self.tokens.get(at).filter(|token| OPERANDS.has(token.tok));
        token.is_some_and(|token| divisor(self.source, token.end as usize).is_some())
    }

    /// The name right before the token that does not fit.
    fn word_before(&self) -> Option<(usize, &str)> {
        let at = self.at.checked_sub(1).filter(|&at| self.tok(at) == Some(Tok::Ident))?;
        Some((at, self.tokens[at].text(self.source)))
    }
}

/// `def f(x, y):` and the lines below it; `def @f(x) { … }`.
pub(super) fn function(scene: &TokenContext) -> Option<Diagnostic> {
    let found = scene.found()?;
    let before = scene.before_tok(1)?;
    let in_name = before == Tok::Def && found == Tok::Ident;
    let is_key = before == Tok::Ident && scene.expected.has(Tok::Assign);
    let in_params = is_key && matches!(found, Tok::Colon | Tok::Comma | Tok::RParen) && scene.in_parameters();
    let in_body = scene.expected.has(Tok::LBrace) && (found == Tok::Colon || starts_line(scene.tokens, scene.at, scene.source));
    if !in_name && !in_params && !in_body {
        return None;
    }
    let def = (0..scene.at).rev().find(|&at| scene.tok(at) == Some(Tok::Def))?;
    let mut rewrite = Rewrite::new(scene);
    let close = rewrite.head(def)?;
    let has_names = !rewrite.names.is_empty();
    if !rewrite.body(def, close)? && !has_names {
        return None;
    }
    let report = if in_params {
        let name = scene.tokens[scene.at - 1].span(scene.file);
        Diagnostic::new(E0101, "expected a parameter, found a name without `%`").at(name, "a parameter starts with `%`")
    } else {
        let label = if in_name { "a global name starts with `@`" } else { "the body stands in braces" };
        scene.message().at(scene.place(), label)
    };
    let name = excerpt(rewrite.text(def + 1).trim_start_matches('@'));
    let title = format!("write `def @{name}({}) {{ … }}`", if has_names { "%x" } else { "…" });
    Some(rewrite.finish(report, title))
}

impl Rewrite<'_, '_> {
    /// Writes the signs in the head of a function; returns the bracket that closes its parameters.
    fn head(&mut self, def: usize) -> Option<usize> {
        let (scene, open) = (self.scene, def + 2);
        if scene.tok(def + 1)? == Tok::Ident {
            self.insert(scene.front(def + 1), "@");
        }
        let close = scene.partner(open).filter(|_| scene.tok(open) == Some(Tok::LParen))?;
        let mut depth = 0usize;
        for at in open + 1..close {
            let first = depth == 0 && matches!(scene.tok(at - 1), Some(Tok::LParen | Tok::Comma));
            match scene.tokens[at].tok {
                Tok::LParen | Tok::LBracket | Tok::LBrace => depth += 1,
                Tok::RParen | Tok::RBracket | Tok::RBrace => depth = depth.saturating_sub(1),
                Tok::Ident if first && matches!(scene.tok(at + 1), Some(Tok::Colon | Tok::Comma | Tok::RParen)) => {
                    self.bind(at, "");
                    self.params.insert(self.text(at));
                }
                Tok::Local if first => {
                    self.claim(at);
                    self.params.insert(self.text(at).trim_start_matches('%'));
                }
                _ => {}
            }
        }
        Some(close)
    }

    /// Puts the body of a function into braces if it stands in lines below its head; says whether it does.
    fn body(&mut self, def: usize, close: usize) -> Option<bool> {
        const ENDS: TokSet = TokSet::of(&[Tok::LBrace, Tok::Colon, Tok::Def, Tok::Semi]);
        let scene = self.scene;
        // Behind the type of the result; that stands on the line of the head.
        let next_line = || (close + 2..scene.tokens.len()).find(|&at| self.starts_line(at));
        let behind_type = || Some(scene.flat(close + 1, ENDS)?.min(next_line().unwrap_or(usize::MAX)));
        let result = if scene.tok(close + 1) == Some(Tok::Arrow) { behind_type()? } else { close + 1 };
        match scene.tok(result) {
            Some(Tok::LBrace) => self.mentions(result + 1),
            // A type before a brace is the result.
            Some(Tok::Colon) if self.starts_line(result + 1) || !line_has_brace(scene, result + 1) => {
                self.suite(def, result)?;
                return Some(true);
            }
            Some(tok) if self.starts_line(result) && tok != Tok::Def && self.indent(result) > self.indent(def) => {
                self.insert(scene.rear(result - 1), " {");
                self.block(def, result)?;
                return Some(true);
            }
            _ => {}
        }
        Some(false)
    }
}

/// Whether a `{` stands on the rest of a token's line.
fn line_has_brace(scene: &TokenContext, from: usize) -> bool {
    let line = (from..scene.tokens.len()).take_while(|&at| at == from || !starts_line(scene.tokens, at, scene.source));
    line.into_iter().any(|at| scene.tok(at) == Some(Tok::LBrace))
}

/// `if %c { … }`, `if c:` and the lines below it.
pub(super) fn condition(scene: &TokenContext) -> Option<Diagnostic> {
    const ENDS: TokSet = TokSet::of(&[Tok::LBrace, Tok::Colon, Tok::Semi]);
    let found = scene.found()?;
    let (head, first) = if scene.before_tok(1)? == Tok::If && found != Tok::LParen {
        (scene.at - 1, scene.at)
    } else if scene.before_tok(1)? == Tok::RParen && scene.expected.has(Tok::LBrace) && found != Tok::LBrace {
        let open = scene.opener(scene.at - 1)?;
        (open.checked_sub(1).filter(|&at| scene.tok(at) == Some(Tok::If))?, open)
    } else {
        return None;
    };
    let end = scene.flat(first, ENDS).filter(|&end| end > first)?;
    let mut rewrite = Rewrite::new(scene);
    rewrite.condition(first, end);
    let (label, title) = match scene.tok(end)? {
        Tok::LBrace => ("a condition stands in parentheses", "write `if (…) { … } else { … }`"),
        Tok::Colon => {
            let mut last = rewrite.suite(head, end)?;
            let mut has_else = false;
            loop {
                let next = last + 1;
                has_else |= scene.tok(next) == Some(Tok::Else);
                last = match scene.tok(next) {
                    Some(Tok::Else) if scene.tok(next + 1) == Some(Tok::Colon) => rewrite.suite(head, next + 1)?,
                    Some(Tok::Ident) if rewrite.text(next) == "elif" => {
                        let colon = scene.flat(next + 1, ENDS).filter(|&at| scene.tok(at) == Some(Tok::Colon))?;
                        rewrite.insert(scene.tokens[next].span(scene.file), "else if");
                        rewrite.condition(next + 1, colon);
                        rewrite.suite(head, colon)?
                    }
                    _ => break,
                };
            }
            if !has_else {
                rewrite.doubt(head, "has no value without `else`");
            }
            ("a branch stands in braces", "write `if (…) { … } else { … }`")
        }
        _ => return None,
    };
    if rewrite.edits.is_empty() {
        return None;
    }
    Some(rewrite.finish(scene.message().at(scene.place(), label), title))
}

/// `} elif (%c) { … }`.
pub(super) fn elif(scene: &TokenContext) -> Option<Diagnostic> {
    let is_elif = scene.found()? == Tok::Ident && matches!(scene.text(), "elif" | "elsif" | "elseif");
    (is_elif && scene.expected.has(Tok::Else)).then(|| {
        let report = Diagnostic::new(E0101, format!("expected `else`, found `{}`", scene.text()));
        report.at(scene.place(), "not a word of Relay").fix("write `else if`", scene.place(), "else if").certain()
    })
}

/// `1f if %c else 2f`, `%c ? 1f : 2f`.
pub(super) fn conditional(scene: &TokenContext) -> Option<Diagnostic> {
    /// Conditions that are moved are short.
    const MOST: usize = 200;
    // In a list the `if` has been read as the next element.
    let in_list = scene.before_tok(1)? == Tok::If && !scene.begins_statement(scene.at - 1);
    let at = if in_list { scene.at - 1 } else { scene.at };
    let found = scene.tok(at)?;
    if !(in_list || scene.wants_operator()) || !matches!(found, Tok::If | Tok::Question) || at == 0 {
        return None;
    }
    let separator = scene.flat(at + 1, TokSet::of(&[Tok::Else, Tok::Colon, Tok::Semi, Tok::Comma]))?;
    let (start, end) = (scene.left_start(at, 0)?, scene.right_end(separator + 1, 0)?);
    let report = Diagnostic::new(E0105, "a condition stands before the values it decides between");
    let report = report.at(scene.tokens[at].span(scene.file), "not expected here");
    let between = scene.tokens[at + 1].start as usize..scene.tokens[separator - 1].end as usize;
    let gap = |first: usize, last: usize| Span { end: scene.tokens[last + 1].start, ..scene.with_blanks(first, last) };
    let edits = match (found, scene.tok(separator)?) {
        (Tok::If, Tok::Else) => {
            let condition = scene.source.get(between).filter(|text| text.len() <= MOST)?;
            vec![
                put(scene.front(start), &format!("if ({condition}) {{ ")),
                put(gap(at, separator), " } else { "),
                put(scene.rear(end), " }"),
            ]
        }
        (Tok::Question, Tok::Colon) => vec![
            put(scene.front(start), "if ("),
            put(gap(at, at), ") { "),
            put(gap(separator, separator), " } else { "),
            put(scene.rear(end), " }"),
        ],
        _ => return None,
    };
    Some(report.fix_all("write `if (…) { … } else { … }`", edits).certain())
}

/// `return %x`.
pub(super) fn return_word(scene: &TokenContext) -> Option<Diagnostic> {
    let (at, word) = scene.word_before()?;
    if word != "return" || !scene.wants_operator() || !scene.begins_statement(at) {
        return None;
    }
    let place = scene.tokens[at].span(scene.file);
    let report = Diagnostic::new(E0105, "there is no `return`").at(place, "not a word of Relay");
    let report = report.note("the last expression of a block is its value");
    let removed = Span { end: scene.place().start, ..place };
    let end = scene.flat_end(scene.at);
    if let Some(at) = (scene.at..end).find(|&at| scene.is_divided(at)) {
        return Some(report.help("leave it out").also(scene.tokens[at].span(scene.file), FLOOR_DIVISION));
    }
    let mut edits = vec![put(removed, "")];
    match (scene.tok(end), scene.tok(end + 1)) {
        (Some(Tok::RBrace) | None, _) => {}
        (Some(Tok::Semi), Some(Tok::RBrace) | None) => edits.push(put(scene.tokens[end].span(scene.file), "")),
        _ => return Some(report.help("end the block here")),
    }
    Some(report.fix_all("leave it out", edits).certain())
}

/// `lambda x: x + 1`.
pub(super) fn lambda(scene: &TokenContext) -> Option<Diagnostic> {
    // In a list its parameters have been read as the next elements.
    let is_param = |at: &usize| matches!(scene.tok(*at), Some(Tok::Local | Tok::Ident | Tok::Comma));
    let mut before = (0..scene.at).rev().take(MOST_PARAMS).take_while(is_param);
    let at = match scene.found()? {
        Tok::Colon => before.find(|&at| scene.tokens[at].text(scene.source) == "lambda")?,
        _ => scene.word_before().filter(|(_, word)| *word == "lambda" && scene.wants_operator())?.0,
    };
    let first = at + 1;
    let place = scene.tokens[at].span(scene.file);
    let report = Diagnostic::new(E0105, "there is no `lambda`").at(place, "not a word of Relay");
    let colon = scene.flat(first, TokSet::of(&[Tok::Colon, Tok::Semi]));
    let Some(colon) = colon.filter(|&at| scene.tok(at) == Some(Tok::Colon)) else {
        return Some(report.help("write `fn (%x) { … }`"));
    };
    let mut rewrite = Rewrite::new(scene);
    rewrite.insert(Span { end: scene.tokens[first].start, ..place }, "fn (");
    for name in first..colon {
        match scene.tokens[name].tok {
            Tok::Ident => rewrite.bind(name, ""),
            Tok::Local | Tok::Comma => {}
            _ => return Some(report.help("write `fn (%x) { … }`")),
        }
    }
    rewrite.insert(scene.tokens[colon].span(scene.file), ") {");
    let end = scene.flat_end(colon + 1);
    (colon + 1..end).for_each(|at| rewrite.mention(at, 1));
    rewrite.insert(scene.rear(end - 1), " }");
    Some(rewrite.finish(report, "write `fn (%x) { … }`"))
}

/// `fn (%x) => %x + 1f`, `fn (%x): %x + 1f`.
pub(super) fn arrow_function(scene: &TokenContext) -> Option<Diagnostic> {
    let found = scene.found()?;
    if !matches!(found, Tok::FatArrow | Tok::Colon) || scene.before_tok(1)? != Tok::RParen || !scene.expected.has(Tok::LBrace) {
        return None;
    }
    let open = scene.opener(scene.at - 1)?;
    if open.checked_sub(1).and_then(|at| scene.tok(at)) != Some(Tok::Fn) {
        return None;
    }
    let end = scene.flat_end(scene.at + 1);
    // A type before a brace is the result.
    let has_body = scene.flat(scene.at + 1, TokSet::of(&[Tok::LBrace])).is_some_and(|brace| brace < end);
    (!has_body && end > scene.at + 1).then(|| {
        let edits = vec![put(scene.place(), "{"), put(scene.rear(end - 1), " }")];
        let report = scene.message().at(scene.place(), "the body stands in braces");
        let report = report.fix_all("write `fn (…) { … }`", edits);
        report.certain()
    })
}

/// `for`, `while` and other statements without a form in Relay.
pub(super) fn statement(scene: &TokenContext) -> Option<Diagnostic> {
    let called = || {
        let open =
            (scene.found()? == Tok::LBrace && scene.before_tok(1)? == Tok::RParen).then(|| scene.opener(scene.at - 1))??;
        let at = open.checked_sub(1).filter(|&at| scene.tok(at) == Some(Tok::Ident))?;
        Some((at, scene.tokens[at].text(scene.source)))
    };
    // `for (%i in %xs)`.
    let counted = || {
        let open = scene.around().filter(|_| scene.text() == "in")?;
        let at = open.checked_sub(1).filter(|&at| scene.tokens[at].text(scene.source) == "for")?;
        Some((at, "for"))
    };
    let bare = || scene.word_before().filter(|_| scene.wants_operator());
    let (at, word) = counted().or_else(bare).or_else(called)?;
    let place = scene.tokens[at].span(scene.file);
    let report = |message: &str| Diagnostic::new(E0105, message).at(place, "not a word of Relay");
    match word {
        "for" | "while" if scene.begins_statement(at) => Some(
            report("there are no loops")
                .note("a function that calls itself is a loop: `def @loop(%i, %x) { if (…) { @loop(…) } else { … } }`"),
        ),
        "with" | "try" | "raise" | "del" | "assert" | "yield" | "global" if scene.begins_statement(at) => {
            Some(report(&format!("there is no `{word}`")).note("a block is bindings and a value: `let %y = …; %y`"))
        }
        _ => None,
    }
}

/// `%x: T = None`, `*args`.
pub(super) fn parameter(scene: &TokenContext) -> Option<Diagnostic> {
    if !scene.expected.has(Tok::RParen) || scene.expected.has(Tok::LParen) || !scene.in_parameters() {
        return None;
    }
    match scene.found()? {
        Tok::Assign => {
            let end = scene.flat_end(scene.at + 1);
            let value = scene.behind().to(scene.tokens.get(end.checked_sub(1)?)?.span(scene.file));
            let report = Diagnostic::new(E0105, "parameters have no default values").at(scene.place(), "not expected here");
            Some(report.note("each call has an argument for each parameter").fix("leave it out", value, ""))
        }
        Tok::Star => {
            let report =
                Diagnostic::new(E0105, "a function has a fixed number of parameters").at(scene.place(), "not expected here");
            Some(report.help("several values are one tuple: `%xs: (float32, float32)`"))
        }
        _ => None,
    }
}

/// `import tvm`, `from tvm import relay`, and decorators.
pub(super) fn import(scene: &TokenContext) -> Option<Diagnostic> {
    let found = scene.found()?;
    if !scene.expected.has(Tok::Def) {
        return None;
    }
    let is_import =
        |at: usize| scene.tok(at) == Some(Tok::Ident) && matches!(scene.tokens[at].text(scene.source), "import" | "from");
    let (what, note) = match found {
        Tok::Ident if is_import(scene.at) => ("there are no imports", "every operator is known by its name"),
        Tok::Global => ("there are no decorators", "a definition begins with `def` or `type`"),
        _ => return None,
    };
    let starts = |at: usize| starts_line(scene.tokens, at, scene.source);
    let is_like = |at: usize| if found == Tok::Ident { is_import(at) } else { scene.tok(at) == Some(found) };
    let goes_on = |at: usize| !starts(at) || is_like(at);
    let end = (scene.at + 1..scene.tokens.len()).find(|&at| !goes_on(at)).unwrap_or(scene.tokens.len());
    // A function without its `def`.
    if found == Tok::Global && scene.tok(end) != Some(Tok::Def) {
        let is_function = scene.tok(scene.at + 1) == Some(Tok::LParen);
        return is_function.then(|| scene.plain().fix("write `def`", scene.front(scene.at), "def ").certain());
    }
    let mut until = scene.tokens[end - 1].span(scene.file).end;
    // With the end of the line, if nothing else stands on it.
    if let Some((blank, _)) = scene.source[until as usize..].split_once('\n')
        && blank.trim().is_empty()
    {
        until += blank.len() as u32 + 1;
    }
    let report = Diagnostic::new(E0105, what).at(scene.place(), "not a definition").note(note);
    Some(report.fix("remove it", Span { end: until, ..scene.place() }, "").certain())
}

/// `let h = …`, `h = …`, `%h: T = …`, `%h := …`.
pub(super) fn binding(scene: &TokenContext) -> Option<Diagnostic> {
    let found = scene.found()?;
    let name = scene.at.checked_sub(1)?;
    let mut rewrite = Rewrite::new(scene);
    if scene.tok(name) == Some(Tok::Let) && found == Tok::Ident {
        rewrite.bind(scene.at, "");
        let end = scene.flat(scene.at, TokSet::of(&[Tok::Semi]))?;
        rewrite.mentions(end + 1);
        let report = scene.message().at(scene.place(), "a local variable starts with `%`");
        return Some(rewrite.finish(report, "write `%`"));
    }
    let is_name =
        matches!(scene.tok(name), Some(Tok::Ident | Tok::Local)) && scene.begins_statement(name) && scene.wants_operator();
    if !is_name || !matches!(found, Tok::Assign | Tok::Colon) {
        return None;
    }
    if scene.hides(name) == Hides::Other {
        rewrite.doubt(name, BOUND_TWICE);
    }
    let end = scene.flat_end(scene.at);
    let assign = scene.flat(scene.at, TokSet::of(&[Tok::Assign])).filter(|&at| at < end)?;
    // A bare name in parentheses is the key of an attribute.
    if scene.around().is_some_and(|open| scene.tok(open) != Some(Tok::LBrace)) {
        return None;
    }
    let (text, place) = (rewrite.text(name), scene.tokens[name].span(scene.file));
    match scene.tok(name) {
        Some(Tok::Ident) => rewrite.bind(name, "let "),
        // At the end of a block a comparison may be meant.
        _ if found == Tok::Assign && scene.tok(end) != Some(Tok::Semi) => return None,
        _ => rewrite.insert(scene.front(name), "let "),
    }
    if assign == scene.at + 1 {
        rewrite.insert(scene.place(), "");
    }
    if end < scene.tokens.len() && scene.tok(end) == Some(Tok::Semi) {
        rewrite.mentions(end + 1);
    }
    let local = excerpt(text.trim_start_matches('%'));
    if (name..end).any(|at| scene.is_divided(at)) {
        rewrite.doubt(name, FLOOR_DIVISION);
    }
    let report = Diagnostic::new(E0101, format!("expected `let` before `{}`", excerpt(text)));
    Some(rewrite.finish(report.at(place, "bound without `let`"), format!("a local is bound by `let %{local} = …;`")))
}

/// `let (%a, %b) = …;`, `%a, %b = …;`, `(%a, %b) = …;`.
pub(super) fn unpacking(scene: &TokenContext) -> Option<Diagnostic> {
    const FIRST: TokSet = TokSet::of(&[Tok::Local, Tok::Ident]);
    let open = scene.before_tok(1).filter(|&tok| tok == Tok::RParen).and_then(|_| scene.opener(scene.at - 1));
    let (first, names_from, names_end) = match (scene.before_tok(1)?, scene.found()?) {
        (Tok::RParen, Tok::Assign) if open.is_some_and(|open| scene.begins_statement(open)) => {
            let open = open?;
            (open, open + 1, scene.at - 1)
        }
        (Tok::Let, Tok::LParen) => (scene.at - 1, scene.at + 1, scene.partner(scene.at)?),
        (Tok::Local, Tok::Comma) if scene.begins_statement(scene.at - 1) && scene.wants_operator() => {
            (scene.at - 1, scene.at - 1, scene.flat(scene.at, TokSet::of(&[Tok::Assign, Tok::Semi]))?)
        }
        _ => return None,
    };
    let assign = if scene.tok(names_end) == Some(Tok::RParen) { names_end + 1 } else { names_end };
    if scene.tok(assign) != Some(Tok::Assign) || scene.around().is_some_and(|open| scene.tok(open) != Some(Tok::LBrace)) {
        return None;
    }
    let mut names = vec![];
    let mut is_new = true;
    for (at, token) in (names_from..).zip(&scene.tokens[names_from..names_end]) {
        is_new &= !scene.is_bound_before(at);
        match token.tok {
            tok if FIRST.has(tok) => names.push(token.text(scene.source).trim_start_matches('%')),
            Tok::Comma => {}
            _ => return None,
        }
    }
    let end = scene.flat(assign, TokSet::of(&[Tok::Semi]))?;
    let whole = names.join("_");
    let place = scene.tokens[first].span(scene.file);
    let head = Span { end: scene.tokens[assign].start, ..place };
    let taken: String = names.iter().enumerate().map(|(i, name)| format!(" let %{name} = %{whole}.{i};")).collect();
    let report = Diagnostic::new(E0105, "a `let` binds one name").at(scene.place(), "not expected here");
    let edits = vec![put(head, &format!("let %{whole} ")), put(scene.rear(end), &taken)];
    let report = report.fix_all("take the fields of the tuple by number, `%t.0`", edits);
    Some(if is_new { report.certain() } else { report })
}
