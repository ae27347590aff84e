//! The other mentions of a name, where it is bound and where it is read.

use super::Cx;
use lsp_types::{DocumentHighlight, DocumentHighlightKind, DocumentHighlightParams};

pub(super) fn highlights(cx: &mut Cx, params: DocumentHighlightParams) -> Option<Vec<DocumentHighlight>> {
    let at = cx.offset(params.text_document_position_params.position);
    let meaning = cx.checked.mention_at(at)?.meaning;
    let binder = cx.checked.binder(meaning);
    let highlight = |span| DocumentHighlight {
        range: cx.range(span),
        kind: Some(if Some(span) == binder { DocumentHighlightKind::WRITE } else { DocumentHighlightKind::READ }),
    };
    Some(cx.checked.mentions_of(meaning).map(|mention| highlight(mention.span)).collect())
}
