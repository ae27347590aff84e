//! What diagnostics suggest: at a place, for all of one kind, and all that are certain; and comments that allow them.

use super::{Promise, Proposal, rewritten, touch};
use crate::requests::{Cx, diagnostics, name};
use relayc_base::diag::{Diagnostic, Edit, fix};
use relayc_base::{FileId, Span, text};
use relayc_driver::{Phase, check_text_as, fix as driver_fix, lint};

/// What diagnostics at a place suggest. The certain one is preferred.
pub(super) fn at(cx: &Cx, within: Span) -> Vec<Proposal> {
    let mut proposals = vec![];
    for diagnostic in at_place(cx, within) {
        let single = diagnostic.helps.iter().filter(|help| !help.edits.is_empty()).count() == 1;
        for help in diagnostic.helps.iter().filter(|help| !help.edits.is_empty()) {
            proposals.push(Proposal {
                diagnostics: Some(vec![diagnostics::one(cx, diagnostic)]),
                preferred: help.certain || single,
                ..Proposal::new(help.text.clone(), Promise::Suggested, help.edits.clone())
            });
        }
        proposals.extend(all_of_kind(cx, diagnostic));
    }
    proposals
}

/// Comments that silence the lints at a place.
pub(super) fn allow(cx: &Cx, within: Span) -> Vec<Proposal> {
    let allowing = |diagnostic| {
        let (lint, edit) = lint::allowing(cx.checked.ast(), &cx.checked.analysis.lexed, diagnostic)?;
        let answered = Some(vec![diagnostics::one(cx, diagnostic)]);
        Some(Proposal { diagnostics: answered, ..Proposal::new(format!("allow `{lint}` here"), Promise::Suggested, vec![edit]) })
    };
    at_place(cx, within).filter_map(allowing).collect()
}

fn at_place<'a>(cx: &'a Cx, within: Span) -> impl Iterator<Item = &'a Diagnostic> {
    let is_here = move |label: &relayc_base::diag::Label| label.primary && !label.span.is_none() && touch(label.span, within);
    cx.checked.analysis.program.diagnostics.iter().filter(move |diagnostic| diagnostic.labels.iter().any(is_here))
}

/// All certain fixes of one kind of diagnostic, where there are several; offered at the first of them that is at the place.
fn all_of_kind(cx: &Cx, first: &Diagnostic) -> Option<Proposal> {
    let same: Vec<Diagnostic> =
        cx.checked.analysis.program.diagnostics.iter().filter(|other| other.code == first.code).cloned().collect();
    let certain = fix::certain(&same, FileId(0));
    let is_among = certain.iter().any(|(diagnostic, _)| *diagnostic == first);
    if certain.len() < 2 || !is_among {
        return None;
    }
    let edits: Vec<Edit> = certain.iter().flat_map(|(_, edits)| edits.to_vec()).collect();
    let title = format!("Fix all {} of {}", certain.len(), first.code.id());
    let answered = certain.iter().map(|(diagnostic, _)| diagnostics::one(cx, diagnostic)).collect();
    Some(Proposal { diagnostics: Some(answered), ..Proposal::new(title, Promise::Suggested, edits) })
}

/// Everything that `relayc check --fix` would do.
pub(super) fn all(cx: &Cx, _: Span) -> Vec<Proposal> {
    let diagnostics = &cx.checked.analysis.program.diagnostics;
    if fix::certain(diagnostics, FileId(0)).is_empty() {
        return vec![];
    }
    let how = &cx.rules.how;
    let program = check_text_as(&name(cx.uri), &cx.checked.text.text, Phase::Lint, how);
    let fixed = driver_fix::fix_all(program, how);
    if fixed.fixed.is_empty() {
        return vec![];
    }
    let title = format!("Fix {}", text::count(fixed.fixed.len(), "mistake"));
    vec![Proposal::new(title, Promise::Suggested, rewritten(cx, driver_fix::text(&fixed.program)))]
}
