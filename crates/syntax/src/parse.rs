//! The parser: text in, tree and diagnostics out.
//!
//! The lexer runs first, then `brackets.rs` if brackets do not match, then the grammar. After a syntax error `recover.rs` patches
//! the tokens and the grammar runs again. Nothing recurses: the grammar's stack is a vector, the tree is flat.

use super::again::{self, Known, Marks, Parsed, Tokens};
use super::ast::Ast;
use super::brackets::{self, Balance};
use super::build::Builder;
use super::conflict;
use super::dialect::{self, Dialect};
use super::failure::Failure;
use super::lexer::{self, Lexed};
use super::old_calls::OldCalls;
use super::recover::{Patch, Patched, Recovery};
use super::token::{Tok, TokSet, Token};
use super::version::TODAY;
use super::{errors, unexpected};
use lalrpop_util::ParseError;
use relayc_base::diag::{self, Diagnostic, Edit, codes, fix};
use relayc_base::limits::{DEFINITIONS, SOURCE_BYTES};
use relayc_base::{FileId, Span};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

lalrpop_util::lalrpop_mod!(
    #[allow(unreachable_pub, clippy::all, clippy::pedantic, unused, reason = "generated code follows its own rules")]
    grammar,
    "/relay.rs"
);

/// How many problems are shown; the rest is counted.
const MAX_SHOWN: usize = 100;

/// Limit of syntax errors to look for; past it no tree is built.
const MAX_ERRORS: usize = 1000;

/// Parses a text: the tree, with `Error` nodes for text that is not understood, and all problems in text order.
pub fn parse(file: FileId, source: Arc<str>) -> (Ast, Vec<Diagnostic>) {
    parse_as(file, source, Dialect::Today)
}

/// As [`parse`]. The tree of an old text may have another source: there its calls are written as today.
pub fn parse_as(file: FileId, source: Arc<str>, dialect: Dialect) -> (Ast, Vec<Diagnostic>) {
    let (ast, diagnostics) = parse_as_written(file, source, dialect);
    if dialect == Dialect::Today {
        return (ast, diagnostics);
    }
    let edits: Vec<Edit> = OldCalls::new(&ast).all().into_iter().flat_map(|call| call.edits).collect();
    let Some(text) = fix::apply(&ast.source, file, &edits).filter(|text| **text != *ast.source) else {
        return (ast, diagnostics);
    };
    let (mut ast, diagnostics) = parse_as_written(file, text.into(), dialect);
    ast.age = TODAY;
    (ast, diagnostics)
}

/// As [`parse_as`], with all calls as they are written.
pub(crate) fn parse_as_written(file: FileId, source: Arc<str>, dialect: Dialect) -> (Ast, Vec<Diagnostic>) {
    let lexed = lexer::lex(file, &source);
    let (ast, diagnostics, _) = read(file, source, dialect, lexed, None);
    (ast, diagnostics)
}

/// As [`parse_as`], for a text that has been lexed, with an earlier form of it; the last result is for the next form. What is the same is
/// not read again.
pub fn parse_again(
    file: FileId,
    source: Arc<str>,
    dialect: Dialect,
    lexed: Lexed,
    earlier: Option<&Parsed>,
) -> (Arc<Ast>, Vec<Diagnostic>, Option<Parsed>) {
    let (ast, diagnostics, left) = read(file, source, dialect, lexed, earlier);
    let ast = Arc::new(ast);
    // Old forms change tokens.
    let left = left.filter(|_| ast.old_forms.is_empty() && ast.typed_numbers.is_empty() && ast.stray_values.is_empty());
    let parsed = left.map(|Left { marks, tokens, doubtful, symbol }| Parsed {
        ast: ast.clone(),
        marks: marks.into(),
        tokens,
        doubtful,
        symbol,
    });
    (ast, diagnostics, parsed)
}

/// What is left of a parse besides the tree, as in [`Parsed`].
struct Left {
    marks: Marks,
    tokens: Tokens,
    doubtful: Vec<(u32, u32)>,
    symbol: Tok,
}

fn read(
    file: FileId,
    source: Arc<str>,
    dialect: Dialect,
    mut lexed: Lexed,
    earlier: Option<&Parsed>,
) -> (Ast, Vec<Diagnostic>, Option<Left>) {
    let start = Span::new(file, 0, 0);
    if source.len() > SOURCE_BYTES.count() {
        let report = errors::source_too_large(start, source.len());
        return (Ast::new(source), vec![report], None);
    }
    let in_conflict = conflict::leave_out(file, &source, &mut lexed);
    let old_forms = dialect::modernise(file, &source, &mut lexed, dialect);
    let Lexed { tokens, typed_numbers, diagnostics, n_dropped, cut, .. } = lexed;
    let earlier = earlier.filter(|_| old_forms.is_empty() && typed_numbers.is_empty() && !in_conflict);
    let mut tokens = Tokens::all(tokens);
    let version = tokens.first().copied().filter(|token| token.tok == Tok::Version).map(|token| token.span(file));
    tokens.leave_out(usize::from(version.is_some()), 0);
    let metadata = tokens.last().copied().filter(|token| token.tok == Tok::Metadata);
    tokens.leave_out(0, usize::from(metadata.is_some()));
    let metadata = metadata.map(|token| metadata_text(token, file, &source));
    let mut problems = Problems { shown: diagnostics, n_dropped };
    let mut left = None;
    let mut ast = match start_symbol(&tokens, version) {
        Some(symbol) => {
            // One that stands further down is reported there.
            if symbol == Tok::Module && version.is_none() && tokens.iter().all(|token| token.tok != Tok::Version) {
                problems.shown.push(errors::missing_version(start, tokens[0].span(file)));
            }
            match brackets::balance(&tokens) {
                Balance::TooDeep(at) => {
                    problems.shown.push(errors::nesting_too_deep(tokens[at].span(file)));
                    Ast::new(source)
                }
                balance => {
                    let parser = Parser { file, source, symbol };
                    let (ast, rest) = parser.parse(tokens, cut, balance, &mut problems, earlier);
                    left = rest;
                    ast
                }
            }
        }
        None => {
            // A text of nothing but mistakes has been reported.
            if !diag::has_errors(&problems.shown) {
                problems.shown.push(errors::no_program(start));
            }
            Ast::new(source)
        }
    };
    if let Some(def) = ast.defs.get(DEFINITIONS.count()) {
        problems.shown.push(errors::too_many_definitions(def.span()));
    }
    // `%x ^ %y` is no reference of TVM 0.6.
    let is_xor = |form: Span| problems.shown.iter().any(|problem| problem.code == codes::E0105 && problem.span() == form);
    if let Some((first, today, n)) = dialect::first_of(&old_forms).filter(|(first, ..)| !is_xor(*first)) {
        ast.age = dialect::age(version.map(|version| ast.text(version)));
        problems.shown.push(errors::old_forms(first, today, n));
    }
    ast.old_forms = old_forms;
    ast.typed_numbers = typed_numbers;
    ast.version = version;
    ast.metadata = metadata;
    if let Some(left) = &mut left {
        let spans = problems.shown.iter().flat_map(|problem| problem.labels.iter().map(|label| label.span));
        left.doubtful.extend(spans.map(|span| (span.start, span.end)));
    }
    (ast, problems.finish(), left.filter(|_| !in_conflict))
}

/// The kind of the text, by its first token and its header; `None` if it has neither.
fn start_symbol(tokens: &[Token], version: Option<Span>) -> Option<Tok> {
    // No expression holds a `def`, so a misspelt first word does not make the text an expression.
    let misspelt =
        |first: &Token| matches!(first.tok, Tok::Ident | Tok::Global) && tokens.iter().any(|token| token.tok == Tok::Def);
    match tokens.first() {
        None => version.map(|_| Tok::Module),
        Some(first) if matches!(first.tok, Tok::Def | Tok::Type | Tok::Extern) || misspelt(first) => Some(Tok::Module),
        Some(_) => Some(Tok::Expr),
    }
}

fn metadata_text(token: Token, file: FileId, source: &str) -> Span {
    let head = token.text(source).find([']', ':', '\n']).map_or(0, |end| end as u32 + 1);
    Span { start: token.start + head, ..token.span(file) }
}

struct Problems {
    shown: Vec<Diagnostic>,
    /// Problems past those that were kept.
    n_dropped: usize,
}

impl Problems {
    /// Takes the builder's problems. What is missing where brackets were mended has been reported.
    fn add(&mut self, builder: &mut Builder, touched: &[u32]) {
        let is_known = |place: Span| place.start == place.end && touched.binary_search(&place.start).is_ok();
        self.shown.extend(builder.diagnostics.drain(..).filter(|problem| !is_known(problem.span())));
        self.n_dropped += builder.n_dropped;
    }

    /// The problems in text order, as many as can be of use.
    fn finish(mut self) -> Vec<Diagnostic> {
        diag::sort_and_limit(&mut self.shown, MAX_SHOWN, self.n_dropped);
        self.shown
    }
}

/// The state that stays the same while a text is parsed, possibly several times.
struct Parser {
    file: FileId,
    source: Arc<str>,
    symbol: Tok,
}

/// What is read: the tokens of a text, or some of them.
struct Input<'a> {
    tokens: &'a [Token],
    /// All tokens of the text.
    full: &'a [Token],
    /// What is known of the others.
    known: Option<&'a Known>,
    /// As in [`Lexed`].
    cut: Option<u32>,
    /// Where brackets were mended, and the end of what was cut short, in order.
    touched: &'a [u32],
}

impl Parser {
    fn parse(
        &self,
        mut tokens: Tokens,
        cut: Option<u32>,
        balance: Balance,
        problems: &mut Problems,
        earlier: Option<&Parsed>,
    ) -> (Ast, Option<Left>) {
        let mut touched = vec![];
        if balance == Balance::Unmatched {
            let mut mended = brackets::mend(self.file, &self.source, &tokens, cut);
            problems.shown.append(&mut mended.reports);
            if mended.given_up {
                return (Ast::new(self.source.clone()), None);
            }
            touched = mended.places;
            tokens = Tokens::all(mended.tokens.into());
        }
        touched.extend(cut);
        touched.sort_unstable();
        let n_shown = problems.shown.len();
        let all = Input { tokens: &tokens, full: &tokens, known: None, cut, touched: &touched };
        let short = earlier.and_then(|earlier| again::shorten(earlier, &self.source, &tokens, self.symbol));
        let of_short =
            short.and_then(|short| self.read(&Input { tokens: &short.tokens, known: Some(&short.known), ..all }, problems));
        let read = of_short.or_else(|| {
            problems.shown.truncate(n_shown);
            self.read(&all, problems)
        });
        let Some((builder, mut doubtful)) = read else { return (Ast::new(self.source.clone()), None) };
        doubtful.extend(touched.iter().map(|&place| (place, place)));
        (builder.ast, Some(Left { marks: builder.marks, tokens, doubtful, symbol: self.symbol }))
    }

    /// The tree, and the places that were patched. `None` only for a part of a text, if it takes all to know how to patch it.
    fn read(&self, input: &Input, problems: &mut Problems) -> Option<(Builder, Vec<(u32, u32)>)> {
        let mut builder = self.builder(input);
        match self.run(&mut builder, input.tokens, &[]) {
            Ok(()) => {
                problems.add(&mut builder, input.touched);
                Some((builder, vec![]))
            }
            Err(failure) => self.recover(input, failure, problems),
        }
    }

    fn builder(&self, input: &Input) -> Builder {
        Builder::new(self.file, self.source.clone(), input.known.cloned())
    }

    /// Looks for all errors, from the first one on, and builds the tree around them (see `recover.rs`).
    fn recover(&self, input: &Input, failure: Failure, problems: &mut Problems) -> Option<(Builder, Vec<(u32, u32)>)> {
        let mut recovery = Recovery::new(input.tokens, &self.source, self.symbol == Tok::Module, MAX_ERRORS);
        let lexical =
            problems.shown.iter().filter(|problem| problem.is_error()).map(|problem| problem.span()).collect::<Vec<_>>();
        let empty = || Builder::new(self.file, self.source.clone(), None);
        let is_near = |at: usize| input.known.is_some_and(|known| known.is_near(at));
        let full = |at: usize| input.known.map_or(at, |known| known.full_index(at));
        let report = |failure: &Failure| {
            unexpected::report(self.file, &self.source, input.full, &Failure { at: full(failure.at), expected: failure.expected })
        };
        if recovery.unfinished().iter().any(|unfinished| is_near(unfinished.value) || is_near(unfinished.next)) {
            return None;
        }
        let mut rewritten = Rewritten::default();
        for unfinished in recovery.unfinished() {
            problems.shown.push(unexpected::no_value(self.file, &self.source, input.full, full(unfinished.next)));
        }
        let mut read = match recovery.unfinished() {
            [] => Err(failure),
            _ => self.run(&mut self.builder(input), input.tokens, &recovery.patches_and_skips()),
        };
        for n in 0..=MAX_ERRORS {
            let Err(failure) = &read else {
                let mut builder = self.builder(input);
                let patches = recovery.patches();
                let read = self.run(&mut builder, input.tokens, &patches);
                // A comma may be missing because a patch took something else away. What is not said is read again next time.
                let is_comma = |report: &Diagnostic| report.code == codes::W0021;
                let commas = builder.diagnostics.iter().filter(|report| is_comma(report)).map(|report| report.span());
                let commas: Vec<(u32, u32)> = commas.map(|span| (span.start, span.end)).collect();
                builder.diagnostics.retain(|report| !is_comma(report));
                problems.add(&mut builder, input.touched);
                let place = |patch: &Patch| {
                    let before = patch.start.checked_sub(1).map_or(0, |last| input.tokens[last].end);
                    let end = patch.end.checked_sub(1).map_or(0, |last| input.tokens[last].end);
                    (before, end.max(before))
                };
                let doubtful = patches.iter().map(place).chain(commas).collect();
                return Some(if read.is_ok() { (builder, doubtful) } else { (empty(), vec![]) });
            };
            if is_near(failure.at) {
                return None;
            }
            if n == MAX_ERRORS {
                break;
            }
            let Ok(mistake) = recovery.patch(failure) else { break };
            if recovery.last_patch().is_some_and(|(start, end)| is_near(start) || is_near(end)) {
                return None;
            }
            if let Some(within) = mistake
                && !rewritten.has(input.tokens, failure.at)
            {
                let end = input.tokens.get(within.end).or(input.tokens.last()).map_or(0, |token| token.end);
                let unit = (input.tokens.get(within.start).map_or(0, |token| token.start), end);
                let is_bad = input.tokens.get(failure.at).is_some_and(|token| token.tok == Tok::Bad);
                if !is_bad && !self.is_known(input, failure.at, within, &lexical) {
                    let report = report(failure);
                    rewritten.add(&report, unit);
                    problems.shown.push(report);
                } else if is_bad && let Some(report) = Some(report(failure)).filter(|report| report.code == codes::E0105) {
                    // The lexer has reported the characters alone.
                    let edits = report.helps.first().map_or(&[][..], |help| &help.edits);
                    let all = edits.iter().fold(report.span(), |all, edit| all.to(edit.span));
                    let is_inside = |span: Span| all.start <= span.start && span.end <= all.end;
                    problems.shown.retain(|problem| problem.code != codes::E0101 || !is_inside(problem.span()));
                    rewritten.add(&report, unit);
                    problems.shown.push(report);
                }
            }
            read = self.run(&mut self.builder(input), input.tokens, &recovery.patches_and_skips());
        }
        if let Err(failure) = read
            && problems.shown.iter().all(|problem| !problem.is_error())
        {
            problems.shown.push(report(&failure));
        }
        Some((empty(), vec![]))
    }

    /// Whether an error at a token follows from one that has been reported: by the lexer at that token or at the end of a
    /// text that was cut short, or by `brackets.rs` within the same statement.
    fn is_known(&self, input: &Input, at: usize, within: std::ops::Range<usize>, lexical: &[Span]) -> bool {
        let Input { tokens, touched, .. } = *input;
        let Some(token) = tokens.get(at) else { return input.cut.is_some() || near(tokens, within, touched) };
        let overlaps = |span: &Span| span.start < token.end.max(token.start + 1) && token.start < span.end.max(span.start + 1);
        token.tok == Tok::Bad || lexical.iter().any(overlaps) || near(tokens, within, touched)
    }

    /// Runs the grammar over patched tokens.
    fn run(&self, builder: &mut Builder, tokens: &[Token], patches: &[Patch]) -> Result<(), Failure> {
        let last = Cell::new(0usize);
        let patched = Patched::new(tokens, patches).map(|(at, token)| {
            last.set(at);
            (token.start, token.tok, token.end)
        });
        let input = std::iter::once((0, self.symbol, 0)).chain(patched);
        grammar::FileParser::new().parse(builder, input).map_err(|error| match error {
            ParseError::UnrecognizedToken { expected, .. } => Failure { at: last.get(), expected: TokSet::from_names(&expected) },
            ParseError::UnrecognizedEof { expected, .. } => Failure { at: tokens.len(), expected: TokSet::from_names(&expected) },
            ParseError::InvalidToken { .. } | ParseError::ExtraToken { .. } | ParseError::User { .. } => {
                Failure { at: last.get(), expected: TokSet::default() }
            }
        })
    }
}

/// Where reports with several edits write, by start. What does not fit there follows from the same mistake.
#[derive(Default)]
struct Rewritten(BTreeMap<u32, u32>);

impl Rewritten {
    /// Adds what a report writes within the statement or definition that it is about.
    fn add(&mut self, report: &Diagnostic, (start, end): (u32, u32)) {
        if let Some(help) = report.helps.first().filter(|help| help.edits.len() > 1) {
            let inside = help.edits.iter().filter(|edit| start <= edit.span.start && edit.span.end <= end);
            self.0.extend(inside.map(|edit| (edit.span.start, edit.span.end)));
        }
    }

    /// Whether an edit touches a token or the one before it.
    fn has(&self, tokens: &[Token], at: usize) -> bool {
        let before = at.checked_sub(1).map_or(0, |before| tokens[before].start);
        let end = tokens.get(at).map_or(u32::MAX, |token| token.end);
        self.0.range(..=end).next_back().is_some_and(|(_, &edit_end)| edit_end >= before)
    }
}

/// Whether one of the places lies within a range of tokens.
fn near(tokens: &[Token], within: std::ops::Range<usize>, places: &[u32]) -> bool {
    let end = tokens.get(within.end).or(tokens.last()).map_or(0, |token| token.end);
    let start = tokens.get(within.start).map_or(end, |token| token.start);
    let first = places.partition_point(|&place| place < start);
    places.get(first).is_some_and(|&place| place <= end)
}
