//! Hints for types as Python writes them: `Tensor((1, 8), "float32")`, `(1, 8)`, `Tensor[(relay.Any(), 8), np.float32]`.

use super::errors::{excerpt, float_dimension};
use super::starts::starts_line;
use super::token::{Tok, TokSet};
use super::token_context::{TokenContext, put};
use relayc_base::diag::Diagnostic;
use relayc_base::diag::codes::E0101;
use relayc_base::{Span, text::nearest};

const DIMS: TokSet = TokSet::of(&[Tok::Int, Tok::Question, Tok::Ident, Tok::Comma, Tok::Star, Tok::Plus, Tok::Minus, Tok::Slash]);

/// `Tensor[(8), "float32"]`, `%x: "float32"`, `Tensor[("n", 8), float32]`.
pub(super) fn quoted(scene: &TokenContext) -> Option<Diagnostic> {
    let in_type = scene.expected.has(Tok::Ident) && !scene.expected.has(Tok::Local) && !scene.expected.has(Tok::Str);
    // Among attributes a name is the key of the next one.
    let in_type = in_type && (!scene.expected.has(Tok::RParen) || scene.expected.has(Tok::Int));
    let name = scene.text().trim_matches('"');
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !name.is_empty();
    (scene.found()? == Tok::Str && in_type && is_name).then(|| {
        let report = scene.message().at(scene.place(), "types are written without quotes");
        report.fix(format!("write `{}`", excerpt(name)), scene.place(), name).certain()
    })
}

/// `Tensor((1, 8), float32)`, `TensorType((1, 8), float32)`, `Tensor[[1, 8], float32]`.
pub(super) fn brackets(scene: &TokenContext) -> Option<Diagnostic> {
    let before = scene.before(1)?;
    let text = before.text(scene.source);
    let swapped = |outer: usize, open: &str, close: &str| {
        let end = scene.partner(outer)?;
        let span = |at: usize| scene.tokens[at].span(scene.file);
        Some(vec![put(span(outer), open), put(span(end), close)])
    };
    let title = "a tensor type is `Tensor[(1, 16), float32]`";
    match (before.tok, scene.found()?) {
        (Tok::Tensor, Tok::LParen) if scene.expected.has(Tok::LBracket) => {
            let edits = swapped(scene.at, "[", "]")?;
            Some(scene.plain().fix_all(title, edits).certain())
        }
        (Tok::Ident, Tok::LParen)
            if scene.expected.has(Tok::LBracket) && matches!(text, "TensorType" | "tensor" | "TensorDesc") =>
        {
            let mut edits = swapped(scene.at, "[", "]")?;
            edits.insert(0, put(before.span(scene.file), "Tensor"));
            Some(scene.plain().fix_all(title, edits).certain())
        }
        (Tok::LBracket, Tok::LBracket) if scene.before_tok(2) == Some(Tok::Tensor) => {
            let edits = swapped(scene.at, "(", ")")?;
            Some(scene.plain().fix_all("the dimensions stand in parentheses, as in `Tensor[(2, 3), float32]`", edits).certain())
        }
        (Tok::Tensor, _)
            if scene.expected.has(Tok::LBracket)
                && !scene.expected.has(Tok::Ident)
                && !starts_line(scene.tokens, scene.at, scene.source) =>
        {
            Some(scene.plain().help(title))
        }
        _ => None,
    }
}

/// `np.float32`, `relay.TensorType(…)`, `relay.Any()`.
pub(super) fn prefix(scene: &TokenContext) -> Option<Diagnostic> {
    let dotted = scene.found()? == Tok::Dot && scene.before_tok(1)? == Tok::Ident && scene.tok(scene.at + 1) == Some(Tok::Ident);
    if !dotted || scene.expected.has(Tok::Dot) || scene.expected.has(Tok::Assign) {
        return None;
    }
    let first = scene.at - 1;
    let mut last = scene.at + 1;
    while (scene.tok(last + 1), scene.tok(last + 2)) == (Some(Tok::Dot), Some(Tok::Ident)) {
        last += 2;
    }
    let name = scene.tokens[last].text(scene.source);
    let start = scene.tokens[first].span(scene.file);
    let report = scene.plain();
    if name == "Any" {
        let called = scene.tok(last + 1) == Some(Tok::LParen) && scene.tok(last + 2) == Some(Tok::RParen);
        let end = if called { last + 2 } else { last };
        return Some(
            report.fix("an unknown dimension is written `?`", start.to(scene.tokens[end].span(scene.file)), "?").certain(),
        );
    }
    let prefix = Span { end: scene.tokens[last].start, ..start };
    Some(report.fix(format!("types have no prefix: write `{}`", excerpt(name)), prefix, "").certain())
}

/// `%x: (1, 8)`, `%x: (1, 8, float32)`, `%x: [1, 8]`.
pub(super) fn shape(scene: &TokenContext) -> Option<Diagnostic> {
    let found = scene.found()?;
    let in_type = scene.expected.has(Tok::Tensor) && scene.expected.has(Tok::Fn) && !scene.expected.has(Tok::Local);
    let open = match (scene.before_tok(1)?, found) {
        (Tok::LParen, Tok::Int | Tok::Question) => scene.at - 1,
        (_, Tok::LBracket) => scene.at,
        _ => return None,
    };
    let close = scene.partner(open).filter(|close| in_type && *close > open + 1)?;
    if !scene.tokens[open + 1..close].iter().all(|token| DIMS.has(token.tok)) {
        return None;
    }
    let span = |at: usize| scene.tokens[at].span(scene.file);
    let report = scene.message().at(scene.place(), "a dimension, not a type");
    let last = scene.tokens[close - 1].text(scene.source);
    let title = "a tensor type is `Tensor[(1, 16), float32]`";
    let is_dtype = scene.tok(close - 2) == Some(Tok::Comma)
        && last.ends_with(|c: char| c.is_ascii_digit())
        && last.starts_with(|c: char| c.is_ascii_lowercase());
    if is_dtype && scene.tok(close - 1) == Some(Tok::Ident) {
        let edits = vec![put(span(open), "Tensor[("), put(span(close - 2), "),"), put(span(close), "]")];
        return Some(report.fix_all(title, edits).certain());
    }
    Some(
        report.fix_all(
            format!("{title}; the dtype is missing"),
            vec![put(span(open), "Tensor[("), put(span(close), "), float32]")],
        ),
    )
}

/// `Tensor[(True, 8), float32]`, `Tensor[(2.5f, 8), float32]`.
pub(super) fn dimension(scene: &TokenContext) -> Option<Diagnostic> {
    let is_dim = scene.expected.has(Tok::Question) && !scene.expected.has(Tok::Local);
    if scene.found()? == Tok::Float && is_dim {
        return Some(float_dimension(scene.place(), scene.text()));
    }
    (matches!(scene.found()?, Tok::True | Tok::False | Tok::Underscore) && is_dim).then(|| {
        let message = format!("expected a dimension, found {}", scene.found_words());
        Diagnostic::new(E0101, message).at(scene.place(), "not a dimension").fix(
            "an unknown dimension is written `?`",
            scene.place(),
            "?",
        )
    })
}

/// `Tensro[(2, 3), float32]`.
pub(super) fn misspelt_tensor(scene: &TokenContext) -> Option<Diagnostic> {
    let (name, bracket) = (scene.before(3)?, scene.before_tok(2)?);
    let text = name.text(scene.source);
    let is_tensor = nearest(text, ["Tensor", "tensor", "TensorType"]).is_some() || text == "tensor" || text == "TensorType";
    if name.tok != Tok::Ident || bracket != Tok::LBracket || scene.before_tok(1)? != Tok::LParen || !is_tensor {
        return None;
    }
    let place = name.span(scene.file);
    let message = format!("there is no type `{}` of shapes", excerpt(text));
    let report = Diagnostic::new(E0101, message).at(place, "not `Tensor`");
    Some(report.fix("write `Tensor`", place, "Tensor"))
}

/// `Tensor[(2, 3)]`.
pub(super) fn tensor_without_dtype(scene: &TokenContext) -> Option<Diagnostic> {
    if scene.found()? != Tok::RBracket || scene.before_tok(1)? != Tok::RParen {
        return None;
    }
    let open = scene.opener(scene.at - 1)?;
    let head = [open.checked_sub(2)?, open - 1].map(|at| scene.tokens[at].tok);
    (head == [Tok::Tensor, Tok::LBracket])
        .then(|| scene.plain().fix("a tensor type ends in its dtype: write `, float32`, or another", scene.behind(), ", float32"))
}

/// `float32[2, 3]`.
pub(super) fn dimensions_of_a_scalar(scene: &TokenContext) -> Option<Diagnostic> {
    let (name, bracket) = (scene.before(2)?, scene.at.checked_sub(1)?);
    if name.tok != Tok::Ident || scene.tokens[bracket].tok != Tok::LBracket || !matches!(scene.found()?, Tok::Int | Tok::Question)
    {
        return None;
    }
    let end = scene.partner(bracket)?;
    let dtype = name.text(scene.source);
    let place = |at: usize| scene.tokens[at].span(scene.file);
    let edits = vec![put(name.span(scene.file), "Tensor"), put(place(bracket), "[("), put(place(end), &format!("), {dtype}]"))];
    let dims = if end > scene.at { scene.shown(scene.at, end - 1) } else { String::new() };
    Some(scene.plain().fix_all(format!("write `Tensor[({dims}), {}]`", excerpt(dtype)), edits))
}

/// `Tensor[2, 3, float32]`.
pub(super) fn bare_dimensions(scene: &TokenContext) -> Option<Diagnostic> {
    let in_tensor = scene.before_tok(1)? == Tok::LBracket && scene.before_tok(2)? == Tok::Tensor;
    const DIMENSION: TokSet = TokSet::of(&[Tok::Int, Tok::Question, Tok::Meta, Tok::Comma]);
    let n = scene.tokens.get(scene.at..)?.iter().take_while(|token| DIMENSION.has(token.tok)).count();
    // Up to the comma before the dtype.
    let last = (scene.at..scene.at + n).rev().find(|&at| scene.tokens[at].tok != Tok::Comma);
    in_tensor.then(|| {
        let title = "the dimensions stand in parentheses, as in `Tensor[(2, 3), float32]`";
        let Some(last) = last.filter(|&last| scene.tok(last + 1) == Some(Tok::Comma)) else { return scene.plain().help(title) };
        let edits = vec![put(scene.front(scene.at), "("), put(scene.rear(last), ")")];
        scene.plain().fix_all(title, edits).certain()
    })
}
