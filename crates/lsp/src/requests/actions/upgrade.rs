//! Text of an older TVM to today's.

use super::{Promise, Proposal, rewritten};
use crate::requests::Cx;
use relayc_base::Span;
use relayc_base::diag::codes;

pub(super) fn upgrade(cx: &Cx, _: Span) -> Vec<Proposal> {
    let is_old_form = |code| code == codes::W0010 || code == codes::E0406;
    let is_old = cx.checked.analysis.program.diagnostics.iter().any(|diagnostic| is_old_form(diagnostic.code));
    let new = if is_old { cx.rules.style.upgrade(cx.checked.whole().file, &cx.checked.text.text).ok() } else { None };
    // The rewriting checks itself, comments included.
    new.map(|new| Proposal::new("Rewrite to today's Relay", Promise::Suggested, rewritten(cx, &new))).into_iter().collect()
}
