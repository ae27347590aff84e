//! The weights of a program, as parameters of its entry: those that `relayc.toml` gives it, or else those of a file beside it.
//!
//! Of the former no file is read: the names and types are those that the check of the text has compared with the parameters. Nothing has
//! named the latter, so they are looked at only where the user trusts the workspace and asks for actions; of the files only the names and
//! types of tensors are read.

use super::{Promise, Proposal, touch};
use crate::paths::path_of;
use crate::requests::Cx;
use relayc_base::diag::Edit;
use relayc_base::{FileId, Span, text};
use relayc_driver::config::Weights;
use relayc_ir::tensor::binary::Head;
use relayc_ir::types::{Dim, shape_text};
use relayc_syntax::ast::{Def, Func, Param};
use relayc_syntax::lexer;
use relayc_syntax::token::Tok;

/// Declares the weights that are no parameters yet, and writes the types of those that have none. Offered at the head of the entry.
pub(super) fn declare(cx: &Cx, within: Span) -> Vec<Proposal> {
    cx.rules.how.weights.iter().filter_map(|weights| declared(cx, &head(cx, within)?, weights, "")).collect()
}

/// As [`declare`], from each file of weights beside a program that has none.
pub(super) fn declare_beside(cx: &Cx, within: Span) -> Vec<Proposal> {
    let is_open = cx.client.trust == Some(true) && cx.rules.how.weights.is_none();
    let Some((entry, path)) = head(cx, within).zip(path_of(cx.uri)).filter(|_| is_open) else { return vec![] };
    let files = Weights::beside(&path).into_iter();
    files.filter_map(|(name, weights)| declared(cx, &entry, &weights, &format!(" of `{name}`"))).collect()
}

/// The entry's function, if its name or parameters are at a place.
fn head(cx: &Cx, within: Span) -> Option<Func> {
    let ast = cx.checked.ast();
    let (name, func) = ast.defs.iter().find_map(|def| match *def {
        Def::Func { name, func, .. } => {
            Some((name, func)).filter(|_| cx.checked.slice(name).get(1..) == Some(&*cx.rules.how.entry))
        }
        Def::Type { .. } => None,
    })?;
    let func = &ast.funcs[func];
    let params: &[Param] = ast.items(func.params);
    let head = Span { end: params.last().map_or(func.span.start, |last| last.span.end), ..name };
    touch(head, within).then(|| func.clone())
}

fn declared(cx: &Cx, func: &Func, weights: &Weights, of: &str) -> Option<Proposal> {
    let params: &[Param] = cx.checked.ast().items(func.params);
    let mut edits = vec![];
    let mut missing: Vec<String> = vec![];
    for (tensor, head) in weights.tensors() {
        let param = params.iter().find(|param| cx.checked.slice(param.name).get(1..) == Some(tensor));
        match param {
            Some(Param { name, attrs, ty: None, span }) => {
                let behind = if attrs.is_empty() { name } else { span };
                edits.push(Edit { span: behind.end_point(), text: format!(": {}", type_text(head)) });
            }
            None if is_name(tensor) => missing.push(format!("%{tensor}: {}", type_text(head))),
            _ => {}
        }
    }
    let n = edits.len() + missing.len();
    if n == 0 {
        return None;
    }
    if !missing.is_empty() {
        const IN_ONE_LINE: usize = 3;
        let between = if missing.len() > IN_ONE_LINE { ",\n  " } else { ", " };
        let text = missing.join(between);
        let edit = match params.last() {
            Some(last) => Edit { span: last.span.end_point(), text: format!("{between}{text}") },
            None => {
                let open = cx.checked.slice(func.span).find('(')? as u32 + func.span.start + 1;
                Edit { span: Span { start: open, end: open, ..func.span }, text }
            }
        };
        // A type behind the last parameter comes before those that follow it.
        match edits.iter_mut().find(|other| other.span == edit.span) {
            Some(other) => other.text.push_str(&edit.text),
            None => edits.push(edit),
        }
    }
    Some(Proposal::new(format!("Declare {}{of}", text::count(n, "weight")), Promise::Checks, edits))
}

/// Whether a tensor's name can be a variable's.
fn is_name(tensor: &str) -> bool {
    let text = format!("%{tensor}");
    let tokens = lexer::lex(FileId(0), &text).tokens;
    matches!(tokens.as_slice(), [one] if one.tok == Tok::Local && one.end as usize == text.len())
}

fn type_text(head: &Head) -> String {
    if head.shape.is_empty() {
        return head.dtype.to_string();
    }
    let dims: Vec<Dim> = head.shape.iter().map(|&dim| Dim::known(dim as i64)).collect();
    format!("Tensor[{}, {}]", shape_text(&dims), head.dtype)
}
