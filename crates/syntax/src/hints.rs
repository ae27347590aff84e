//! Hints for E0101 with the corrected text: words of other languages, and missing or wrong signs.
//!
//! Each function recognises one mistake and returns its report with the edits; `unexpected.rs` tries them first.

use super::token::{Tok, TokSet};
use super::token_context::{TokenContext, put};
use super::{foreign_operators, python, type_hints};
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_base::text::nearest;

type Mistake = fn(&TokenContext) -> Option<Diagnostic>;

pub(super) const MISTAKES: &[Mistake] = &[
    word_of_another_language,
    function_without_def,
    python::function,
    python::condition,
    python::elif,
    python::conditional,
    python::return_word,
    python::lambda,
    python::arrow_function,
    python::statement,
    python::import,
    python::binding,
    python::unpacking,
    foreign_operators::infix,
    foreign_operators::prefix,
    foreign_operators::xor,
    foreign_operators::augmented,
    foreign_operators::remainder,
    foreign_operators::index,
    foreign_operators::method,
    type_hints::quoted,
    type_hints::brackets,
    type_hints::prefix,
    type_hints::misspelt_tensor,
    type_hints::shape,
    type_hints::dimension,
    other_word_for_match,
    type_hints::tensor_without_dtype,
    type_hints::dimensions_of_a_scalar,
    type_hints::bare_dimensions,
    angle_brackets,
    missing_arrow,
    missing_else,
    semicolon_in_parentheses,
    colon_of_an_attribute,
];

/// `fun @main`, `struct Point { … }`.
fn word_of_another_language(scene: &TokenContext) -> Option<Diagnostic> {
    if scene.text() == "class" && scene.tok(scene.at + 2) == Some(Tok::Colon) && scene.expected.has(Tok::Def) {
        return Some(scene.plain().help("there are no classes: the functions stand in the file by themselves"));
    }
    let word = match (scene.text(), scene.tok(scene.at + 1)?) {
        ("fun" | "func" | "function" | "define" | "fn" | "let", Tok::Global) => "def",
        ("struct" | "enum" | "data" | "adt" | "class", Tok::Ident) => "type",
        _ => return None,
    };
    let expected = if word == "def" { Tok::Def } else { Tok::Type };
    scene.expected.has(expected).then(|| scene.plain().fix(format!("write `{word}`"), scene.place(), word))
}

/// `@main(%x: int32) { … }`, and `fn @main(…) { … }` as the first in a file, which reads as an expression.
fn function_without_def(scene: &TokenContext) -> Option<Diagnostic> {
    let found = scene.found()?;
    if found == Tok::Global && scene.at == 1 && scene.before_tok(1)? == Tok::Fn {
        let word = scene.tokens[0].span(scene.file);
        return Some(scene.plain().fix("a function is defined by `def`", word, "def"));
    }
    let name = match found {
        // Of definitions, with some before.
        Tok::Global if scene.expected.has(Tok::Def) && scene.tok(scene.at + 1) == Some(Tok::LParen) => scene.at,
        Tok::Colon if scene.before_tok(1)? == Tok::Local => scene.around()?.checked_sub(1)?,
        Tok::LBrace | Tok::Arrow if scene.before_tok(1)? == Tok::RParen => scene.opener(scene.at - 1)?.checked_sub(1)?,
        _ => return None,
    };
    let name = (name == 0 || name == scene.at).then(|| scene.tokens[name]).filter(|name| name.tok == Tok::Global)?;
    let place = name.span(scene.file);
    let report = scene.message().at(scene.place(), "not expected here");
    let report = if place == scene.place() { report } else { report.also(place, "read as a call") };
    Some(report.fix("a function is defined by `def`", Span { end: place.start, ..place }, "def "))
}

/// `switch (%x) { … }`.
fn other_word_for_match(scene: &TokenContext) -> Option<Diagnostic> {
    if scene.found()? != Tok::LBrace || scene.before_tok(1)? != Tok::RParen {
        return None;
    }
    let word = scene.opener(scene.at - 1)?.checked_sub(1)?;
    let (token, right) = (scene.tokens[word], ["match", "if", "fn"]);
    let text = token.text(scene.source);
    let meant = match text {
        "switch" | "case" | "when" => "match",
        "lambda" | "func" | "function" => "fn",
        _ if token.tok == Tok::Ident => nearest(text, right)?,
        _ => return None,
    };
    let place = token.span(scene.file);
    let report =
        Diagnostic::new(relayc_base::diag::codes::E0101, format!("expected an operator or `;`, found {}", scene.found_words()));
    let report = report.at(scene.place(), "not expected after a call").also(place, "read as the name of what is called");
    Some(report.fix(format!("write `{meant}`"), place, meant))
}

/// `type List<A> { … }`.
fn angle_brackets(scene: &TokenContext) -> Option<Diagnostic> {
    let (found, name) = (scene.found()?, scene.before_tok(1)?);
    if found != Tok::Lt || !scene.expected.has(Tok::LBracket) || !matches!(name, Tok::Ident | Tok::Global | Tok::Fn) {
        return None;
    }
    const PARAMS: TokSet = TokSet::of(&[Tok::Ident, Tok::Comma]);
    let end = (scene.at + 1..scene.tokens.len()).find(|&at| !PARAMS.has(scene.tokens[at].tok))?;
    let close = scene.tokens[end];
    (close.tok == Tok::Gt).then(|| {
        let edits = vec![put(scene.place(), "["), put(close.span(scene.file), "]")];
        scene.plain().fix_all("type parameters stand in `[…]`", edits)
    })
}

/// `def @f(%x: int32) int32 { … }`.
fn missing_arrow(scene: &TokenContext) -> Option<Diagnostic> {
    const TYPES: TokSet = TokSet::of(&[Tok::Tensor, Tok::Ident, Tok::Fn, Tok::Ref, Tok::LParen]);
    let after_params = scene.before_tok(1)? == Tok::RParen && scene.expected.has(Tok::Arrow) && scene.expected.has(Tok::LBrace);
    (after_params && TYPES.has(scene.found()?))
        .then(|| scene.plain().fix("write `->` before the result", scene.front(scene.at), "-> ").certain())
}

/// `if (%c) { … } { … }`.
fn missing_else(scene: &TokenContext) -> Option<Diagnostic> {
    let between = scene.found()? == Tok::LBrace && scene.before_tok(1)? == Tok::RBrace && scene.expected.has(Tok::Else);
    between.then(|| {
        let message = format!("expected `else`, found {}", scene.found_words());
        let report = Diagnostic::new(relayc_base::diag::codes::E0101, message).at(scene.place(), "another branch without `else`");
        report.fix("write `else`", scene.behind(), " else")
    })
}

/// `f(%x, a=1; b=2)`.
fn semicolon_in_parentheses(scene: &TokenContext) -> Option<Diagnostic> {
    let inside = scene.found()? == Tok::Semi && scene.around().is_some_and(|open| scene.tokens[open].tok != Tok::LBrace);
    (inside && scene.expected.has(Tok::Comma)).then(|| scene.plain().fix("write `,`", scene.place(), ","))
}

/// `nn.leaky_relu(%x, alpha: 0.1f)`.
fn colon_of_an_attribute(scene: &TokenContext) -> Option<Diagnostic> {
    let is_key = scene.before_tok(1)? == Tok::Ident && scene.found()? == Tok::Colon;
    let open = scene.around().filter(|_| is_key)?;
    let before = |n: usize| open.checked_sub(n).and_then(|at| scene.tok(at));
    let is_call = match before(1)? {
        Tok::Ident | Tok::Local | Tok::Graph | Tok::RParen => true,
        Tok::Global => before(2) != Some(Tok::Def),
        _ => false,
    };
    (scene.tokens[open].tok == Tok::LParen && is_call)
        .then(|| scene.plain().fix("an attribute is written `name=value`", scene.place(), "="))
}
