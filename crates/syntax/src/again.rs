//! Reads the next form of a text: statements that have not changed are taken from the tree of the earlier form.
//!
//! The brackets of the text are mended in full; that is cheap and depends on far places. Then each run of definitions, or of statements
//! of a definition's body, that lies before all changes, or behind them, becomes one token, [`Tok::KnownDefs`] or [`Tok::Known`], for
//! which `build.rs` copies their nodes, moved. What is beside a change or a mistake stays tokens, because a mistake is explained and
//! mended by what is next to it. Where mending touches a run all the same, the text is read in full.
//!
//! Promises the tree and the problems of a parse from nothing: nodes are stored in the order in which they are read, so that those of a run
//! are a range of each store.

use super::ast::{
    Ast, Attr, AttrValue, AttrValueKind, Clause, Ctor, Def, Dim, DimKind, Expr, ExprId, ExprKind, Func, Param, Pat, PatId,
    PatKind, Pooled, Root, Stmt, StmtId, StmtKind, Type, TypeId, TypeKind, ValueId,
};
use super::lexer::same_ends;
use super::token::{Tok, Token};
use relayc_base::{Idx, Span};
use std::ops::Range;
use std::sync::Arc;

/// A text that was read, for reading its next form.
#[derive(Debug)]
pub struct Parsed {
    pub(crate) ast: Arc<Ast>,
    pub(crate) marks: Arc<Marks>,
    /// What the grammar read, before it was patched: brackets match.
    pub(crate) tokens: Tokens,
    /// The places of problems and of what was mended, in no order.
    pub(crate) doubtful: Vec<(u32, u32)>,
    /// How the text starts for the grammar.
    pub(crate) symbol: Tok,
}

impl Parsed {
    /// Whether so much less was understood than of an earlier form that the next form is better read from that one.
    pub fn is_poorer_than(&self, earlier: &Parsed) -> bool {
        self.ast.stmts.len() < earlier.ast.stmts.len() / 2
    }
}

/// Tokens of a text, without those at its ends that the grammar does not read.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    all: Arc<Vec<Token>>,
    range: Range<usize>,
}

impl Tokens {
    pub(crate) fn all(all: Arc<Vec<Token>>) -> Tokens {
        Tokens { range: 0..all.len(), all }
    }

    /// Leaves out so many at the start and at the end.
    pub(crate) fn leave_out(&mut self, n_first: usize, n_last: usize) {
        self.range = self.range.start + n_first..self.range.end - n_last;
    }
}

impl std::ops::Deref for Tokens {
    type Target = [Token];

    fn deref(&self) -> &[Token] {
        &self.all[self.range.clone()]
    }
}

/// How much there was of a tree after each of its statements and definitions.
#[derive(Clone, Default, Debug)]
pub(crate) struct Marks {
    pub(crate) stmts: Vec<Mark>,
    pub(crate) defs: Vec<Mark>,
}

/// The lengths of the stores of a tree at some time.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Mark {
    exprs: u32,
    stmts: u32,
    funcs: u32,
    types: u32,
    pats: u32,
    values: u32,
    expr_pool: u32,
    stmt_pool: u32,
    type_pool: u32,
    pat_pool: u32,
    value_pool: u32,
    name_pool: u32,
    param_pool: u32,
    attr_pool: u32,
    dim_pool: u32,
    clause_pool: u32,
    ctor_pool: u32,
}

impl Mark {
    pub(crate) fn of(ast: &Ast) -> Mark {
        fn pool<T: Pooled>(ast: &Ast) -> u32 {
            T::pool(ast).len() as u32
        }
        Mark {
            exprs: ast.exprs.len() as u32,
            stmts: ast.stmts.len() as u32,
            funcs: ast.funcs.len() as u32,
            types: ast.types.len() as u32,
            pats: ast.pats.len() as u32,
            values: ast.values.len() as u32,
            expr_pool: pool::<ExprId>(ast),
            stmt_pool: pool::<StmtId>(ast),
            type_pool: pool::<TypeId>(ast),
            pat_pool: pool::<PatId>(ast),
            value_pool: pool::<ValueId>(ast),
            name_pool: pool::<Span>(ast),
            param_pool: pool::<Param>(ast),
            attr_pool: pool::<Attr>(ast),
            dim_pool: pool::<Dim>(ast),
            clause_pool: pool::<Clause>(ast),
            ctor_pool: pool::<Ctor>(ast),
        }
    }

    /// What to add, with overflow, to numbers below `from` to have those below `self`.
    fn since(self, from: Mark) -> Mark {
        Mark {
            exprs: self.exprs.wrapping_sub(from.exprs),
            stmts: self.stmts.wrapping_sub(from.stmts),
            funcs: self.funcs.wrapping_sub(from.funcs),
            types: self.types.wrapping_sub(from.types),
            pats: self.pats.wrapping_sub(from.pats),
            values: self.values.wrapping_sub(from.values),
            expr_pool: self.expr_pool.wrapping_sub(from.expr_pool),
            stmt_pool: self.stmt_pool.wrapping_sub(from.stmt_pool),
            type_pool: self.type_pool.wrapping_sub(from.type_pool),
            pat_pool: self.pat_pool.wrapping_sub(from.pat_pool),
            value_pool: self.value_pool.wrapping_sub(from.value_pool),
            name_pool: self.name_pool.wrapping_sub(from.name_pool),
            param_pool: self.param_pool.wrapping_sub(from.param_pool),
            attr_pool: self.attr_pool.wrapping_sub(from.attr_pool),
            dim_pool: self.dim_pool.wrapping_sub(from.dim_pool),
            clause_pool: self.clause_pool.wrapping_sub(from.clause_pool),
            ctor_pool: self.ctor_pool.wrapping_sub(from.ctor_pool),
        }
    }
}

/// Statements, or definitions, that are taken from an earlier tree.
#[derive(Clone, Debug)]
struct Run {
    /// Its token: its index, and where it starts.
    at: usize,
    start: u32,
    /// Where its own tokens are in the whole text.
    full: Range<usize>,
    /// The nodes that are copied: what there was before it, and after it.
    from: Mark,
    to: Mark,
    stmts: Vec<StmtId>,
    defs: Range<usize>,
    /// How far it has moved, in bytes, with overflow.
    by: u32,
}

/// A text in which runs of statements are one token each.
pub(crate) struct Shortened {
    pub(crate) tokens: Vec<Token>,
    pub(crate) known: Known,
}

/// The runs behind the tokens.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    ast: Arc<Ast>,
    marks: Arc<Marks>,
    runs: Arc<Vec<Run>>,
}

/// Shorter runs are read again.
const MIN_RUN: usize = 8;

/// How many statements beside a change, a mistake or the ends of a body stay tokens.
const MARGIN: usize = 3;

/// The same for definitions, beside a change, a mistake or the ends of the text.
const DEF_MARGIN: usize = 1;

/// With more places of mistakes than these a text is read in full.
const MAX_DOUBTFUL: usize = 64;

/// The change from the tokens of an earlier form to those of today.
struct Change {
    /// The tokens of the earlier form that have gone.
    old: Range<usize>,
    /// How far what is behind has moved, in tokens and in bytes, with overflow.
    moved: usize,
    by: u32,
    /// Whether what opens in the changed text is closed there, and no definition begins in it.
    stays: bool,
}

impl Change {
    fn of(earlier: &Parsed, source: &str, tokens: &[Token]) -> Change {
        let (then, old) = (&earlier.ast.source, &earlier.tokens[..]);
        let by = (source.len() as u32).wrapping_sub(then.len() as u32);
        let (n_before, n_behind) = same_ends(then.as_bytes(), source.as_bytes());
        let is_before = |(a, b): &(&Token, &Token)| a == b && a.end as usize <= n_before;
        let before = old.iter().zip(tokens).take_while(is_before).count();
        let is_behind = |(a, b): &(&Token, &Token)| {
            let moved = Token { start: a.start.wrapping_add(by), end: a.end.wrapping_add(by), ..**a };
            moved == **b && source.len() - b.start as usize <= n_behind
        };
        let most = old.len().min(tokens.len()) - before;
        let behind = old.iter().rev().zip(tokens.iter().rev()).take(most).take_while(is_behind).count();
        let range = before..old.len() - behind;
        let stays = is_balanced(&old[range.clone()]) && is_balanced(&tokens[before..tokens.len() - behind]);
        Change { old: range, moved: tokens.len().wrapping_sub(old.len()), by, stays }
    }

    /// Leaves out those that have changed, with those beside them, or all from the first of them on.
    fn leave_out(&self, whole: &mut [bool], places: &[Option<Range<usize>>], margin: usize) {
        let changed = |place: &Option<Range<usize>>| place.as_ref().is_some_and(|place| place.end > self.old.start);
        let first = places.iter().position(changed).unwrap_or(places.len());
        let earlier = |place: &Option<Range<usize>>| place.as_ref().is_some_and(|place| place.start < self.old.end);
        let last = if self.stays { places.iter().rposition(earlier).map_or(0, |last| last + 1) } else { places.len() };
        if (first, last) != (places.len(), places.len()) {
            around(whole, first.min(last)..first.max(last), margin);
        }
    }

    /// The run of what had these tokens.
    fn run(&self, old: Range<usize>, from: Mark, to: Mark) -> Run {
        let is_behind = old.start >= self.old.end;
        let (moved, by) = if is_behind { (self.moved, self.by) } else { (0, 0) };
        let full = old.start.wrapping_add(moved)..old.end.wrapping_add(moved);
        Run { at: 0, start: 0, full, from, to, stmts: vec![], defs: 0..0, by }
    }
}

/// The tokens with runs of definitions and statements in place of their tokens; `None` if there are none.
pub(crate) fn shorten(earlier: &Parsed, source: &str, tokens: &[Token], symbol: Tok) -> Option<Shortened> {
    if earlier.symbol != symbol || earlier.doubtful.len() > MAX_DOUBTFUL {
        return None;
    }
    let change = Change::of(earlier, source, tokens);
    let mut runs: Vec<Run> = vec![];
    match earlier.ast.root {
        Root::Expr(expr) => body_runs(earlier, &change, expr, 0, &mut runs),
        Root::Module => def_runs(earlier, &change, &mut runs),
        Root::Error => {}
    }
    if runs.is_empty() {
        return None;
    }
    let mut short = Vec::with_capacity(tokens.len() / 4);
    let mut next = 0;
    for run in &mut runs {
        short.extend_from_slice(&tokens[next..run.full.start]);
        (run.at, run.start) = (short.len(), tokens[run.full.start].start);
        let tok = if run.defs.is_empty() { Tok::Known } else { Tok::KnownDefs };
        short.push(Token { tok, start: run.start, end: tokens[run.full.end - 1].end });
        next = run.full.end;
    }
    short.extend_from_slice(&tokens[next..]);
    let known = Known { ast: earlier.ast.clone(), marks: earlier.marks.clone(), runs: runs.into() };
    Some(Shortened { tokens: short, known })
}

/// The runs of a module: of definitions, and of statements in the others.
fn def_runs(earlier: &Parsed, change: &Change, runs: &mut Vec<Run>) {
    let (ast, old) = (&earlier.ast, &earlier.tokens[..]);
    let mut next = 0;
    let place = |def: &Def| {
        let span = def.span();
        let start = from(old, next, |token| token.start < span.start);
        let end = start + old[start..].partition_point(|token| token.end <= span.end);
        next = end;
        let is_whole = start < end && old[start].start == span.start && old[end - 1].end == span.end;
        is_whole.then_some(start..end)
    };
    let places: Vec<Option<Range<usize>>> = ast.defs.iter().map(place).collect();
    let mut whole = vec![true; places.len()];
    around(&mut whole, 0..0, DEF_MARGIN);
    around(&mut whole, places.len()..places.len(), DEF_MARGIN);
    for &(start, end) in &earlier.doubtful {
        let from = ast.defs.partition_point(|def| def.span().end < start);
        let to = ast.defs.partition_point(|def| def.span().start <= end);
        around(&mut whole, from..to.max(from), DEF_MARGIN);
    }
    change.leave_out(&mut whole, &places, DEF_MARGIN);
    let mut at = 0;
    while at < places.len() {
        let n = n_joined(&whole, &places, at);
        if at > 0
            && n > 0
            && let (Some(first), Some(last)) = (&places[at], &places[at + n - 1])
        {
            let (from, to) = (earlier.marks.defs[at - 1], earlier.marks.defs[at + n - 1]);
            runs.push(Run { defs: at..at + n, ..change.run(first.start..last.end, from, to) });
        } else if let Def::Func { func, .. } = ast.defs[at] {
            body_runs(earlier, change, ast.funcs[func].body, places[at].as_ref().map_or(0, |place| place.start), runs);
        }
        at += n.max(1);
    }
}

/// The runs of statements of a body, whose tokens do not stand before `next`.
fn body_runs(earlier: &Parsed, change: &Change, body: ExprId, next: usize, runs: &mut Vec<Run>) {
    let (ast, old) = (&earlier.ast, &earlier.tokens[..]);
    let ExprKind::Seq { stmts, .. } = ast.exprs[body].kind else { return };
    let stmts = ast.items(stmts);
    let start = from(old, next, |token| token.start < ast.exprs[body].span.start);
    let mut next = start;
    let place = |&stmt| {
        let place = place_of(ast.stmts[stmt], old, next);
        next = place.as_ref().map_or(next, |place: &Range<usize>| place.end);
        place
    };
    let places: Vec<Option<Range<usize>>> = stmts.iter().map(place).collect();
    let mut whole = vec![true; stmts.len()];
    around(&mut whole, 0..0, MARGIN);
    around(&mut whole, stmts.len()..stmts.len(), MARGIN);
    for &(start, end) in &earlier.doubtful {
        let from = stmts.partition_point(|&stmt| ast.stmts[stmt].span.end < start);
        let to = stmts.partition_point(|&stmt| ast.stmts[stmt].span.start <= end);
        around(&mut whole, from..to.max(from), MARGIN);
    }
    // With the bracket that opens it.
    let is_behind = start.checked_sub(1).is_some_and(|open| change.old.end <= open);
    if !is_behind {
        change.leave_out(&mut whole, &places, MARGIN);
    }
    let mut at = 0;
    while at < stmts.len() {
        let n = n_joined(&whole, &places, at);
        if n >= MIN_RUN
            && at > 0
            && let (Some(first), Some(last)) = (&places[at], &places[at + n - 1])
        {
            let (from, to) = (earlier.marks.stmts[stmts[at - 1].index()], earlier.marks.stmts[stmts[at + n - 1].index()]);
            runs.push(Run { stmts: stmts[at..at + n].to_vec(), ..change.run(first.start..last.end, from, to) });
        }
        at += n.max(1);
    }
}

/// The first token, not before `at`, that does not stand before a place; it is near.
fn from(tokens: &[Token], at: usize, is_before: impl Fn(&Token) -> bool) -> usize {
    let mut n = 1;
    while tokens.get(at + n).is_some_and(&is_before) {
        n *= 2;
    }
    let end = tokens.len().min(at + n);
    at + tokens[at.min(end)..end].partition_point(is_before)
}

/// The tokens of a binding that ends with its `;`; `None` for another statement. None of them stand before `next`.
fn place_of(stmt: Stmt, tokens: &[Token], next: usize) -> Option<Range<usize>> {
    if !matches!(stmt.kind, StmtKind::Graph { .. } | StmtKind::Let { .. }) {
        return None;
    }
    let first = from(tokens, next, |token| token.start < stmt.span.start);
    // A bracket that was put in may be at the same place.
    let is_start = |at: &usize| tokens[*at].start == stmt.span.start && tokens[*at].end > tokens[*at].start;
    let start = (first..tokens.len().min(first + MARGIN)).find(is_start)?;
    let end = from(tokens, start, |token| token.end <= stmt.span.end);
    (end > start && tokens[end - 1].tok == Tok::Semi && tokens[end - 1].end == stmt.span.end).then_some(start..end)
}

/// How many from `at` on are whole and stand together, with nothing between.
fn n_joined(whole: &[bool], places: &[Option<Range<usize>>], at: usize) -> usize {
    let joins = |k: usize| {
        k == at || places[k - 1].as_ref().zip(places[k].as_ref()).is_some_and(|(before, here)| before.end == here.start)
    };
    (at..whole.len()).take_while(|&k| whole[k] && places[k].is_some() && joins(k)).count()
}

/// Keeps some and those beside them as tokens.
fn around(whole: &mut [bool], kept: Range<usize>, margin: usize) {
    let end = (kept.end + margin).min(whole.len());
    whole[kept.start.saturating_sub(margin).min(end)..end].fill(false);
}

fn is_balanced(tokens: &[Token]) -> bool {
    let mut open = 0usize;
    for token in tokens {
        match token.tok {
            Tok::LParen | Tok::LBracket | Tok::LBrace => open += 1,
            Tok::RParen | Tok::RBracket | Tok::RBrace if open == 0 => return false,
            Tok::RParen | Tok::RBracket | Tok::RBrace => open -= 1,
            Tok::Def | Tok::Type | Tok::Extern => return false,
            _ => {}
        }
    }
    open == 0
}

impl Known {
    /// The index of a token of the shortened text in the whole one.
    pub(crate) fn full_index(&self, at: usize) -> usize {
        let n = self.runs.partition_point(|run| run.at < at);
        match n.checked_sub(1).map(|last| &self.runs[last]) {
            Some(run) => run.full.end + (at - run.at - 1),
            None => at,
        }
    }

    /// Whether a run stands beside a place between tokens.
    pub(crate) fn is_near(&self, at: usize) -> bool {
        let next = self.runs.partition_point(|run| run.at + 3 < at);
        self.runs.get(next).is_some_and(|run| run.at <= at + 3)
    }

    /// Makes room for as much as there was in the earlier tree.
    pub(crate) fn make_room(&self, into: &mut Ast, marks: &mut Marks) {
        into.make_room(&self.ast);
        marks.stmts.reserve(self.marks.stmts.len() + 16);
    }

    /// Copies the run whose token starts at a place; these are its statements.
    pub(crate) fn copy(&self, start: u32, into: &mut Ast, marks: &mut Marks) -> Vec<StmtId> {
        let Ok(run) = self.runs.binary_search_by_key(&start, |run| run.start) else { return vec![] };
        let run = &self.runs[run];
        let (from, to) = (run.from, run.to);
        let shift = Shift { by: Mark::of(into).since(from), bytes: run.by };
        let old = &*self.ast;
        let moved = |mark: &Mark| mark.since(Mark::default().since(shift.by));
        marks.stmts.extend(self.marks.stmts[from.stmts as usize..to.stmts as usize].iter().map(moved));
        marks.defs.extend(self.marks.defs[run.defs.clone()].iter().map(moved));
        into.defs.extend(old.defs[run.defs.clone()].iter().map(|def| shift.def(def)));
        let range = |from: u32, to: u32| from as usize..to as usize;
        for expr in &old.exprs.iter().as_slice()[range(from.exprs, to.exprs)] {
            into.exprs.push(Expr { span: shift.span(expr.span), kind: shift.expr(expr.kind) });
        }
        for stmt in &old.stmts.iter().as_slice()[range(from.stmts, to.stmts)] {
            into.stmts.push(Stmt { span: shift.span(stmt.span), kind: shift.stmt(stmt.kind) });
        }
        for func in &old.funcs.iter().as_slice()[range(from.funcs, to.funcs)] {
            into.funcs.push(shift.func(func));
        }
        for ty in &old.types.iter().as_slice()[range(from.types, to.types)] {
            into.types.push(Type { span: shift.span(ty.span), kind: shift.ty(ty.kind) });
        }
        for pat in &old.pats.iter().as_slice()[range(from.pats, to.pats)] {
            into.pats.push(Pat { span: shift.span(pat.span), kind: shift.pat(pat.kind) });
        }
        for value in &old.values.iter().as_slice()[range(from.values, to.values)] {
            into.values.push(AttrValue { span: shift.span(value.span), kind: shift.value(value.kind) });
        }
        let by = shift.by;
        shift.pool(old, into, range(from.expr_pool, to.expr_pool), Shift::e);
        shift.pool(old, into, range(from.stmt_pool, to.stmt_pool), |shift, id: StmtId| shift.id(id, by.stmts));
        shift.pool(old, into, range(from.type_pool, to.type_pool), |shift, id: TypeId| shift.id(id, by.types));
        shift.pool(old, into, range(from.pat_pool, to.pat_pool), |shift, id: PatId| shift.id(id, by.pats));
        shift.pool(old, into, range(from.value_pool, to.value_pool), |shift, id: ValueId| shift.id(id, by.values));
        shift.pool(old, into, range(from.name_pool, to.name_pool), |shift, name: Span| shift.span(name));
        shift.pool(old, into, range(from.param_pool, to.param_pool), Shift::param);
        shift.pool(old, into, range(from.attr_pool, to.attr_pool), Shift::attr);
        shift.pool(old, into, range(from.dim_pool, to.dim_pool), Shift::dim);
        shift.pool(old, into, range(from.clause_pool, to.clause_pool), Shift::clause);
        shift.pool(old, into, range(from.ctor_pool, to.ctor_pool), Shift::ctor);
        run.stmts.iter().map(|&stmt| shift.id(stmt, by.stmts)).collect()
    }
}

/// How far nodes move: their numbers in each store, and their places.
struct Shift {
    by: Mark,
    bytes: u32,
}

impl Shift {
    fn span(&self, span: Span) -> Span {
        Span { start: span.start.wrapping_add(self.bytes), end: span.end.wrapping_add(self.bytes), ..span }
    }

    fn id<I: Idx>(&self, id: I, by: u32) -> I {
        I::from_usize((id.index() as u32).wrapping_add(by) as usize)
    }

    fn pool<T: Pooled>(&self, old: &Ast, into: &mut Ast, range: Range<usize>, moved: impl Fn(&Shift, T) -> T) {
        let items = T::pool(old)[range].iter().map(|&item| moved(self, item));
        T::pool_mut(into).extend(items);
    }

    fn def(&self, def: &Def) -> Def {
        match *def {
            Def::Func { span, name, func } => {
                Def::Func { span: self.span(span), name: self.span(name), func: self.id(func, self.by.funcs) }
            }
            Def::Type { span, name, params, ctors, is_extern } => Def::Type {
                span: self.span(span),
                name: self.span(name),
                params: params.moved(self.by.name_pool),
                ctors: ctors.moved(self.by.ctor_pool),
                is_extern,
            },
        }
    }

    fn ctor(&self, ctor: Ctor) -> Ctor {
        let inputs = ctor.inputs.map(|inputs| inputs.moved(self.by.type_pool));
        Ctor { span: self.span(ctor.span), name: self.span(ctor.name), inputs }
    }

    fn e(&self, id: ExprId) -> ExprId {
        self.id(id, self.by.exprs)
    }

    fn expr(&self, kind: ExprKind) -> ExprKind {
        match kind {
            ExprKind::Error
            | ExprKind::Int
            | ExprKind::Float
            | ExprKind::Bool(_)
            | ExprKind::Local
            | ExprKind::Global
            | ExprKind::Graph
            | ExprKind::Name
            | ExprKind::Meta => kind,
            ExprKind::Tuple(fields) => ExprKind::Tuple(fields.moved(self.by.expr_pool)),
            ExprKind::Paren(inner) => ExprKind::Paren(self.e(inner)),
            ExprKind::Proj { tuple, index } => ExprKind::Proj { tuple: self.e(tuple), index: self.span(index) },
            ExprKind::Call { callee, args, attrs } => ExprKind::Call {
                callee: self.e(callee),
                args: args.moved(self.by.expr_pool),
                attrs: attrs.moved(self.by.attr_pool),
            },
            ExprKind::Binary { op, op_span, lhs, rhs } => {
                ExprKind::Binary { op, op_span: self.span(op_span), lhs: self.e(lhs), rhs: self.e(rhs) }
            }
            ExprKind::Fn(func) => ExprKind::Fn(self.id(func, self.by.funcs)),
            ExprKind::If { cond, then_branch, else_branch } => {
                ExprKind::If { cond: self.e(cond), then_branch: self.e(then_branch), else_branch: self.e(else_branch) }
            }
            ExprKind::Block(inner) => ExprKind::Block(self.e(inner)),
            ExprKind::Seq { stmts, value } => ExprKind::Seq { stmts: stmts.moved(self.by.stmt_pool), value: self.e(value) },
            ExprKind::Match { scrutinee, clauses, total } => {
                ExprKind::Match { scrutinee: self.e(scrutinee), clauses: clauses.moved(self.by.clause_pool), total }
            }
            ExprKind::RefNew(value) => ExprKind::RefNew(self.e(value)),
            ExprKind::RefRead(cell) => ExprKind::RefRead(self.e(cell)),
            ExprKind::RefWrite { cell, value } => ExprKind::RefWrite { cell: self.e(cell), value: self.e(value) },
        }
    }

    fn stmt(&self, kind: StmtKind) -> StmtKind {
        let ty = |ty: Option<TypeId>| ty.map(|ty| self.id(ty, self.by.types));
        match kind {
            StmtKind::Error => kind,
            StmtKind::Graph { name, value } => StmtKind::Graph { name: self.span(name), value: self.e(value) },
            StmtKind::Let { name, ty: of, value } => StmtKind::Let { name: self.span(name), ty: ty(of), value: self.e(value) },
            StmtKind::FreeVar { name, ty: of } => StmtKind::FreeVar { name: self.span(name), ty: ty(of) },
            StmtKind::Expr(value) => StmtKind::Expr(self.e(value)),
        }
    }

    fn func(&self, func: &Func) -> Func {
        Func {
            span: self.span(func.span),
            type_params: func.type_params.moved(self.by.name_pool),
            params: func.params.moved(self.by.param_pool),
            attrs: func.attrs.moved(self.by.attr_pool),
            ret: func.ret.map(|ret| self.id(ret, self.by.types)),
            body: self.e(func.body),
        }
    }

    fn ty(&self, kind: TypeKind) -> TypeKind {
        match kind {
            TypeKind::Error | TypeKind::Infer | TypeKind::Meta => kind,
            TypeKind::Tensor { shape, dtype } => {
                TypeKind::Tensor { shape: shape.moved(self.by.dim_pool), dtype: self.span(dtype) }
            }
            TypeKind::Tuple(fields) => TypeKind::Tuple(fields.moved(self.by.type_pool)),
            TypeKind::Fn { type_params, params, ret } => TypeKind::Fn {
                type_params: type_params.moved(self.by.name_pool),
                params: params.moved(self.by.type_pool),
                ret: self.id(ret, self.by.types),
            },
            TypeKind::Name { name, args } => {
                TypeKind::Name { name: self.span(name), args: args.map(|args| args.moved(self.by.type_pool)) }
            }
            TypeKind::Ref(of) => TypeKind::Ref(self.id(of, self.by.types)),
        }
    }

    fn pat(&self, kind: PatKind) -> PatKind {
        match kind {
            PatKind::Error | PatKind::Wildcard => kind,
            PatKind::Local { name, ty } => PatKind::Local { name: self.span(name), ty: ty.map(|ty| self.id(ty, self.by.types)) },
            PatKind::Ctor { name, fields } => {
                PatKind::Ctor { name: self.span(name), fields: fields.map(|fields| fields.moved(self.by.pat_pool)) }
            }
            PatKind::Tuple(fields) => PatKind::Tuple(fields.moved(self.by.pat_pool)),
        }
    }

    fn value(&self, kind: AttrValueKind) -> AttrValueKind {
        match kind {
            AttrValueKind::Str | AttrValueKind::Error => kind,
            AttrValueKind::List(values) => AttrValueKind::List(values.moved(self.by.value_pool)),
            AttrValueKind::Paren(value) => AttrValueKind::Paren(self.id(value, self.by.values)),
            AttrValueKind::Expr(expr) => AttrValueKind::Expr(self.e(expr)),
        }
    }

    fn param(&self, param: Param) -> Param {
        Param {
            span: self.span(param.span),
            name: self.span(param.name),
            attrs: param.attrs.moved(self.by.attr_pool),
            ty: param.ty.map(|ty| self.id(ty, self.by.types)),
        }
    }

    fn attr(&self, attr: Attr) -> Attr {
        Attr { span: self.span(attr.span), key: self.span(attr.key), value: self.id(attr.value, self.by.values) }
    }

    fn dim(&self, dim: Dim) -> Dim {
        let kind = match dim.kind {
            DimKind::Size(size) => DimKind::Size(self.e(size)),
            kind => kind,
        };
        Dim { span: self.span(dim.span), kind }
    }

    fn clause(&self, clause: Clause) -> Clause {
        Clause { span: self.span(clause.span), pattern: self.id(clause.pattern, self.by.pats), body: self.e(clause.body) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::{lex, lex_again};
    use crate::{Dialect, parse_again};
    use relayc_base::FileId;

    /// Functions of many bindings, some of which nest.
    fn text(n_defs: usize, n_stmts: usize) -> String {
        let mut text = String::from("#[version = \"0.0.5\"]\ntype L { N, C(int32, L) }\n");
        for def in 0..n_defs {
            text.push_str(&format!("def @f{def}(%x: Tensor[(1, 64), float32], %w) -> Tensor[(1, 64), float32] {{\n"));
            for i in 0..n_stmts {
                let value = match i % 9 {
                    0 => "nn.conv2d(%x, %w, padding=[1, 1], data_layout=\"NCHW\", channels=-4)".to_owned(),
                    1 => "(%x, meta[relay.Constant][0], 1.5f).1".to_owned(),
                    2 => "{ let %y: Tensor[(2, ?), float32] = %x; -3 * %y + %x * 2f }".to_owned(),
                    3 => "fn [A](%z {a=1}: A, %u) -> (A, int32) { if (%u) { %z } else { (%z, 1) } }".to_owned(),
                    4 => "match (%x) { C(%h, N) => { %h }, (_, %t: L) => ref(%t), _ => 0 }".to_owned(),
                    5 => "@f0(ref_read(%x), True)".to_owned(),
                    _ => "add(%x, %w)".to_owned(),
                };
                match i % 3 {
                    0 => text.push_str(&format!("  %{i} = {value};\n")),
                    1 => text.push_str(&format!("  let %v{i} = {value}; // {i}\n")),
                    _ => text.push_str(&format!("  let %v{i}: _ = {value};\n")),
                }
            }
            text.push_str("  add(%x, %w)\n}\n");
        }
        text
    }

    /// Numbers without a pattern.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) as usize) % n
        }
    }

    const PIECES: [&str; 42] = [
        "%",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ",",
        ";",
        ";",
        "let %a = ",
        "\n  let %a =\n",
        "\n  %0 = add(\n",
        "nn.relu(%x)",
        "add(",
        "\n",
        "// ",
        "/*",
        "\"",
        "def @g() { 1 }\n",
        "%0 = ",
        "ü",
        ": Tensor[(2), float32]",
        "match (%x) { ",
        "=> ",
        "if (%x) { ",
        "fn (%a) { %a }",
        "else ",
        "free_var %q: L;\n",
        "%x; ",
        "type ",
        "def ",
        "=",
        ".",
        "*/",
        "--",
        "1.5e",
        "\r",
        "meta[relay.Constant][",
        "\n@h = primfn(",
        "\nMETADATA:",
        "#[metadata]",
    ];

    fn parsed(source: &str, earlier: Option<&Parsed>) -> (String, Option<Parsed>) {
        let (ast, diagnostics, parsed) = parse_again(FileId(0), source.into(), Dialect::Today, lex(FileId(0), source), earlier);
        (format!("{ast:?}\n{diagnostics:?}"), parsed)
    }

    /// How many tokens are left of those of a text.
    fn n_left(earlier: &Parsed, source: &str) -> usize {
        let (_, fresh) = parsed(source, None);
        let Some(Parsed { tokens, symbol, .. }) = fresh else { return usize::MAX };
        shorten(earlier, source, &tokens, symbol).map_or(tokens.len(), |short| short.tokens.len())
    }

    #[test]
    fn edits_leave_the_tree_of_a_fresh_parse() {
        let n_sessions = std::env::var("RELAYC_SESSIONS").ok().map_or(60, |n| n.parse().expect("a number"));
        let (mut n_forms, mut n_short) = (0, 0);
        for seed in 0..n_sessions {
            let mut random = Random(seed * 7919 + 17);
            // Few definitions of many statements, or many of few.
            let mut source = match random.below(2) {
                0 => text(1 + random.below(3), 20 + random.below(40)),
                _ => text(8 + random.below(8), 2 + random.below(12)),
            };
            let mut earlier = parsed(&source, None).1;
            let mut whole = (source.clone(), lex(FileId(0), &source));
            for _ in 0..8 {
                let n_changes = 1 + random.below(8) / 7;
                for _ in 0..n_changes {
                    let start = source.floor_char_boundary(random.below(source.len() + 1));
                    let end = match random.below(8) {
                        0 => source.ceil_char_boundary((start + random.below(400)).min(source.len())),
                        1 | 2 => source.ceil_char_boundary((start + random.below(4)).min(source.len())),
                        _ => start,
                    };
                    source.replace_range(start..end, PIECES[random.below(PIECES.len())]);
                }
                let lexed = (lex(FileId(0), &source), lex_again(FileId(0), &source, Some((&whole.0, &whole.1))));
                assert_eq!(format!("{:?}", lexed.0), format!("{:?}", lexed.1), "seed {seed}: {source}");
                if lexed.1.has_no_problem() {
                    whole = (source.clone(), lexed.1);
                }
                let (fresh, now) = (parsed(&source, None).0, parsed(&source, earlier.as_ref()));
                n_forms += 1;
                n_short +=
                    usize::from(earlier.as_ref().is_some_and(|earlier| n_left(earlier, &source) < earlier.tokens.len() / 2));
                assert!(fresh == now.0, "seed {seed}: {source}\nfresh {fresh}\n\n  now {}", now.0);
                earlier = match (now.1, earlier) {
                    (Some(now), Some(before)) if now.is_poorer_than(&before) => Some(before),
                    (now, before) => now.or(before),
                };
            }
        }
        assert!(n_short * 4 > n_forms, "{n_short} of {n_forms} forms were read in part");
    }

    #[test]
    fn what_has_not_changed_is_not_read() {
        let source = text(100, 60);
        let (tree, earlier) = parsed(&source, None);
        assert_eq!(tree.lines().last(), Some("[]"), "the text is right");
        let earlier = earlier.expect("it was read");
        let n_tokens = earlier.tokens.len();
        for change in ["let %b = nn.relu(%x);\n  ", "let %b = nn.re", "%", "/* a */", "let %b = nn.relu("] {
            let at = source.len() / 2 + source[source.len() / 2..].find("let %v").expect("a binding");
            let mut changed = source.clone();
            changed.insert_str(at, change);
            let n_left = n_left(&earlier, &changed);
            assert!(n_left < n_tokens / 20, "after `{change}` {n_left} of {n_tokens} tokens");
        }
    }
}
