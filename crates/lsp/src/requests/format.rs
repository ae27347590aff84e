//! Formatting: `relayc fmt` as edits of the lines that differ, so that places in the rest stay where they are.

use super::Cx;
use lsp_types::{DocumentFormattingParams, DocumentOnTypeFormattingParams, DocumentRangeFormattingParams, TextEdit};
use relayc_base::Span;
use relayc_base::diff;

pub(super) fn whole(cx: &mut Cx, _: DocumentFormattingParams) -> Option<Vec<TextEdit>> {
    edits(cx, cx.checked.whole())
}

pub(super) fn range(cx: &mut Cx, params: DocumentRangeFormattingParams) -> Option<Vec<TextEdit>> {
    edits(cx, cx.span(params.range))
}

/// Formats the lines of what was just ended: of the binding before `;`, of the block before `}`.
pub(super) fn on_type(cx: &mut Cx, params: DocumentOnTypeFormattingParams) -> Option<Vec<TextEdit>> {
    let at = cx.offset(params.text_document_position.position);
    let ast = cx.checked.ast();
    let typed = at.checked_sub(params.ch.len() as u32)?;
    let around = ast.path(typed).iter().rev().map(|node| node.span(ast)).find(|span| span.start < typed)?;
    edits(cx, around)
}

/// The edits that format the lines of a place; none for a text with syntax errors.
fn edits(cx: &Cx, within: Span) -> Option<Vec<TextEdit>> {
    let text = &cx.checked.text.text;
    let formatted = cx.rules.style.format(cx.checked.whole().file, text).ok()?;
    let formatted = with_breaks_of(text, formatted);
    let changes = diff::line_changes(text, &formatted);
    let touches = |bytes: &std::ops::Range<usize>| bytes.start <= within.end as usize && within.start as usize <= bytes.end;
    let wanted = changes.into_iter().filter(|(bytes, _)| touches(bytes));
    let edit = |(bytes, new_text): (std::ops::Range<usize>, &str)| {
        let span = Span::new(within.file, bytes.start, bytes.end);
        TextEdit { range: cx.range(span), new_text: new_text.to_owned() }
    };
    Some(wanted.map(edit).collect())
}

/// A formatted text with the line breaks of the document if all of them are `\r\n`: they are the editor's to choose, and no line differs
/// by them.
fn with_breaks_of(text: &str, formatted: String) -> String {
    let is_crlf = text.contains("\r\n") && !text.replace("\r\n", "").contains('\n');
    if is_crlf { formatted.replace("\r\n", "\n").replace('\n', "\r\n") } else { formatted }
}
