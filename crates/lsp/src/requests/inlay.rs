//! Inlay hints: the types that the text does not say, names at closing braces, and what lines take of the time once that was measured.
//!
//! A hint about a type is in pieces; where a dimension comes from is found when the client asks for that hint (`resolve`).

use super::commands::{self, Heat};
use super::{Cx, hover};
use crate::words;
use lsp_types::{
    InlayHint, InlayHintKind, InlayHintLabel, InlayHintLabelPart, InlayHintLabelPartTooltip, InlayHintParams, InlayHintTooltip,
};
use relayc_base::Span;
use relayc_base::text::shortened;
use relayc_check::resolve::Meaning;
use relayc_ir::types::Ty;
use relayc_syntax::ast::{Def, Func, Param, StmtKind};
use relayc_syntax::walk::Node;
use serde_json::{Value, json};

pub(super) fn hints(cx: &mut Cx, params: InlayHintParams) -> Option<Vec<InlayHint>> {
    let wanted = cx.span(params.range);
    let settings = cx.settings.inlay_hints.clone();
    let ast = cx.checked.ast();
    let mut hints = vec![];
    let mut left = ast.roots();
    while let Some(node) = left.pop() {
        let span = node.span(ast);
        if span.end < wanted.start || wanted.end < span.start {
            continue;
        }
        match node {
            Node::Stmt(stmt) if settings.types => match ast.stmts[stmt].kind {
                StmtKind::Let { name, ty: None, .. } | StmtKind::FreeVar { name, ty: None } | StmtKind::Graph { name, .. } => {
                    hints.extend(binding(cx, name));
                }
                _ => {}
            },
            Node::Param(Param { name, attrs, ty: None, span }) if settings.types => {
                let at = if attrs.is_empty() { name } else { span };
                hints.extend(typed(cx, name, at));
            }
            Node::Func(func) if settings.types => hints.extend(result(cx, &ast.funcs[func])),
            Node::Def(def) => {
                if let Def::Func { name, span, .. } = &ast.defs[def] {
                    hints.extend(brace(cx, *name, *span, settings.closing_brace_lines));
                }
            }
            _ => {}
        }
        node.children(ast, &mut left);
    }
    hints.extend(cx.heat.iter().filter_map(|heat| line(cx, heat)));
    hints.retain(|hint| {
        let at = cx.offset(hint.position);
        wanted.start <= at && at <= wanted.end
    });
    hints.sort_by_key(|hint| hint.position);
    Some(hints)
}

fn binding(cx: &Cx, name: Span) -> Option<InlayHint> {
    typed(cx, name, name)
}

/// The type of what is bound at `name`, shown behind `at`.
fn typed(cx: &Cx, name: Span, at: Span) -> Option<InlayHint> {
    let mention = cx.checked.mention_at(name.start).filter(|mention| mention.span == name)?;
    let ty = cx.checked.ty(mention.meaning).filter(|&ty| is_known(cx, ty))?;
    let axes = matches!(mention.meaning, Meaning::Graph { .. } | Meaning::Local(_));
    Some(hint(cx, at.end, ": ", ty, axes.then_some(name)))
}

/// The type of the result of a function that does not say it, behind its parameters.
fn result(cx: &Cx, func: &Func) -> Option<InlayHint> {
    if func.ret.is_some() {
        return None;
    }
    let ast = cx.checked.ast();
    let body = ast.exprs[func.body].span;
    // The brace before the body: what stands before it, blanks left out, is the end of the parameters.
    let before = cx.checked.text.text.get(func.span.start as usize..body.start as usize)?;
    let head = before[..before.rfind('{')?].trim_end();
    let at = func.span.start + head.len() as u32;
    let ty = cx.checked.func_at(func.span)?.ret.filter(|&ty| is_known(cx, ty))?;
    head.ends_with(')').then(|| hint(cx, at, " -> ", ty, None))
}

fn is_known(cx: &Cx, ty: Ty) -> bool {
    let types = &cx.checked.module().types;
    !types.has_error(ty) && !types.has_hole(ty)
}

/// A hint with a type; `of` is the name whose dimensions can be followed.
fn hint(cx: &Cx, at: u32, before: &str, ty: Ty, of: Option<Span>) -> InlayHint {
    let max = cx.settings.inlay_hints.max_length;
    let mut parts = vec![part(before.to_owned())];
    let mut n = 0;
    for piece in words::pieces(cx.checked, ty) {
        let left = max.saturating_sub(n);
        let text = shortened(&piece.text, left.max(1));
        let is_cut = text != piece.text;
        n += text.chars().count();
        parts.push(part(text));
        if is_cut || n >= max {
            break;
        }
    }
    InlayHint {
        position: cx.checked.text.position(at),
        label: InlayHintLabel::LabelParts(parts),
        kind: Some(InlayHintKind::TYPE),
        text_edits: None,
        tooltip: None,
        padding_left: None,
        padding_right: None,
        data: data(cx, of),
    }
}

/// What a client sends back to have a hint completed: which form of the text it is of, and the name whose dimensions it shows.
fn data(cx: &Cx, of: Option<Span>) -> Option<Value> {
    Some(json!({ "uri": cx.uri, "text": cx.checked.hash(), "name": of.map(|of| of.start) }))
}

fn part(value: String) -> InlayHintLabelPart {
    InlayHintLabelPart { value, tooltip: None, location: None, command: None }
}

/// The name of a long function at its closing brace.
fn brace(cx: &Cx, name: Span, whole: Span, min_lines: u32) -> Option<InlayHint> {
    let range = cx.range(whole);
    let is_long = min_lines > 0 && range.end.line - range.start.line >= min_lines;
    is_long.then(|| InlayHint {
        position: range.end,
        label: InlayHintLabel::String(cx.checked.slice(name).to_owned()),
        kind: None,
        text_edits: None,
        tooltip: None,
        padding_left: Some(true),
        padding_right: None,
        data: data(cx, None),
    })
}

/// What a line takes, at its end.
fn line(cx: &Cx, heat: &Heat) -> Option<InlayHint> {
    let range = commands::line(&cx.checked.text, heat.line);
    (range.end.line == heat.line).then(|| InlayHint {
        position: range.end,
        label: InlayHintLabel::String(heat.label()),
        kind: None,
        text_edits: None,
        tooltip: Some(InlayHintTooltip::String(heat.groups.join("\n"))),
        padding_left: Some(true),
        padding_right: None,
        data: data(cx, None),
    })
}

/// Completes a hint with where its dimensions come from.
pub(super) fn resolve(cx: &mut Cx, mut hint: InlayHint) -> InlayHint {
    let data = hint.data.as_ref().filter(|data| data.get("text").and_then(Value::as_u64) == Some(cx.checked.hash().into()));
    let name = data.and_then(|data| data.get("name")?.as_u64()).and_then(|name| u32::try_from(name).ok());
    let Some(mention) = name.and_then(|name| cx.checked.mention_at(name)) else { return hint };
    let expr = match mention.meaning {
        Meaning::Graph { node, .. } => Some(node),
        // Any mention that is an expression has the dimensions of the variable.
        meaning => cx.checked.mentions_of(meaning).find_map(|mention| cx.checked.expr_at(mention.span)),
    };
    let (Some(expr), Some(ty), InlayHintLabel::LabelParts(parts)) = (expr, cx.checked.ty(mention.meaning), &mut hint.label)
    else {
        return hint;
    };
    let pieces = words::pieces(cx.checked, ty);
    // The first part stands before the type.
    let n_axes = pieces.iter().filter(|piece| piece.axis.is_some()).count();
    let origins = hover::origins(cx, expr, n_axes);
    for (part, piece) in parts.iter_mut().skip(1).zip(pieces) {
        if let Some((span, text)) = piece.axis.and_then(|axis| origins[axis].clone()) {
            part.location = Some(cx.location(span));
            part.tooltip = Some(InlayHintLabelPartTooltip::String(text));
        }
    }
    hint
}
