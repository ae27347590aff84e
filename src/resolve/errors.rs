//! The words of errors in names, annotations and attributes.

use crate::base::Span;
use crate::base::text::{count, join_words, nearest};
use crate::diag::{Diagnostic, codes};
use crate::ir::attrs::{AttrSchema, AttrValue, Field};
use crate::ir::verify::{self, Violation};
use crate::ir::{Module, Root};

pub(super) fn unsupported(what: &str, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0105, format!("{what} are not supported yet")).at(span, "read, but not understood")
}

pub(super) fn duplicate(what: &str, name: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(codes::E0205, format!("the {what} `{name}` is defined twice"))
        .at(span, "defined again here")
        .also(first, "first defined here")
        .help("give one of them another name")
}

pub(super) fn unknown_local(name: &str, span: Span, names: Vec<&str>) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0201, format!("the variable `{name}` is not defined")).at(span, "not defined here");
    match nearest(name, names.iter().copied()) {
        Some(near) => diagnostic.fix(format!("there is `{near}`"), span, near),
        None if names.is_empty() => diagnostic.help("no variable is in scope here"),
        None => diagnostic,
    }
}

pub(super) fn unknown_global<'a>(name: &str, span: Span, names: impl Iterator<Item = &'a str>) -> Diagnostic {
    let diagnostic =
        Diagnostic::new(codes::E0202, format!("the function `{name}` is not defined")).at(span, "not defined in this file");
    match nearest(name.trim_start_matches('@'), names) {
        Some(near) => diagnostic.fix(format!("there is `@{near}`"), span, format!("@{near}")),
        None => diagnostic,
    }
}

pub(super) fn unknown_graph(name: &str, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0203, format!("the graph variable `{name}` is not defined"))
        .at(span, "not defined above")
        .help(format!("define it first: `{name} = …;`"))
}

pub(super) fn foreign_graph(name: &str, span: Span, value: Span) -> Diagnostic {
    Diagnostic::new(codes::W0002, format!("`{name}` is of another function"))
        .at(span, "used here")
        .also(value, "this is its value")
        .note("graph variables belong to the function that defines them; text printed by TVM may share them")
}

pub(super) fn unknown_operator(name: &str, span: Span, names: &[&str]) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0204, format!("there is no operator `{name}`")).at(span, "not an operator");
    match nearest(name, names.iter().copied()) {
        Some(near) => diagnostic.fix(format!("there is `{near}`"), span, near),
        None if name == "true" || name == "false" => diagnostic.help("booleans are written `True` and `False`"),
        None => diagnostic,
    }
}

pub(super) fn projection_index(text: &str, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0307, format!("expected a field number, found `{text}`")).at(span, "fields are counted from 0")
}

pub(super) fn unreachable_let(name: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(codes::W0003, format!("this `{name}` cannot be reached"))
        .at(span, "ignored: the name stands for the variable of the same scope")
        .also(first, "which is this one")
        .note("TVM keeps the first variable of a name in a scope, and relayc reads what TVM reads")
        .help("give it another name")
}

pub(super) fn inner_infer(span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0306, "`_` stands inside a type").at(span, "a type can be left out only as a whole")
}

pub(super) fn unknown_dtype(text: &str, span: Span) -> Diagnostic {
    let known = [
        "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "bool",
    ];
    let diagnostic = Diagnostic::new(codes::E0206, format!("there is no dtype `{text}`")).at(span, "not a dtype");
    match nearest(text, known) {
        Some(near) => diagnostic.help(format!("there is `{near}`")),
        None => diagnostic.help(format!("the dtypes are {}", join_words(&known.map(String::from), "and"))),
    }
}

pub(super) fn unknown_type(text: &str, span: Span, params: &[&str]) -> Diagnostic {
    let known = ["float32", "float64", "float16", "int8", "int32", "int64", "uint8", "bool"];
    let diagnostic = Diagnostic::new(codes::E0206, format!("there is no type `{text}`")).at(span, "not a type");
    match nearest(text, params.iter().copied().chain(known)) {
        Some(near) => diagnostic.fix(format!("there is `{near}`"), span, near),
        None => diagnostic,
    }
}

/// `defined` is where a data type is defined; a type parameter or a scalar has no arguments.
pub(super) fn type_arguments(name: &str, span: Span, expected: usize, found: usize, defined: Option<Span>) -> Diagnostic {
    let message = format!("`{name}` takes {}, found {found}", count(expected, "type argument"));
    let diagnostic = Diagnostic::new(codes::E0312, message).at(span, "written here");
    match defined {
        Some(defined) => diagnostic.also(defined, "defined here"),
        None => diagnostic.note("only data types have arguments"),
    }
}

/// `below` is where the constructor is defined, if that is further down.
pub(super) fn unknown_ctor(name: &str, span: Span, names: &[&str], below: Option<Span>) -> Diagnostic {
    if let Some(below) = below {
        return Diagnostic::new(codes::E0209, format!("the constructor `{name}` is not defined yet"))
            .at(span, "used here")
            .also(below, "defined further down")
            .help("move its type above");
    }
    let diagnostic =
        Diagnostic::new(codes::E0209, format!("there is no constructor `{name}`")).at(span, "not a constructor of any type");
    match nearest(name, names.iter().copied()) {
        Some(near) => diagnostic.fix(format!("there is `{near}`"), span, near),
        None => diagnostic,
    }
}

pub(super) fn negative_dim(value: i64, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0310, format!("expected a dimension of at least 0, found {value}"))
        .at(span, "negative")
        .help("an unknown dimension is written `?`")
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

pub(super) fn attrs_of_function(span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0405, "a call of a function takes no attributes").at(span, "only operators have attributes")
}

pub(super) fn unknown_attr(op: &str, key: &str, span: Span, schema: &AttrSchema) -> Diagnostic {
    let names = schema.fields.iter().map(|field| field.name);
    let diagnostic = Diagnostic::new(codes::E0401, format!("`{op}` has no attribute `{key}`")).at(span, "not an attribute of it");
    let diagnostic = match nearest(key, names.clone()) {
        Some(near) => diagnostic.fix(format!("there is `{near}`"), span, near),
        None => diagnostic,
    };
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    diagnostic.note(format!("its attributes are {}", join_words(&names, "and")))
}

pub(super) fn duplicate_attr(key: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(codes::W0004, format!("the attribute `{key}` is written twice"))
        .at(span, "this one counts")
        .also(first, "this one is ignored")
}

pub(super) fn missing_attrs(op: &str, fields: &[&Field], call: Span) -> Diagnostic {
    let names: Vec<String> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
    let (noun, verb) = if names.len() == 1 { ("attribute", "is") } else { ("attributes", "are") };
    let mut diagnostic =
        Diagnostic::new(codes::E0402, format!("`{op}`: the {noun} {} {verb} missing", join_words(&names, "and")));
    diagnostic = diagnostic.at(call, format!("{noun} missing here"));
    for field in fields {
        diagnostic = diagnostic.help(format!("add `{}=…`, {}", field.name, field.kind.words()));
    }
    diagnostic
}

pub(super) fn attr_kind(op: &str, field: &Field, text: &str, raw: &AttrValue, span: Span) -> Diagnostic {
    let expected = field.kind.words();
    let diagnostic = Diagnostic::new(codes::E0403, format!("`{op}`: `{}` is {expected}, found `{text}`", field.name))
        .at(span, format!("expected {expected}"));
    let is_list = expected.starts_with("a list");
    match raw {
        AttrValue::Int { .. } | AttrValue::Float { .. } if is_list => {
            diagnostic.fix(format!("write a list: `{}=[{text}]`", field.name), span, format!("[{text}]"))
        }
        _ => diagnostic,
    }
}

pub(super) fn attr_below(op: &str, field: &Field, text: &str, min: f64, span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0404, format!("`{op}`: `{}` is at least {min}, found {text}", field.name)).at(span, "too small")
}

pub(super) fn list_depth(span: Span) -> Diagnostic {
    Diagnostic::new(codes::E0802, "lists nest too deeply").at(span, "no attribute has lists this deep")
}

pub(super) fn attr_not_a_value(text: &str, span: Span) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0403, format!("expected a value, found `{text}`"))
        .at(span, "attributes are literals, lists or strings");
    let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match text {
        "true" | "false" => {
            diagnostic.fix("booleans are written `True` and `False`", span, if text == "true" { "True" } else { "False" })
        }
        _ if is_name => diagnostic.fix(format!("strings and dtypes stand in quotes: `\"{text}\"`"), span, format!("\"{text}\"")),
        _ => diagnostic,
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
        if decl.ty == Some(crate::types::Ty::ERROR) {
            continue;
        }
        let mut diagnostic =
            Diagnostic::new(codes::E0208, format!("the variable `%{}` is not bound here", decl.name)).at(at, text);
        if decl.span != at {
            diagnostic = diagnostic.also(decl.span, "it belongs to this");
        }
        if module.root == Root::Globals {
            diagnostic = diagnostic.note("a function of a module may use only its own parameters and what it binds itself");
        }
        diagnostics.push(diagnostic);
    }
    diagnostics
}
