//! Selections that grow from a place to the constructs around it.

use super::Cx;
use lsp_types::{SelectionRange, SelectionRangeParams};
use relayc_base::Span;

/// How far out a selection can grow. What is nested deeper grows to the outermost next: an answer nests as deep as its text, and
/// neither writing nor reading it must need a stack of any depth.
const MAX_DEPTH: usize = 100;

pub(super) fn ranges(cx: &mut Cx, params: SelectionRangeParams) -> Option<Vec<SelectionRange>> {
    Some(params.positions.iter().map(|&position| one(cx, cx.offset(position))).collect())
}

fn one(cx: &Cx, offset: u32) -> SelectionRange {
    let whole = cx.checked.whole();
    let ast = cx.checked.ast();
    let mut spans: Vec<Span> = vec![whole];
    let path: Vec<Span> = ast.path(offset).iter().map(|node| node.span(ast)).collect();
    let inner = path.len().saturating_sub(MAX_DEPTH);
    spans.extend(&path[inner..]);
    if let Some(name) = cx.checked.mention_at(offset) {
        spans.push(name.span);
    }
    let mut range: Option<SelectionRange> = None;
    let mut last = None;
    for span in spans {
        let fits = last.is_none_or(|last: Span| last.start <= span.start && span.end <= last.end && last != span);
        if fits {
            range = Some(SelectionRange { range: cx.range(span), parent: range.map(Box::new) });
            last = Some(span);
        }
    }
    range.unwrap_or(SelectionRange { range: cx.range(whole), parent: None })
}
