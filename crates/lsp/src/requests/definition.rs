//! Where a name is bound, where the type of a value is defined, and where a name is used.

use super::Cx;
use lsp_types::{GotoDefinitionParams, GotoDefinitionResponse, Location, LocationLink, ReferenceParams};
use relayc_base::Span;
use relayc_ir::types::TyData;
use rustc_hash::FxHashSet;

pub(super) fn definition(cx: &mut Cx, params: GotoDefinitionParams) -> Option<GotoDefinitionResponse> {
    let at = cx.offset(params.text_document_position_params.position);
    let mention = cx.checked.mention_at(at)?;
    let binder = cx.checked.binder(mention.meaning)?;
    Some(response(cx, mention.span, &[binder]))
}

/// The definitions of the data types in the type of a value.
pub(super) fn type_definition(cx: &mut Cx, params: GotoDefinitionParams) -> Option<GotoDefinitionResponse> {
    let at = cx.offset(params.text_document_position_params.position);
    let mention = cx.checked.mention_at(at)?;
    let module = cx.checked.module();
    let mut left = vec![cx.checked.ty(mention.meaning)?];
    let mut places = vec![];
    // A type in memory is as large as its distinct parts; written out it may have no end.
    let mut seen = FxHashSet::default();
    while let Some(ty) = left.pop() {
        if !seen.insert(ty) {
            continue;
        }
        if let TyData::Adt { name, .. } = module.types.data(ty) {
            places.extend(module.adts.iter().find(|adt| adt.name == *name).map(|adt| adt.span));
        }
        module.types.children(ty, &mut left);
    }
    places.sort_by_key(|place| place.start);
    places.dedup();
    (!places.is_empty()).then(|| response(cx, mention.span, &places))
}

fn response(cx: &Cx, from: Span, to: &[Span]) -> GotoDefinitionResponse {
    if cx.client.links {
        let link = |&place: &Span| LocationLink {
            origin_selection_range: Some(cx.range(from)),
            target_uri: cx.uri.clone(),
            target_range: cx.range(place),
            target_selection_range: cx.range(place),
        };
        return GotoDefinitionResponse::Link(to.iter().map(link).collect());
    }
    GotoDefinitionResponse::Array(to.iter().map(|&place| cx.location(place)).collect())
}

pub(super) fn references(cx: &mut Cx, params: ReferenceParams) -> Option<Vec<Location>> {
    let at = cx.offset(params.text_document_position.position);
    let meaning = cx.checked.mention_at(at)?.meaning;
    let binder = cx.checked.binder(meaning);
    let wanted =
        cx.checked.mentions_of(meaning).filter(|mention| params.context.include_declaration || Some(mention.span) != binder);
    Some(wanted.map(|mention| cx.location(mention.span)).collect())
}
