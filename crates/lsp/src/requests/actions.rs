//! Code actions: the fixes that diagnostics suggest, all that are certain at once, and small rewritings of what is at a place.

use super::{Cx, diagnostics, name};
use lsp_types::{CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse, CodeActionTriggerKind};
use relayc_base::Span;
use relayc_base::diag::{Edit, codes};
use relayc_base::{diff, text};
use relayc_driver::{Phase, check_text_as, fix};
use relayc_ir::types::Ty;
use relayc_syntax::ast::{Param, StmtKind};
use relayc_syntax::walk::Node;

pub(super) const KINDS: [CodeActionKind; 3] =
    [CodeActionKind::QUICKFIX, CodeActionKind::SOURCE_FIX_ALL, CodeActionKind::REFACTOR_REWRITE];

pub(super) fn actions(cx: &mut Cx, params: CodeActionParams) -> Option<CodeActionResponse> {
    if !cx.client.action_literals {
        return None;
    }
    let within = cx.span(params.range);
    let only = params.context.only;
    let wants = |kind: CodeActionKind| {
        let is_in = |wanted: &CodeActionKind| match wanted.as_str() {
            "" => true,
            wanted => kind.as_str() == wanted || kind.as_str().starts_with(&format!("{wanted}.")),
        };
        only.as_ref().is_none_or(|only| only.iter().any(is_in))
    };
    let mut actions = vec![];
    if wants(CodeActionKind::QUICKFIX) {
        actions.extend(fixes(cx, within));
    }
    // Editors ask at every move of the cursor: what checks the whole text again waits until somebody wants to see actions.
    let is_asked = only.is_some() || params.context.trigger_kind != Some(CodeActionTriggerKind::AUTOMATIC);
    if is_asked && wants(CodeActionKind::SOURCE_FIX_ALL) {
        actions.extend(fix_all(cx));
    }
    if wants(CodeActionKind::REFACTOR_REWRITE) {
        actions.extend(annotation(cx, within.start));
        actions.extend(if is_asked { upgrade(cx) } else { None });
    }
    Some(actions.into_iter().map(CodeActionOrCommand::CodeAction).collect())
}

fn action(cx: &Cx, title: &str, kind: CodeActionKind, edits: &[Edit]) -> CodeAction {
    CodeAction { title: title.to_owned(), kind: Some(kind), edit: Some(cx.workspace_edit(edits)), ..CodeAction::default() }
}

/// The edits that make another text of the whole one.
fn rewritten(cx: &Cx, new: &str) -> Vec<Edit> {
    let whole = cx.checked.whole();
    let changes = diff::line_changes(&cx.checked.text.text, new).into_iter();
    changes.map(|(bytes, text)| Edit { span: Span::new(whole.file, bytes.start, bytes.end), text: text.to_owned() }).collect()
}

/// What diagnostics at a place suggest. The certain one is preferred.
fn fixes(cx: &Cx, within: Span) -> Vec<CodeAction> {
    let mut actions = vec![];
    for diagnostic in &cx.checked.analysis.program.diagnostics {
        let touches = |span: Span| !span.is_none() && span.start <= within.end && within.start <= span.end;
        if !diagnostic.labels.iter().any(|label| label.primary && touches(label.span)) {
            continue;
        }
        let single = diagnostic.helps.iter().filter(|help| !help.edits.is_empty()).count() == 1;
        for help in diagnostic.helps.iter().filter(|help| !help.edits.is_empty()) {
            let mut action = action(cx, &help.text, CodeActionKind::QUICKFIX, &help.edits);
            action.diagnostics = Some(vec![diagnostics::one(cx, diagnostic)]);
            action.is_preferred = (help.certain || single).then_some(true);
            actions.push(action);
        }
    }
    actions
}

/// Everything that `relayc check --fix` would do.
fn fix_all(cx: &Cx) -> Option<CodeAction> {
    let is_certain = cx
        .checked
        .analysis
        .program
        .diagnostics
        .iter()
        .any(|diagnostic| diagnostic.helps.iter().any(|help| help.certain && !help.edits.is_empty()));
    if !is_certain {
        return None;
    }
    let how = &cx.rules.how;
    let program = check_text_as(&name(cx.uri), &cx.checked.text.text, Phase::Lint, how);
    let fixed = fix::fix_all(program, how);
    if fixed.fixed.is_empty() {
        return None;
    }
    let title = format!("Fix {}", text::count(fixed.fixed.len(), "mistake"));
    Some(action(cx, &title, CodeActionKind::SOURCE_FIX_ALL, &rewritten(cx, fix::text(&fixed.program))))
}

/// Writes the type of the binding or parameter at a place.
fn annotation(cx: &Cx, at: u32) -> Option<CodeAction> {
    let ast = cx.checked.ast();
    let (name, behind) = ast.path(at).into_iter().rev().find_map(|node| match node {
        Node::Stmt(stmt) => match ast.stmts[stmt].kind {
            StmtKind::Let { name, ty: None, .. } | StmtKind::FreeVar { name, ty: None } => Some((name, name)),
            _ => None,
        },
        Node::Param(Param { name, attrs, ty: None, span }) => Some((name, if attrs.is_empty() { name } else { span })),
        _ => None,
    })?;
    // At the name, not somewhere in the value.
    if at < name.start || behind.end < at {
        return None;
    }
    let mention = cx.checked.mention_at(name.start).filter(|mention| mention.span == name)?;
    let module = cx.checked.module();
    let ty = cx.checked.ty(mention.meaning).filter(|&ty| ty != Ty::ERROR && !module.types.has_hole(ty))?;
    let ty = module.types.text(ty);
    // A type of endless text is cut.
    if ty.ends_with('…') {
        return None;
    }
    let edit = Edit { span: behind.end_point(), text: format!(": {ty}") };
    let title = format!("Add the type `{}`", text::shortened(&ty, 60));
    Some(action(cx, &title, CodeActionKind::REFACTOR_REWRITE, &[edit]))
}

/// Rewrites text of an older TVM.
fn upgrade(cx: &Cx) -> Option<CodeAction> {
    let is_old = cx.checked.analysis.program.diagnostics.iter().any(|diagnostic| diagnostic.code == codes::W0010);
    if !is_old {
        return None;
    }
    let new = cx.rules.style.upgrade(cx.checked.whole().file, &cx.checked.text.text).ok()?;
    Some(action(cx, "Rewrite to today's Relay", CodeActionKind::REFACTOR_REWRITE, &rewritten(cx, &new)))
}
