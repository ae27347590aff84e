//! Semantic tokens: what each word of the text is, where a grammar of colours cannot know; of the whole text, of a range, or what has
//! changed since an answer.

use super::Cx;
use lsp_types::{
    SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensDelta, SemanticTokensDeltaParams,
    SemanticTokensEdit, SemanticTokensFullDeltaResult, SemanticTokensLegend, SemanticTokensParams, SemanticTokensRangeParams,
    SemanticTokensRangeResult, SemanticTokensResult,
};
use relayc_base::Span;
use relayc_check::resolve::Meaning;
use relayc_syntax::token::Tok;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// A kind of token, by its place in [`TYPES`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Keyword,
    Variable,
    Parameter,
    Function,
    Type,
    EnumMember,
    TypeParameter,
    Property,
    Number,
    String,
    Comment,
    Operator,
    Macro,
}

/// In the order of [`Kind`].
const TYPES: [SemanticTokenType; 13] = [
    SemanticTokenType::KEYWORD,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::TYPE,
    SemanticTokenType::ENUM_MEMBER,
    SemanticTokenType::TYPE_PARAMETER,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::NUMBER,
    SemanticTokenType::STRING,
    SemanticTokenType::COMMENT,
    SemanticTokenType::OPERATOR,
    SemanticTokenType::MACRO,
];

const MODIFIERS: [SemanticTokenModifier; 2] = [SemanticTokenModifier::DECLARATION, SemanticTokenModifier::DEFAULT_LIBRARY];
const DECLARATION: u32 = 1;
const DEFAULT_LIBRARY: u32 = 2;

pub(super) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend { token_types: TYPES.to_vec(), token_modifiers: MODIFIERS.to_vec() }
}

pub(super) fn full(cx: &mut Cx, _: SemanticTokensParams) -> Option<SemanticTokensResult> {
    Some(SemanticTokensResult::Tokens(whole(cx)))
}

pub(super) fn delta(cx: &mut Cx, params: SemanticTokensDeltaParams) -> Option<SemanticTokensFullDeltaResult> {
    let before = cx.shown_tokens.take().filter(|before| before.result_id.as_ref() == Some(&params.previous_result_id));
    let now = whole(cx);
    let Some(before) = before else { return Some(SemanticTokensFullDeltaResult::Tokens(now)) };
    let edits = edit(&before.data, &now.data).into_iter().collect();
    Some(SemanticTokensFullDeltaResult::TokensDelta(SemanticTokensDelta { result_id: now.result_id, edits }))
}

/// All tokens; kept for the next request of what has changed.
fn whole(cx: &mut Cx) -> SemanticTokens {
    let mut tokens = tokens(cx, cx.checked.whole());
    // What they are called is part of an answer: equal texts have equal answers.
    tokens.result_id = Some(format!("{:016x}", FxBuildHasher.hash_one(&*cx.checked.text.text)));
    *cx.shown_tokens = Some(tokens.clone());
    tokens
}

/// How one list becomes the other, by the part between what both begin and end with; `None` if they are equal.
fn edit(before: &[SemanticToken], now: &[SemanticToken]) -> Option<SemanticTokensEdit> {
    let start = before.iter().zip(now).take_while(|(a, b)| a == b).count();
    let most = before.len().min(now.len()) - start;
    let end = before.iter().rev().zip(now.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let (removed, put) = (before.len() - start - end, &now[start..now.len() - end]);
    // A token is five numbers.
    (removed > 0 || !put.is_empty()).then(|| SemanticTokensEdit {
        start: 5 * start as u32,
        delete_count: 5 * removed as u32,
        data: Some(put.to_vec()),
    })
}

pub(super) fn range(cx: &mut Cx, params: SemanticTokensRangeParams) -> Option<SemanticTokensRangeResult> {
    Some(SemanticTokensRangeResult::Tokens(tokens(cx, cx.span(params.range))))
}

fn tokens(cx: &Cx, within: Span) -> SemanticTokens {
    let lexed = &cx.checked.analysis.lexed;
    let mut found: Vec<(Span, Kind, u32)> = lexed.comments.iter().map(|&span| (span, Kind::Comment, 0)).collect();
    let params: rustc_hash::FxHashSet<_> =
        cx.checked.module().funcs.iter().flat_map(|func| func.params.iter().copied()).collect();
    let mentions = &cx.checked.analysis.mentions;
    let mut at = 0;
    for (index, token) in lexed.tokens.iter().enumerate() {
        let span = token.span(within.file);
        while mentions.get(at).is_some_and(|mention| mention.span.end <= span.start) {
            at += 1;
        }
        let mention = mentions.get(at).filter(|mention| mention.span.start <= span.start && span.end <= mention.span.end);
        let (kind, modifiers) = match mention {
            Some(mention) if token.tok != Tok::Dot => meaning(cx, mention.meaning, mention.span, &params),
            Some(_) => (Kind::Function, DEFAULT_LIBRARY),
            None => {
                let is_key = lexed.tokens.get(index + 1).is_some_and(|next| next.tok == Tok::Assign);
                match plain(token.tok, is_key) {
                    Some(kind) => (kind, 0),
                    None => continue,
                }
            }
        };
        found.push((span, kind, modifiers));
    }
    found.retain(|(span, ..)| within.start < span.end && span.start < within.end);
    found.sort_by_key(|(span, ..)| span.start);
    SemanticTokens { result_id: None, data: encoded(cx, &found) }
}

fn meaning(cx: &Cx, meaning: Meaning, span: Span, params: &rustc_hash::FxHashSet<relayc_ir::VarId>) -> (Kind, u32) {
    let declares = if cx.checked.binder(meaning) == Some(span) { DECLARATION } else { 0 };
    match meaning {
        Meaning::Local(var) => (if params.contains(&var) { Kind::Parameter } else { Kind::Variable }, declares),
        Meaning::Graph { .. } => (Kind::Variable, declares),
        Meaning::Global(_) => (Kind::Function, declares),
        Meaning::Type(_) => (Kind::Type, declares),
        Meaning::Ctor(_) => (Kind::EnumMember, declares),
        Meaning::TypeParam(_) => (Kind::TypeParameter, declares),
        Meaning::Size(_) => (Kind::TypeParameter, 0),
        // A sign between operands calls an operator, too.
        Meaning::Operator(_) => {
            let is_sign = !cx.checked.slice(span).starts_with(|c: char| c.is_ascii_alphabetic());
            match is_sign {
                true => (Kind::Operator, 0),
                false => (Kind::Function, DEFAULT_LIBRARY),
            }
        }
    }
}

/// What a token without a meaning of its own is.
fn plain(tok: Tok, is_key: bool) -> Option<Kind> {
    Some(match tok {
        Tok::Let | Tok::Fn | Tok::Def | Tok::If | Tok::Else | Tok::Type | Tok::Match | Tok::MatchPartial | Tok::Extern => {
            Kind::Keyword
        }
        Tok::FreeVar | Tok::Ref | Tok::RefRead | Tok::RefWrite | Tok::True | Tok::False => Kind::Keyword,
        Tok::Tensor => Kind::Type,
        Tok::Ident if is_key => Kind::Property,
        Tok::Local | Tok::Graph => Kind::Variable,
        Tok::Global => Kind::Function,
        Tok::Int | Tok::Float => Kind::Number,
        Tok::Str => Kind::String,
        Tok::Meta | Tok::Version | Tok::Metadata => Kind::Macro,
        _ => return None,
    })
}

/// Tokens relative to each other, one for each line of those that have several.
fn encoded(cx: &Cx, found: &[(Span, Kind, u32)]) -> Vec<SemanticToken> {
    let text = &cx.checked.text.text;
    let mut data = vec![];
    let (mut line, mut column) = (0, 0);
    for &(span, kind, modifiers) in found {
        let mut start = span.start as usize;
        for piece in text[start..span.end as usize].split_inclusive('\n') {
            let shown = piece.trim_end_matches(['\r', '\n']);
            let (from, to) = (cx.checked.text.position(start as u32), cx.checked.text.position((start + shown.len()) as u32));
            start += piece.len();
            if from == to {
                continue;
            }
            let delta_line = from.line - line;
            data.push(SemanticToken {
                delta_line,
                delta_start: if delta_line == 0 { from.character - column } else { from.character },
                length: to.character - from.character,
                token_type: kind as u32,
                token_modifiers_bitset: modifiers,
            });
            (line, column) = (from.line, from.character);
        }
    }
    data
}
