//! The messages of calls that lack attributes.

use relayc_base::Span;
use relayc_base::diag::{Diagnostic, Edit, codes};
use relayc_base::text::{count, join_words};
use relayc_ir::attrs::{Field, Kind};

/// What else says the value of an attribute that has to be written.
pub(super) enum Unwritten {
    /// An argument of the same name.
    Argument,
    /// `None`, by which it is found out.
    None,
    Nothing,
}

/// `op` is where the operator's name stands, `end` where attributes can be written, after `separator`; `dtype` is that of the first
/// argument if it is a number.
pub(super) fn missing_attrs(
    name: &str,
    fields: &[&Field],
    (unwritten, dtype): (&dyn Fn(&str) -> Unwritten, &str),
    op: Span,
    (end, separator): (Span, &str),
) -> Diagnostic {
    let names: Vec<String> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
    let (noun, verb) = if names.len() == 1 { ("attribute", "is") } else { ("attributes", "are") };
    let message = format!("`{name}`: the {noun} {} {verb} missing", join_words(&names, "and"));
    let all = join_words(&names, "and");
    let mut diagnostic = Diagnostic::new(codes::E0402, message).at(op, format!("needs {all}"));
    if fields.iter().all(|field| matches!(field.kind, Kind::Expr)) {
        let none = fields.iter().map(|field| format!("{}=None", field.name)).collect::<Vec<_>>().join(", ");
        let title = format!("add `{none}`, which leaves it to the arguments");
        return diagnostic.fix(title, end, format!("{separator}{none}"));
    }
    if fields.iter().all(|field| matches!(field.kind, Kind::Expr | Kind::DType)) && fields.len() > 1 {
        let value = |field: &&Field| match field.kind {
            Kind::DType => format!("{}=\"{dtype}\"", field.name),
            _ => format!("{}=None", field.name),
        };
        let all = fields.iter().map(value).collect::<Vec<_>>().join(", ");
        return diagnostic.fix(format!("add `{all}`: `None` leaves it to the arguments"), end, format!("{separator}{all}"));
    }
    for field in fields {
        let name = field.name;
        let value = field.kind.words().trim_end_matches(" or `None`");
        if let (Unwritten::Argument, Some(attr)) = (unwritten(name), said_by_argument(field)) {
            diagnostic = diagnostic.fix(format!("add `{attr}`: the argument says it"), end, format!("{separator}{attr}"));
            continue;
        }
        diagnostic = match field.kind {
            // `None` says "find it out yourself", which is what was meant by saying nothing.
            Kind::IndexExpr | Kind::OptInt | Kind::IntsOrNone | Kind::OptInts if matches!(unwritten(name), Unwritten::None) => {
                let title = format!("add `{name}=None`, or {value}");
                diagnostic.fix(title, end, format!("{separator}{name}=None"))
            }
            Kind::DType => diagnostic.help(format!("add `{name}=\"float32\"`, or another dtype in quotes")),
            _ => diagnostic.help(format!("add `{name}=…`, {value}")),
        };
    }
    diagnostic
}

/// The help for a call with as many arguments as the form of its operator for computed shapes has. `end` is where attributes can be
/// written; those without a default are `missing` there.
pub(super) fn computed_shape(
    report: &mut Diagnostic,
    (dynamic, signature): (&str, &str),
    missing: &[&Field],
    (end, separator): (Span, &str),
) {
    report.helps.clear();
    let title = format!("what is computed is an argument of `{dynamic}({signature})`");
    let attrs: Option<Vec<String>> = missing.iter().map(|field| said_by_argument(field)).collect();
    let Some(attrs) = attrs else {
        *report = report.clone().help(title);
        return;
    };
    let mut edits = vec![Edit { span: report.span(), text: dynamic.to_owned() }];
    if !attrs.is_empty() {
        edits.push(Edit { span: end, text: format!("{separator}{}", attrs.join(", ")) });
    }
    *report = report.clone().fix_all(title, edits);
}

/// How an attribute is written that an argument of the same name says; `None` for a kind without such a value.
fn said_by_argument(field: &Field) -> Option<String> {
    let value = match field.kind {
        Kind::Ints | Kind::IntLists => "[]",
        Kind::IndexExpr | Kind::OptInt | Kind::IntsOrNone | Kind::OptInts => "None",
        _ => return None,
    };
    Some(format!("{}={value}", field.name))
}

/// What a report of missing attributes says of another number of arguments.
pub(super) fn also_arguments(op: &str, args: &str, n: (usize, usize)) -> String {
    format!("it takes {}, `{op}({args})`, found {}", count(n.0, "argument"), n.1)
}
