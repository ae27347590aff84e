//! Comments that silence lints: `// allow: unused-let, no-op`.
//!
//! On a line of its own, such a comment is about what begins behind it: a definition, a parameter, a statement, a clause. Behind other
//! text it is about its line, and about what ends on it: laying text out again keeps comments behind what they stood behind. It wins
//! over every level. A name that is no lint is reported (W0019), and so is one that silences nothing (W0020).

use super::{LINTS, Level, Levels, Lint, MAX_EACH, nearest_to};
use relayc_base::diag::{Code, Diagnostic, Edit, codes, has_errors};
use relayc_base::text::shortened;
use relayc_base::{FileId, Span};
use relayc_syntax::ast::{Ast, Def, ExprKind};
use relayc_syntax::lexer::{self, Lexed};
use relayc_syntax::token::{Tok, Token};
use rustc_hash::FxHashMap;

/// The word that such a comment begins with.
const WORD: &str = "allow:";

/// The lints that are about comments, which no comment silences.
const OF_COMMENTS: [Code; 2] = [codes::W0019, codes::W0020];

/// A name in a comment.
struct Name {
    /// The whole comment if it names nothing.
    span: Span,
    lint: Option<&'static Lint>,
    /// What it is about.
    scope: Span,
    silences: bool,
    /// What to leave out if it is one too many.
    edit: Edit,
}

/// Drops the diagnostics that comments allow, and reports comments that are wrong once the lints have run.
pub(crate) fn apply(file: FileId, ast: &Ast, levels: &Levels, diagnostics: &mut Vec<Diagnostic>, linted: bool) {
    if !ast.source.contains(WORD) {
        return;
    }
    let mut names = names(file, ast);
    let is_cut = |lint: &Lint| diagnostics.iter().filter(|d| d.code == lint.code).count() >= MAX_EACH;
    let cut: Vec<bool> = LINTS.iter().map(is_cut).collect();
    // Those of one code stand together, in text order.
    let key = |at: usize| (diagnostics[at].code.id(), diagnostics[at].span().start);
    let mut order: Vec<usize> = (0..diagnostics.len()).filter(|&at| diagnostics[at].span().file == file).collect();
    order.sort_by_key(|&at| key(at));
    let mut is_allowed = vec![false; diagnostics.len()];
    for name in &mut names {
        let Some(Lint { code, .. }) = name.lint else { continue };
        let first = order.partition_point(|&at| key(at) < (code.id(), name.scope.start));
        for &at in order[first..].iter().take_while(|&&at| key(at) <= (code.id(), name.scope.end)) {
            is_allowed[at] = true;
            name.silences = true;
        }
    }
    let mut is_allowed = is_allowed.into_iter();
    diagnostics.retain(|_| is_allowed.next() != Some(true));
    if !linted {
        return;
    }
    let is_checked = !has_errors(diagnostics);
    let might =
        |lint: &Lint| levels.of(lint) != Level::Allow && !LINTS.iter().zip(&cut).any(|(l, cut)| l.code == lint.code && *cut);
    let wrong = |name: Name| match name.lint {
        None if slice(&ast.source, name.span).starts_with("//") => Some(nothing("no lint is named here".to_owned(), name)),
        None => Some(unknown(&name, &ast.source)),
        Some(lint) if OF_COMMENTS.contains(&lint.code) => {
            let message = format!("no comment allows `{}`", lint.name);
            Some(nothing(message, name).help(format!("`-A {}` and `relayc.toml` do", lint.name)))
        }
        Some(lint) if is_checked && !name.silences && might(lint) => {
            Some(nothing(format!("`{}` is not reported here", lint.name), name))
        }
        Some(_) => None,
    };
    diagnostics.extend(names.into_iter().filter_map(wrong).take(MAX_EACH));
}

/// W0019.
fn unknown(name: &Name, text: &str) -> Diagnostic {
    let word = slice(text, name.span);
    let report = Diagnostic::new(codes::W0019, format!("there is no lint `{}`", shortened(word, 60))).at(name.span, "unknown");
    match nearest_to(word, &[]) {
        Some(near) => report.fix(format!("write `{near}`"), name.span, near),
        None => report.help("`relayc explain` lists their codes"),
    }
}

/// W0020.
fn nothing(message: String, name: Name) -> Diagnostic {
    Diagnostic::new(codes::W0020, message).at(name.span, "allows nothing").fix_all("leave it out", vec![name.edit])
}

/// The names in all comments.
fn names(file: FileId, ast: &Ast) -> Vec<Name> {
    let text = &*ast.source;
    let Lexed { tokens, comments, .. } = lexer::lex(file, text);
    let mut nodes = None;
    let mut names = vec![];
    for comment in comments {
        let Some(words) = words(text, comment) else { continue };
        let line = line_start(text, comment.start);
        let is_alone = text[line..comment.start as usize].trim().is_empty();
        let nodes = nodes.get_or_insert_with(|| Nodes::of(ast));
        let next = tokens.partition_point(|token| token.start < comment.end);
        let scope = match tokens.get(next) {
            Some(token) if is_alone => {
                // What is no such thing is a value: its line.
                let end = nodes.from.get(&token.start).copied().unwrap_or_else(|| line_end(text, token.end) as u32);
                Span { start: token.start, end, file }
            }
            None if is_alone => Span { start: comment.end, end: text.len() as u32, file },
            _ => Span { start: nodes.start_of_line(line as u32, &tokens[..next]), end: comment.start, file },
        };
        let whole = match is_alone {
            true => Span { start: line as u32, end: (line_end(text, comment.end) + 1).min(text.len()) as u32, file },
            false => Span { start: text[..comment.start as usize].trim_end().len() as u32, ..comment },
        };
        if words.is_empty() {
            let edit = Edit { span: whole, text: String::new() };
            names.push(Name { span: comment, lint: None, scope, silences: false, edit });
        }
        for (i, &span) in words.iter().enumerate() {
            let removed = match (i, words.get(i + 1)) {
                (0, None) => whole,
                (0, Some(next)) => Span { end: next.start, ..span },
                (_, _) => Span { start: words[i - 1].end, ..span },
            };
            let edit = Edit { span: removed, text: String::new() };
            names.push(Name { span, lint: Lint::named(slice(text, span)), scope, silences: false, edit });
        }
    }
    names
}

/// The words of a comment that allows lints.
fn words(text: &str, comment: Span) -> Option<Vec<Span>> {
    let list = slice(text, comment).strip_prefix("//")?.trim_start().strip_prefix(WORD)?;
    let start = comment.end as usize - list.len();
    let word = |part: &str| {
        let at = part.as_ptr() as usize - list.as_ptr() as usize + start;
        Span::new(comment.file, at, at + part.len())
    };
    Some(list.split([',', ' ', '\t']).map(str::trim).filter(|part| !part.is_empty()).map(word).collect())
}

/// Where definitions, statements, parameters, clauses and expressions end, and start.
#[derive(Default)]
struct Nodes {
    /// The end of the longest that starts at a place; of no expression.
    from: FxHashMap<u32, u32>,
    /// The ends in order, with the starts, and whether it is an expression.
    to: Vec<(u32, u32, bool)>,
}

impl Nodes {
    fn of(ast: &Ast) -> Nodes {
        let mut nodes = Nodes::default();
        for span in spans(ast) {
            let end = nodes.from.entry(span.start).or_insert(span.end);
            *end = span.end.max(*end);
            nodes.to.push((span.end, span.start, false));
        }
        // Statements with their value are no unit: a comment behind the value is not about the statements.
        let exprs = ast.exprs.iter().filter(|expr| !matches!(expr.kind, ExprKind::Seq { .. }));
        nodes.to.extend(exprs.map(|expr| (expr.span.end, expr.span.start, true)));
        nodes.to.sort_unstable();
        nodes
    }

    /// Where the first begins that ends on a line, of which the tokens end with the last before a comment. Of expressions only what the
    /// comment stands behind counts: the first branch of an `if` is over before the `else`.
    fn start_of_line(&self, line: u32, tokens: &[Token]) -> u32 {
        let end = tokens.last().map_or(0, |last| last.end);
        let mut on_line = tokens.iter().rev().take_while(|token| token.end > line);
        let value = on_line.find(|token| ![Tok::Comma, Tok::Semi].contains(&token.tok)).map_or(0, |last| last.end);
        let ends = &self.to[self.to.partition_point(|&(to, ..)| to <= line)..];
        let ends = ends.iter().take_while(|&&(to, ..)| to <= end).filter(|&&(to, _, is_expr)| !is_expr || to == value);
        ends.map(|&(_, start, _)| start).min().map_or(line, |start| start.min(line))
    }
}

/// The places of definitions, statements, parameters and clauses.
fn spans(ast: &Ast) -> impl Iterator<Item = Span> {
    let defs = ast.defs.iter().map(Def::span);
    let params = ast.funcs.iter().flat_map(|func| ast.items(func.params)).map(|param| param.span);
    let clauses = ast.exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::Match { clauses, .. } => Some(ast.items(clauses)),
        _ => None,
    });
    let clauses = clauses.flatten().map(|clause| clause.span);
    defs.chain(ast.stmts.iter().map(|stmt| stmt.span)).chain(params).chain(clauses)
}

/// The comment that allows a diagnostic, if it is a lint's but not one about such comments: the lint's name and the edit. It stands above
/// the smallest statement, parameter, clause or definition around the place, or behind the line of one that does not begin its line. None
/// if no comment is about it alone or its line.
pub fn allowing(ast: &Ast, lexed: &Lexed, diagnostic: &Diagnostic) -> Option<(&'static str, Edit)> {
    let lint = LINTS.iter().find(|lint| lint.code == diagnostic.code && !OF_COMMENTS.contains(&lint.code))?;
    let (text, place) = (&*ast.source, diagnostic.span());
    let around = spans(ast).filter(|span| span.start <= place.start && place.end <= span.end);
    let span = around.min_by_key(|span| span.end - span.start)?;
    let line = line_start(text, span.start);
    let indent = text.get(line..span.start as usize)?;
    if !indent.trim().is_empty() {
        return Some((lint.name, behind(ast, lexed, lint, place)?));
    }
    // A comment that is there already gets one more name.
    let above = text[..line].trim_end_matches(['\n', '\r']);
    let above = Span::new(place.file, line_start(text, above.len() as u32), above.len());
    let begin = above.start as usize + slice(text, above).len() - slice(text, above).trim_start().len();
    let above = Span::new(place.file, begin, above.end as usize);
    let edit = one_more(text, above, lint).unwrap_or_else(|| {
        let at = Span::new(place.file, line, line);
        Edit { span: at, text: format!("{indent}// {WORD} {}\n", lint.name) }
    });
    Some((lint.name, edit))
}

/// A comment at the end of the line of a place. None if it would be about more than the line, or cannot stand there.
fn behind(ast: &Ast, Lexed { tokens, comments, .. }: &Lexed, lint: &Lint, place: Span) -> Option<Edit> {
    let text = &*ast.source;
    let (start, end) = (line_start(text, place.start) as u32, line_end(text, place.start) as u32);
    let tokens = &tokens[..tokens.partition_point(|token| token.start < end)];
    if tokens.last()?.end > end || Nodes::of(ast).start_of_line(start, tokens) < start {
        return None;
    }
    let last = comments[..comments.partition_point(|comment| comment.start < end)].last().filter(|last| last.end > start);
    if let Some(&comment) = last.filter(|last| slice(text, **last).starts_with("//")) {
        return one_more(text, comment, lint);
    }
    if last.is_some_and(|last| last.end > end) {
        return None;
    }
    let at = start as usize + text[start as usize..end as usize].trim_end().len();
    Some(Edit { span: Span::new(place.file, at, at), text: format!(" // {WORD} {}", lint.name) })
}

/// One more name in a comment, if it allows lints.
fn one_more(text: &str, comment: Span, lint: &Lint) -> Option<Edit> {
    let comma = if words(text, comment)?.is_empty() { " " } else { ", " };
    let end = comment.start as usize + slice(text, comment).trim_end().len();
    Some(Edit { span: Span::new(comment.file, end, end), text: format!("{comma}{}", lint.name) })
}

fn slice(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize).unwrap_or("")
}

/// Where the line around a place starts.
fn line_start(text: &str, at: u32) -> usize {
    text[..at as usize].rfind('\n').map_or(0, |line_break| line_break + 1)
}

/// Where the line around a place ends, before its line break.
fn line_end(text: &str, at: u32) -> usize {
    text[at as usize..].find('\n').map_or(text.len(), |len| at as usize + len)
}
