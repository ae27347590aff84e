//! The call hierarchy: which functions call a function, and which it calls.

use super::Cx;
use lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyIncomingCallsParams, CallHierarchyItem, CallHierarchyOutgoingCall,
    CallHierarchyOutgoingCallsParams, CallHierarchyPrepareParams, Range, SymbolKind,
};
use relayc_base::Span;
use relayc_check::resolve::{Meaning, Mention};
use relayc_ir::GlobalId;
use relayc_syntax::ast::Def;

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
    for mention in uses(cx, |meaning| meaning == Meaning::Global(global)) {
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
    let mut calls: Vec<(GlobalId, Vec<Range>)> = vec![];
    for mention in uses(cx, |meaning| matches!(meaning, Meaning::Global(_))) {
        let Meaning::Global(callee) = mention.meaning else { continue };
        if function_around(cx, mention.span) != Some(global) {
            continue;
        }
        let range = cx.range(mention.span);
        match calls.iter_mut().find(|(known, _)| *known == callee) {
            Some((_, ranges)) => ranges.push(range),
            None => calls.push((callee, vec![range])),
        }
    }
    let call = |(callee, from_ranges)| Some(CallHierarchyOutgoingCall { to: item(cx, callee)?, from_ranges });
    Some(calls.into_iter().filter_map(call).collect())
}

/// The mentions of functions with some meaning that are not their definitions.
fn uses(cx: &Cx, wanted: impl Fn(Meaning) -> bool) -> Vec<Mention> {
    let all = cx.checked.analysis.mentions.iter().copied();
    all.filter(|mention| wanted(mention.meaning) && cx.checked.binder(mention.meaning) != Some(mention.span)).collect()
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
    let name = defs.iter().find_map(|def| match def {
        Def::Func { span, name, .. } if span.start <= at.start && at.end <= span.end => Some(*name),
        _ => None,
    })?;
    cx.checked.module().globals.iter_ids().find(|(_, global)| global.span == name).map(|(id, _)| id)
}

fn item(cx: &Cx, global: GlobalId) -> Option<CallHierarchyItem> {
    let name = cx.checked.module().globals[global].span;
    let whole = cx.checked.ast().defs.iter().find_map(|def| match def {
        Def::Func { span, name: own, .. } if *own == name => Some(*span),
        _ => None,
    })?;
    Some(CallHierarchyItem {
        name: cx.checked.slice(name).to_owned(),
        kind: SymbolKind::FUNCTION,
        tags: None,
        detail: None,
        uri: cx.uri.clone(),
        range: cx.range(whole),
        selection_range: cx.range(name),
        data: None,
    })
}
