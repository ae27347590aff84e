//! Hovers: the type of what stands at a place, where its dimensions come from, what it costs, and the page of an operator.

use super::Cx;
use crate::words;
use lsp_types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind};
use relayc_base::Span;
use relayc_base::text::{self, shortened};
use relayc_check::resolve::Meaning;
use relayc_ir::attrs::OpId;
use relayc_ir::types::{Ty, TyData};
use relayc_ir::{ExprId, ExprKind};
use relayc_syntax::ast::{self, StmtKind};
use relayc_syntax::walk::Node;

/// The longest type shown.
const MAX_TYPE: usize = 1000;

/// The largest rank whose dimensions are explained one by one.
const MAX_AXES: usize = 8;

/// A hover in the making: code, then paragraphs.
#[derive(Default)]
struct Page {
    code: String,
    lines: Vec<String>,
    /// What follows under a rule, Markdown.
    manual: Option<String>,
}

pub(super) fn hover(cx: &mut Cx, params: HoverParams) -> Option<Hover> {
    let at = cx.offset(params.text_document_position_params.position);
    let (span, page) = named(cx, at).or_else(|| attribute(cx, at)).or_else(|| value(cx, at))?;
    Some(Hover { contents: HoverContents::Markup(markup(cx, page)), range: Some(cx.range(span)) })
}

fn markup(cx: &Cx, page: Page) -> MarkupContent {
    let Page { code, lines, manual } = page;
    if cx.client.markdown {
        let mut value = format!("```relay\n{code}\n```\n");
        for line in lines {
            value.push_str(&format!("\n{line}\n"));
        }
        value.extend(manual.map(|manual| format!("\n---\n\n{manual}")));
        return MarkupContent { kind: MarkupKind::Markdown, value };
    }
    let lines = lines.iter().map(|line| format!("\n{}", line.replace('`', "")));
    let value = code + &lines.collect::<String>() + &manual.map_or(String::new(), |manual| format!("\n\n{manual}"));
    MarkupContent { kind: MarkupKind::PlainText, value }
}

/// What a name means.
fn named(cx: &mut Cx, at: u32) -> Option<(Span, Page)> {
    let mention = cx.checked.mention_at(at)?;
    let name = cx.checked.slice(mention.span).to_owned();
    let mut page = Page::default();
    match mention.meaning {
        Meaning::Local(_) | Meaning::Graph { .. } => {
            let ty = cx.checked.ty(mention.meaning);
            page.code = format!("{name}: {}", ty.map_or("_".to_owned(), |ty| words::short(cx.checked, ty, MAX_TYPE)));
            if let Some(ty) = ty {
                let expr = match mention.meaning {
                    Meaning::Graph { node, .. } => Some(node),
                    _ => cx.checked.expr_at(mention.span),
                };
                explain(cx, &mut page, ty, expr);
            }
            let n_uses = cx.checked.mentions_of(mention.meaning).count().saturating_sub(1);
            page.lines.push(text::count(n_uses, "use"));
        }
        Meaning::Global(global) => {
            let module = cx.checked.module();
            let func = &module.funcs[module.globals[global].func];
            let params: Vec<String> = func.params.iter().map(|&var| parameter(cx, var)).collect();
            let ret = cx.checked.ty(mention.meaning).or(func.ret);
            let ret = ret.map_or("_".to_owned(), |ty| words::short(cx.checked, ty, MAX_TYPE));
            page.code = format!("def {name}({}) -> {ret}", params.join(", "));
        }
        Meaning::Type(adt) => {
            let module = cx.checked.module();
            let ctors = module.adts[adt].ctors.iter().map(|&ctor| constructor(cx, ctor));
            let params: Vec<String> = module.adts[adt].params.iter().map(|&ty| module.types.text(ty)).collect();
            let params = if params.is_empty() { String::new() } else { format!("[{}]", params.join(", ")) };
            page.code = format!("type {name}{params} {{ {} }}", ctors.collect::<Vec<_>>().join(", "));
        }
        Meaning::Ctor(ctor) => {
            page.code = constructor(cx, ctor);
            let module = cx.checked.module();
            page.lines.push(format!("a constructor of `{}`", module.adts[module.ctors[ctor].adt].name));
        }
        Meaning::TypeParam(_) => {
            page.code = name;
            page.lines.push("a type parameter".to_owned());
        }
        Meaning::Size(_) => {
            page.code = name;
            page.lines.push("a size that a call decides".to_owned());
        }
        Meaning::Operator(op) => operator(cx, &mut page, op, mention.span),
    }
    Some((mention.span, page))
}

fn parameter(cx: &Cx, var: relayc_ir::VarId) -> String {
    let var = &cx.checked.module().vars[var];
    let ty = var.checked_ty.or(var.ty).map_or("_".to_owned(), |ty| words::short(cx.checked, ty, MAX_TYPE));
    format!("%{}: {ty}", var.name)
}

fn constructor(cx: &Cx, ctor: relayc_ir::CtorId) -> String {
    let module = cx.checked.module();
    let ctor = &module.ctors[ctor];
    let inputs: Vec<String> = ctor.inputs.iter().map(|&ty| words::short(cx.checked, ty, MAX_TYPE)).collect();
    if inputs.is_empty() { ctor.name.to_string() } else { format!("{}({})", ctor.name, inputs.join(", ")) }
}

/// The call whose operator stands at a place: its result, what its attributes are, and the operator's page.
fn operator(cx: &mut Cx, page: &mut Page, op: OpId, name: Span) {
    let def = relayc_ops::table().def(op);
    page.code = def.signature();
    if let Some(call) = call_of(cx, name) {
        if let Some(ty) = cx.checked.module().expr_tys.get(call).copied().flatten() {
            page.code.push_str(&format!("\n: {}", words::short(cx.checked, ty, MAX_TYPE)));
            explain(cx, page, ty, Some(call));
        }
        attributes(cx, page, call, op);
    }
    page.manual = Some(def.page());
}

/// The values of the attributes of a call, defaults too.
fn attributes(cx: &Cx, page: &mut Page, call: ExprId, op: OpId) {
    let module = cx.checked.module();
    let ExprKind::Call { attrs: Some(attrs), .. } = module.exprs[call].kind else { return };
    let Some(schema) = relayc_ops::table().def(op).attrs else { return };
    let attrs = &module.attrs[attrs];
    let values = schema.fields.iter().enumerate().zip(attrs.values.iter()).map(|((index, field), value)| {
        let text = relayc_ops::literal(value);
        let origin = if attrs.span(index).is_none() { " (default)" } else { "" };
        format!("`{}={}`{origin}", field.name, shortened(&text, 80))
    });
    let values: Vec<String> = values.collect();
    if !values.is_empty() {
        page.lines.push(format!("attributes: {}", values.join(", ")));
    }
}

/// The call of an operator whose name or sign this is.
fn call_of(cx: &Cx, name: Span) -> Option<ExprId> {
    let ast = cx.checked.ast();
    // A sign may touch the operand before it, which a path to its place leads into: the call is around both.
    let around = [name.start, name.end].into_iter().flat_map(|at| ast.path(at));
    let call = around.into_iter().find_map(|node| {
        let Node::Expr(expr) = node else { return None };
        let own = match ast.exprs[expr].kind {
            ast::ExprKind::Call { callee, .. } => ast.exprs[callee].span,
            ast::ExprKind::Binary { op_span, .. } => op_span,
            _ => return None,
        };
        (own == name).then_some(ast.exprs[expr].span)
    })?;
    cx.checked.expr_at(call)
}

/// Where the dimensions of a type come from, its bytes, and the cost of the expression.
fn explain(cx: &mut Cx, page: &mut Page, ty: Ty, expr: Option<ExprId>) {
    let module = cx.checked.module();
    if let (Some(expr), TyData::Tensor { shape, .. }) = (expr, module.types.data(ty)) {
        let dims: Vec<String> = shape.iter().map(|&dim| module.types.symbols.text_of(dim)).collect();
        let found = origins(cx, expr, dims.len().min(MAX_AXES));
        let line = |span| cx.range(span).start.line + 1;
        let origins: Vec<String> = dims
            .iter()
            .zip(found)
            .filter_map(|(dim, origin)| origin.map(|(span, text)| format!("- `{dim}`: {text}, line {}", line(span))))
            .collect();
        if !origins.is_empty() {
            page.lines.push(origins.join("\n"));
        }
    }
    let mut facts = vec![];
    facts.extend(words::bytes(cx.checked, ty).map(text::bytes));
    let macs = expr.and_then(|expr| relayc_ops::call::macs(cx.checked.module(), expr)).filter(|&macs| macs > 0);
    facts.extend(macs.map(|macs| format!("{} multiply-adds", words::count_text(macs))));
    if !facts.is_empty() {
        page.lines.push(facts.join(", "));
    }
}

/// The places that decided the first dimensions of a tensor, in words.
pub(super) fn origins(cx: &mut Cx, expr: ExprId, n_axes: usize) -> Vec<Option<(Span, String)>> {
    let analysis = &mut cx.checked.analysis;
    let found = analysis.origins.find(&mut analysis.program.module, relayc_ops::table(), expr, n_axes);
    found.into_iter().map(|origin| origin.filter(|(span, _)| !span.is_none())).collect()
}

/// An attribute: its documentation, kind and default.
fn attribute(cx: &Cx, at: u32) -> Option<(Span, Page)> {
    let ast = cx.checked.ast();
    let path = ast.path(at);
    let (index, attr) = path.iter().enumerate().rev().find_map(|(index, node)| match node {
        Node::Attr(attr) if at <= attr.key.end => Some((index, *attr)),
        _ => None,
    })?;
    let Node::Expr(call) = *path.get(index.checked_sub(1)?)? else { return None };
    let op = cx.checked.module().called_op(cx.checked.expr_at(ast.exprs[call].span)?)?;
    let def = relayc_ops::table().def(op);
    let key = cx.checked.slice(attr.key);
    let field = def.attrs?.fields.iter().find(|field| field.name == key)?;
    let mut page = Page { code: format!("{key}: {}", field.kind.name()), ..Page::default() };
    page.lines.push(format!("{} of `{}`: {}", field.kind.words(), def.name, field.doc.trim()));
    page.lines.push(match field.default {
        Some(default) => {
            format!("default: `{}`", relayc_ops::literal(&default()))
        }
        None => "required".to_owned(),
    });
    Some((attr.key, page))
}

/// The type of the innermost expression at a place; between the parts of a binding, what it binds.
fn value(cx: &mut Cx, at: u32) -> Option<(Span, Page)> {
    let ast = cx.checked.ast();
    let mut span = None;
    for node in ast.path(at).into_iter().rev() {
        match node {
            Node::Stmt(stmt) => match ast.stmts[stmt].kind {
                StmtKind::Let { name, .. } | StmtKind::Graph { name, .. } | StmtKind::FreeVar { name, .. } => {
                    let whole = ast.stmts[stmt].span;
                    return named(cx, name.start).map(|(_, page)| (whole, page));
                }
                StmtKind::Error | StmtKind::Expr(_) => return None,
            },
            // Between statements: the type of what follows is not of what stands there.
            Node::Expr(expr) if matches!(ast.exprs[expr].kind, ast::ExprKind::Seq { .. }) => return None,
            Node::Expr(expr) if cx.checked.expr_at(ast.exprs[expr].span).is_some() => {
                span = Some(ast.exprs[expr].span);
                break;
            }
            _ => {}
        }
    }
    let span = span?;
    let expr = cx.checked.expr_at(span)?;
    let ty = cx.checked.module().expr_tys.get(expr).copied().flatten()?;
    let text = shortened(cx.checked.slice(span).lines().next().unwrap_or(""), 60);
    let mut page = Page { code: format!("{text}: {}", words::short(cx.checked, ty, MAX_TYPE)), ..Page::default() };
    explain(cx, &mut page, ty, Some(expr));
    Some((span, page))
}
