//! Messages for E0101: an unexpected token, the expected ones, and the mistakes behind the usual cases.
//!
//! Each recognisable mistake has a function that returns its report or `None`; [`report`] takes the first.

use super::errors::{self, excerpt};
use super::failure::Failure;
use super::starts::{STARTS, starts_line, starts_statement};
use super::token::{Tok, TokSet, Token};
use super::token_context::{KEYWORDS, NAMES, TokenContext, put};
use relayc_base::diag::Diagnostic;
use relayc_base::diag::codes::{E0008, E0101, E0105, E0201, E0202, E0204};
use relayc_base::text::nearest;
use relayc_base::{FileId, Span};

/// The report of a token that does not fit.
pub(super) fn report(file: FileId, source: &str, tokens: &[Token], failure: &Failure) -> Diagnostic {
    let scene = TokenContext { file, source, tokens, at: failure.at, expected: failure.expected };
    let mistakes: &[fn(&TokenContext) -> Option<Diagnostic>] = &[
        second_version,
        section_without_sign,
        unfinished_line,
        keyword_as_name,
        split_operator,
        negative_operand,
        digits_and_letters,
        slash_in_name,
        let_of_graph,
        digit_before_name,
        colon_before_assign,
        type_of_graph,
        assignment,
        value_missing,
        unary_minus,
        string_value,
        type_arguments,
        list_value,
        list_of_calls,
        missing_colon,
        missing_sigil,
        list_without_brackets,
        positional_after_attribute,
        trailing_dot,
        wrong_arrow,
        custom_dtype,
        misspelt_keyword,
        comma_for_dot,
        comma_for_semicolon,
        call_without_parentheses,
        wrong_assign,
        missing_semicolon,
        missing_separator,
    ];
    let all = super::hints::MISTAKES.iter().chain(mistakes);
    all.copied().find_map(|mistake| mistake(&scene)).unwrap_or_else(|| scene.plain())
}

/// The report of a binding without a value, before the statement at `next`.
pub(super) fn no_value(file: FileId, source: &str, tokens: &[Token], next: usize) -> Diagnostic {
    let scene = TokenContext { file, source, tokens, at: next, expected: TokSet::default() };
    Diagnostic::new(E0101, format!("expected an expression, found {}", scene.found_words()))
        .at(scene.behind(), "a value is missing here")
        .also(scene.place(), "the next statement")
}

// ---- Mistakes that can be recognised ----

/// A version section that is not the first thing in the file.
fn second_version(scene: &TokenContext) -> Option<Diagnostic> {
    (scene.found()? == Tok::Version).then(|| {
        Diagnostic::new(E0101, "the version section stands only at the start of a file")
            .at(scene.place(), "not expected here")
            .fix("remove it", scene.place(), "")
    })
}

/// `[version = "0.0.5"]`.
fn section_without_sign(scene: &TokenContext) -> Option<Diagnostic> {
    let is_first = scene.found()? == Tok::LBracket && scene.at == 0;
    let name = scene.tokens.get(1)?.text(scene.source);
    (is_first && name == "version").then(|| {
        let message = format!("expected a definition or an expression, found {}", scene.found_words());
        let report = Diagnostic::new(E0101, message).at(scene.place(), "a section without its `#`");
        report.fix("write `#[version = …]`", scene.front(0), "#").certain()
    })
}

/// `let %x = nn.` above `let %y = …;`.
fn unfinished_line(scene: &TokenContext) -> Option<Diagnostic> {
    let names = matches!((scene.found()?, scene.tok(scene.at + 1)?), (Tok::Let, Tok::Local) | (Tok::Graph, Tok::Assign));
    (names && starts_line(scene.tokens, scene.at, scene.source) && !scene.expected.has(Tok::Semi))
        .then(|| scene.message().at(scene.behind(), "the line ends here").also(scene.place(), "the next statement"))
}

/// `type let { … }`, `f(type=1)`.
fn keyword_as_name(scene: &TokenContext) -> Option<Diagnostic> {
    let named = |keyword: Token| {
        let text = keyword.text(scene.source);
        Diagnostic::new(E0101, format!("`{text}` is a keyword and cannot be a name"))
            .at(keyword.span(scene.file), "a name is expected here")
            .fix(format!("write another name, such as `{text}_`"), keyword.span(scene.file).end_point(), "_")
    };
    let found = scene.found()?;
    let only_names = !scene.expected.has(Tok::Local) && !scene.expected.has(Tok::RBrace);
    let is_key = scene.tok(scene.at + 1) == Some(Tok::Assign) && !scene.wants_operator();
    if KEYWORDS.has(found) && scene.expected.has(Tok::Ident) && (only_names || is_key) {
        return Some(named(scene.tokens[scene.at]));
    }
    let keyword = scene.before(1)?;
    let is_key =
        found == Tok::Assign && KEYWORDS.has(keyword.tok) && matches!(scene.before_tok(2), Some(Tok::Comma | Tok::LParen));
    is_key.then(|| named(keyword))
}

/// `< =`, `= >`, `! =`: two-character operators need adjacent characters (language 1.9).
fn split_operator(scene: &TokenContext) -> Option<Diagnostic> {
    let pair = |first: Token, second: Token| {
        let joined = match (first.tok, second.tok) {
            (Tok::Lt, Tok::Assign) => "<=",
            (Tok::Gt, Tok::Assign) => ">=",
            (Tok::Assign, Tok::Assign) => "==",
            (Tok::Assign, Tok::Gt) => "=>",
            _ => return None,
        };
        let place = first.span(scene.file).to(second.span(scene.file));
        Some(
            Diagnostic::new(E0101, format!("the characters of `{joined}` must touch"))
                .at(place, "read as two tokens")
                .fix(format!("write `{joined}`"), place, joined)
                .certain(),
        )
    };
    let here = *scene.tokens.get(scene.at)?;
    let ahead = scene.tokens.get(scene.at + 1).and_then(|next| pair(here, *next));
    ahead.or_else(|| pair(scene.before(1)?, here))
}

/// `%x -1`: the minus sign belongs to the number it touches (language 1.5).
fn negative_operand(scene: &TokenContext) -> Option<Diagnostic> {
    let number = matches!(scene.found()?, Tok::Int | Tok::Float);
    let magnitude = scene.text().strip_prefix('-')?;
    (number && scene.wants_operator()).then(|| {
        let sign = Span { end: scene.place().start + 1, ..scene.place() };
        scene
            .message()
            .at(scene.place(), "a negative number, not a subtraction")
            .note("a `-` that touches a digit belongs to the number")
            .fix(format!("write `{} - {}`", scene.last_word(), excerpt(magnitude)), sign, "- ")
    })
}

/// `1_000`, `0x10`.
fn digits_and_letters(scene: &TokenContext) -> Option<Diagnostic> {
    let number = scene.before(1)?;
    let glued = matches!(number.tok, Tok::Int | Tok::Float) && scene.found()? == Tok::Ident && scene.touches_before();
    glued.then(|| {
        let (text, place) = (number.text(scene.source), number.span(scene.file).to(scene.place()));
        let report = Diagnostic::new(E0101, format!("`{}` is not a number", excerpt(&[text, scene.text()].concat())))
            .at(place, "a number and a name without a blank between them");
        match scene.text() {
            "F" => report.fix(format!("write `{}f`", excerpt(text)), scene.place(), "f").certain(),
            _ => report.note("numbers are decimal, without `_`; an integer is `1` or `1i64`, a float `2.5f` or `2.5f16`"),
        }
    })
}

/// `%a/%b` and `%a// words`: a slash belongs to the name before it (language 1.2), and that name is not defined.
fn slash_in_name(scene: &TokenContext) -> Option<Diagnostic> {
    let name = scene.before(1)?;
    let text = name.text(scene.source);
    let slash = text.find('/')?;
    let comment = text.contains("//");
    let ends = scene.found().is_some_and(|tok| STARTS.has(tok)) && (comment || text.ends_with('/'));
    let (code, what) = match name.tok {
        Tok::Local => (E0201, "variable"),
        Tok::Global => (E0202, "function"),
        Tok::Ident => (E0204, "operator"),
        _ => return None,
    };
    let place = Span { start: name.start + slash as u32, end: name.end, file: scene.file };
    let blank = Span { end: place.start, ..place };
    let label = if comment { "no comment, but a part of the name" } else { "no division, but a part of the name" };
    ends.then(|| {
        Diagnostic::new(code, format!("there is no {what} `{}`", excerpt(text))).at(place, label).note("a name may hold `/`").fix(
            "write a blank before it",
            blank,
            " ",
        )
    })
}

/// `let %0 = …`.
fn let_of_graph(scene: &TokenContext) -> Option<Diagnostic> {
    let word = scene.before(1)?;
    (word.tok == Tok::Let && scene.found()? == Tok::Graph).then(|| {
        let until_name = Span { start: word.start, end: scene.place().start, file: scene.file };
        Diagnostic::new(E0101, format!("expected a local variable, found `{}`", scene.text()))
            .at(scene.place(), "a graph variable")
            .fix("graph variables are bound without `let`", until_name, "")
            .certain()
    })
}

/// `%6x`: digits alone name a graph variable.
fn digit_before_name(scene: &TokenContext) -> Option<Diagnostic> {
    let graph = if scene.found()? == Tok::Graph { scene.at } else { scene.at.checked_sub(1)? };
    let (number, name) = (scene.tokens[graph], *scene.tokens.get(graph + 1)?);
    (number.tok == Tok::Graph && name.tok == Tok::Ident && number.end == name.start).then(|| {
        let place = number.span(scene.file).to(name.span(scene.file));
        let text = &scene.source[place.start as usize + 1..place.end as usize];
        let sign = Span { start: place.start + 1, end: place.start + 1, ..place };
        Diagnostic::new(E0101, format!("expected a local variable, found `%{}`", excerpt(text)))
            .at(place, "a name starts with a letter or `_`")
            .fix(format!("write `%_{}`, at each mention", excerpt(text)), sign, "_")
    })
}

/// `%0 := …`, `let %x := …`.
fn colon_before_assign(scene: &TokenContext) -> Option<Diagnostic> {
    let colon = if scene.found()? == Tok::Colon { scene.at } else { scene.at.checked_sub(1)? };
    let (sign, assign) = (scene.tokens[colon], *scene.tokens.get(colon + 1)?);
    let name = colon.checked_sub(1)?;
    let is_binding = matches!(scene.tokens[name].tok, Tok::Graph | Tok::Local) && sign.end == assign.start;
    if !is_binding || (sign.tok, assign.tok) != (Tok::Colon, Tok::Assign) {
        return None;
    }
    let place = sign.span(scene.file).to(assign.span(scene.file));
    let is_let = name.checked_sub(1).is_some_and(|at| scene.tokens[at].tok == Tok::Let);
    let mut edits = vec![put(place, "=")];
    if scene.tokens[name].tok == Tok::Local && !is_let {
        edits.insert(0, put(scene.front(name), "let "));
    }
    let report = Diagnostic::new(E0101, "expected `=`, found `:=`").at(place, "not an operator of Relay");
    Some(report.fix_all("a binding is written with `=`", edits).certain())
}

/// `%0: T = …`.
fn type_of_graph(scene: &TokenContext) -> Option<Diagnostic> {
    let name = scene.before(1)?;
    if name.tok != Tok::Graph || scene.found()? != Tok::Colon || !scene.begins_statement(scene.at - 1) {
        return None;
    }
    let assign = scene.flat(scene.at, TokSet::of(&[Tok::Assign, Tok::Semi]))?;
    (scene.tok(assign)? == Tok::Assign).then(|| {
        let text = excerpt(name.text(scene.source));
        let annotation = scene.behind().to(scene.tokens[assign - 1].span(scene.file));
        let report = Diagnostic::new(E0101, format!("expected `=`, found `:` behind `{text}`"));
        let report = report.at(scene.place(), "a graph variable has no annotation");
        report.note("a local has one: `let %x: T = …;`").fix("leave the type out", annotation, "")
    })
}

/// `%x = …` without `let`, and `=` where `==` is meant.
fn assignment(scene: &TokenContext) -> Option<Diagnostic> {
    let name = scene.before(1)?;
    if scene.found()? != Tok::Assign || !scene.wants_operator() {
        return None;
    }
    let starts = scene.before_tok(2).is_none_or(|tok| matches!(tok, Tok::Semi | Tok::LBrace | Tok::FatArrow));
    let report = scene.message().at(scene.place(), "not expected here");
    Some(match name.tok {
        Tok::Local if starts => {
            let place = name.span(scene.file);
            let before = Span { end: name.start, ..place };
            let name = excerpt(name.text(scene.source));
            let report = Diagnostic::new(E0101, format!("expected `let` before `{name}`")).at(place, "bound without `let`");
            report.fix(format!("a local is bound by `let {name} = …;`"), before, "let ")
        }
        Tok::Int if starts => {
            let name = name.span(scene.file);
            let text = excerpt(&scene.source[name.start as usize..name.end as usize]);
            let report = Diagnostic::new(E0101, format!("expected a graph variable, found `{text}`")).at(name, "a number");
            report.fix(format!("a graph variable is written `%{text}`"), Span { end: name.start, ..name }, "%")
        }
        _ => report.fix("a comparison is `==`", scene.place(), "=="),
    })
}

/// `nn,relu(%x)`.
fn comma_for_dot(scene: &TokenContext) -> Option<Diagnostic> {
    let (comma, next) = (scene.place(), *scene.tokens.get(scene.at + 1)?);
    let touches = scene.touches_before() && comma.end == next.start;
    let is_name = scene.before_tok(1)? == Tok::Ident && next.tok == Tok::Ident && touches;
    (is_name && scene.found()? == Tok::Comma && !scene.expected.has(Tok::Comma))
        .then(|| scene.plain().fix("the parts of a name are joined by `.`", comma, ".").certain())
}

/// `%0 = exp(%x),` or `%0 = exp(%x):` above the next statement.
fn comma_for_semicolon(scene: &TokenContext) -> Option<Diagnostic> {
    let found = scene.found()?;
    let ends = matches!(found, Tok::Comma | Tok::Colon) && scene.expected.has(Tok::Semi) && !scene.expected.has(found);
    (ends && scene.in_binding()).then(|| {
        let report = scene.plain().fix("a statement ends in `;`", scene.place(), ";");
        let next = starts_statement(scene.tokens, scene.at + 1, scene.source);
        if next { report.certain() } else { report }
    })
}

/// `exp %x`.
fn call_without_parentheses(scene: &TokenContext) -> Option<Diagnostic> {
    const ENDS: TokSet = TokSet::of(&[Tok::Semi, Tok::Comma, Tok::RParen, Tok::RBrace]);
    let callee = scene.before(1)?;
    let is_call = matches!(callee.tok, Tok::Ident | Tok::Global) && scene.wants_operator();
    let is_operand = matches!(scene.found()?, Tok::Local | Tok::Graph | Tok::Int | Tok::Float | Tok::Ident);
    if !is_call || !is_operand || starts_line(scene.tokens, scene.at, scene.source) {
        return None;
    }
    let end = scene.operand_end(scene.at)?;
    scene.tok(end + 1).is_none_or(|tok| ENDS.has(tok)).then(|| {
        let title = format!("write `{}({})`", excerpt(callee.text(scene.source)), scene.shown(scene.at, end));
        let gap = Span { end: scene.place().start, ..callee.span(scene.file).end_point() };
        let report = scene.message().at(scene.place(), "arguments stand in parentheses");
        report.fix_all(title, vec![put(gap, "("), put(scene.rear(end), ")")])
    })
}

/// A statement that begins where the one before has not ended, or a binding whose value is followed by anything else.
fn missing_semicolon(scene: &TokenContext) -> Option<Diagnostic> {
    let next = starts_statement(scene.tokens, scene.at, scene.source);
    let ends_here = scene.expected.has(Tok::Semi) && !scene.expected.has(Tok::Comma);
    let operand = scene.found().is_some_and(|tok| STARTS.has(tok));
    let divides = scene.at.checked_sub(1).is_some_and(|at| scene.is_divided(at));
    (ends_here && (next || (operand && scene.in_binding())))
        .then(|| {
            let message = if next { format!("expected `;`, found {}", scene.found_words()) } else { scene.message().message };
            Diagnostic::new(E0101, message).at(scene.behind(), "`;` is missing here").fix("write `;`", scene.behind(), ";")
        })
        .map(|report| if next && !divides { report.certain() } else { report })
}

/// `let %x == …;`, `let %x: T : …;`.
fn wrong_assign(scene: &TokenContext) -> Option<Diagnostic> {
    let wrong = matches!(scene.found()?, Tok::EqEq | Tok::Colon | Tok::Arrow | Tok::FatArrow) && scene.expected.has(Tok::Assign);
    // Behind the key of an attribute a `.` may stand as well.
    (wrong && !scene.expected.has(Tok::Dot) && !scene.wants_operator())
        .then(|| scene.plain().fix("a binding is written with `=`", scene.place(), "=").certain())
}

/// Only a separator is expected, or a list continues without its first comma.
fn missing_separator(scene: &TokenContext) -> Option<Diagnostic> {
    let sign = match scene.expected.iter().collect::<Vec<_>>()[..] {
        [Tok::Comma] => ",",
        [Tok::Assign] => "=",
        [Tok::FatArrow] => "=>",
        _ if scene.expected.has(Tok::Comma) && scene.found().is_some_and(|tok| STARTS.has(tok)) => ",",
        _ => return None,
    };
    let report = scene.plain().fix(format!("write `{sign}`"), scene.behind(), sign);
    // A parameter, or one of several numbers.
    let next = (scene.found()?, scene.tok(scene.at + 1));
    let is_param = matches!(next, (Tok::Local, Some(Tok::Colon)));
    let is_number =
        matches!(next, (Tok::Int, Some(Tok::Int | Tok::RBracket | Tok::Comma))) && scene.before_tok(1) == Some(Tok::Int);
    Some(if sign == "," && (is_param || is_number) { report.certain() } else { report })
}

/// `=>` or `:` for `->`; `->`, `>`, `=` or `:` for `=>`.
fn wrong_arrow(scene: &TokenContext) -> Option<Diagnostic> {
    let right = match scene.found()? {
        Tok::FatArrow | Tok::Colon if scene.expected.has(Tok::Arrow) => "->",
        Tok::Arrow | Tok::Gt | Tok::Assign | Tok::Colon if scene.expected.has(Tok::FatArrow) => "=>",
        _ => return None,
    };
    Some(scene.plain().fix(format!("write `{right}`"), scene.place(), right).certain())
}

/// `Tensor[(1), custom[posit]32]`, which TVM prints and cannot lex (#257).
fn custom_dtype(scene: &TokenContext) -> Option<Diagnostic> {
    let word = scene.before(1)?;
    let is_custom = word.tok == Tok::Ident && word.text(scene.source) == "custom" && scene.found()? == Tok::LBracket;
    is_custom.then(|| {
        Diagnostic::new(E0008, "`custom[…]` is a dtype of the program that printed it")
            .at(word.span(scene.file), "not a dtype of the language")
            .note("what its bits mean is registered in the memory of that program and stands in no text")
            .help("cast the tensor to a dtype such as `float32` before printing the program")
    })
}

/// `defn @f() { … }`.
fn misspelt_keyword(scene: &TokenContext) -> Option<Diagnostic> {
    const WORDS: [(&str, Tok); 4] = [("def", Tok::Def), ("type", Tok::Type), ("extern", Tok::Extern), ("else", Tok::Else)];
    let named = scene.found()? == Tok::Ident && !scene.expected.has(Tok::Ident);
    let expected = WORDS.iter().filter(|(_, tok)| scene.expected.has(*tok)).map(|(word, _)| *word);
    let word = nearest(scene.text(), expected).filter(|_| named)?;
    Some(scene.plain().fix(format!("write `{word}`"), scene.place(), word))
}

/// `{ …; }` and `%0 = 1;` at the end: a sequence ends in a value.
fn value_missing(scene: &TokenContext) -> Option<Diagnostic> {
    let ends = matches!(scene.found(), None | Some(Tok::RBrace | Tok::RParen));
    let after_semi = scene.before_tok(1) == Some(Tok::Semi);
    (ends && after_semi && scene.wants_expr()).then(|| {
        let report = scene
            .message()
            .at(scene.behind(), "a value is missing here")
            .note("statements end in `;`, and after the last one stands the value of the whole");
        let Some(start) = scene.last_statement() else { return report };
        match scene.bound_by(start) {
            Some(name) => report.fix(format!("write the name of the value: `{name}`"), scene.behind(), format!("\n{name}")),
            None if scene.tok(start).is_some_and(|tok| STARTS.has(tok) || tok == Tok::LParen) => {
                let semi = scene.before(1).map_or(scene.behind(), |semi| semi.span(scene.file));
                report.fix("remove the `;` behind the value", semi, "")
            }
            None => report,
        }
    })
}

/// `-%x`.
fn unary_minus(scene: &TokenContext) -> Option<Diagnostic> {
    (scene.found()? == Tok::Minus && scene.wants_expr()).then(|| {
        let report = Diagnostic::new(E0105, "there is no unary minus").at(scene.place(), "only a literal can have a sign");
        match scene.operand_end(scene.at + 1) {
            Some(end) => {
                let title = format!("write `negative({})`", scene.shown(scene.at + 1, end));
                let head = Span { end: scene.tokens[scene.at + 1].start, ..scene.place() };
                report.fix_all(title, vec![put(head, "negative("), put(scene.rear(end), ")")])
            }
            None => report.help("write `negative(x)`"),
        }
    })
}

/// A string where an expression is expected.
fn string_value(scene: &TokenContext) -> Option<Diagnostic> {
    (scene.found()? == Tok::Str && scene.wants_expr()).then(|| errors::string_value(scene.place()))
}

/// `[1, 2]` and `[%a, %b]` where an expression is expected.
fn list_value(scene: &TokenContext) -> Option<Diagnostic> {
    (scene.found()? == Tok::LBracket && scene.wants_expr()).then(|| errors::list_value(scene.place(), scene.as_tuple(scene.at)))
}

/// `f([g(%x), %y])`: a list among arguments is read as the value of an attribute, which no call is.
fn list_of_calls(scene: &TokenContext) -> Option<Diagnostic> {
    if scene.found()? != Tok::LParen || !scene.expected.has(Tok::RBracket) {
        return None;
    }
    let open = scene.around().filter(|&open| scene.tok(open) == Some(Tok::LBracket))?;
    let starts_argument = matches!(open.checked_sub(1).and_then(|at| scene.tok(at))?, Tok::LParen | Tok::Comma);
    starts_argument.then(|| errors::list_value(scene.tokens[open].span(scene.file), scene.as_tuple(open)))
}

/// `@id[int32](1)`.
fn type_arguments(scene: &TokenContext) -> Option<Diagnostic> {
    let callee = matches!(scene.before_tok(1)?, Tok::Global | Tok::Local | Tok::Ident | Tok::Graph);
    (callee && scene.found()? == Tok::LBracket && scene.wants_operator()).then(|| {
        let report = Diagnostic::new(E0105, "type arguments cannot be written at a call")
            .at(scene.place(), "not expected here")
            .note("they are inferred from the arguments and the result");
        match scene.partner(scene.at) {
            Some(end) => report.fix("leave them out", scene.place().to(scene.tokens[end].span(scene.file)), ""),
            None => report,
        }
    })
}

/// `def @f(%x int32)`, `let %x int32 = …`: a name and its type without the `:`; `let %x exp(%y);` without the `=`.
fn missing_colon(scene: &TokenContext) -> Option<Diagnostic> {
    const TYPES: TokSet = TokSet::of(&[Tok::Tensor, Tok::Ident, Tok::Fn, Tok::Ref, Tok::LParen]);
    let found = scene.found()?;
    // A type that is a name has been read as the key of an attribute.
    let is_key = matches!(scene.before_tok(1)?, Tok::Ident | Tok::Tensor) && scene.expected.has(Tok::Assign);
    let ty = match found {
        Tok::Comma | Tok::RParen | Tok::LBracket if is_key => scene.at - 1,
        _ => scene.at,
    };
    let name = ty.checked_sub(1).filter(|&name| scene.tokens[name].tok == Tok::Local)?;
    if !scene.expected.has(Tok::Assign) && !scene.expected.has(Tok::Colon) {
        return None;
    }
    let in_let = matches!(scene.tokens[name.checked_sub(1)?].tok, Tok::Let | Tok::FreeVar);
    let end = match scene.tok(ty + 1) {
        Some(Tok::LBracket) => scene.partner(ty + 1)?,
        _ => ty,
    };
    let sign = match in_let {
        true if TYPES.has(scene.tokens[ty].tok) && scene.tok(end + 1) == Some(Tok::Assign) => ":",
        true if STARTS.has(found) => "=",
        false if TYPES.has(scene.tokens[ty].tok) && scene.in_parameters() => ":",
        _ => return None,
    };
    let text = scene.tokens[ty].text(scene.source);
    let is_dtype = text == "bool"
        || ["int", "uint", "float", "bfloat"].iter().any(|kind| {
            text.strip_prefix(kind).is_some_and(|bits| !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit()))
        });
    let is_type = is_dtype || text.starts_with(|c: char| c.is_ascii_uppercase());
    let place = scene.tokens[name].span(scene.file).end_point();
    let text = if sign == ":" { ":" } else { " =" };
    let report = Diagnostic::new(E0101, format!("expected `{sign}`, found `{}`", scene.tokens[ty].text(scene.source)))
        .at(place, format!("`{sign}` is missing here"))
        .fix(format!("write `{sign}`"), place, text);
    Some(if sign == ":" && is_type { report.certain() } else { report })
}

/// `def main()`, `fn (x: int32)`, `let x = …`.
fn missing_sigil(scene: &TokenContext) -> Option<Diagnostic> {
    let found = scene.found()?;
    let is_name = NAMES.has(found) || KEYWORDS.has(found);
    let (sigil, what) = match scene.before_tok(1)? {
        Tok::Def if scene.expected.has(Tok::Global) => ("@", "a global name starts with `@`"),
        Tok::Let | Tok::FreeVar if scene.expected.has(Tok::Local) => ("%", "a local variable starts with `%`"),
        // Parameters: a key of attributes is what was read.
        Tok::Ident
            if matches!(found, Tok::Colon | Tok::Comma | Tok::RParen)
                && scene.expected.has(Tok::Assign)
                && scene.in_parameters() =>
        {
            let name = scene.before(1)?.span(scene.file);
            let place = Span { end: name.start, ..name };
            let report = Diagnostic::new(E0101, "expected a parameter, found a name without `%`");
            return Some(report.at(name, "a parameter starts with `%`").fix("write `%`", place, "%").certain());
        }
        _ => return None,
    };
    is_name.then(|| {
        let place = Span { end: scene.place().start, ..scene.place() };
        scene.message().at(scene.place(), what).fix(format!("write `{sigil}`"), place, sigil).certain()
    })
}

/// `nn.conv2d(%x, %w, kernel_size=3, 3)`.
fn list_without_brackets(scene: &TokenContext) -> Option<Diagnostic> {
    let before = [4, 3, 2, 1].map(|n| scene.before_tok(n));
    let is_list = before == [Tok::Ident, Tok::Assign, Tok::Int, Tok::Comma].map(Some) && scene.found()? == Tok::Int;
    if !is_list || scene.wants_operator() {
        return None;
    }
    let mut last = scene.at;
    while (scene.tok(last + 1), scene.tok(last + 2)) == (Some(Tok::Comma), Some(Tok::Int)) {
        last += 2;
    }
    let first = scene.at - 2;
    let title = format!("a list is written `{}=[{}]`", excerpt(scene.before(4)?.text(scene.source)), scene.shown(first, last));
    let report = Diagnostic::new(E0101, format!("expected an attribute or `)`, found {}", scene.found_words()));
    let report = report.at(scene.place(), "not an attribute");
    Some(report.fix_all(title, vec![put(scene.front(first), "["), put(scene.rear(last), "]")]))
}

/// `clip(a_min=0f, %x)`.
fn positional_after_attribute(scene: &TokenContext) -> Option<Diagnostic> {
    let found = scene.found()?;
    let only_keys = scene.expected.has(Tok::Ident) && scene.expected.has(Tok::RParen) && !scene.expected.has(Tok::Local);
    (only_keys && scene.before_tok(1) == Some(Tok::Comma) && (STARTS.has(found) || found == Tok::LParen)).then(|| {
        let report = Diagnostic::new(E0101, format!("expected an attribute or `)`, found {}", scene.found_words()))
            .at(scene.place(), "not an attribute")
            .note("attributes stand after all arguments and parameters");
        match scene.before_attributes() {
            Some(edits) => report.fix_all("move it before the attributes", edits),
            None => report,
        }
    })
}

/// `add.(1, 2)`: TVM swallows the dot (#198).
fn trailing_dot(scene: &TokenContext) -> Option<Diagnostic> {
    let dot = scene.before(1)?;
    (dot.tok == Tok::Dot && scene.expected.has(Tok::Ident))
        .then(|| scene.message().at(scene.place(), "not expected here").fix("remove the dot before it", dot.span(scene.file), ""))
}
