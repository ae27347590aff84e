//! The call hierarchy: which functions call a function, and which it calls.

use super::Cx;
use lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyIncomingCallsParams, CallHierarchyItem, CallHierarchyOutgoingCall,
    CallHierarchyOutgoingCallsParams, CallHierarchyPrepareParams, Range, SymbolKind,
};
use relayc_base::Span;
use relayc_check::resolve::Meaning;
use relayc_ir::GlobalId;
use relayc_syntax::ast::Def;
use rustc_hash::FxHashMap;

pub(super) fn prepare(cx: &mut Cx, params: CallHierarchyPrepareParams) -> Option<Vec<CallHierarchyItem>> {
    let at = cx.offset(params.text_document_position_params.position);
    match cx.checked.mention_at(at)?.meaning {
        Meaning::Global(global) => item(cx, global).map(|item| vec![item]),
        _ => None,
    }
}

pub(super) fn incoming(cx: &mut Cx, params: CallHierarchyIncomingCallsParams) -> Option<Vec<CallHierarchyIncomingCall>> {
    let global = global_of(cx, &params.item)?;
    let mut calls: Vec<CallHierarchyIncomingCall> = vec![];
    let mut last = None;
    for mention in cx.checked.mentions_of(Meaning::Global(global)).collect::<Vec<_>>() {
        if cx.checked.binder(mention.meaning) == Some(mention.span) {
            continue;
        }
        let Some(from) = function_around(cx, mention.span) else { continue };
        let range = cx.range(mention.span);
        match calls.last_mut().filter(|_| last == Some(from)) {
            Some(call) => call.from_ranges.push(range),
            None => calls.push(CallHierarchyIncomingCall { from: item(cx, from)?, from_ranges: vec![range] }),
        }
        last = Some(from);
    }
    Some(calls)
}

pub(super) fn outgoing(cx: &mut Cx, params: CallHierarchyOutgoingCallsParams) -> Option<Vec<CallHierarchyOutgoingCall>> {
    let global = global_of(cx, &params.item)?;
    let within = definition(cx, global)?;
    let mut calls: Vec<(GlobalId, Vec<Range>)> = vec![];
    let mut places: FxHashMap<GlobalId, usize> = FxHashMap::default();
    for mention in cx.checked.mentions_in(within) {
        let Meaning::Global(callee) = mention.meaning else { continue };
        if cx.checked.binder(mention.meaning) == Some(mention.span) {
            continue;
        }
        let place = *places.entry(callee).or_insert_with(|| {
            calls.push((callee, vec![]));
            calls.len() - 1
        });
        calls[place].1.push(cx.range(mention.span));
    }
    let call = |(callee, from_ranges)| Some(CallHierarchyOutgoingCall { to: item(cx, callee)?, from_ranges });
    Some(calls.into_iter().filter_map(call).collect())
}

fn global_of(cx: &Cx, item: &CallHierarchyItem) -> Option<GlobalId> {
    match cx.checked.mention_at(cx.offset(item.selection_range.start))?.meaning {
        Meaning::Global(global) => Some(global),
        _ => None,
    }
}

/// The function whose definition a place lies in.
fn function_around(cx: &Cx, at: Span) -> Option<GlobalId> {
    let defs = &cx.checked.ast().defs;
    // Definitions stand in text order.
    let next = defs.partition_point(|def| def.span().start <= at.start);
    match defs.get(next.checked_sub(1)?)? {
        Def::Func { span, name, .. } if at.end <= span.end => match cx.checked.mention_at(name.start)?.meaning {
            Meaning::Global(global) => Some(global),
            _ => None,
        },
        _ => None,
    }
}

/// The place of a function's definition.
fn definition(cx: &Cx, global: GlobalId) -> Option<Span> {
    let name = cx.checked.module().globals[global].span;
    let defs = &cx.checked.ast().defs;
    let next = defs.partition_point(|def| def.span().start <= name.start);
    defs.get(next.checked_sub(1)?).map(Def::span)
}

fn item(cx: &Cx, global: GlobalId) -> Option<CallHierarchyItem> {
    let name = cx.checked.module().globals[global].span;
    Some(CallHierarchyItem {
        name: cx.checked.slice(name).to_owned(),
        kind: SymbolKind::FUNCTION,
        tags: None,
        detail: None,
        uri: cx.uri.clone(),
        range: cx.range(definition(cx, global)?),
        selection_range: cx.range(name),
        data: None,
    })
}
