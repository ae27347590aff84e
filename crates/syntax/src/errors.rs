//! Builds the messages of syntax errors: one function for each mistake. Unexpected tokens are in `unexpected.rs`.
//!
//! Messages are lower case, say what is wrong and give no advice. Labels describe a place; helps say what to write instead, with
//! an edit wherever one edit is enough.

use super::literal::NumberProblem;
use super::token::{Tok, TokSet, Token};
use super::version::VERSION;
use relayc_base::Span;
use relayc_base::diag::codes::{
    E0001, E0002, E0003, E0004, E0005, E0006, E0101, E0102, E0103, E0104, E0105, E0106, E0208, E0801, E0802, W0001, W0010, W0011,
    W0014, W0021,
};
use relayc_base::diag::{Diagnostic, Edit};
use relayc_base::limits::{DEFINITIONS, Limit, NESTING, SOURCE_BYTES, TOKENS};
use relayc_base::text::{count, join_words, nearest, thousands};

/// Shortens a text to one line for a message, tabs as blanks.
pub(super) fn excerpt(text: &str) -> String {
    const MAX: usize = 40;
    // Only the beginning is looked at, however long the text is.
    let head = text.char_indices().nth(MAX).map_or(text, |(end, _)| &text[..end]);
    let line = head.lines().next().unwrap_or("").trim_end();
    let shown = line.replace('\t', " ");
    if line.len() < text.trim_end().len() { format!("{shown}…") } else { shown }
}

// ---- Lexing ----

/// A character that can only stand for a blank, or for nothing.
pub(super) fn bad_blank(place: Span, text: &str) -> Diagnostic {
    let (message, replacement) = match text {
        "\r" => ("a carriage return without a line feed", "\n"),
        "\u{feff}" => ("a byte order mark", ""),
        "\u{200b}" => ("a blank of no width", ""),
        _ => ("a blank that is not ASCII", " "),
    };
    let help = if replacement.is_empty() { "remove it" } else { "replace it by an ordinary one" };
    Diagnostic::new(E0001, message).at(place, "is not part of any token").fix(help, place, replacement).certain()
}

pub(super) fn bad_character(place: Span, text: &str) -> Diagnostic {
    // A token that TVM's parser does not expect (language 1.10).
    let report = Diagnostic::new(E0101, format!("`{}` starts no token", excerpt(text))).at(place, "not understood");
    match text {
        "%" => report.help("a local variable is `%name` and a graph variable `%0`, without a blank after the `%`"),
        "@" => report.help("a global name is `@name`, without a blank after the `@`"),
        "&" | "&&" => report.help("write `logical_and(a, b)`; for bits `bitwise_and(a, b)`"),
        "|" | "||" => report.help("write `logical_or(a, b)`; for bits `bitwise_or(a, b)`"),
        "!" => report.help("write `logical_not(a)`"),
        "'" => report.help("a string stands between double quotes"),
        "\u{201c}" | "\u{201d}" | "\u{201e}" => report.fix("write a straight quotation mark", place, "\"").certain(),
        "\u{2212}" | "\u{2013}" => report.fix("write an ASCII minus sign", place, "-").certain(),
        "\u{d7}" => report.fix("write `*`", place, "*").certain(),
        "\\" => report.fix("a statement goes on to its `;`, whatever the lines: remove it", place, ""),
        "~" | "$" | "`" => report,
        _ if !text.is_ascii() => report.note("names are made of ASCII letters, digits, `_` and `/`"),
        _ => report,
    }
}

/// A comment as other languages begin it.
pub(super) fn hash_comment(sign: Span) -> Diagnostic {
    Diagnostic::new(E0001, "a comment starts with `//`, found `#`")
        .at(sign, "starts no comment")
        .fix("write `//`", sign, "//")
        .certain()
}

/// A string where an expression is expected.
pub(super) fn string_value(place: Span) -> Diagnostic {
    Diagnostic::new(E0105, "a string is not an expression")
        .at(place, "not expected here")
        .note("strings are values of attributes only, as in `cast(%x, dtype=\"int8\")`")
}

/// A list where an expression is expected; `tuple` are the edits that make a tuple of it.
pub(super) fn list_value(place: Span, tuple: Option<Vec<Edit>>) -> Diagnostic {
    let report = Diagnostic::new(E0105, "a list is not an expression")
        .at(place, "not expected here")
        .note("lists are values of attributes only, as in `sum(%x, axis=[1])`; there are no tensor literals");
    match tuple {
        Some(edits) => report.fix_all("a tuple is `(a, b)`", edits).certain(),
        None => report.help("a tuple is `(a, b)`"),
    }
}

/// `not %b` where a list may go on without a comma.
pub(super) fn not_operator(ours: &str, word: Span, operand: Span, text: &str) -> Diagnostic {
    let edit = |span: Span, text: &str| Edit { span, text: text.to_owned() };
    let head = Span { end: operand.start, ..word };
    Diagnostic::new(E0105, "there is no operator `not`")
        .at(word, "not an operator of Relay")
        .fix_all(
            format!("write `{ours}({})`", excerpt(text)),
            vec![edit(head, &format!("{ours}(")), edit(operand.end_point(), ")")],
        )
        .certain()
}

/// `%a and %b` where a list may go on without a comma: the first operand, and each word with the operand behind it.
pub(super) fn word_operator((word, ours): (&str, &str), first: Span, text: &str, operands: &[(Span, Span)]) -> Diagnostic {
    let edit = |span: Span, text: &str| Edit { span, text: text.to_owned() };
    let mut edits = vec![edit(Span { end: first.start, ..first }, &format!("{ours}(").repeat(operands.len()))];
    let mut before = first;
    for &(word, operand) in operands {
        edits.push(edit(Span { start: before.end, end: word.end, ..word }, ","));
        edits.push(edit(operand.end_point(), ")"));
        before = operand;
    }
    let place = operands.first().map_or(first, |operand| operand.0);
    Diagnostic::new(E0105, format!("there is no operator `{word}`"))
        .at(place, "not an operator of Relay")
        .fix_all(format!("write `{ours}({}, …)`", excerpt(text)), edits)
        .certain()
}

/// A list that goes on without a comma.
pub(super) fn no_comma(end: Span, next: Span) -> Diagnostic {
    Diagnostic::new(W0021, "a list goes on without a comma")
        .at(end, "`,` is missing here")
        .also(next, "the next element")
        .note("after the first comma of a list all others may be left out")
        .fix("write `,`", end, ",")
        .certain()
}

/// `axis 1` among the arguments of a call.
pub(super) fn attr_without_sign(key: Span, name: &str, value: Span, text: &str) -> Diagnostic {
    let (name, text) = (excerpt(name), excerpt(text));
    let gap = Span { start: key.end, end: value.start, ..key };
    Diagnostic::new(E0101, format!("expected `=` between `{name}` and `{text}`"))
        .at(key, "an attribute without `=`")
        .fix(format!("an attribute is written `{name}={text}`"), gap, "=")
        .certain()
}

/// `'int8'`, with what Python may write before it.
pub(super) fn single_quotes(place: Span, text: &str, prefix: Option<Span>) -> Diagnostic {
    let inner = &text[1..text.len() - 1];
    let report = Diagnostic::new(E0101, format!("expected a string in double quotes, found `{}`", excerpt(text)))
        .at(place, "single quotes");
    let open = Span { start: prefix.map_or(place.start, |prefix| prefix.start), end: place.start + 1, ..place };
    let close = Span { start: place.end - 1, ..place };
    let quote = |span: Span| Edit { span, text: "\"".to_owned() };
    let report = report.fix_all(format!("write `\"{}\"`", excerpt(inner)), vec![quote(open), quote(close)]);
    if inner.contains('{') && prefix.is_some() { report } else { report.certain() }
}

/// The `f` of `f"…"`; `formats` if it would put values into the string.
pub(super) fn string_prefix(prefix: Span, formats: bool) -> Diagnostic {
    let report = Diagnostic::new(E0101, "a letter before a string").at(prefix, "strings have no prefix");
    let report = if formats { report.note("no value is put into a string") } else { report };
    let report = report.fix("remove it", prefix, "");
    if formats { report } else { report.certain() }
}

/// `"""…"""`.
pub(super) fn doc_string(place: Span, text: &str) -> Diagnostic {
    let open = Span { end: place.start + 3, ..place };
    let close = Span { start: place.end - 3, ..place };
    let report = Diagnostic::new(E0001, "a comment stands between `/*` and `*/`, found `\"\"\"`").at(open, "starts no comment");
    let inner = &text[3..text.len() - 3];
    if inner.contains("*/") || inner.contains("/*") || inner.ends_with('*') {
        return report;
    }
    let edit = |span: Span, text: &str| Edit { span, text: text.to_owned() };
    let (before, after) = (if inner.starts_with(' ') { "" } else { " " }, if inner.ends_with(' ') { "" } else { " " });
    let edits = vec![edit(open, &format!("/*{before}")), edit(close, &format!("{after}*/"))];
    report.fix_all("write `/* … */`", edits).certain()
}

/// Whether a dimension of a tensor type comes next.
fn is_dimension(before: &[Token]) -> bool {
    // No tensor has more dimensions.
    const MAX_TOKENS: usize = 64;
    const DIMS: TokSet = TokSet::of(&[Tok::Int, Tok::Float, Tok::Question, Tok::Ident, Tok::Comma]);
    let n = before.iter().rev().take(MAX_TOKENS).take_while(|token| DIMS.has(token.tok)).count();
    let head = before[..before.len() - n].last_chunk().map(|head: &[Token; 3]| head.map(|token| token.tok));
    head == Some([Tok::Tensor, Tok::LBracket, Tok::LParen])
}

/// A float where a dimension is expected.
pub(super) fn float_dimension(place: Span, text: &str) -> Diagnostic {
    let report = Diagnostic::new(E0101, format!("expected a dimension, found `{}`", excerpt(text)));
    let report = report.at(place, "a dimension is a whole number");
    // Without a suffix, and without a fraction of zeros.
    let number = text.split('f').next().unwrap_or(text);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    match fraction.bytes().all(|digit| digit == b'0') && super::literal::parse_int(whole).is_ok() {
        true => report.fix(format!("write `{whole}`"), place, whole).certain(),
        false => report,
    }
}

/// A number that is no literal. `before` are the tokens in front of it.
pub(super) fn bad_number(place: Span, text: &str, problem: &NumberProblem, before: &[Token], source: &str) -> Diagnostic {
    let shown = excerpt(text);
    let report = |message: String, label: &str| Diagnostic::new(E0002, message).at(place, label);
    if let Some(report) = chained_projection(place, text, before, source) {
        return report;
    }
    // `1.0F`.
    let behind = source.get(place.end as usize..).unwrap_or("");
    let n_letters = behind.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    if matches!(problem, NumberProblem::NeedsF) && n_letters > 0 {
        let whole = Span { end: place.end + n_letters as u32, ..place };
        let letters = &behind[..n_letters];
        let message = format!("`{}` is not a number", excerpt(&[text, letters].concat()));
        let report = Diagnostic::new(E0002, message).at(whole, "a float ends in `f`");
        return match letters {
            "F" => report.fix(format!("write `{shown}f`"), Span { start: place.end, ..whole }, "f").certain(),
            _ => report.note("a float is `2.5f`, `1e-3f` or `2.5f16`"),
        };
    }
    match problem {
        NumberProblem::NeedsF if is_dimension(before) => float_dimension(place, text),
        NumberProblem::NeedsF => report(format!("`{shown}` is neither an integer nor a float"), "a float ends in `f`")
            .fix(format!("write `{shown}f`"), place.end_point(), "f")
            .certain(),
        NumberProblem::Malformed => report(format!("`{shown}` is not a number"), "not a number")
            .note("an integer is `1` or `1i64`, a float `2.5f`, `1e-3f` or `2.5f16`"),
        NumberProblem::Glued => {
            let report = report(format!("`{shown}` is not a number"), "read as one token");
            match spaced(text) {
                Some(spaced) => report.fix(format!("write `{spaced}`"), place, spaced),
                None => report.help("write blanks around the operator"),
            }
        }
        NumberProblem::Width(suffix) => {
            let report = report(format!("there are no literals of width `{suffix}`"), "this width")
                .note("integers are `i16`, `i32`, `i64`, floats `f16`, `f32`, `f64`");
            match nearest(suffix, ["i64", "i32", "i16", "f64", "f32", "f16"]).zip(text.strip_suffix(&suffix[..])) {
                Some((near, digits)) => report.fix(format!("write `{digits}{near}`"), place, format!("{digits}{near}")),
                None => report.help("write a wider literal and `cast` it"),
            }
        }
        NumberProblem::Range { dtype, largest } => {
            let report = report(format!("`{shown}` does not fit {dtype}"), "out of range")
                .note(format!("the largest magnitude a literal of {dtype} can have is {largest}"));
            match *dtype {
                "float64" => report.note("a value that rounds to 0 cannot be written either"),
                "int16" | "int32" => {
                    let wide = format!("{}i64", text.split('i').next().unwrap_or(""));
                    report.fix(format!("write `{wide}`"), place, wide)
                }
                _ => report,
            }
        }
    }
}

/// `1+2` with blanks around its operators, if each part is a number.
fn spaced(text: &str) -> Option<String> {
    let mut out = String::new();
    for (at, c) in text.char_indices() {
        let after_exponent = at > 1 && matches!(text.as_bytes()[at - 1], b'e' | b'E');
        match c {
            '+' | '-' if at > 0 && !after_exponent => out.extend([' ', c, ' ']),
            _ => out.push(c),
        }
    }
    out.split(' ').step_by(2).all(|part| super::literal::parse_int(part).is_ok()).then_some(out)
}

/// `%t.0.1`, which lexes as `%t`, `.` and the number `0.1`.
fn chained_projection(place: Span, text: &str, before: &[Token], source: &str) -> Option<Diagnostic> {
    let (first, second) = text.split_once('.')?;
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let [.., tuple, dot] = before else { return None };
    if dot.tok != Tok::Dot || dot.end != place.start || !digits(first) || !second.split('.').all(digits) {
        return None;
    }
    let report = Diagnostic::new(E0002, format!("`{}` is not one index", excerpt(text)))
        .at(place, "read as one number")
        .note("a projection cannot follow a projection without parentheses");
    if !matches!(tuple.tok, Tok::Local | Tok::Graph | Tok::Ident) {
        return Some(report.help("put parentheses around the first projection, as in `(%t.0).1`"));
    }
    let whole = Span { start: tuple.start, ..place };
    // Every projection but the last one stands in parentheses.
    let nested = "(".repeat(second.split('.').count()) + tuple.text(source) + "." + &text.replace('.', ").");
    Some(report.fix(format!("write `{}`", excerpt(&nested)), whole, nested))
}

/// A comment that runs to the end of the text. `opening` is its `/*`.
pub(super) fn unterminated_comment(opening: Span, comment: Span, text: &str) -> Diagnostic {
    let report = Diagnostic::new(E0003, "a block comment without an end").at(opening, "starts here").fix(
        "close it with `*/`; every `/*` inside it needs one too",
        comment.end_point(),
        " */",
    );
    match text.lines().next() {
        Some(line) if line.len() < text.trim_end().len() => {
            let end = comment.start + line.trim_end().len() as u32;
            report.fix("or close it on its own line", Span { start: end, end, ..comment }, " */")
        }
        _ => report,
    }
}

/// A string without an end; `rest` is the text after the quotation mark on its line.
pub(super) fn unterminated_string(opening: Span, rest: &str) -> Diagnostic {
    let report = Diagnostic::new(E0004, "a string without an end")
        .at(opening, "starts here")
        .note("a quotation mark inside a string is written `\\\"`");
    // Strings are attribute values: names of dtypes and layouts, which none of these is part of.
    match rest.find([',', ')', ']', ';']) {
        Some(len) => {
            let end = opening.end + len as u32;
            let report = report.also(Span { start: end, end, ..opening }, "should it end here?");
            report.fix(format!("close it: `\"{}\"`", excerpt(&rest[..len])), Span { start: end, end, ..opening }, "\"")
        }
        None => report.help("close it with `\"`"),
    }
}

/// Bytes that are not UTF-8; `place` is the replacement character.
pub(super) fn not_utf8(place: Span, bytes: &[u8]) -> Diagnostic {
    let hex: Vec<String> = bytes.iter().take(4).map(|byte| format!("0x{byte:02x}")).collect();
    Diagnostic::new(E0005, format!("{} is not UTF-8", hex.join(" "))).at(place, "shown as U+FFFD").help("save the file as UTF-8")
}

pub(super) fn unknown_section(place: Span, name: &str) -> Diagnostic {
    let report = Diagnostic::new(E0006, format!("unknown section `{}`", excerpt(name)))
        .at(place, "not known")
        .note("the sections are `#[version = \"0.0.5\"]` and `#[metadata]`");
    match meant_section(name) {
        Some("version") => report.fix("write the usual header", place, format!("#[version = {}]", VERSION)),
        Some(_) => report.fix("write `#[metadata]`", place, "#[metadata]"),
        None => report,
    }
}

/// The section whose name is misspelt in `name`.
pub(super) fn meant_section(name: &str) -> Option<&'static str> {
    let word = name.split(['=', ' ']).next().unwrap_or("");
    nearest(word, ["version", "metadata"])
}

pub(super) fn unclosed_section(place: Span) -> Diagnostic {
    Diagnostic::new(E0006, "a section without `]`")
        .at(place, "the line ends before the section does")
        .fix("write `]`", place.end_point(), "]")
        .note("the sections are `#[version = \"0.0.5\"]` and `#[metadata]`")
}

pub(super) fn wrong_version(place: Span, value: &str) -> Diagnostic {
    let found = if value.is_empty() { "no version".to_owned() } else { format!("version {}", excerpt(value)) };
    let report = Diagnostic::new(E0106, format!("expected version {}, found {found}", VERSION));
    if !value.is_empty() && value.trim_matches(['"', '\'', ' ', 'v']) == VERSION.trim_matches('"') {
        let (report, header) =
            (report.at(place, "the version is a string in double quotes"), format!("#[version = {}]", VERSION));
        return report.fix(format!("write `{header}`"), place, header).certain();
    }
    report.at(place, "not a version of the text format that can be read").fix(
        "if the text is of this version, write the usual header",
        place,
        format!("#[version = {}]", VERSION),
    )
}

/// An operator character right after a two-character operator.
pub(super) fn glued_operator(place: Span, operator: &str) -> Diagnostic {
    let after = Span { start: place.end - 1, end: place.end - 1, ..place };
    Diagnostic::new(E0101, format!("an operator character right after `{operator}`"))
        .at(place, "two operators without a blank between them")
        .note("TVM drops the second one silently")
        .fix("write a blank between them", after, " ")
}

// ---- Limits ----

pub(super) fn source_too_large(place: Span, size: usize) -> Diagnostic {
    let (size, limit) = (thousands(size as u64), thousands(SOURCE_BYTES.get()));
    Diagnostic::new(E0801, format!("the text has {size} bytes, the limit is {limit}"))
        .at(place, "not read")
        .help(SOURCE_BYTES.help())
}

pub(super) fn too_many_tokens(place: Span) -> Diagnostic {
    Diagnostic::new(E0801, format!("the text has more than {} tokens", thousands(TOKENS.get())))
        .at(place, "not read from here on")
        .help(TOKENS.help())
}

pub(super) fn too_long(place: Span, what: &str, limit: &Limit) -> Diagnostic {
    Diagnostic::new(E0801, format!("a {what}, the limit is {}", thousands(limit.get()))).at(place, "too long").help(limit.help())
}

pub(super) fn too_many_definitions(place: Span) -> Diagnostic {
    Diagnostic::new(E0801, format!("more than {} functions and types", thousands(DEFINITIONS.get())))
        .at(place, "one too many")
        .help(DEFINITIONS.help())
}

pub(super) fn nesting_too_deep(place: Span) -> Diagnostic {
    Diagnostic::new(E0802, format!("more than {} brackets inside each other", thousands(NESTING.get())))
        .at(place, "this one is too deep")
        .help(format!("give inner values names, with `let %x = …;` or `%0 = …;`; {}", NESTING.help()))
}

// ---- Structure ----

pub(super) fn missing_version(start: Span, first: Span) -> Diagnostic {
    let header = format!("#[version = {}]", VERSION);
    Diagnostic::new(W0001, "a module without a version header")
        .at(first, "the module starts here")
        .note("TVM does not read a module without its header")
        .fix(format!("start the file with `{header}`"), start, format!("{header}\n"))
        .certain()
}

/// A comment that ends in an even number of stars.
pub(super) fn comment_goes_on(end: Span) -> Diagnostic {
    let stars = Span { start: end.start, end: end.start + 1, ..end };
    Diagnostic::new(W0014, "a comment that does not end here for TVM")
        .at(end, "of two stars TVM overlooks the second")
        .note("it takes all text up to the next `*/` for a part of the comment")
        .fix("leave a star out", stars, "")
}

/// `add.(%x, %y)`.
pub(super) fn idle_dot(dot: Span) -> Diagnostic {
    Diagnostic::new(W0014, "a dot that means nothing").at(dot, "behind the operator's name").note("TVM drops it silently").fix(
        "leave it out",
        dot,
        "",
    )
}

/// `@f = primfn(…) {…}`, which TVM prints for lowered functions.
pub(super) fn primfn(name: Span, text: &str) -> Diagnostic {
    Diagnostic::new(W0011, format!("`{text}` is a function of TIR and is skipped"))
        .at(name, "lowered already: loops and buffers, no Relay")
        .note("TVM prints such functions and cannot read them")
}

/// `%x-malformed-ir`, TVM's mark on a variable that is bound twice.
pub(super) fn malformed(place: Span, name: &str) -> Diagnostic {
    Diagnostic::new(E0208, format!("the variable `{name}` was bound twice when TVM printed this"))
        .at(place, "marked so by its printer")
        .note("a pass made a program that is not well-formed; its text does not say which variable is meant")
}

/// Text that only an older TVM wrote so; `n` such places.
pub(super) fn old_forms(first: Span, today: &str, n: usize) -> Diagnostic {
    let report = Diagnostic::new(W0010, "text of an older TVM").at(first, "not written so any more");
    let report = report.note(format!("today one writes `{today}`"));
    let report = if n > 1 { report.note(format!("and {}", count(n - 1, "more place"))) } else { report };
    report.help("`relayc fmt --upgrade` writes it as today's")
}

pub(super) fn no_program(place: Span) -> Diagnostic {
    Diagnostic::new(E0102, "no program in the file")
        .at(place, "nothing but blanks and comments")
        .note("a module starts with `#[version = \"0.0.5\"]` and may be empty after that; an expression needs at least a value")
}

pub(super) fn extern_with_ctors(name: Span, body: Span) -> Diagnostic {
    Diagnostic::new(E0105, "an extern type with constructors")
        .at(body, "an extern type has none")
        .also(name, "declared as extern")
        .fix("remove the constructors", body, "")
}

/// An expression that needs parentheses; `index` is the projection after it.
pub(super) fn needs_parentheses(message: &str, place: Span, text: &str, index: Option<(Span, &str)>) -> Diagnostic {
    let projection = index.map_or(String::new(), |(_, index)| format!(".{index}"));
    let report = Diagnostic::new(E0101, message).at(place, "without parentheses");
    let report = match index {
        Some((index, _)) => report.also(index, "projected here"),
        None => report,
    };
    report.fix_all(format!("write `({}){projection}`", excerpt(text)), Edit::around(place, "(", ")"))
}

pub(super) fn missing_else(place: Span) -> Diagnostic {
    Diagnostic::new(E0104, "an `if` without `else`")
        .at(place.end_point(), "`else` is missing here")
        .also(keyword_if(place), "has no value when the condition is false")
        .note("`if` is an expression: both branches give its value")
        .help("add `else { … }`")
}

/// The word `if` at the start of an `if` expression.
fn keyword_if(place: Span) -> Span {
    Span { end: place.start + 2, ..place }
}

pub(super) fn else_if(inner: Span) -> Diagnostic {
    Diagnostic::new(E0101, "expected `{`, found `if`")
        .at(keyword_if(inner), "a branch stands in braces")
        .fix_all("write `else { if … }`", Edit::around(inner, "{ ", " }"))
        .certain()
}

// ---- Brackets ----

/// Open brackets that nothing closes, with their closing ones. `found` stands where they should have been closed,
/// `behind` is the place right after the last token before it.
pub(super) fn unclosed(open: &[(Span, &'static str)], place: Span, found: &str, behind: Span) -> Diagnostic {
    const SHOWN: usize = 3;
    let opener = |closer: &str| {
        if closer == ")" {
            "`(`"
        } else if closer == "]" {
            "`[`"
        } else {
            "`{`"
        }
    };
    let inner = || open.iter().rev().take(SHOWN);
    let mut openers: Vec<String> = inner().map(|(_, closer)| opener(closer).to_owned()).collect();
    if open.len() > SHOWN {
        openers.push(format!("{} more", open.len() - SHOWN));
    }
    let verb = if open.len() == 1 { "is" } else { "are" };
    let missing: String = open.iter().rev().map(|(_, closer)| *closer).collect();
    let label = if place == behind { "is missing here" } else { "is missing before this" };
    let report = Diagnostic::new(E0103, format!("{} {verb} never closed", join_words(&openers, "and")));
    let report = inner().fold(report, |report, (opened, _)| match report.labels.is_empty() {
        true => report.at(*opened, "opened here"),
        false => report.also(*opened, "opened here"),
    });
    let report = report.also(place, format!("`{}` {label}", excerpt(&missing)));
    let new_line = if missing.starts_with('}') && found != "`else`" { "\n" } else { "" };
    report.fix(format!("write `{}`", excerpt(&missing)), behind, format!("{new_line}{missing}"))
}

/// Two closing brackets in the wrong order.
pub(super) fn crossed(place: Span, opened: Span, text: &str, wanted: &str) -> Diagnostic {
    Diagnostic::new(E0103, format!("expected `{wanted}`, found `{text}`"))
        .at(place, "these two are in the wrong order")
        .also(opened, "opened last")
        .fix(format!("write `{wanted}`"), place, wanted)
}

/// A parenthesis that closes a call before its attributes.
pub(super) fn closed_too_early(place: Span, last: Span) -> Diagnostic {
    Diagnostic::new(E0103, "`)` closes the call before its attributes")
        .at(place, "closes too early")
        .also(last, "this one closes nothing then")
        .fix("remove the first `)`", place, "")
}

/// A closing bracket that no open one belongs to.
pub(super) fn unopened(place: Span, text: &str) -> Diagnostic {
    extra_bracket(place, text, "closes nothing", "no open bracket belongs to it")
}

/// `class Net { … }` around definitions.
pub(super) fn class_around(word: Span, head: Span, last: Span, text: &str) -> Diagnostic {
    let remove = |span| Edit { span, text: String::new() };
    let edits = vec![remove(head), remove(last)];
    Diagnostic::new(E0105, format!("there is no `{}`", excerpt(text)))
        .at(word, "not a definition")
        .fix_all("the functions stand in the file by themselves", edits)
        .certain()
}

/// An opening bracket too many.
pub(super) fn extra_opener(place: Span, text: &str) -> Diagnostic {
    extra_bracket(place, text, "is never closed", "no closing bracket belongs to it")
}

fn extra_bracket(place: Span, text: &str, mistake: &str, label: &str) -> Diagnostic {
    Diagnostic::new(E0103, format!("`{text}` {mistake}")).at(place, label).fix(format!("remove the `{text}`"), place, "")
}

/// A closing bracket whose opening one was left out after the token `before`.
pub(super) fn missing_opener(place: Span, text: &str, opener: &str, before: Span, before_text: &str) -> Diagnostic {
    Diagnostic::new(E0103, format!("expected `{opener}` after `{before_text}`"))
        .at(before.end_point(), format!("`{opener}` is missing here"))
        .also(place, format!("this `{text}` closes nothing otherwise"))
        .fix(format!("write `{opener}` after `{before_text}`"), before.end_point(), opener)
}

/// A closing bracket of the wrong kind.
pub(super) fn mismatched(opened: Span, wanted: &str, place: Span, text: &str) -> Diagnostic {
    Diagnostic::new(E0103, format!("expected `{wanted}`, found `{text}`"))
        .at(place, "closes a bracket of another kind")
        .also(opened, "opened here")
        .fix(format!("write `{wanted}`"), place, wanted)
}
