//! Renaming: every mention of a variable, a graph number, a function, a type, a constructor or a type parameter.
//!
//! The renamed text is checked, and each of its names must mean what it meant before; otherwise the renaming is refused.

use super::{Cx, Refusal, name};
use lsp_types::{
    LinkedEditingRangeParams, LinkedEditingRanges, PrepareRenameResponse, RenameParams, TextDocumentPositionParams, WorkspaceEdit,
};
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, Edit, fix};
use relayc_check::resolve::{Meaning, Mention};
use relayc_driver::analyse;
use relayc_syntax::lexer;
use relayc_syntax::token::Tok;
use rustc_hash::FxHashMap;

/// The mention at a place, if what it means can be renamed.
fn renamable(cx: &Cx, at: u32) -> Result<Mention, Refusal> {
    let mention = cx.checked.mention_at(at).ok_or("there is no name here")?;
    match mention.meaning {
        Meaning::Operator(_) => Err(format!("`{}` is an operator of Relay: it keeps its name", cx.checked.slice(mention.span))),
        _ => Ok(mention),
    }
}

pub(super) fn prepare(cx: &mut Cx, params: TextDocumentPositionParams) -> Result<Option<PrepareRenameResponse>, Refusal> {
    let mention = renamable(cx, cx.offset(params.position))?;
    let placeholder = cx.checked.slice(mention.span).to_owned();
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder { range: cx.range(mention.span), placeholder }))
}

pub(super) fn rename(cx: &mut Cx, params: RenameParams) -> Result<Option<WorkspaceEdit>, Refusal> {
    let at = cx.offset(params.text_document_position.position);
    let meaning = renamable(cx, at)?.meaning;
    let text = spelled(meaning, params.new_name.trim())?;
    let edits: Vec<Edit> =
        cx.checked.mentions_of(meaning).map(|mention| Edit { span: mention.span, text: text.clone() }).collect();
    keeps_meaning(cx, &edits)?;
    Ok(Some(cx.workspace_edit(&edits)))
}

/// A new name with the sigil that its kind has. Errors: it is no name of that kind.
fn spelled(meaning: Meaning, new: &str) -> Result<String, Refusal> {
    let (sigil, token, what) = match meaning {
        Meaning::Local(_) => ("%", Tok::Local, "a variable is called `%name`"),
        Meaning::Graph { .. } => ("%", Tok::Graph, "a graph variable is a number, `%7`"),
        Meaning::Global(_) => ("@", Tok::Global, "a function is called `@name`"),
        _ => ("", Tok::Ident, "expected a name of letters, digits and `_`"),
    };
    let text = if new.starts_with(sigil) { new.to_owned() } else { format!("{sigil}{new}") };
    let tokens = lexer::lex(relayc_base::FileId(0), &text).tokens;
    match tokens.as_slice() {
        [one] if one.tok == token && one.end as usize == text.len() => Ok(text),
        _ => Err(format!("`{new}`: {what}")),
    }
}

/// Checks that every name means what it meant, after edits of whole names.
fn keeps_meaning(cx: &Cx, edits: &[Edit]) -> Result<(), Refusal> {
    let text = fix::apply(&cx.checked.text.text, cx.checked.whole().file, edits).ok_or("two mentions overlap")?;
    let now = analyse(&name(cx.uri), &text, &cx.rules.how);
    let before = &cx.checked.analysis.mentions;
    let mut meant: FxHashMap<Span, Span> = FxHashMap::default();
    let mut back: FxHashMap<Span, Span> = FxHashMap::default();
    let (firsts, new_firsts) = (firsts(before), firsts(&now.mentions));
    if before.len() != now.mentions.len() {
        return Err(clash(cx, edits));
    }
    for ((mention, first), new_first) in before.iter().zip(firsts).zip(new_firsts) {
        let same = match (first, new_first) {
            (Some(first), Some(new_first)) => {
                *meant.entry(first).or_insert(new_first) == new_first && *back.entry(new_first).or_insert(first) == first
            }
            (None, None) => true,
            _ => false,
        };
        if !same {
            let line = cx.range(mention.span).start.line + 1;
            return Err(format!(
                "{}: `{}` in line {line} would mean something else",
                clash(cx, edits),
                cx.checked.slice(mention.span)
            ));
        }
    }
    // What has no mention, such as a size in the metadata section, is missed as an error.
    let n_errors = |diagnostics: &[Diagnostic]| diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let has_more = n_errors(&now.program.diagnostics) > n_errors(&cx.checked.analysis.program.diagnostics);
    if has_more {
        return Err(clash(cx, edits));
    }
    Ok(())
}

fn clash(cx: &Cx, edits: &[Edit]) -> String {
    let new = edits.first().map_or("", |edit| &edit.text);
    let old = edits.first().map_or("", |edit| cx.checked.slice(edit.span));
    format!("`{old}` cannot become `{new}`: the name has a meaning here already")
}

/// For each mention the first one of the same meaning; none for operators, which need none in the text.
fn firsts(mentions: &[Mention]) -> Vec<Option<Span>> {
    let mut known: FxHashMap<Meaning, Span> = FxHashMap::default();
    let first = |mention: &Mention| match mention.meaning {
        Meaning::Operator(_) => None,
        meaning => Some(*known.entry(meaning).or_insert(mention.span)),
    };
    mentions.iter().map(first).collect()
}

/// The mentions of a variable or a function, which may be typed over together.
pub(super) fn linked(cx: &mut Cx, params: LinkedEditingRangeParams) -> Option<LinkedEditingRanges> {
    let at = cx.offset(params.text_document_position_params.position);
    let mention = cx.checked.mention_at(at)?;
    if !matches!(mention.meaning, Meaning::Local(_) | Meaning::Global(_)) {
        return None;
    }
    let ranges = cx.checked.mentions_of(mention.meaning).map(|mention| cx.range(mention.span)).collect();
    Some(LinkedEditingRanges { ranges, word_pattern: Some("[%@][A-Za-z_][A-Za-z0-9_/]*".to_owned()) })
}
