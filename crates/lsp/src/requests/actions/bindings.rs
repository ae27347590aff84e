//! How values are bound: a `let` put in the place of its variable, an expression taken out into a `let`, graph variables as `let`
//! and back.
//!
//! A value is not put into a function that may be called more often, and not doubled. The order of effects is kept: a value with
//! effects that would move makes a program that does not compute the same, which is not offered.

use super::{Promise, Proposal, touch};
use crate::requests::Cx;
use crate::requests::names::Names;
use relayc_base::Span;
use relayc_base::diag::Edit;
use relayc_check::resolve::Meaning;
use relayc_ir::types::Ty;
use relayc_syntax::ast::{ExprId, ExprKind, StmtId, StmtKind};
use relayc_syntax::walk::Node;

/// Puts the value of a `let` where its variable is used.
pub(super) fn inline(cx: &Cx, within: Span) -> Vec<Proposal> {
    inlined(cx, within.start).into_iter().collect()
}

fn inlined(cx: &Cx, at: u32) -> Option<Proposal> {
    let ast = cx.checked.ast();
    let mention = cx.checked.mention_at(at).filter(|mention| matches!(mention.meaning, Meaning::Local(_)))?;
    let binder = cx.checked.binder(mention.meaning)?;
    let (stmt, value) = ast.path(binder.start).into_iter().rev().find_map(|node| match node {
        Node::Stmt(stmt) => match ast.stmts[stmt].kind {
            StmtKind::Let { name, value, .. } if name == binder => Some((stmt, value)),
            _ => None,
        },
        _ => None,
    })?;
    let uses: Vec<Span> = cx.checked.mentions_of(mention.meaning).map(|use_| use_.span).filter(|&use_| use_ != binder).collect();
    use ExprKind::{Bool, Call, Float, Global, Graph, Int, Local, Meta, Name, Paren, Proj, Tuple};
    let kind = ast.exprs[value].kind;
    let is_atom = matches!(kind, Local | Global | Graph | Int | Float | Bool(_));
    if uses.is_empty() || (uses.len() > 1 && !is_atom) {
        return None;
    }
    let text = cx.checked.slice(ast.exprs[value].span).to_owned();
    let mut edits = vec![removal(cx, ast.stmts[stmt].span)];
    for use_ in uses {
        let path = ast.path(use_.start);
        let is_inside = |node: &Node| node.span(ast).start > ast.stmts[stmt].span.start;
        if !is_atom && path.iter().any(|node| matches!(node, Node::Func(_)) && is_inside(node)) {
            return None;
        }
        let parents = path.iter().rev().filter_map(|node| match *node {
            Node::Expr(expr) => Some(expr),
            _ => None,
        });
        let parent = parents.skip(1).map(|expr| ast.exprs[expr].kind).next();
        let is_primary = is_atom || matches!(kind, Call { .. } | Meta | Name | Paren(_) | Proj { .. } | Tuple(_));
        let needs_more = match parent {
            Some(Proj { .. }) => !(is_atom || matches!(kind, Paren(_) | Tuple(_))),
            Some(Call { callee, .. }) => ast.exprs[callee].span == use_ && !is_atom,
            Some(ExprKind::Binary { .. }) => !is_primary,
            _ => false,
        };
        edits.push(Edit { span: use_, text: if needs_more { format!("({text})") } else { text.clone() } });
    }
    Some(Proposal::new(format!("Inline `{}`", cx.checked.slice(binder)), Promise::Same, edits))
}

/// Leaves a statement out, with its line if it has one of its own.
fn removal(cx: &Cx, span: Span) -> Edit {
    let text = &cx.checked.text.text;
    let (mut start, mut end) = (span.start as usize, span.end as usize);
    let rest = text[end..].trim_start();
    if !text[..end].ends_with(';') && rest.starts_with(';') {
        end = text.len() - rest.len() + 1;
    }
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let blanks = text[end..].len() - text[end..].trim_start_matches([' ', '\t', '\r']).len();
    let ends_line = text[end + blanks..].starts_with('\n');
    if ends_line && text[line_start..start].trim().is_empty() {
        start = line_start;
        end += blanks + 1;
    } else {
        end += blanks;
    }
    Edit { span: Span { start: start as u32, end: end as u32, ..span }, text: String::new() }
}

/// Takes the selected expression out into a `let` before the statement that it is in.
pub(super) fn extract(cx: &Cx, within: Span) -> Vec<Proposal> {
    extracted(cx, within).into_iter().collect()
}

fn extracted(cx: &Cx, within: Span) -> Option<Proposal> {
    let ast = cx.checked.ast();
    let selected = cx.checked.slice(within);
    let start = within.start + (selected.len() - selected.trim_start().len()) as u32;
    let span = Span { start, end: start + selected.trim().len() as u32, ..within };
    if span.start >= span.end {
        return None;
    }
    let path = ast.path(span.start);
    let at = path.iter().position(|node| matches!(node, Node::Expr(_)) && node.span(ast) == span)?;
    let Node::Expr(expr) = path[at] else { return None };
    use ExprKind::{Error, Global, Graph, Local, Name, Seq};
    if matches!(ast.exprs[expr].kind, Error | Global | Graph | Local | Name | Seq { .. }) {
        return None;
    }
    let is_no_value = |node: &Node| matches!(node, Node::Attr(_) | Node::Type(_) | Node::Dim(_));
    let typed = cx.checked.expr_at(span).map(|expr| cx.checked.module().ty(expr)).filter(|&ty| ty != Ty::ERROR);
    if path[..at].iter().any(is_no_value) || typed.is_none() {
        return None;
    }
    // The innermost place around it where statements may stand.
    let before = (0..=at).rev().find_map(|index| {
        let Node::Expr(inner) = path[index] else { return None };
        let is_block = match index.checked_sub(1).map(|above| path[above]) {
            None | Some(Node::Func(_) | Node::Clause(_)) => true,
            Some(Node::Expr(above)) => match ast.exprs[above].kind {
                ExprKind::If { then_branch, else_branch, .. } => inner == then_branch || inner == else_branch,
                ExprKind::Block(_) => true,
                _ => false,
            },
            Some(_) => false,
        };
        let first = match ast.exprs[inner].kind {
            Seq { .. } => path.get(index + 1)?.span(ast).start,
            _ => ast.exprs[inner].span.start,
        };
        is_block.then_some(first)
    })?;
    let text = &cx.checked.text.text;
    let name = Names::of(text, &cx.checked.analysis.lexed.tokens).fresh(&called(cx, expr));
    let line = &text[text[..before as usize].rfind('\n').map_or(0, |at| at + 1)..before as usize];
    let break_ = if line.trim().is_empty() { format!("\n{line}") } else { " ".to_owned() };
    let binding = format!("let {name} = {};{break_}", cx.checked.slice(span));
    let edits = match before == span.start {
        true => vec![Edit { span, text: format!("{binding}{name}") }],
        false => {
            let place = Span { start: before, end: before, ..span };
            vec![Edit { span: place, text: binding }, Edit { span, text: name.clone() }]
        }
    };
    Some(Proposal::new(format!("Extract into `let {name}`"), Promise::Same, edits))
}

/// What a value is called after: the operator or function that gives it.
fn called(cx: &Cx, mut expr: ExprId) -> String {
    let ast = cx.checked.ast();
    loop {
        expr = match ast.exprs[expr].kind {
            ExprKind::Paren(inner) => inner,
            ExprKind::Proj { tuple, .. } => tuple,
            ExprKind::Call { callee, .. } => {
                let name = cx.checked.slice(ast.exprs[callee].span).trim_start_matches(['@', '%']);
                return name.chars().filter(|c| !c.is_whitespace()).collect();
            }
            ExprKind::Binary { op, .. } => return op.operator().0.to_owned(),
            _ => return String::new(),
        };
    }
}

/// The statement whose name is at a place, the statements beside it, and the place of all of them with the value.
fn siblings(cx: &Cx, within: Span) -> Option<(StmtId, Vec<StmtId>, Span)> {
    let ast = cx.checked.ast();
    let path = ast.path(within.start);
    let at = path.iter().rposition(|node| matches!(node, Node::Stmt(_)))?;
    let (Node::Stmt(stmt), Node::Expr(seq)) = (path[at], *path.get(at.checked_sub(1)?)?) else { return None };
    let (StmtKind::Let { name, .. } | StmtKind::Graph { name, .. }) = ast.stmts[stmt].kind else { return None };
    let ExprKind::Seq { stmts, .. } = ast.exprs[seq].kind else { return None };
    let head = Span { start: ast.stmts[stmt].span.start, ..name };
    touch(head, within).then(|| (stmt, ast.items(stmts).to_vec(), ast.exprs[seq].span))
}

/// Gives one graph variable a name: `%7 = nn.conv2d(…);` becomes `let %conv = nn.conv2d(…);`.
pub(super) fn name_number(cx: &Cx, within: Span) -> Vec<Proposal> {
    let name = |(stmt, _, seq): (StmtId, Vec<StmtId>, Span)| {
        let (edits, names) = as_lets(cx, &[stmt], seq)?;
        let (old, new) = names.first()?;
        Some(Proposal::new(format!("Name `{old}` `{new}`"), Promise::Same, edits))
    };
    siblings(cx, within).and_then(name).into_iter().collect()
}

/// Turns all graph variables beside the one at a place into `let`.
pub(super) fn to_let(cx: &Cx, within: Span) -> Vec<Proposal> {
    let all = |(stmt, stmts, seq): (StmtId, Vec<StmtId>, Span)| {
        if !matches!(cx.checked.ast().stmts[stmt].kind, StmtKind::Graph { .. }) {
            return None;
        }
        let (edits, names) = as_lets(cx, &stmts, seq)?;
        let title = format!("Turn {} graph bindings into `let`", names.len());
        (names.len() > 1).then(|| Proposal::new(title, Promise::Same, edits))
    };
    siblings(cx, within).and_then(all).into_iter().collect()
}

/// Edits, and the old and new names that they are about.
type Renamed = (Vec<Edit>, Vec<(String, String)>);

/// The edits that make `let` of graph bindings. None if one is mentioned elsewhere.
fn as_lets(cx: &Cx, stmts: &[StmtId], seq: Span) -> Option<Renamed> {
    let ast = cx.checked.ast();
    let mut fresh = Names::of(&cx.checked.text.text, &cx.checked.analysis.lexed.tokens);
    let (mut edits, mut names) = (vec![], vec![]);
    for &stmt in stmts {
        let StmtKind::Graph { name, value } = ast.stmts[stmt].kind else { continue };
        let new = fresh.fresh(&called(cx, value));
        let mention = cx.checked.mention_at(name.start).filter(|mention| mention.span == name)?;
        for use_ in cx.checked.mentions_of(mention.meaning) {
            if use_.span.start < seq.start || seq.end < use_.span.end {
                return None;
            }
            let text = if use_.span == name { format!("let {new}") } else { new.clone() };
            edits.push(Edit { span: use_.span, text });
        }
        names.push((cx.checked.slice(name).to_owned(), new));
    }
    (!names.is_empty()).then_some((edits, names))
}

/// Turns all `let`s beside the one at a place that have no type into graph bindings.
pub(super) fn to_graph(cx: &Cx, within: Span) -> Vec<Proposal> {
    as_graph(cx, within).into_iter().collect()
}

fn as_graph(cx: &Cx, within: Span) -> Option<Proposal> {
    let ast = cx.checked.ast();
    let (stmt, stmts, _) = siblings(cx, within)?;
    if !matches!(ast.stmts[stmt].kind, StmtKind::Let { ty: None, .. }) {
        return None;
    }
    let numbers = ast.stmts.iter().filter_map(|stmt| match stmt.kind {
        StmtKind::Graph { name, .. } => cx.checked.slice(name).trim_start_matches('%').parse::<u32>().ok(),
        _ => None,
    });
    let mut next = numbers.max().map_or(Some(0), |last| last.checked_add(1))?;
    let (mut edits, mut n) = (vec![], 0);
    for &stmt in &stmts {
        let StmtKind::Let { name, ty: None, .. } = ast.stmts[stmt].kind else { continue };
        let mention = cx.checked.mention_at(name.start).filter(|mention| mention.span == name)?;
        let new = format!("%{next}");
        for use_ in cx.checked.mentions_of(mention.meaning) {
            let start = if use_.span == name { ast.stmts[stmt].span.start } else { use_.span.start };
            edits.push(Edit { span: Span { start, ..use_.span }, text: new.clone() });
        }
        next = next.checked_add(1)?;
        n += 1;
    }
    let title =
        if n == 1 { "Turn the `let` into a graph binding".to_owned() } else { format!("Turn {n} `let`s into graph bindings") };
    Some(Proposal::new(title, Promise::Same, edits))
}
