//! Clauses for the constructors that a `match` does not cover.

use super::{Promise, Proposal};
use crate::requests::{Cx, diagnostics};
use relayc_base::Span;
use relayc_base::diag::{Edit, codes};
use relayc_base::text::count;
use relayc_ir::types::{Ty, TyData, dims_of};
use relayc_ir::{CtorId, Module};
use relayc_syntax::ast::{Clause, ExprId, ExprKind, PatKind};
use relayc_syntax::walk::Node;

/// Adds a clause for each constructor that no clause takes whole. Its value is zero, or a constructor without inputs.
pub(super) fn fill(cx: &Cx, within: Span) -> Vec<Proposal> {
    filled(cx, within).into_iter().collect()
}

fn filled(cx: &Cx, within: Span) -> Option<Proposal> {
    let ast = cx.checked.ast();
    let (expr, scrutinee, clauses) = ast.path(within.start).into_iter().rev().find_map(|node| match node {
        Node::Expr(expr) => match ast.exprs[expr].kind {
            ExprKind::Match { scrutinee, clauses, total: true } => Some((expr, scrutinee, ast.items(clauses))),
            _ => None,
        },
        _ => None,
    })?;
    let span = ast.exprs[expr].span;
    let is_unmatched =
        |d: &&relayc_base::diag::Diagnostic| d.code == codes::E0311 && span.start <= d.span().start && d.span().end <= span.end;
    let diagnostic = cx.checked.analysis.program.diagnostics.iter().find(is_unmatched)?;
    let module = cx.checked.module();
    let ty = |mut expr: ExprId| {
        while let ExprKind::Paren(inner) = ast.exprs[expr].kind {
            expr = inner;
        }
        cx.checked.expr_at(ast.exprs[expr].span).map(|expr| module.ty(expr)).filter(|&ty| ty != Ty::ERROR)
    };
    let TyData::Adt { name, .. } = module.types.data(ty(scrutinee)?) else { return None };
    let adt = module.adts.iter().find(|adt| adt.name == *name)?;
    // Without a clause nothing says what the value is.
    let value = value_text(module, clauses.iter().find_map(|clause| ty(clause.body)).or_else(|| ty(expr))?)?;
    let missing: Vec<CtorId> =
        adt.ctors.iter().copied().filter(|&ctor| !is_covered(cx, clauses, &module.ctors[ctor].name)).collect();
    if missing.is_empty() {
        return None;
    }
    let text = &cx.checked.text.text;
    let close = span.end - 1;
    let line_start = text[..close as usize].rfind('\n').map_or(0, |at| at + 1);
    let own_line = text[line_start..close as usize].trim().is_empty();
    let last_end = clauses.last()?.span.end;
    let has_comma =
        text[last_end as usize..close as usize].trim_start().starts_with(',') || text[..last_end as usize].ends_with(',');
    let mut arms = String::new();
    for &ctor in &missing {
        let ctor = &module.ctors[ctor];
        let fields: Vec<String> = (1..=ctor.inputs.len()).map(|i| format!("%a{i}")).collect();
        let fields = if fields.is_empty() { String::new() } else { format!("({})", fields.join(", ")) };
        let arm = format!("{}{fields} => {{ {value} }},", ctor.name);
        let indent = &text[line_start..close as usize];
        arms.push_str(&if own_line { format!("{indent}  {arm}\n") } else { format!("{arm} ") });
    }
    let mut edits = vec![];
    if !has_comma {
        edits.push(Edit { span: Span { start: last_end, end: last_end, ..span }, text: ",".to_owned() });
    }
    let at = if own_line { line_start as u32 } else { close };
    let blank = if own_line || text[..close as usize].ends_with(char::is_whitespace) { "" } else { " " };
    edits.push(Edit { span: Span { start: at, end: at, ..span }, text: format!("{blank}{arms}") });
    Some(Proposal {
        diagnostics: Some(vec![diagnostics::one(cx, diagnostic)]),
        ..Proposal::new(format!("Add {}", count(missing.len(), "clause")), Promise::Mends, edits)
    })
}

/// Whether a clause takes every value of a constructor.
fn is_covered(cx: &Cx, clauses: &[Clause], ctor: &str) -> bool {
    let ast = cx.checked.ast();
    let takes_all = |kind: PatKind| matches!(kind, PatKind::Wildcard | PatKind::Local { .. });
    clauses.iter().any(|clause| match ast.pats[clause.pattern].kind {
        PatKind::Ctor { name, fields } => {
            let fields = fields.map_or(&[][..], |fields| ast.items(fields));
            cx.checked.slice(name) == ctor && fields.iter().all(|&field| takes_all(ast.pats[field].kind))
        }
        kind => takes_all(kind),
    })
}

/// A value of a type, to be written over: zeros, or a constructor without inputs.
fn value_text(module: &Module, ty: Ty) -> Option<String> {
    // A tuple of tuples has no end worth writing.
    if let TyData::Tuple(fields) = module.types.data(ty) {
        let texts: Option<Vec<String>> = fields.iter().map(|&field| one_text(module, field)).collect();
        let texts = texts?;
        return Some(if texts.len() == 1 { format!("({},)", texts[0]) } else { format!("({})", texts.join(", ")) });
    }
    one_text(module, ty)
}

fn one_text(module: &Module, ty: Ty) -> Option<String> {
    match module.types.data(ty) {
        TyData::Tensor { shape, dtype } if shape.is_empty() => Some(match dtype.to_string().as_str() {
            "bool" => "False".to_owned(),
            "int32" => "0".to_owned(),
            "float32" => "0f".to_owned(),
            name => format!("cast(0, dtype=\"{name}\")"),
        }),
        TyData::Tensor { shape, dtype } => {
            let dims: Vec<String> = dims_of(shape)?.iter().map(i64::to_string).collect();
            Some(format!("zeros(shape=[{}], dtype=\"{dtype}\")", dims.join(", ")))
        }
        TyData::Adt { name, .. } => {
            let adt = module.adts.iter().find(|adt| adt.name == *name)?;
            let ctors = adt.ctors.iter().map(|&ctor| &module.ctors[ctor]);
            ctors.filter(|ctor| ctor.inputs.is_empty()).map(|ctor| ctor.name.to_string()).next()
        }
        _ => None,
    }
}
