//! Hints for E0101 with the corrected text: words of other languages, and missing or wrong signs.
//!
//! Each function recognises one mistake and returns its report with the edits; `unexpected.rs` tries them first.

use super::errors::excerpt;
use super::starts::starts_line;
use super::token::{Tok, TokSet};
use super::token_context::{TokenContext, put};
use super::{foreign_operators, python, type_hints};
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_base::diag::codes::E0101;
use relayc_base::text::nearest;

type Mistake = fn(&TokenContext) -> Option<Diagnostic>;

pub(super) const MISTAKES: &[Mistake] = &[
    word_of_another_language,
    first_word,
    function_without_def,
    other_word_for_let,
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
    python::parameter,
    foreign_operators::floor_division,
    foreign_operators::infix,
    foreign_operators::prefix,
    foreign_operators::xor,
    foreign_operators::augmented,
    binding_without_sign,
    bare_sizes,
    bare_parameters,
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
    attribute_without_sign,
    colon_of_an_attribute,
];

/// The keyword of a definition that begins with `word` in another language, or that is nearly spelt so.
fn keyword_of_definition(word: &str) -> Option<&'static str> {
    match word {
        "fn" | "fun" | "func" | "function" | "define" => Some("def"),
        "struct" | "enum" | "data" | "adt" | "class" => Some("type"),
        _ => {
            let is_near = |keyword: &str| word.eq_ignore_ascii_case(keyword) || nearest(word, [keyword]).is_some();
            ["def", "type"].into_iter().find(|keyword| is_near(keyword))
        }
    }
}

/// `fun @main`, `struct Point { … }`.
fn word_of_another_language(scene: &TokenContext) -> Option<Diagnostic> {
    if scene.text() == "class" && scene.tok(scene.at + 2) == Some(Tok::Colon) && scene.expected.has(Tok::Def) {
        return Some(scene.plain().help("there are no classes: the functions stand in the file by themselves"));
    }
    let word = match (scene.text(), scene.tok(scene.at + 1)?) {
        ("let", Tok::Global) => "def",
        (word, Tok::Global) => keyword_of_definition(word).filter(|keyword| *keyword == "def")?,
        (word, Tok::Ident) => keyword_of_definition(word).filter(|keyword| *keyword == "type")?,
        _ => return None,
    };
    let expected = if word == "def" { Tok::Def } else { Tok::Type };
    scene.expected.has(expected).then(|| {
        let report = scene.plain().fix(format!("write `{word}`"), scene.place(), word);
        if scene.text().eq_ignore_ascii_case(word) { report.certain() } else { report }
    })
}

/// `fn @main(…) { … }`, `function main(…)`, `tye List[A] { … }` as the first in a file, which read as an expression.
fn first_word(scene: &TokenContext) -> Option<Diagnostic> {
    let word = scene.before(1).filter(|word| scene.at == 1 && matches!(word.tok, Tok::Fn | Tok::Ident))?;
    let keyword = keyword_of_definition(word.text(scene.source))?;
    let title = match (keyword, scene.found()?, scene.tok(2)?) {
        ("def", Tok::Global | Tok::Ident, Tok::LParen | Tok::LBracket) => {
            "a function is defined by `def`, its name starts with `@`"
        }
        ("type", Tok::Ident, Tok::LBrace | Tok::LBracket) => "a type is defined by `type`",
        _ => return None,
    };
    let mut edits = vec![put(word.span(scene.file), keyword)];
    if keyword == "def" && scene.found()? == Tok::Ident {
        edits.push(put(scene.front(1), "@"));
    }
    let report = scene.plain().fix_all(title, edits);
    Some(if word.text(scene.source).eq_ignore_ascii_case(keyword) { report.certain() } else { report })
}

/// `@main(%x: int32) { … }`.
fn function_without_def(scene: &TokenContext) -> Option<Diagnostic> {
    let found = scene.found()?;
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

/// `Let %x = …`, `var %x = …`.
fn other_word_for_let(scene: &TokenContext) -> Option<Diagnostic> {
    let at = scene.at.checked_sub(1).filter(|&at| scene.tok(at) == Some(Tok::Ident) && scene.begins_statement(at))?;
    let (word, place) = (scene.tokens[at].text(scene.source), scene.tokens[at].span(scene.file));
    let binds = scene.found()? == Tok::Local && matches!(scene.tok(scene.at + 1), Some(Tok::Assign | Tok::Colon));
    let is_capital = word.eq_ignore_ascii_case("let");
    if !binds
        || !(is_capital
            || matches!(word, "var" | "val" | "const" | "auto" | "set")
            || (nearest(word, ["let"]).is_some() && !word.contains('/')))
    {
        return None;
    }
    let label = if is_capital { "keywords are written in lower case" } else { "not a word of Relay" };
    let report = Diagnostic::new(E0101, format!("expected `let`, found `{word}`")).at(place, label);
    Some(report.fix("write `let`", place, "let").certain())
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
    let report = Diagnostic::new(E0101, format!("expected an operator or `;`, found {}", scene.found_words()));
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

/// `newshape=[batch * 2, 16]`.
fn bare_sizes(scene: &TokenContext) -> Option<Diagnostic> {
    const PARTS: TokSet = TokSet::of(&[Tok::Ident, Tok::Int, Tok::Star, Tok::Plus, Tok::Minus]);
    const SIGNS: TokSet = TokSet::of(&[Tok::Star, Tok::Plus, Tok::Minus]);
    let begins =
        matches!(scene.before_tok(1)?, Tok::Ident | Tok::Int) && matches!(scene.before_tok(2)?, Tok::LBracket | Tok::Comma);
    if !begins || !SIGNS.has(scene.found()?) || !scene.expected.has(Tok::RBracket) {
        return None;
    }
    let end = (scene.at..scene.tokens.len()).find(|&at| !PARTS.has(scene.tokens[at].tok))?;
    matches!(scene.tok(end)?, Tok::Comma | Tok::RBracket).then(|| {
        let title = format!("arithmetic on sizes stands in parentheses: `({})`", scene.shown(scene.at - 1, end - 1));
        scene.plain().fix_all(title, vec![put(scene.front(scene.at - 1), "("), put(scene.rear(end - 1), ")")])
    })
}

/// `fn %x: float32 { … }`.
fn bare_parameters(scene: &TokenContext) -> Option<Diagnostic> {
    if scene.before_tok(1)? != Tok::Fn || scene.found()? != Tok::Local {
        return None;
    }
    let end = scene.flat(scene.at, TokSet::of(&[Tok::LBrace, Tok::Arrow]))?;
    let title = format!("parameters stand in parentheses: `fn ({})`", scene.shown(scene.at, end - 1));
    Some(scene.plain().fix_all(title, vec![put(scene.front(scene.at), "("), put(scene.rear(end - 1), ")")]))
}

/// `def @f(%x: int32) int32 { … }`.
fn missing_arrow(scene: &TokenContext) -> Option<Diagnostic> {
    const TYPES: TokSet = TokSet::of(&[Tok::Tensor, Tok::Ident, Tok::Fn, Tok::Ref, Tok::LParen]);
    let after_params = scene.before_tok(1)? == Tok::RParen && scene.expected.has(Tok::Arrow) && scene.expected.has(Tok::LBrace);
    (after_params && TYPES.has(scene.found()?))
        .then(|| scene.plain().fix("write `->` before the result", scene.front(scene.at), "-> ").certain())
}

/// `%1 nn.relu(%0);`, where nothing has bound `%1` above.
fn binding_without_sign(scene: &TokenContext) -> Option<Diagnostic> {
    let name = scene.at.checked_sub(1)?;
    const VALUES: TokSet = TokSet::of(&[Tok::Ident, Tok::Global, Tok::Local, Tok::Graph, Tok::Fn, Tok::If, Tok::Match]);
    let is_value = VALUES.has(scene.found()?) && !starts_line(scene.tokens, scene.at, scene.source);
    let is_name = scene.tok(name) == Some(Tok::Graph) && starts_line(scene.tokens, name, scene.source);
    let is_binding = is_name && is_value && scene.expected.has(Tok::Assign) && !scene.is_bound(name);
    is_binding.then(|| {
        let message = format!("expected `=`, found {}", scene.found_words());
        Diagnostic::new(E0101, message).at(scene.behind(), "`=` is missing here").fix("write `=`", scene.behind(), " =")
    })
}

/// `if (%c) { … } { … }`.
fn missing_else(scene: &TokenContext) -> Option<Diagnostic> {
    let between = scene.found()? == Tok::LBrace && scene.before_tok(1)? == Tok::RBrace && scene.expected.has(Tok::Else);
    between.then(|| {
        let message = format!("expected `else`, found {}", scene.found_words());
        let report = Diagnostic::new(E0101, message).at(scene.place(), "another branch without `else`");
        report.fix("write `else`", scene.behind(), " else")
    })
}

/// `f(%x, a=1; b=2)`, `f(%x, %w; units=4)`.
fn semicolon_in_parentheses(scene: &TokenContext) -> Option<Diagnostic> {
    let is_key = scene.found()? == Tok::Assign && scene.before_tok(1)? == Tok::Ident && scene.before_tok(2)? == Tok::Semi;
    if is_key && scene.around().is_some_and(|open| scene.tokens[open].tok == Tok::LParen) {
        let place = scene.before(2)?.span(scene.file);
        let report = Diagnostic::new(E0101, "expected `,`, found `;`").at(place, "not expected among arguments");
        return Some(report.fix("write `,`", place, ",").certain());
    }
    // In braces stand the constructors of a type as well.
    let in_list = |open: usize| scene.tokens[open].tok != Tok::LBrace || !scene.expected.has(Tok::Semi);
    let inside = scene.found()? == Tok::Semi && scene.around().is_some_and(in_list);
    (inside && scene.expected.has(Tok::Comma)).then(|| scene.plain().fix("write `,`", scene.place(), ","))
}

/// `nn.dense(%x, %w, units4)`, `sum(%x, axis [1])`.
fn attribute_without_sign(scene: &TokenContext) -> Option<Diagnostic> {
    let key = scene.before(1).filter(|key| key.tok == Tok::Ident && scene.expected.has(Tok::Assign))?;
    let text = key.text(scene.source);
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let in_call = scene.around().is_some_and(|open| scene.tokens[open].tok == Tok::LParen) && !scene.in_parameters();
    if in_call && matches!(scene.found()?, Tok::LBracket | Tok::Str) && key.end < scene.place().start {
        let close = if scene.found()? == Tok::LBracket { scene.partner(scene.at)? } else { scene.at };
        let value = scene.place().to(scene.tokens[close].span(scene.file));
        let value_text = &scene.source[value.start as usize..value.end as usize];
        return Some(super::errors::attr_without_sign(key.span(scene.file), text, value, value_text));
    }
    if !in_call || name.is_empty() || name.len() == text.len() || !matches!(scene.found()?, Tok::Comma | Tok::RParen) {
        return None;
    }
    let place = key.span(scene.file);
    let gap = Span { start: place.start + name.len() as u32, end: place.start + name.len() as u32, ..place };
    let number = &text[name.len()..];
    let report = Diagnostic::new(E0101, format!("expected an attribute, found `{}`", excerpt(text))).at(place, "has no value");
    Some(report.fix(format!("an attribute is written `{}={number}`", excerpt(name)), gap, "="))
}

/// `nn.leaky_relu(%x, alpha: 0.1f)`, `nn.dense(%x, %w, units=4, out_dtype=="float32")`.
fn colon_of_an_attribute(scene: &TokenContext) -> Option<Diagnostic> {
    let is_sign = matches!(scene.found()?, Tok::Colon | Tok::EqEq) && scene.expected.has(Tok::Assign);
    let is_key = scene.before_tok(1)? == Tok::Ident && (is_sign || scene.found()? == Tok::Colon);
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
