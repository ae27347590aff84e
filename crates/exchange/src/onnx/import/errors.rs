//! Diagnostics: why a model is not imported.

use indexmap::IndexMap;
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, Severity, codes};
use relayc_base::text::{count, escape_control, join_words, nearest, shortened, thousands};
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::text::type_text;
use relayc_ir::types::{DType, Dim};
use relayc_ops::OpDef;
use relayc_ops::rel::{Fault, FaultHelp};
use relayc_weights::errors::{entry_limit, unsound};
use rustc_hash::FxBuildHasher;

/// Why a node cannot be converted.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Relay has no equivalent of it, or of this form; all such nodes are reported at once.
    Unsupported(String),
    /// It breaks a rule of ONNX or of its Relay operator.
    Wrong(Box<Diagnostic>),
}

impl Refusal {
    /// The reason is in lower case, without a full stop.
    pub(crate) fn unsupported(reason: impl Into<String>) -> Refusal {
        Refusal::Unsupported(reason.into())
    }

    pub(crate) fn wrong(words: impl Into<String>) -> Refusal {
        Refusal::Wrong(Box::new(Diagnostic::new(codes::E0716, words)))
    }

    /// The constants of a model exceed the limit.
    pub(crate) fn too_much_made(bytes: u64) -> Refusal {
        let words = format!("more than {} bytes of constants that the model does not hold but asks for", thousands(bytes));
        Refusal::Wrong(Box::new(Diagnostic::new(codes::E0805, words)))
    }

    /// A broken rule of an operator, with the rule itself.
    pub(crate) fn fault(def: &OpDef, fault: Fault) -> Refusal {
        let mut diagnostic = Diagnostic::new(codes::E0716, fault.message);
        if let Some((rule, values)) = fault.equation {
            diagnostic = diagnostic.equation(rule, values);
        }
        let rule = def.rules.iter().find(|rule| rule.split(':').next() == Some(fault.rule));
        diagnostic = diagnostic.note(match rule {
            Some(rule) => format!("in Relay this is `{}`, whose rule {rule}", def.name),
            None => format!("in Relay this is `{}`", def.name),
        });
        for help in fault.helps {
            if let FaultHelp::Text(text) = help {
                diagnostic = diagnostic.note(text);
            }
        }
        Refusal::Wrong(Box::new(diagnostic))
    }
}

/// A name of the file for display: control characters escaped, truncated.
pub(crate) fn shown(name: &str) -> String {
    // Names are as long as a file likes.
    let head = name.char_indices().nth(MAX_SHOWN.saturating_add(1)).map_or(name, |(end, _)| name.split_at(end).0);
    shortened(&escape_control(head).replace(['\n', '\t'], " "), MAX_SHOWN)
}

const MAX_SHOWN: usize = 120;

/// Maximum number of places shown; all are counted.
const MAX_NAMES: usize = 8;

/// Unsupported nodes by operator and reason.
pub(crate) type Unsupported = IndexMap<(String, String), Vec<(String, Span)>, FxBuildHasher>;

/// The end of reasons that numbers for the sizes of inputs do away with.
const NOT_KNOWN: &str = "not known before running";

/// The operator's name in reports about inputs.
pub(crate) const INPUT: &str = "an input";
pub(crate) const INITIALIZER: &str = "an initializer";

/// Reports all unsupported nodes at once.
pub(crate) fn unsupported(model: &str, found: &Unsupported, n_nodes: usize) -> Diagnostic {
    let times = |of: &dyn Fn(&str) -> bool| {
        found.iter().filter(|((kind, _), _)| of(kind)).map(|(_, nodes)| nodes.len()).fold(0usize, usize::saturating_add)
    };
    let (nodes, inputs, tensors) =
        (times(&|kind| kind != INPUT && kind != INITIALIZER), times(&|kind| kind == INPUT), times(&|kind| kind == INITIALIZER));
    let parts = [
        (nodes, format!("{} of {}", thousands_of(nodes), count(n_nodes, "node"))),
        (inputs, count(inputs, "input")),
        (tensors, count(tensors, "initializer")),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|(n, _)| *n > 0).map(|(_, words)| words).collect();
    let message = format!("`{model}`: {} cannot be imported", join_words(&parts, "and"));
    let mut diagnostic = Diagnostic::new(codes::E0715, message);
    let mut places = found.iter().filter_map(|((kind, _), nodes)| Some((kind, nodes.first()?.1))).take(MAX_NAMES);
    if let Some((kind, span)) = places.next() {
        diagnostic = diagnostic.at(span, kind.clone());
    }
    for (kind, span) in places {
        diagnostic = diagnostic.also(span, kind.clone());
    }
    for ((kind, reason), nodes) in found {
        diagnostic = diagnostic.note(format!("{kind}, {}: {reason} ({})", count(nodes.len(), "time"), names(nodes)));
    }
    diagnostic
}

/// Adds possible remedies to the report: flags of `relayc import`, which is named since a model may be read by another command.
/// `shapes` are the inputs with sizes that are not known, each as `--shape` has it.
pub(crate) fn with_helps(mut diagnostic: Diagnostic, found: &Unsupported, shapes: &[String]) -> Diagnostic {
    if !shapes.is_empty() && found.keys().any(|(_, reason)| reason.ends_with(NOT_KNOWN)) {
        let shapes: String = shapes.iter().take(MAX_NAMES).map(|shape| format!(" --shape {shape}")).collect();
        diagnostic =
            diagnostic.help(format!("give the sizes numbers: `relayc import{shapes}`, or `--set SIZE=N` where the model is run"));
    }
    if found.keys().any(|(_, reason)| reason.ends_with("only a run knows")) {
        let help = "what only a run knows can be given where it is an input of the model: `relayc import -i NAME=SPEC`";
        diagnostic = diagnostic.help(help);
    }
    diagnostic
}

/// W0024: a model of an operator set that is newer than those that are known.
pub(crate) fn newer(model: &str, version: i64, newest: i64) -> Diagnostic {
    let words = format!("`{}` is of operator set {version}, the newest that relayc knows is {newest}", shown(model));
    let warning = Diagnostic::new(codes::W0024, words).note("operators are read as what they meant before");
    Diagnostic {
        severity: Severity::Warning,
        ..warning.help("compare results with another runtime, or convert the model to an earlier operator set")
    }
}

/// Adds to the report that its nodes need not be imported.
pub(crate) fn with_keep_going(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("`relayc import --keep-going` makes the results of these nodes inputs of the program")
}

/// Adapts the report for a program that is made nonetheless.
pub(crate) fn left_open(mut diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.severity = relayc_base::diag::Severity::Warning;
    diagnostic.help("what they would compute are inputs of the program now")
}

/// The unknown type of a result that should become an input.
pub(crate) fn no_type(model: &str, node: &str, output: &str, span: Span) -> Diagnostic {
    let (node, output) = (shown(node), shown(output));
    let message = format!("`{model}`: `{output}` cannot become an input, as the model does not say its type");
    Diagnostic::new(codes::E0715, message)
        .at(span, format!("made by {node}"))
        .help("say its type in the `value_info` of the model, as ONNX's shape inference does for operators of ONNX")
}

/// A node inside a branch or a loop cannot become an input of the program.
pub(crate) fn inside(model: &str, node: &str, span: Span) -> Diagnostic {
    let message = format!("`{model}`: the results of `{}` cannot become inputs, as they are made in a subgraph", shown(node));
    Diagnostic::new(codes::E0715, message).at(span, "").help("leave `--keep-going` out: all that cannot be imported is listed")
}

/// Nested functions and loops exceed the limit of steps.
pub(crate) fn too_many_steps(model: &str, limit: usize) -> Diagnostic {
    let limit = thousands_of(limit);
    let message =
        format!("`{model}`: more than {limit} nodes and turns, since functions and loops are written out where they are used");
    Diagnostic::new(codes::E0805, message)
}

fn thousands_of(n: usize) -> String {
    thousands(u64::try_from(n).unwrap_or(u64::MAX))
}

fn names(nodes: &[(String, Span)]) -> String {
    let mut names: Vec<String> = nodes.iter().take(MAX_NAMES).map(|(name, _)| format!("`{}`", shown(name))).collect();
    let left = nodes.len().saturating_sub(names.len());
    if left > 0 {
        names.push(format!("{} more", thousands_of(left)));
    }
    join_words(&names, "and")
}

/// A node that breaks a rule, with the rule's diagnostic.
pub(crate) fn wrong(model: &str, kind: &str, node: &str, span: Span, found: Diagnostic) -> Diagnostic {
    let message = format!("`{model}`, node `{}` ({}): {}", shown(node), shown(kind), found.message);
    let mut diagnostic = Diagnostic { message, ..found };
    if diagnostic.labels.is_empty() {
        diagnostic = diagnostic.at(span, "");
    }
    diagnostic
}

/// A violation of ONNX outside any node.
pub(crate) fn structure(model: &str, words: impl std::fmt::Display) -> Diagnostic {
    unsound(model, words)
}

/// The bytes are not a protocol buffer of ONNX's messages.
pub(crate) fn undecodable(model: &str, error: &prost::DecodeError) -> Diagnostic {
    let words = error.to_string();
    let words = words.strip_prefix("failed to decode Protobuf message: ").unwrap_or(&words);
    unsound(model, format_args!("not a model of ONNX: {}", shown(words)))
}

/// A model exceeds a limit.
pub(crate) fn too_many(model: &str, offset: usize, words: impl std::fmt::Display) -> Diagnostic {
    entry_limit(model, offset, words)
}

/// A tensor with elements in another file.
pub(crate) fn outside(model: &str, tensor: &str, location: &str) -> Diagnostic {
    let (tensor, location) = (shown(tensor), shown(location));
    Diagnostic::new(codes::E0717, format!("`{model}`: the elements of `{tensor}` are in another file, `{location}`"))
        .help("`--external-data` reads files of the model's own folder, and of folders inside it")
}

/// A location outside that is not read.
pub(crate) fn no_place(model: &str, tensor: &str, location: &str, why: &str) -> Diagnostic {
    let (tensor, location) = (shown(tensor), shown(location));
    let message = format!("`{model}`: the elements of `{tensor}` are said to be in `{location}`, which {why}");
    Diagnostic::new(codes::E0717, message).help("only files of the model's own folder are read, and of folders inside it")
}

/// An option for a name that is not an input.
pub(crate) fn no_input<'a>(flag: &str, name: &str, inputs: impl Iterator<Item = &'a str> + Clone) -> Diagnostic {
    unknown_name((flag, name), "input", inputs)
}

/// A number for a name that is not a size of the inputs.
pub(crate) fn no_size<'a>(name: &str, sizes: impl Iterator<Item = &'a str> + Clone) -> Diagnostic {
    unknown_name(("--set", name), "size", sizes)
}

fn unknown_name<'a>((flag, name): (&str, &str), what: &str, known: impl Iterator<Item = &'a str> + Clone) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0706, format!("`{flag} {}=…`: the model has no such {what}", shown(name)));
    match nearest(name, known.clone()) {
        Some(near) => diagnostic.help(format!("did you mean `{}`?", shown(near))),
        None => {
            let names: Vec<String> = known.take(MAX_NAMES).map(|name| format!("`{}`", shown(name))).collect();
            diagnostic.help(match names.is_empty() {
                true => format!("it has no {what}s"),
                false => format!("its {what}s are {}", join_words(&names, "and")),
            })
        }
    }
}

/// Two numbers for a size of the model, each with the input whose `--shape` gives it.
pub(crate) fn shapes_disagree(size: &str, first: (&str, i64), second: (&str, i64)) -> Diagnostic {
    let shape = |input: &str| format!("`--shape {}=…`", shown(input));
    let message = format!("{} and {} disagree about the size `{size}`", shape(first.0), shape(second.0));
    let of = |(input, n): (&str, i64)| format!("it is {n} with {}", shape(input));
    Diagnostic::new(codes::E0705, message).note(of(first)).note(of(second))
}

/// A constant for an input of another declared type.
pub(crate) fn other_constant(name: &str, found: &Tensor, dims: &[Dim], dtype: DType) -> Diagnostic {
    let known: Vec<Dim> = found.shape().iter().map(|&dim| i64::try_from(dim).map_or(Dim::Any, Dim::known)).collect();
    let (found, wanted) = (type_text(&known, found.dtype()), type_text(dims, dtype));
    Diagnostic::new(codes::E0705, format!("`-i {}=…` is {found}, the model says {wanted}", shown(name)))
        .help("give it the dtype and the shape that the model says")
}

/// A `--shape` that contradicts a network of another format.
pub(crate) fn other_shape(name: &str, wanted: &str, found: &str) -> Diagnostic {
    contradicted(name, wanted, found).help("only dimensions that the model leaves open can be set")
}

/// A `--shape` of another rank than the model's.
pub(crate) fn other_rank(name: &str, wanted: &str, found: &str) -> Diagnostic {
    contradicted(name, wanted, found).help("give as many dimensions as the model has")
}

fn contradicted(name: &str, wanted: &str, found: &str) -> Diagnostic {
    Diagnostic::new(codes::E0705, format!("`--shape {}={wanted}`: the model says {found}", shown(name)))
}

/// Adds what to do about a size that is baked into a model.
pub(crate) fn with_baked_helps(diagnostic: Diagnostic, is_constant: bool) -> Diagnostic {
    match is_constant {
        true => diagnostic.help("export the model with a dynamic dimension here, or leave it as the model has it"),
        false => {
            diagnostic.help("give other inputs of the same size a `--shape` too, or leave the dimension as the model has it")
        }
    }
}
