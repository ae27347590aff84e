//! The messages for inputs and weights that do not bind.

use super::Slot;
use super::leaves::{Leaf, NoLeaves};
use crate::sizes::Contradiction;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{count, join_words, nearest, one_line, shortened, thousands};
use relayc_ir::sizes::NegativeSize;
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::size::SizeError;
use relayc_ir::tensor::text::{short_name, type_text};
use relayc_ir::types::{DType, Dim, Types};
use relayc_weights::images::PRESETS;
use relayc_weights::{Format, Kind};
use std::path::Path;

/// Up to this many missing parameters get a message each, and so do weights of a file that do not fit; more share one.
pub(crate) const FEW: usize = 3;
/// The number of names in a list before it is cut.
pub(crate) const LISTED: usize = 8;

/// Shortens the user's text for a message.
pub(crate) fn short(text: &str) -> String {
    shortened(&one_line(text), 60)
}

/// The first few of a list of names.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.take(LISTED + 1).map(|name| format!("`{}`", one_line(name))).collect();
    let more = names.len() > LISTED;
    names.truncate(LISTED);
    if more { format!("{}, ...", names.join(", ")) } else { join_words(&names, "and") }
}

/// Adds the closest name and all names, as helps.
fn with_names<'a>(diagnostic: Diagnostic, name: &str, what: &str, names: impl Iterator<Item = &'a str> + Clone) -> Diagnostic {
    if let Some(near) = nearest(name, names.clone()) {
        return diagnostic.help(format!("did you mean `{near}`?"));
    }
    match listed(names) {
        list if list.is_empty() => diagnostic.note(format!("there are no {what}")),
        list => diagnostic.note(format!("the {what} are {list}")),
    }
}

/// E0704, E0805: a parameter that is neither a tensor nor a tuple of tensors, or has too many.
pub(crate) fn no_data(slot: &Slot, types: &Types, error: NoLeaves) -> Diagnostic {
    let name = &slot.name;
    match error {
        NoLeaves::NotData(ty) => {
            Diagnostic::new(codes::E0704, format!("parameter `{name}` is of type {}, which no file can hold", types.text(ty)))
                .help("run an entry function whose parameters are tensors and tuples of tensors: --entry NAME")
        }
        NoLeaves::TooMany => {
            Diagnostic::new(codes::E0805, format!("parameter `{name}` has more than 65,536 tensors or 64 levels"))
        }
    }
}

/// E0706: a name without a parameter. `place` is where it was read.
pub(crate) fn unknown_name<'a>(name: &str, place: &str, names: impl Iterator<Item = &'a str>) -> Diagnostic {
    let names: Vec<&str> = names.collect();
    let error = Diagnostic::new(codes::E0706, format!("{place} names `{name}`, which is no parameter"));
    with_names(error, name, "parameters", names.iter().copied())
}

/// E0706: a key that a file does not have.
pub(crate) fn unknown_entry<'a>(key: &str, path: &str, names: impl Iterator<Item = &'a str> + Clone) -> Diagnostic {
    with_names(Diagnostic::new(codes::E0706, format!("`{path}` has no entry `{key}`")), key, "entries", names)
}

/// E0707: a malformed input.
pub(crate) fn bad_input(text: &str, words: &str) -> Diagnostic {
    Diagnostic::new(codes::E0707, format!("cannot understand `{}`: {words}", short(text)))
}

/// What a number is that no size can be.
pub(crate) const NO_SIZE: &str = "a size is a number of at least 0, and below 2^63";

/// E0707 for the setting of a size with `flag`.
pub(crate) fn bad_setting(flag: &str, setting: &str, words: &str) -> Diagnostic {
    Diagnostic::new(codes::E0707, format!("cannot carry out `{flag} {}`: {words}", short(setting)))
        .help(format!("`{flag} data.0=8` makes axis 0 of parameter `data` 8 where its type has `?`"))
        .help(format!("`{flag} batch=8` makes the size `batch` 8"))
}

/// E0706: a setting of a size that no dimension names.
pub(crate) fn unknown_size(name: &str, names: Vec<&str>) -> Diagnostic {
    let error = Diagnostic::new(codes::E0706, format!("--set names `{name}`, which is no size of the program"));
    with_names(error, name, "sizes", names.into_iter())
}

/// E0707: settings that give one size two numbers; `setting` gives the text of one.
pub(crate) fn settings_disagree<'a>(wrong: &Contradiction, setting: impl Fn(usize) -> &'a str) -> Diagnostic {
    let (first, second) = (setting(wrong.first), setting(wrong.second));
    let (dim, found) = (&wrong.dim, wrong.found);
    match wrong.expected {
        Some(expected) if first != second => {
            let message = format!("`--set {}` contradicts `--set {}`", short(second), short(first));
            Diagnostic::new(codes::E0707, message).note(format!("the size `{dim}` would be {expected} and {found}"))
        }
        _ => bad_setting("--set", second, &format!("the size `{dim}` cannot be {found}")),
    }
}

/// E0707: settings with which a dimension becomes negative.
pub(crate) fn negative_size(negative: &NegativeSize, settings: &[&str]) -> Diagnostic {
    let settings: Vec<String> = settings.iter().take(LISTED).map(|setting| format!("`--set {}`", short(setting))).collect();
    let message = format!("the size `{}` is {} with {}", negative.text, negative.value, join_words(&settings, "and"));
    Diagnostic::new(codes::E0707, message)
}

/// E0705: two inputs that give one size two numbers, or one whose size no number fits.
pub(crate) fn inputs_disagree(wrong: &Contradiction, first: (&Leaf, &str), second: (&Leaf, &str)) -> Diagnostic {
    let Contradiction { dim, expected, found, .. } = wrong;
    let error = match expected {
        Some(expected) if first.0.name != second.0.name => {
            let message = format!("parameters `{}` and `{}` disagree about the size `{dim}`", first.0.shown(), second.0.shown());
            Diagnostic::new(codes::E0705, message)
                .note(format!("it is {expected} with {} for `{}`", first.1, first.0.shown()))
                .note(format!("it is {found} with {} for `{}`", second.1, second.0.shown()))
        }
        Some(expected) => {
            let message = format!("parameter `{}` contradicts itself about the size `{dim}`", second.0.shown());
            Diagnostic::new(codes::E0705, message).note(format!("it is {expected} and {found} with {}", second.1))
        }
        None => Diagnostic::new(codes::E0705, format!("the size `{dim}` of `{}` cannot be {found}", second.0.shown())),
    };
    error.help(format!("give inputs of one size for `{dim}`"))
}

/// E0707 for `--fill`.
pub(crate) fn bad_filling(text: &str) -> Diagnostic {
    Diagnostic::new(codes::E0707, format!("cannot understand `--fill {}`", short(text)))
        .help("write `zeros`, `ones`, `rand` or `rand:seed=N`")
}

/// E0707: the same parameter given twice by `-i`.
pub(crate) fn twice(name: &str) -> Diagnostic {
    Diagnostic::new(codes::E0707, format!("`{name}` is given twice with -i"))
}

/// E0707: one file or literal for a whole tuple.
pub(crate) fn input_of_tuple(text: &str, name: &str, fields: Vec<String>) -> Diagnostic {
    let list = listed(fields.iter().map(String::as_str));
    bad_input(text, &format!("`{name}` is a tuple")).help(format!("give its fields one by one: {list}"))
}

/// E0707: several entries, none with the parameter's name.
pub(crate) fn no_key<'a>(text: &str, path: &str, names: impl Iterator<Item = &'a str>) -> Diagnostic {
    let list = listed(names);
    let list = if list.is_empty() { "there are none".into() } else { format!("there are {list}") };
    bad_input(text, "which entry of the file?").note(list).help(format!("name one: @{path}:KEY"))
}

/// E0707: an image without a preset.
pub(crate) fn no_preset(text: &str, path: &str) -> Diagnostic {
    let mut error = bad_input(text, "a picture needs a preset that says how numbers come from pixels");
    for (name, what) in PRESETS {
        error = error.note(format!("`{name}`: {what}"));
    }
    error.help(format!("name one: @{path}:{}", PRESETS[0].0))
}

/// E0703: neither tensors nor an image.
pub(crate) fn unknown_file(path: &str, start: &[u8]) -> Diagnostic {
    relayc_weights::errors::foreign(path, start, "an input")
        .unwrap_or_else(|| Diagnostic::new(codes::E0703, format!("`{path}`: no format that relayc knows")))
        .help(format!("inputs are read from {} files", Kind::extensions()))
}

/// The forms of an input, with the parameter's own type filled in.
pub(crate) fn forms(leaf: &Leaf) -> String {
    let dims: String = leaf.dims.iter().map(|dim| format!("{}x", dim.value().unwrap_or(1))).collect();
    let ty = format!("{dims}{}", short_name(leaf.dtype));
    format!("write `zeros`, `ones`, `rand:seed=N`, `{ty}=0.5`, `{ty}=[...]`, `@x.npy`, `@x.npz:KEY` or `@x.png:PRESET`")
}

/// What to write for a value without a name; `is_value` is whether it is none of a file.
pub(crate) fn named(value: &str, is_value: bool, leaf: &Leaf) -> String {
    let file = value.strip_prefix('@').unwrap_or(value);
    let is_file = value.starts_with('@') || Path::new(file).extension().is_some();
    let spec = match is_value {
        _ if is_file => format!("@{file}"),
        true => value.to_owned(),
        false => "zeros".to_owned(),
    };
    format!("name the input: `-i {}={}`", leaf.shown(), short(&spec))
}

/// E0506 for a dtype that no tensor can hold, else E0803.
pub(crate) fn wrong_size(leaf: &Leaf, error: &SizeError) -> Diagnostic {
    let name = leaf.shown();
    match error {
        SizeError::DType(dtype) => Diagnostic::new(codes::E0506, format!("no tensor can hold `{dtype}`, the dtype of `{name}`")),
        SizeError::NoMemory(_) => Diagnostic::new(codes::E0803, format!("`{name}`: {error}")),
        SizeError::Rank(_) | SizeError::Negative(_) | SizeError::TooLarge { .. } => {
            Diagnostic::new(codes::E0803, format!("`{name}` is over the limit of 16 GiB for one tensor"))
        }
    }
}

/// E0803; `what` names the tensors that are too large together.
pub(crate) fn over_memory(what: &str, bytes: u64, limit: u64) -> Diagnostic {
    let (bytes, limit) = (thousands(bytes), thousands(limit));
    Diagnostic::new(codes::E0803, format!("{what} the inputs take {bytes} bytes, the limit is {limit}"))
        .help("--max-memory sets another limit")
}

/// E0704: a filling needs the sizes, and the type has a dynamic dimension.
pub(crate) fn open_dimension(leaf: &Leaf) -> Diagnostic {
    let settings: Vec<String> = leaf.open_axes().map(|axis| format!("--set {}=1", leaf.settable(axis))).collect();
    Diagnostic::new(codes::E0704, format!("the size of `{}` is missing: it is {}", leaf.shown(), leaf.type_text()))
        .help(settings.join(" "))
}

/// E0704: one for each missing parameter, or one for all if there are many.
pub(crate) fn missing(leaves: &[&Leaf], unused: &[(String, String)]) -> Vec<Diagnostic> {
    // What files have besides is said once.
    let besides = |error: Diagnostic| match no_parameters(unused) {
        Some(note) if leaves.iter().all(|leaf| misspelt(leaf, unused).is_none()) => error.note(note),
        _ => error,
    };
    if leaves.len() <= FEW {
        let mut errors = leaves.iter().map(|leaf| missing_one(leaf, unused));
        return errors.next().map(besides).into_iter().chain(errors).collect();
    }
    let names = listed(leaves.iter().map(|leaf| leaf.shown()));
    let mut error = Diagnostic::new(codes::E0704, format!("{} have no value: {names}", count(leaves.len(), "parameter")));
    for leaf in leaves.iter().take(LISTED) {
        if let Some(help) = misspelt(leaf, unused) {
            error = error.help(help);
        }
    }
    let error = error
        .help(format!("--params FILE reads weights from a {} file", join_words(&Format::extensions(), "or")))
        .help("--fill rand:seed=0 fills every missing parameter with random numbers");
    vec![besides(error)]
}

/// The weights of a file that are no parameters, which may be the file of another program.
fn no_parameters(unused: &[(String, String)]) -> Option<String> {
    let (_, file) = unused.first()?;
    let names: Vec<&str> = unused.iter().filter(|(_, of)| of == file).map(|(name, _)| name.as_str()).collect();
    Some(format!(
        "`{file}` was read, and has {} that no parameter is: {}",
        count(names.len(), "tensor"),
        listed(names.iter().copied())
    ))
}

fn missing_one(leaf: &Leaf, unused: &[(String, String)]) -> Diagnostic {
    let name = leaf.shown();
    let mut error = Diagnostic::new(codes::E0704, format!("parameter `{name}` has no value: it is {}", leaf.type_text()));
    if let Some(help) = misspelt(leaf, unused) {
        error = error.help(help);
    }
    let settings: String = leaf.open_axes().map(|axis| format!(" --set {}=1", leaf.settable(axis))).collect();
    error = error.help(format!("-i {name}=zeros{settings}"));
    if is_picture(leaf) {
        error = error.help(format!("-i '{name}=@picture.png:imagenet'"));
    }
    error.help("--params FILE").help("--fill rand:seed=0")
}

/// Whether the parameter has the shape of an RGB image.
fn is_picture(leaf: &Leaf) -> bool {
    let three = |dim: &Dim| dim.value() == Some(3);
    let one_picture = leaf.dims.len() == 4 && leaf.dims[0].value().is_none_or(|batch| batch == 1);
    leaf.dtype.is_float() && one_picture && (three(&leaf.dims[1]) || three(&leaf.dims[3]))
}

/// A weight without a parameter whose name is similar to this one's.
fn misspelt(leaf: &Leaf, unused: &[(String, String)]) -> Option<String> {
    let near = nearest(&leaf.name, unused.iter().map(|(name, _)| name.as_str()))?;
    let (name, file) = unused.iter().find(|(name, _)| name == near)?;
    Some(format!("`{file}` has `{}`, which no parameter is named; is it `{}`?", one_line(name), leaf.shown()))
}

/// So many lines has a table of them.
const ROWS: usize = 30;

/// E0705: a file of weights of another network; `n` of its tensors have the names of parameters.
pub(crate) fn wrong_weights(from: &str, misfits: &[(&Leaf, &Tensor)], n: usize) -> Diagnostic {
    let message = format!("{from} does not fit the program: {} of {} have another type", misfits.len(), count(n, "weight"));
    let of = |tensor: &Tensor| {
        type_text(&tensor.shape().iter().map(|&dim| Dim::known(dim as i64)).collect::<Vec<Dim>>(), tensor.dtype())
    };
    let rows = misfits.iter().take(ROWS).map(|(leaf, tensor)| [leaf.shown().to_owned(), leaf.type_text(), of(tensor)]);
    let head = ["parameter", "in the program", "in the file"].map(str::to_owned);
    let rows: Vec<[String; 3]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    let mut error = Diagnostic::new(codes::E0705, message);
    for [name, ours, theirs] in &rows {
        error = error.note(format!("{name:first$}  {ours:second$}  {theirs}"));
    }
    if misfits.len() > ROWS {
        error = error.note(format!("and {} more", misfits.len() - ROWS));
    }
    error.help("give the weights of this network; `relayc params ls FILE --match NET.relay` compares all of them")
}

/// E0705: both types, the tensor's origin, and what would make it fit.
pub(crate) fn wrong_type(leaf: &Leaf, dtype: DType, shape: &[usize], from: &str) -> Diagnostic {
    let shape: Vec<Dim> = shape.iter().map(|&dim| Dim::known(dim as i64)).collect();
    let (name, expected, got) = (leaf.shown(), leaf.type_text(), type_text(&shape, dtype));
    let mut error = Diagnostic::new(codes::E0705, format!("parameter `{name}` is {expected}, {from} gives {got}"));
    if dtype != leaf.dtype {
        error = error.note(format!("the dtype is {dtype}, not {}", leaf.dtype));
        // NumPy has no bfloat16.
        if leaf.dtype != DType::BF16 {
            error = error.help(format!("in NumPy, `x.astype(\"{}\")` converts", leaf.dtype));
        }
    }
    if shape.len() != leaf.dims.len() {
        error = error.note(format!("the rank is {}, not {}", shape.len(), leaf.dims.len()));
    } else if let Some(axis) = (0..shape.len()).find(|&axis| !shape[axis].compatible(leaf.dims[axis])) {
        error = error.note(format!("axis {axis} is {}, not {}", shape[axis], leaf.dims[axis]));
    }
    let fits = |axis: Option<usize>, dim: usize| axis.map_or(Dim::known(1), |axis| shape[axis]).compatible(leaf.dims[dim]);
    let is_one = |axis: usize| shape[axis].value() == Some(1);
    match rearranged((shape.len(), is_one), leaf.dims.len(), fits) {
        Some((view, words)) => error.help(format!("in NumPy, `x{view}` {words}")),
        None => error,
    }
}

/// What makes an array of NumPy fit whose shape does not: its axes in another order, with axes of one element before them or without
/// one. What is written behind the array, and what it does, in words. No element is lost. `is_one` says whether an axis has one
/// element, `fits` whether an axis, or a new one of one element, may be a dimension of the wanted shape.
pub fn rearranged(
    (rank, is_one): (usize, impl Fn(usize) -> bool),
    wanted: usize,
    fits: impl Fn(Option<usize>, usize) -> bool,
) -> Option<(String, &'static str)> {
    const ORDERS: [(&[usize], &str); 5] = [
        (&[1, 0], "swaps the axes"),
        (&[2, 0, 1], "makes CHW of HWC"),
        (&[1, 2, 0], "makes HWC of CHW"),
        (&[0, 3, 1, 2], "makes NCHW of NHWC"),
        (&[0, 2, 3, 1], "makes NHWC of NCHW"),
    ];
    if rank == wanted + 1 {
        let without = |axis: usize| (0..wanted).all(|dim| fits(Some(dim + usize::from(dim >= axis)), dim));
        return match (0..rank).find(|&axis| is_one(axis) && without(axis))? {
            0 => Some(("[0]".to_owned(), "drops the first axis")),
            axis => Some((format!(".squeeze({axis})"), "drops an axis of one element")),
        };
    }
    let n_new = wanted.checked_sub(rank).filter(|_| rank > 0)?;
    let suits = |order: &[usize]| (0..wanted).all(|dim| fits(dim.checked_sub(n_new).map(|at| order[at]), dim));
    let new = if n_new == 0 { String::new() } else { format!("[{}]", vec!["None"; n_new].join(", ")) };
    let as_is: Vec<usize> = (0..rank).collect();
    if suits(&as_is) {
        let words = if n_new == 1 { "adds a first axis" } else { "adds the first axes" };
        return (n_new > 0).then_some((new, words));
    }
    let &(order, words) = ORDERS.iter().find(|(order, _)| order.len() == rank && suits(order))?;
    let order = order.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    Some((format!(".transpose({order}){new}"), words))
}
