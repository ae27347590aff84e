//! What can be folded: functions, types, blocks, long calls and lists, comments, the metadata section.

use super::Cx;
use lsp_types::{FoldingRange, FoldingRangeKind, FoldingRangeParams};
use relayc_base::Span;
use relayc_syntax::ast::ExprKind;
use relayc_syntax::lexer::Lexed;
use relayc_syntax::walk::Node;

pub(super) fn ranges(cx: &mut Cx, _: FoldingRangeParams) -> Option<Vec<FoldingRange>> {
    let ast = cx.checked.ast();
    let mut spans: Vec<(Span, Option<FoldingRangeKind>)> = vec![];
    let mut left = ast.roots();
    while let Some(node) = left.pop() {
        let folds = match node {
            Node::Def(_) => true,
            Node::Expr(expr) => {
                matches!(
                    ast.exprs[expr].kind,
                    ExprKind::Call { .. } | ExprKind::Match { .. } | ExprKind::If { .. } | ExprKind::Fn(_)
                )
            }
            _ => false,
        };
        if folds {
            spans.push((node.span(ast), None));
        }
        node.children(ast, &mut left);
    }
    spans.extend(ast.metadata.map(|span| (span, Some(FoldingRangeKind::Region))));
    spans.extend(comments(cx, &cx.checked.analysis.lexed).into_iter().map(|span| (span, Some(FoldingRangeKind::Comment))));
    let mut ranges: Vec<FoldingRange> = spans
        .into_iter()
        .map(|(span, kind)| (cx.range(span), kind))
        .filter(|(range, _)| range.start.line < range.end.line)
        .map(|(range, kind)| FoldingRange {
            start_line: range.start.line,
            start_character: None,
            end_line: range.end.line,
            end_character: None,
            kind,
            collapsed_text: None,
        })
        .collect();
    ranges.sort_by_key(|range| (range.start_line, std::cmp::Reverse(range.end_line)));
    // Editors fold by lines: of constructs that share them one is enough.
    ranges.dedup_by_key(|range| range.start_line);
    Some(ranges)
}

/// Comments of several lines: long ones, and rows of short ones.
fn comments(cx: &Cx, lexed: &Lexed) -> Vec<Span> {
    let mut rows: Vec<Span> = vec![];
    for &span in &lexed.comments {
        let line = |offset| cx.checked.text.position(offset).line;
        let starts_line =
            cx.checked.text.text[..span.start as usize].rsplit('\n').next().is_some_and(|text| text.trim().is_empty());
        match rows.last_mut().filter(|row| starts_line && line(row.end) + 1 == line(span.start)) {
            Some(row) => row.end = span.end,
            // One behind code begins no row: what it would fold is code.
            None if starts_line || line(span.start) < line(span.end) => rows.push(span),
            None => {}
        }
    }
    rows
}
