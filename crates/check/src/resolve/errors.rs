//! The messages of errors in names, annotations and attributes.

use relayc_base::Span;
use relayc_base::diag::{Diagnostic, Edit, codes};
use relayc_base::text::{count, join_words, nearest};
use relayc_ir::attrs::{AttrSchema, AttrValue, Field, Kind};
use relayc_ir::types::{DType, DTypeCode};
use relayc_ir::verify::{self, Violation};
use relayc_ir::{Module, Root};
use relayc_syntax::old_calls::OldCall;

/// `what` with its verb: `references are`.
pub(super) fn duplicate(what: &str, name: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(codes::E0205, format!("the {what} `{name}` is defined twice"))
        .at(span, "defined again here")
        .also(first, "first defined here")
        .help("give one of them another name")
}

/// A hint: what an unknown name probably means.
pub(super) enum Hint<'a> {
    /// The same name with the other sigil is defined.
    OtherSigil(String),
    /// A variable of this name is bound in the same function, but not in scope.
    OutOfScope(Span),
    /// A statement further down binds it.
    BoundBelow(Span),
    /// An operator has this name, or other frameworks call it so.
    Operator(&'a str),
    /// A similar name that is valid here, without its sigil.
    Near(&'a str),
    /// No name would be valid here.
    NoneThere,
    /// None of the valid names is similar.
    Nothing,
}

pub(super) fn unknown_local(name: &str, span: Span, meant: Hint) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0201, format!("the variable `{name}` is not defined")).at(span, "not defined here");
    match meant {
        Hint::OtherSigil(global) => diagnostic.fix(format!("there is the function `{global}`"), span, global).certain(),
        Hint::OutOfScope(binding) => {
            diagnostic.also(binding, format!("this `{name}` is bound in an inner scope")).help("bind it before that scope begins")
        }
        Hint::BoundBelow(binding) => {
            diagnostic.also(binding, format!("`{name}` is bound only here")).note("a variable is in scope below its binding")
        }
        Hint::Near(near) => diagnostic.fix(format!("there is `%{near}`"), span, format!("%{near}")),
        Hint::NoneThere => diagnostic.help("no variable is in scope here"),
        Hint::Operator(_) | Hint::Nothing => diagnostic,
    }
}

pub(super) fn unknown_global(name: &str, span: Span, meant: Hint) -> Diagnostic {
    let diagnostic =
        Diagnostic::new(codes::E0202, format!("the function `{name}` is not defined")).at(span, "not defined in this file");
    match meant {
        Hint::OtherSigil(local) => diagnostic.fix(format!("there is the variable `{local}`"), span, local).certain(),
        Hint::Near(near) => diagnostic.fix(format!("there is `@{near}`"), span, format!("@{near}")),
        Hint::Operator(op) => {
            let diagnostic = diagnostic.fix(format!("an operator has no `@`: `{op}`"), span, op);
            if name.trim_start_matches('@') == op { diagnostic.certain() } else { diagnostic }
        }
        Hint::OutOfScope(_) | Hint::BoundBelow(_) | Hint::NoneThere | Hint::Nothing => diagnostic,
    }
}

pub(super) fn unknown_graph(name: &str, span: Span, near: Option<&str>) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0203, format!("the graph variable `{name}` is not defined"))
        .at(span, "not defined above")
        .help(format!("define it first: `{name} = …;`"));
    suggest(diagnostic, near, span)
}

/// `binder` binds the name to a value that needs it.
pub(super) fn cyclic_graph(name: &str, span: Span, binder: Span) -> Diagnostic {
    Diagnostic::new(codes::E0203, format!("the graph variable `{name}` is part of its own value"))
        .at(span, "used here")
        .also(binder, "to compute this")
        .note("a graph has no cycles; a loop is a function that calls itself")
}

/// `%0 == f(%x);`
pub(super) fn compared_binding(name: &str, place: Span, sign: Span) -> Diagnostic {
    Diagnostic::new(codes::E0203, format!("the graph variable `{name}` is not defined"))
        .at(place, "compared before it is defined")
        .fix(format!("a binding is written `{name} = …;`"), sign, "=")
        .certain()
}

pub(super) fn foreign_graph(name: &str, span: Span, value: Span) -> Diagnostic {
    Diagnostic::new(codes::W0002, format!("`{name}` is a graph variable of another function"))
        .at(span, "used here")
        .also(value, "this is its value")
        .note("graph variables belong to the function that defines them; text printed by TVM may share them")
}

/// A constructor in a pattern that can only have been meant as a variable.
pub(super) fn bare_variable(name: &str, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0210, format!("there is no constructor `{name}`"))
        .at(span, "read as a constructor without fields")
        .fix(format!("a variable is written `%{name}`"), Span { end: span.start, ..span }, "%")
}

/// `meant` is the operator that other frameworks call by this name, or one of nearly this name.
pub(super) fn unknown_operator(name: &str, span: Span, meant: Option<&str>) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0204, format!("there is no operator `{name}`")).at(span, "not an operator");
    let last = name.rsplit('.').next().unwrap_or(name);
    match last {
        "true" | "false" => boolean(diagnostic, name, span),
        "print" => diagnostic.help("`relayc run --watch %x` prints a value each time it is computed"),
        "pass" | "None" => diagnostic.help("nothing is written `()`"),
        "for" | "while" => diagnostic.help("a function that calls itself is a loop"),
        "const" | "constant" if meant.is_none() => diagnostic.help("a constant is its literal: `1f`, `2i64`, `True`"),
        dtype if meant.is_none() && DTYPES.contains(&dtype) => {
            diagnostic.help("a number has its dtype as a suffix: `1f`, `1f16`, `1i64`; anything else is `cast`")
        }
        "gelu" => diagnostic.help("written out: `%x * (0.5f + 0.5f * erf(%x * 0.70710678f))`"),
        "silu" | "swish" => diagnostic.help("written out: `%x * sigmoid(%x)`"),
        "len" => diagnostic.help("a dimension is read from `shape_of`"),
        // The functions of TVM's Python have the operators' names.
        _ if meant.is_some_and(|meant| is_tvm_prefix(name, meant)) => suggest(diagnostic, meant, span).certain(),
        "not" => suggest(diagnostic, meant, span).certain(),
        _ => suggest(diagnostic, meant, span),
    }
}

/// `return (…)`, which reads as a call; `removed` is the word with the blanks behind it.
pub(super) fn no_return(span: Span, removed: Span) -> Diagnostic {
    Diagnostic::new(codes::E0204, "there is no operator `return`")
        .at(span, "not an operator")
        .note("the last expression of a block is its value")
        .fix("leave it out", removed, "")
        .certain()
}

/// Whether a name is an operator's behind the names of TVM's modules of Python.
fn is_tvm_prefix(name: &str, operator: &str) -> bool {
    let prefix = name.strip_suffix(operator).and_then(|prefix| prefix.strip_suffix('.'));
    prefix.is_some_and(|prefix| {
        prefix.split('.').all(|part| matches!(part, "tvm" | "relay" | "op" | "_op" | "tensor" | "transform"))
    })
}

/// A name whose variable or function is defined, `sign` being what stands before that.
pub(super) fn without_sign(name: &str, span: Span, sign: &str, certain: bool) -> Diagnostic {
    let what = if sign == "%" { "variable" } else { "function" };
    let first = name.split('.').next().unwrap_or(name);
    let diagnostic = Diagnostic::new(codes::E0204, format!("there is no operator `{name}`"))
        .at(span, "read as the name of an operator")
        .fix(format!("a {what} is written `{sign}{first}`"), Span { end: span.start, ..span }, sign);
    if certain { diagnostic.certain() } else { diagnostic }
}

/// `%x.add(…)`, `%x.shape`: the name of a variable with a dot, of which the part before the dot is defined. `edits` write it as
/// `text`, and nothing else may be meant if that is certain.
pub(super) fn method(name: &str, span: Span, fix: Option<(String, Vec<Edit>, bool)>) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0201, format!("the variable `{name}` is not defined")).at(span, "read as one name");
    let diagnostic = diagnostic.note("there are no methods and no fields by name");
    match fix {
        Some((text, edits, certain)) => {
            let diagnostic = diagnostic.fix_all(format!("write `{text}`"), edits);
            if certain { diagnostic.certain() } else { diagnostic }
        }
        None => diagnostic,
    }
}

/// Arguments behind the operands that are attributes without their names.
pub(super) fn positional_attrs(
    op: &str,
    n: (usize, usize),
    callee: Span,
    all: Span,
    written: &str,
    edits: Vec<Edit>,
) -> Diagnostic {
    Diagnostic::new(codes::E0302, format!("`{op}` takes {}, found {}", count(n.0, "argument"), n.1))
        .at(all, "attributes without their names")
        .also(callee, "called here")
        .fix_all(format!("attributes are written with their names: `{written}`"), edits)
}

/// An attribute without its name where an operand stands.
pub(super) fn attr_among_operands(op: &str, n: (usize, usize), callee: Span, place: Span, written: &str) -> Diagnostic {
    Diagnostic::new(codes::E0302, format!("`{op}` takes {}, found {}", count(n.0, "argument"), n.1))
        .at(place, "an attribute without its name")
        .also(callee, "called here")
        .help(format!("attributes are written behind the arguments, with their names: `{written}`"))
}

/// `units==4` among arguments.
pub(super) fn compared_attr(key: &str, value: &str, sign: Span) -> Diagnostic {
    Diagnostic::new(codes::E0302, format!("`{key}` is an attribute, not an argument"))
        .at(sign, "a comparison")
        .fix(format!("an attribute is written `{key}={value}`"), sign, "=")
        .certain()
}

/// `units4`, a name that no operator has.
pub(super) fn glued_attr(key: &str, value: &str, span: Span) -> Diagnostic {
    let at = span.start + key.len() as u32;
    Diagnostic::new(codes::E0302, format!("`{key}` is an attribute, not an argument"))
        .at(span, "an attribute without `=`")
        .fix(format!("an attribute is written `{key}={value}`"), Span { start: at, end: at, ..span }, "=")
        .certain()
}

/// A `;` between two arguments.
pub(super) fn semicolon_argument(op: &str, n: (usize, usize), callee: Span, place: Span) -> Diagnostic {
    Diagnostic::new(codes::E0302, format!("`{op}` takes {}, found {}", count(n.0, "argument"), n.1))
        .at(place, "what stands before a `;` is no argument")
        .also(callee, "called here")
        .fix("write `,`", place, ",")
        .certain()
}

/// More arguments than the operator takes, as many as another one does.
pub(super) fn other_operator(op: &str, other: &str, n: (usize, usize), callee: Span) -> Diagnostic {
    Diagnostic::new(codes::E0302, format!("`{op}` takes {}, found {}", count(n.0, "argument"), n.1))
        .at(callee, "called here")
        .fix(format!("of {} there is `{other}`", count(n.1, "argument")), callee, other)
}

/// An operand that is written as an attribute.
pub(super) fn keyword_argument(op: &str, key: &str, span: Span, signature: &str, edits: Vec<Edit>) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0401, format!("`{key}` is an argument of `{op}`, not an attribute"))
        .at(span, "arguments have no names");
    match &edits[..] {
        [] => diagnostic.help(format!("write `{op}({signature})`")),
        _ => diagnostic.fix_all(format!("write `{op}({signature})`"), edits).certain(),
    }
}

/// Adds the spelling suggestion, if there is one.
fn suggest(diagnostic: Diagnostic, near: Option<&str>, span: Span) -> Diagnostic {
    match near {
        Some(near) => diagnostic.fix(format!("there is `{near}`"), span, near),
        None => diagnostic,
    }
}

fn boolean(diagnostic: Diagnostic, text: &str, span: Span) -> Diagnostic {
    diagnostic.fix("booleans are written `True` and `False`", span, if text == "true" { "True" } else { "False" }).certain()
}

pub(super) fn projection_index(text: &str, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0307, format!("expected a field number, found `{text}`")).at(span, "fields are counted from 0")
}

pub(super) fn unreachable_let(name: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(codes::W0003, format!("`{name}` is bound in this scope already, so this binding has no effect"))
        .at(span, format!("every `{name}` below means the other one"))
        .also(first, "bound here first")
        .note("TVM keeps the first variable of a name in a scope, and relayc reads what TVM reads")
        .help("give it another name")
}

/// A lint, allowed unless asked for.
pub(super) fn shadowed(name: &str, span: Span, outer: Span) -> Diagnostic {
    Diagnostic::new(codes::W0009, format!("`{name}` hides another variable of its name"))
        .at(span, format!("every `{name}` below means this one"))
        .also(outer, "hidden from here on")
        .help("give it another name")
}

pub(super) fn inner_infer(span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0306, "`_` stands inside a type").at(span, "a type can be left out only as a whole")
}

const DTYPES: [&str; 13] = [
    "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
];

/// The dtype that is called `text` elsewhere, or nearly so here.
pub(super) fn near_dtype(text: &str) -> Option<&'static str> {
    const ELSEWHERE: [(&str, &str); 18] = [
        ("f16", "float16"),
        ("fp16", "float16"),
        ("half", "float16"),
        ("bf16", "bfloat16"),
        ("f32", "float32"),
        ("fp32", "float32"),
        ("f64", "float64"),
        ("fp64", "float64"),
        ("double", "float64"),
        ("i8", "int8"),
        ("i16", "int16"),
        ("i32", "int32"),
        ("i64", "int64"),
        ("long", "int64"),
        ("u8", "uint8"),
        ("u32", "uint32"),
        ("u64", "uint64"),
        ("boolean", "bool"),
    ];
    let alias = ELSEWHERE.iter().find(|(name, _)| *name == text.to_ascii_lowercase()).map(|(_, dtype)| *dtype);
    alias.or_else(|| nearest(text, DTYPES))
}

/// `quoted` if it is in quotes, as the value of an attribute.
pub(super) fn unknown_dtype(text: &str, span: Span, quoted: bool) -> Diagnostic {
    let code = if quoted { codes::E0403 } else { codes::E0206 };
    let diagnostic = Diagnostic::new(code, format!("there is no dtype `{text}`")).at(span, "not a dtype");
    match near_dtype(text) {
        Some(near) if quoted => diagnostic.fix(format!("there is `{near}`"), span, format!("\"{near}\"")),
        Some(near) => diagnostic.fix(format!("there is `{near}`"), span, near),
        None => diagnostic.help(format!("the dtypes are {}", join_words(&DTYPES.map(String::from), "and"))),
    }
}

/// A lint: TVM reads any number of bits, tensors have those of [`DType::RUNTIME`]; `handle` is a pointer of lowered programs, and no
/// mistake. `quoted` as in [`unknown_dtype`].
pub(super) fn unstorable_dtype(dtype: DType, text: &str, span: Span, quoted: bool) -> Option<Diagnostic> {
    if DType::RUNTIME.contains(&dtype) || dtype.code == DTypeCode::Handle {
        return None;
    }
    let diagnostic = Diagnostic::new(codes::W0022, format!("no tensor can hold `{text}`"))
        .at(span, "a dtype of types only")
        .note("TVM reads such a dtype; a run with it fails");
    Some(match near_dtype(text) {
        Some(near) if quoted => diagnostic.fix(format!("there is `{near}`"), span, format!("\"{near}\"")),
        Some(near) => diagnostic.fix(format!("there is `{near}`"), span, near),
        None => diagnostic,
    })
}

/// `near` is a constructor of nearly this name; `below` is where the constructor is defined, if that is further down.
pub(super) fn unknown_ctor(name: &str, span: Span, near: Option<&str>, below: Option<Span>) -> Diagnostic {
    if let Some(below) = below {
        return Diagnostic::new(codes::E0210, format!("the constructor `{name}` is not defined yet"))
            .at(span, "used here")
            .also(below, "defined further down")
            .help("move its type above");
    }
    let diagnostic =
        Diagnostic::new(codes::E0210, format!("there is no constructor `{name}`")).at(span, "not a constructor of any type");
    suggest(diagnostic, near, span)
}

pub(super) fn negative_dim(value: i64, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0310, format!("expected a dimension of at least 0, found {value}")).at(span, "negative").fix(
        "an unknown dimension is written `?`",
        span,
        "?",
    )
}

/// `None` and `Any`, which Python writes for a dimension that only a run knows.
pub(super) fn unknown_dim(text: &str, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0310, format!("expected a dimension, found `{text}`"))
        .at(span, "not a dimension")
        .fix("an unknown dimension is written `?`", span, "?")
        .certain()
}

pub(super) fn no_size(text: &str, span: Span) -> Diagnostic {
    let message = if text.is_empty() { "expected a size beside `/`".to_owned() } else { format!("`{text}` is not a size") };
    Diagnostic::new(codes::E0310, message)
        .at(span, "expected a size")
        .help("a size is computed from names and integers with `+`, `-`, `*`, `/`, `min` and `max`")
}

pub(super) fn no_size_function(name: &str, span: Span) -> Diagnostic {
    let diagnostic =
        Diagnostic::new(codes::E0204, format!("sizes have no function `{name}`")).at(span, "not a function of sizes");
    match nearest(name, ["min", "max"]) {
        Some(near) => diagnostic.fix(format!("there is `{near}`"), span, near),
        None => diagnostic.help("the functions of sizes are `min` and `max`"),
    }
}

pub(super) fn size_arguments(name: &str, n: usize, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0302, format!("`{name}` of sizes takes 2 arguments, found {n}")).at(span, format!("{n} written here"))
}

pub(super) fn size_divided_by_zero(span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0310, "a size is divided by 0").at(span, "this is 0")
}

pub(super) fn size_overflows(text: &str, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0310, format!("`{text}` is too large for a size")).at(span, "over 64 bits")
}

pub(super) fn tensor_too_large(text: &str, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0803, format!("`{text}` is larger than a tensor can be"))
        .at(span, "too many elements")
        .note("a tensor has at most 2^40 elements and 32 dimensions")
}

pub(super) fn no_attrs(op: &str, span: Span, signature: &str) -> Diagnostic {
    Diagnostic::new(codes::E0405, format!("`{op}` takes no attributes"))
        .at(span, "not expected here")
        .help(format!("write `{op}({signature})`"))
}

/// `all` are the attributes with the comma before them.
pub(super) fn attrs_of_function(span: Span, all: Span) -> Diagnostic {
    Diagnostic::new(codes::E0405, "a call of a function takes no attributes")
        .at(span, "only operators have attributes")
        .fix("leave it out", all, "")
        .help("attributes of any other call name their type: `attrs_type_key=\"relay.attrs.…\"`")
}

/// `whole` is the attribute with the comma before it.
pub(super) fn unknown_attr(op: &str, key: &str, span: Span, schema: &AttrSchema, near: Option<&str>, whole: Span) -> Diagnostic {
    let names = schema.fields.iter().map(|field| field.name);
    let diagnostic = Diagnostic::new(codes::E0401, format!("`{op}` has no attribute `{key}`")).at(span, "not an attribute of it");
    // A plural, or the beginning of one name.
    let is_part = |name: &&str| {
        name.starts_with(key)
            || key.strip_suffix('s').is_some_and(|one| one == *name)
            || (*name, key) == ("axis", "axes")
            || (*name, key) == ("axes", "axis")
    };
    let mut parts = names.clone().filter(is_part);
    let part = parts.next().filter(|_| parts.next().is_none() && key.len() > 2);
    let diagnostic = match near.or(part).or_else(|| nearest(key, names.clone())) {
        Some(meant) if near.or(part).is_some() => diagnostic.fix(format!("there is `{meant}`"), span, meant).certain(),
        Some(near) => diagnostic.fix(format!("there is `{near}`"), span, near),
        None => diagnostic.fix("leave it out", whole, ""),
    };
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [only] => diagnostic.note(format!("its only attribute is {only}")),
        _ => diagnostic.note(format!("its attributes are {}", join_words(&names, "and"))),
    }
}

pub(super) fn duplicate_attr(key: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(codes::W0004, format!("the attribute `{key}` is written twice"))
        .at(span, "this one counts")
        .also(first, "this one is ignored")
}

/// A call as an older TVM printed it. What it means hangs on the rest of the text if the edits are for all of it only.
pub(super) fn old_call(name: &str, old: &OldCall) -> Diagnostic {
    let OldCall { until, today, .. } = old;
    let since = until + 1;
    let report = Diagnostic::new(codes::E0406, format!("`{name}` as TVM 0.{until} wrote it"))
        .at(old.callee, format!("not written so since TVM 0.{since}"));
    if let Some(advice) = old.advice {
        return report.note("no operator of today's does the same").help(advice);
    }
    let report = report.note(format!("`{}` is `{today}` today", old.old));
    if old.edits.is_empty() {
        return report.help("write it so yourself: the text lacks something that it needs");
    }
    if old.only_whole_text {
        return report.help("`relayc fmt --upgrade` writes it as today's, `--compat` reads it");
    }
    report.fix_all("write it as today's", old.edits.clone()).certain()
}

/// The report of missing attributes that an older TVM left out.
pub(super) fn left_out_once(mut report: Diagnostic, old: &OldCall) -> Diagnostic {
    report.helps.clear();
    let added: Vec<&str> = old.edits.iter().map(|edit| edit.text.trim_start_matches([',', ' '])).collect();
    let title = match old.edits.iter().all(|edit| edit.span.start == edit.span.end) {
        true => format!("add `{}`, which TVM 0.{} meant without writing it", added.join(", "), old.until),
        false => format!("write the call as TVM 0.{} meant it", old.until),
    };
    report.fix_all(title, old.edits.clone()).certain()
}

fn not_of_kind(op: &str, field: &Field, text: &str, span: Span) -> Diagnostic {
    let expected = field.kind.words();
    Diagnostic::new(codes::E0403, format!("`{op}`: `{}` is {expected}, found `{text}`", field.name))
        .at(span, format!("expected {expected}"))
}

/// A bare name for a number or a boolean.
pub(super) fn attr_word(op: &str, field: &Field, text: &str, span: Span) -> Diagnostic {
    let diagnostic = not_of_kind(op, field, text, span);
    let words = || matches!(field.kind, Kind::Bool | Kind::OptBool).then_some([("true", "True"), ("false", "False")]);
    let lower = text.to_ascii_lowercase();
    let same = words().and_then(|words| words.into_iter().find(|(word, _)| *word == lower));
    let near = words().and_then(|words| {
        let near = nearest(&lower, words.map(|(word, _)| word))?;
        words.into_iter().find(|(word, _)| *word == near)
    });
    match same.or(near) {
        Some((_, meant)) if same.is_some() => diagnostic.fix(format!("write `{meant}`"), span, meant).certain(),
        Some((_, meant)) => diagnostic.fix(format!("write `{meant}`"), span, meant),
        None => diagnostic,
    }
}

/// `n_values` is the usual length of a list of this operator.
pub(super) fn attr_kind(op: &str, field: &Field, text: &str, raw: &AttrValue, span: Span, n_values: usize) -> Diagnostic {
    let diagnostic = not_of_kind(op, field, text, span);
    let is_list = matches!(field.kind, Kind::Ints | Kind::IntsOrNone | Kind::OptInts);
    match raw {
        AttrValue::Int { .. } | AttrValue::Float { .. } if matches!(field.kind, Kind::Expr) => {
            diagnostic.fix("`None` leaves it to the arguments", span, "None")
        }
        AttrValue::Int { .. } if is_list => {
            // In parentheses, or what stands for them, a number is still one.
            let number = text.trim_matches(|c: char| matches!(c, '(' | ')' | '[' | ']') || c.is_whitespace());
            let list = format!("[{}]", vec![number; n_values].join(", "));
            let diagnostic = diagnostic.fix(format!("write a list: `{}={list}`", field.name), span, list);
            if n_values == 1 { diagnostic.certain() } else { diagnostic }
        }
        AttrValue::Float { value, .. }
            if value.fract() == 0.0 && matches!(field.kind, Kind::Int | Kind::IndexExpr | Kind::OptInt | Kind::Object) =>
        {
            diagnostic.fix(format!("write `{value}`"), span, value.to_string()).certain()
        }
        AttrValue::Str(inner) => match unquoted(field.kind, inner, n_values) {
            Some(plain) => diagnostic.fix(format!("write `{plain}` without quotes"), span, plain),
            None => diagnostic,
        },
        _ => diagnostic,
    }
}

/// What a string says as a value of this kind.
fn unquoted(kind: Kind, inner: &str, n_values: usize) -> Option<String> {
    let boolean = match inner {
        "true" | "True" => Some("True"),
        "false" | "False" => Some("False"),
        _ => None,
    };
    let is_int = |text: &str| text.trim().parse::<i64>().is_ok();
    match kind {
        Kind::Bool | Kind::OptBool => boolean.map(str::to_owned),
        Kind::Int | Kind::IndexExpr | Kind::OptInt | Kind::Object => is_int(inner).then(|| inner.trim().to_owned()),
        Kind::Ints | Kind::IntsOrNone | Kind::OptInts => {
            let items = inner.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            match items {
                Some(items) => items.split(',').all(is_int).then(|| inner.trim().to_owned()),
                None => is_int(inner).then(|| format!("[{}]", vec![inner.trim(); n_values].join(", "))),
            }
        }
        Kind::Float | Kind::OptFloat => {
            let number = inner.trim().trim_end_matches('f');
            let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'e'));
            (is_plain && number.parse::<f64>().is_ok())
                .then(|| if is_int(number) { number.to_owned() } else { format!("{number}f") })
        }
        _ => None,
    }
}

pub(super) fn attr_below(op: &str, field: &Field, text: &str, min: f64, span: Span) -> Diagnostic {
    let message = format!("`{op}`: expected `{}` to be at least {min}, found {text}", field.name);
    let diagnostic = Diagnostic::new(codes::E0404, message).at(span, "too small");
    match text.strip_prefix('-') {
        Some(magnitude) => diagnostic.fix(format!("write `{magnitude}`"), span, magnitude),
        None => diagnostic.fix(format!("write `{min}`"), span, min.to_string()),
    }
}

/// The metadata section is not sound.
pub(super) fn metadata(words: impl std::fmt::Display, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0209, format!("the metadata section: {words}")).at(span, "not sound here")
}

/// A reference to a missing entry; `counts` lists the section's entries, if there is one.
pub(super) fn dangling(reference: &str, span: Span, counts: Option<Vec<(&str, usize)>>) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0207, format!("`{reference}` stands for nothing")).at(span, "no such entry");
    match counts {
        None => diagnostic.note("the text has no metadata section").help(
            "in TVM, print with `mod.astext()`: `print(mod)` leaves the section out, as `relayc print` does without `--meta`",
        ),
        Some(counts) if counts.is_empty() => diagnostic.note("the metadata section is empty"),
        Some(counts) => {
            let diagnostic = near_entry(diagnostic, reference, span, &counts);
            let counts: Vec<String> = counts.into_iter().map(|(key, n)| format!("{n} `{key}`")).collect();
            diagnostic.note(format!("the metadata section holds {}", join_words(&counts, "and")))
        }
    }
}

/// The entry that a reference to none may have meant: one of the nearest key, and not past its last.
fn near_entry(diagnostic: Diagnostic, reference: &str, span: Span, counts: &[(&str, usize)]) -> Diagnostic {
    let parsed = relayc_syntax::literal::parse_meta(reference);
    let Some((key, index)) = parsed.and_then(|(key, index)| Some((key, usize::try_from(index).ok()?))) else { return diagnostic };
    let written = counts.iter().map(|(key, _)| *key).find(|found| *found == key);
    let near = written.or_else(|| counts.iter().map(|(name, _)| *name).find(|name| name.starts_with(key)));
    let near = near.or_else(|| nearest(key, counts.iter().map(|(key, _)| *key)));
    let Some((near, n)) = near.and_then(|near| counts.iter().find(|(key, _)| *key == near)).filter(|(_, n)| *n > 0) else {
        return diagnostic;
    };
    let entry = format!("meta[{near}][{}]", index.min(n - 1));
    diagnostic.fix(format!("there is `{entry}`"), span, entry)
}

/// A reference to an entry that cannot stand where it does.
pub(super) fn wrong_entry(reference: &str, expected: &str, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0207, format!("expected {expected}, found `{reference}`")).at(span, format!("expected {expected}"))
}

/// Attributes written at an operator for which TVM declares none.
pub(super) fn undeclared_attrs(op: &str, type_key: &str, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0405, format!("TVM declares no attributes for `{op}`"))
        .at(span, "cannot be told what these are")
        .note("its attributes are an object of the metadata section, or they say their type")
        .help(format!("add `attrs_type_key=\"{type_key}\"`"))
}

/// No attributes at an operator that needs an object.
pub(super) fn missing_object(op: &str, type_key: &str, call: Span) -> Diagnostic {
    Diagnostic::new(codes::E0402, format!("`{op}`: the attributes are missing"))
        .at(call, "attributes missing here")
        .help(format!("write them with `attrs_type_key=\"{type_key}\"`, or give `meta[{type_key}][…]` as the last argument"))
}

/// Attributes beside an object that replaces all of them.
pub(super) fn attrs_twice(span: Span, object: Span) -> Diagnostic {
    Diagnostic::new(codes::E0405, "attributes are written beside an attribute object")
        .at(span, "not expected here")
        .also(object, "this stands for all of them")
}

pub(super) fn list_depth(span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0802, "lists nest too deeply").at(span, "no attribute has lists this deep")
}

/// `sizes` if numbers are expected, which no quotes help.
fn attr_not_a_value(text: &str, span: Span, sizes: bool) -> Diagnostic {
    let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    // A bare name stands for an operator (#141), but nobody means one by these.
    let is_word = matches!(text, "true" | "false" | "none" | "null" | "nil");
    let code = if is_name && !is_word { codes::E0204 } else { codes::E0403 };
    let diagnostic =
        Diagnostic::new(code, format!("expected a value, found `{text}`")).at(span, "attributes are literals, lists or strings");
    match text {
        "true" | "false" => boolean(diagnostic, text, span),
        "none" | "null" | "nil" => diagnostic.fix("nothing is written `None`", span, "None").certain(),
        _ if DTYPES.contains(&text) => {
            diagnostic.fix(format!("dtypes stand in quotes here: `\"{text}\"`"), span, format!("\"{text}\"")).certain()
        }
        _ if dotted_dtype(text).is_some() => {
            let dtype = dotted_dtype(text).unwrap_or_default();
            diagnostic.fix(format!("dtypes stand in quotes here: `\"{dtype}\"`"), span, format!("\"{dtype}\"")).certain()
        }
        _ if is_name && !sizes => {
            diagnostic.fix(format!("strings and dtypes stand in quotes: `\"{text}\"`"), span, format!("\"{text}\""))
        }
        _ => diagnostic,
    }
}

/// The dtype in `np.float32`.
fn dotted_dtype(text: &str) -> Option<&str> {
    let (module, dtype) = text.rsplit_once('.')?;
    let is_module = module.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_'));
    (is_module && DTYPES.contains(&dtype)).then_some(dtype)
}

/// A tuple where a list is expected; `shown` is its beginning.
pub(super) fn tuple_for_list(shown: &str, span: Span, edits: Vec<Edit>) -> Diagnostic {
    let list = shown.replace('(', "[").replace(",)", "]").replace(')', "]");
    Diagnostic::new(codes::E0403, format!("expected a value, found `{shown}`"))
        .at(span, "attributes are literals, lists or strings")
        .fix_all(format!("a list is written `{list}`"), edits)
        .certain()
}

/// `%x.shape` as a value; `value` is what it is, if the type of `%x` tells.
pub(super) fn attr_of_variable(text: &str, span: Span, value: Option<String>) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0403, format!("expected a value, found `{text}`"))
        .at(span, "attributes are literals, lists or strings");
    match value {
        Some(value) => diagnostic.fix(format!("its type says `{value}`"), span, value).certain(),
        None => diagnostic.note("the value of an attribute does not depend on a variable"),
    }
}

/// A value that is none, nor a size where `sizes` may stand; `names` are those of the file, `near` one nearly of this name.
pub(super) fn attr_not_a_size(text: &str, span: Span, sizes: bool, names: &[&str], near: Option<&str>) -> Diagnostic {
    let diagnostic = attr_not_a_value(text, span, sizes);
    if names.is_empty() {
        return diagnostic;
    }
    let Diagnostic { code, message, .. } = diagnostic;
    let diagnostic = Diagnostic::new(code, message).at(span, "attributes are literals, lists, strings or sizes");
    match near {
        Some(near) => diagnostic.fix(format!("there is the size `{near}`"), span, near),
        None => {
            const LISTED: usize = 8;
            let listed: Vec<String> = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
            let more = if names.len() > LISTED { ", …" } else { "" };
            diagnostic.note(format!("the sizes in the types of this file are {}{more}", join_words(&listed, "and")))
        }
    }
}

/// Variables used outside their scope, which sharing a graph variable can bring about.
pub(super) fn ill_formed(module: &Module) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for violation in verify::well_formed(module) {
        let (var, at, text) = match violation {
            Violation::OutOfScope { var, at } => (var, at, "used here, outside its scope"),
            Violation::BoundTwice { var, at } => (var, at, "bound again here"),
        };
        let decl = &module.vars[var];
        if decl.ty == Some(relayc_ir::types::Ty::ERROR) {
            continue;
        }
        let mut diagnostic =
            Diagnostic::new(codes::E0208, format!("the variable `%{}` is not bound here", decl.name)).at(at, text);
        if decl.span != at {
            diagnostic = diagnostic.also(decl.span, "it belongs to this");
        }
        diagnostic = match module.root {
            _ if decl.span != at => diagnostic.note(
                "a graph variable (`%0 = …;`) is its expression wherever it is used, so the variables in it must be in scope there",
            ),
            Root::Globals => diagnostic.note("a function of a module may use only its own parameters and what it binds itself"),
            Root::Expr(_) => diagnostic,
        };
        diagnostics.push(diagnostic);
    }
    diagnostics
}
