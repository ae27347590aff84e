//! Code actions: the fixes that diagnostics suggest, and rewritings of what is at a place; a family each in the files here.
//!
//! A family proposes edits from what is at the place. What they promise is checked on the edited text: a proposal that does not
//! keep it is not shown. Editors ask at every move of the cursor; then an action is shown unchecked, and checked when it is
//! chosen (`codeAction/resolve`), which may refuse it.

mod annotate;
mod arms;
mod bindings;
mod defaults;
mod fixes;
mod upgrade;
mod weights;

use super::{Cx, Refusal, name};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionResponse, CodeActionTriggerKind, Diagnostic,
};
use relayc_base::diag::{self, Edit, fix};
use relayc_base::{FileId, Span, diff};
use relayc_driver::compare::programs::compute_same;
use relayc_driver::{Phase, Program, check_text_as};
use relayc_ir::{Module, Root};
use relayc_syntax::lexer;
use serde_json::{Value, json};

/// Every fix that is certain, as `relayc check --fix`.
const FIX_ALL: CodeActionKind = CodeActionKind::new("source.fixAll.relayc");

pub(super) const KINDS: [CodeActionKind; 5] = [
    CodeActionKind::QUICKFIX,
    CodeActionKind::REFACTOR_EXTRACT,
    CodeActionKind::REFACTOR_INLINE,
    CodeActionKind::REFACTOR_REWRITE,
    FIX_ALL,
];

/// What holds of the text after an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Promise {
    /// It is as a diagnostic suggests, which `relayc check --fix` has checked or leaves to the author.
    Suggested,
    /// It has fewer errors.
    Mends,
    /// It has no more errors.
    Checks,
    /// It computes the same, with the same types and comments, and has no more errors.
    Same,
}

/// A possible action.
struct Proposal {
    title: String,
    edits: Vec<Edit>,
    promise: Promise,
    /// The diagnostics that it answers.
    diagnostics: Option<Vec<Diagnostic>>,
    preferred: bool,
}

impl Proposal {
    fn new(title: impl Into<String>, promise: Promise, edits: Vec<Edit>) -> Proposal {
        Proposal { title: title.into(), edits, promise, diagnostics: None, preferred: false }
    }
}

/// A family of actions.
struct Family {
    /// How an action that is to be resolved names it.
    name: &'static str,
    kind: CodeActionKind,
    /// Whether finding the edits already takes a check of the text, or looks at files: waits until somebody wants to see actions.
    costs: bool,
    propose: Propose,
}

type Propose = fn(&Cx, Span) -> Vec<Proposal>;

const fn family(name: &'static str, kind: CodeActionKind, propose: Propose) -> Family {
    Family { name, kind, costs: false, propose }
}

/// A family that checks the text or looks at files to find its edits.
const fn costly(name: &'static str, kind: CodeActionKind, propose: Propose) -> Family {
    Family { name, kind, costs: true, propose }
}

const FAMILIES: &[Family] = &[
    family("fix", CodeActionKind::QUICKFIX, fixes::at),
    family("arms", CodeActionKind::QUICKFIX, arms::fill),
    family("allow", CodeActionKind::QUICKFIX, fixes::allow),
    costly("fix-all", FIX_ALL, fixes::all),
    family("extract", CodeActionKind::REFACTOR_EXTRACT, bindings::extract),
    family("inline", CodeActionKind::REFACTOR_INLINE, bindings::inline),
    family("type", CodeActionKind::REFACTOR_REWRITE, annotate::types),
    family("name", CodeActionKind::REFACTOR_REWRITE, bindings::name_number),
    family("let", CodeActionKind::REFACTOR_REWRITE, bindings::to_let),
    family("graph", CodeActionKind::REFACTOR_REWRITE, bindings::to_graph),
    family("give-defaults", CodeActionKind::REFACTOR_REWRITE, defaults::give),
    family("leave-defaults", CodeActionKind::REFACTOR_REWRITE, defaults::leave_out),
    family("weights", CodeActionKind::REFACTOR_REWRITE, weights::declare),
    costly("weights-beside", CodeActionKind::REFACTOR_REWRITE, weights::declare_beside),
    costly("upgrade", CodeActionKind::REFACTOR_REWRITE, upgrade::upgrade),
];

pub(super) fn actions(cx: &mut Cx, params: CodeActionParams) -> Option<CodeActionResponse> {
    if !cx.client.action_literals {
        return None;
    }
    let within = cx.span(params.range);
    let only = params.context.only;
    let is_asked = only.is_some() || params.context.trigger_kind != Some(CodeActionTriggerKind::AUTOMATIC);
    let wants = |kind: &CodeActionKind| {
        let is_in = |wanted: &CodeActionKind| match wanted.as_str() {
            "" => true,
            wanted => kind.as_str() == wanted || kind.as_str().starts_with(&format!("{wanted}.")),
        };
        only.as_ref().is_none_or(|only| only.iter().any(is_in))
    };
    let mut actions = vec![];
    for family in FAMILIES.iter().filter(|family| wants(&family.kind) && (is_asked || !family.costs)) {
        for (index, proposal) in (family.propose)(cx, within).into_iter().enumerate() {
            let is_free = proposal.promise == Promise::Suggested;
            if is_free || is_asked && holds(cx, &proposal) {
                actions.push(action(cx, family, &proposal, true));
            } else if !is_asked && cx.client.resolves_edits {
                let data = json!({
                    "uri": cx.uri, "text": cx.checked.hash(), "family": family.name, "index": index,
                    "start": within.start, "end": within.end,
                });
                actions.push(CodeAction { data: Some(data), ..action(cx, family, &proposal, false) });
            }
        }
    }
    Some(actions.into_iter().map(CodeActionOrCommand::CodeAction).collect())
}

/// Completes an action that was shown unchecked. Refused if it does not keep what it promises.
pub(super) fn resolve(cx: &mut Cx, shown: CodeAction) -> Result<CodeAction, Refusal> {
    let Some(data) = &shown.data else { return Ok(shown) };
    let number = |key: &str| data.get(key).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
    if number("text") != Some(cx.checked.hash()) {
        return Err("the text has changed since".to_owned());
    }
    let name = data.get("family").and_then(Value::as_str);
    let family = FAMILIES.iter().find(|family| Some(family.name) == name).ok_or("there is no such action")?;
    let (start, end) = number("start").zip(number("end")).ok_or("no place is named")?;
    let index = number("index").ok_or("no action is named")?;
    let within = Span { start, end, ..cx.checked.whole() };
    let proposal = (family.propose)(cx, within).into_iter().nth(index as usize).ok_or("there is no such action")?;
    if !holds(cx, &proposal) {
        return Err(format!("{}: the program would mean something else", proposal.title));
    }
    Ok(action(cx, family, &proposal, true))
}

fn action(cx: &Cx, family: &Family, proposal: &Proposal, whole: bool) -> CodeAction {
    CodeAction {
        title: proposal.title.clone(),
        kind: Some(family.kind.clone()),
        diagnostics: proposal.diagnostics.clone(),
        edit: whole.then(|| cx.workspace_edit(&proposal.edits)),
        is_preferred: proposal.preferred.then_some(true),
        ..CodeAction::default()
    }
}

/// Whether the edited text is what the proposal promises.
fn holds(cx: &Cx, proposal: &Proposal) -> bool {
    if proposal.promise == Promise::Suggested {
        return true;
    }
    let before = &cx.checked.analysis.program;
    let Some(text) = fix::apply(&cx.checked.text.text, FileId(0), &proposal.edits) else { return false };
    let after = check_text_as(&name(cx.uri), &text, Phase::Infer, &cx.rules.how);
    // Lints that the rules make errors are not asked for again.
    let is_error = |diagnostic: &&diag::Diagnostic| diagnostic.is_error() && diagnostic.code.id().starts_with('E');
    let n_errors = |program: &Program| program.diagnostics.iter().filter(is_error).count();
    let is_syntax =
        |diagnostic: &&diag::Diagnostic| diagnostic.code.id().starts_with("E00") || diagnostic.code.id().starts_with("E01");
    let n_syntax = |program: &Program| program.diagnostics.iter().filter(is_syntax).count();
    if n_syntax(&after) > n_syntax(before) || n_comments(&text) != n_comments(&cx.checked.text.text) {
        return false;
    }
    match proposal.promise {
        Promise::Suggested => true,
        Promise::Mends => n_errors(&after) < n_errors(before),
        Promise::Checks => n_errors(&after) <= n_errors(before),
        Promise::Same => n_errors(&after) <= n_errors(before) && is_same(before, &after),
    }
}

fn n_comments(text: &str) -> usize {
    lexer::lex(FileId(0), text).comments.len()
}

/// Whether two programs compute the same, with the same types.
fn is_same(before: &Program, after: &Program) -> bool {
    let types =
        |module: &Module| -> Vec<String> { module.roots().into_iter().map(|root| module.types.text(module.ty(root))).collect() };
    if types(&before.module) != types(&after.module) {
        return false;
    }
    if before.module.root == Root::Globals && after.module.root == Root::Globals {
        return compute_same(before, after);
    }
    // Programs are compared function by function: one that is an expression becomes one.
    let wrapped = |program: &Program| {
        let mut program = program.clone();
        program.module.wrap_as_main();
        program
    };
    compute_same(&wrapped(before), &wrapped(after))
}

/// The edits that make another text of the whole one.
fn rewritten(cx: &Cx, new: &str) -> Vec<Edit> {
    let whole = cx.checked.whole();
    let changes = diff::line_changes(&cx.checked.text.text, new).into_iter();
    changes.map(|(bytes, text)| Edit { span: Span::new(whole.file, bytes.start, bytes.end), text: text.to_owned() }).collect()
}

/// Whether two places touch.
fn touch(a: Span, b: Span) -> bool {
    a.start <= b.end && b.start <= a.end
}
