//! The attributes of a call that have their defaults: written down, or left out.

use super::{Promise, Proposal, touch};
use crate::requests::{Cx, completion};
use relayc_base::diag::Edit;
use relayc_base::{Span, text};
use relayc_ir::attrs::{AttrValue, Kind};
use relayc_ops::OpDef;
use relayc_syntax::ast::{Attr, ExprId, ExprKind};
use relayc_syntax::walk::Node;

/// A call of an operator that takes attributes.
struct Call {
    expr: ExprId,
    def: &'static OpDef,
    /// The places of its operands and attributes.
    items: Vec<Span>,
    attrs: Vec<Attr>,
}

/// The innermost call around a place, if it is one of an operator.
fn call(cx: &Cx, within: Span) -> Option<Call> {
    let ast = cx.checked.ast();
    ast.path(within.start).into_iter().rev().find_map(|node| {
        let Node::Expr(expr) = node else { return None };
        let ExprKind::Call { callee, args, attrs } = ast.exprs[expr].kind else { return None };
        let def = completion::operator(cx.checked.slice(ast.exprs[callee].span));
        let attrs = ast.items(attrs).to_vec();
        let args = ast.items(args).iter().map(|&arg| ast.exprs[arg].span);
        let items = args.chain(attrs.iter().map(|attr| attr.span)).collect();
        Some(def.filter(|_| touch(ast.exprs[expr].span, within)).map(|def| Call { expr, def, items, attrs }))
    })?
}

/// Writes the attributes that have their defaults.
pub(super) fn give(cx: &Cx, within: Span) -> Vec<Proposal> {
    let Some(call) = call(cx, within) else { return vec![] };
    let is_given = |name: &str| call.attrs.iter().any(|attr| cx.checked.slice(attr.key) == name);
    let missing = call.def.written_fields().iter().filter(|field| !is_given(field.name));
    let texts: Vec<String> = missing
        .filter_map(|field| {
            let value = field.default?();
            // What text writes as a float is one of 32 bits.
            let suffix = if matches!(field.kind, Kind::Float | Kind::OptFloat) && value != AttrValue::None { "f" } else { "" };
            Some(format!("{}={}{suffix}", field.name, relayc_ops::literal(&value)))
        })
        .collect();
    let (Some(last), false) = (call.items.last(), texts.is_empty()) else { return vec![] };
    let edit = Edit { span: last.end_point(), text: format!(", {}", texts.join(", ")) };
    let title = format!("Write {} of `{}`", text::count(texts.len(), "default"), call.def.name);
    vec![Proposal::new(title, Promise::Same, vec![edit])]
}

/// Leaves the attributes out that have their defaults.
pub(super) fn leave_out(cx: &Cx, within: Span) -> Vec<Proposal> {
    let Some(call) = call(cx, within) else { return vec![] };
    let is_default = |attr: &Attr| -> bool {
        let name = cx.checked.slice(attr.key);
        let index = call.def.attrs.and_then(|schema| schema.position(name));
        let (Some(index), Some(expr)) = (index, cx.checked.expr_at(cx.checked.ast().exprs[call.expr].span)) else { return false };
        let default = call.def.attrs.and_then(|schema| schema.fields[index].default);
        let value = cx.checked.module().call_attrs(expr).get(index);
        default.zip(value).is_some_and(|(default, value)| value.same(&default()))
    };
    let (mut edits, mut names) = (vec![], vec![]);
    let n_args = call.items.len() - call.attrs.len();
    // The end of what is kept before, and whether there is anything.
    let mut kept = n_args.checked_sub(1).map(|last| call.items[last].end);
    let mut previous = kept;
    for attr in &call.attrs {
        if is_default(attr) {
            names.push(format!("`{}`", cx.checked.slice(attr.span)));
            let start = previous.unwrap_or(attr.span.start);
            edits.push(Edit { span: Span { start, end: attr.span.end, ..attr.span }, text: String::new() });
        } else {
            // Before the first that is kept stands no comma.
            if kept.is_none() && previous.is_some() {
                let start = previous.unwrap_or(attr.span.start);
                edits.push(Edit { span: Span { start, end: attr.span.start, ..attr.span }, text: String::new() });
            }
            kept = Some(attr.span.end);
        }
        previous = Some(attr.span.end);
    }
    let title = match names.as_slice() {
        [] => return vec![],
        [one] => format!("Leave out {}, the default", text::shortened(one, 60)),
        _ => format!("Leave out {}", text::count(names.len(), "default")),
    };
    vec![Proposal::new(title, Promise::Same, edits)]
}
