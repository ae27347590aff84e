//! Binds an entry function's parameters to tensors.
//!
//! The sources are weight files (`--params`), an archive of inputs (`--inputs`), single inputs (`-i NAME=SPEC`) and a filling for
//! missing parameters (`--fill`). A later source of this list wins, and of several weight files the last.
//!
//! A parameter is named without its `%`; the fields of a tuple parameter are `name.0`, `name.1`, nested `name.0.1`. Entries of a
//! weight file without a parameter are ignored, since one file may serve several entry functions. A name without a parameter in
//! `--inputs` or `-i` is E0706. `--set NAME.AXIS=N` fixes a dynamic dimension; one that is not fixed takes the size from a file.
//! Dimensions that name one size have one number in all inputs.

pub(super) mod errors;
pub mod leaves;
pub(super) mod source;

pub use errors::rearranged;
pub(super) use errors::short;

use super::sizes::solve;
use super::tensors;
use super::written::Written;
use leaves::Leaf;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::count;
use relayc_exchange::onnx::import::Constant;
use relayc_ir::sizes::SizeValues;
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::size::checked_size;
use relayc_ir::types::{DType, Dim, Symbols, Ty, Types, dims_of};
use relayc_sys as sys;
use relayc_weights::Named;
use rustc_hash::{FxHashMap, FxHashSet};
use source::{Files, Filling, Source};
use std::path::{Path, PathBuf};

/// A parameter of the entry function.
#[derive(Clone, PartialEq, Debug)]
pub struct Slot {
    /// The name, without `%`.
    pub name: String,
    pub ty: Ty,
}

/// The command line's requests for the parameters, as written.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Requests {
    /// `--params FILE`, in order.
    pub params: Vec<PathBuf>,
    /// `-i NAME=SPEC`, in order; [`source::Source`] lists the forms.
    pub inputs: Vec<String>,
    /// `--inputs FILE`: a file of tensors.
    pub inputs_file: Option<PathBuf>,
    /// `--fill zeros|ones|rand[:seed=N]`.
    pub fill: Option<String>,
    /// `--set NAME.AXIS=N` and `--set SIZE=N`.
    pub set: Vec<String>,
    /// `--max-memory`, in bytes; without it [`sys::default_memory_limit`].
    pub max_memory: Option<u64>,
    /// The weights that came with the program; any other source wins.
    pub packed: Packed,
}

/// The weights that a program came with.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Packed {
    /// The file of the weights.
    pub(crate) from: String,
    pub weights: Named,
    /// Why there are no weights, for the messages about missing ones.
    pub(crate) doubt: Option<Diagnostic>,
    /// Parameters without a weight, except known inputs.
    pub(crate) open: Vec<String>,
    /// Parameters with their names in the model that the program was read from.
    pub(crate) model_names: Vec<(String, String)>,
}

impl Packed {
    /// Weights that came from somewhere, as messages name it.
    pub fn of(from: &str, weights: Named) -> Packed {
        Packed { from: from.to_owned(), weights, ..Packed::default() }
    }

    /// Whether the program came with weights for all parameters but its inputs.
    pub(crate) fn is_complete(&self) -> bool {
        !self.from.is_empty() && self.open.is_empty()
    }
}

/// The value of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum Bound {
    Tensor(Tensor),
    Tuple(Vec<Bound>),
}

/// Binds one value per slot, in order.
///
/// Reports all errors at once: E0701, E0703 and E0804 for files, E0704 for missing parameters, E0705 for a wrong type, E0706 for
/// an unknown name, E0707 for a malformed specification, E0803 for too much memory.
pub fn bind(slots: &[Slot], types: &Types, requests: &Requests) -> Result<Vec<Bound>, Vec<Diagnostic>> {
    Ok(bind_telling(slots, types, requests)?.0)
}

/// The filling of a seed. Floats have both signs with every second one; with the others they are positive, as logarithms need them.
pub(crate) fn filling_of(seed: u64) -> String {
    format!("rand:seed={seed}{}", if seed.is_multiple_of(2) { ":signed" } else { "" })
}

/// As [`bind_telling`], with random values of a seed for what no source gives, and numbers of the seed for dimensions that nothing
/// determines.
pub(crate) fn bind_seeded(
    slots: &[Slot],
    types: &Types,
    requests: &Requests,
    seed: u64,
) -> Result<(Vec<Bound>, FxHashSet<String>), Vec<Diagnostic>> {
    bind_choosing(slots, types, &Requests { fill: Some(filling_of(seed)), ..requests.clone() }, Some(seed))
}

/// Checks the shapes of the slots' leaves, in order. Errors: as [`fit`].
pub fn fit_shapes(slots: &[Slot], types: &Types, shapes: &[&[usize]]) -> Result<(), Diagnostic> {
    let mut takes = vec![];
    for slot in slots {
        takes.extend(leaves::leaves(&slot.name, slot.ty, types).map_err(|why| errors::no_data(slot, types, why))?);
    }
    if takes.len() != shapes.len() {
        let message = format!("expected the shapes of {}, found {}", count(takes.len(), "input"), shapes.len());
        return Err(Diagnostic::new(codes::E0705, message));
    }
    if let Some((leaf, shape)) = takes.iter().zip(shapes).find(|(leaf, shape)| !leaf.takes(leaf.dtype, shape)) {
        let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
        let message = format!("`{}` is {}, the argument has the shape ({})", leaf.name, leaf.type_text(), shape.join(", "));
        return Err(Diagnostic::new(codes::E0705, message));
    }
    agree(types, takes.into_iter().zip(shapes.iter().copied()))
}

/// Whether the sizes of the arguments agree, given their shapes.
fn agree<'a>(types: &Types, leaves: impl Iterator<Item = (Leaf, &'a [usize])>) -> Result<(), Diagnostic> {
    let (mut facts, mut of_fact) = (vec![], vec![]);
    for (leaf, shape) in leaves {
        for (&dim, &n) in leaf.dims.iter().zip(shape).filter(|(dim, _)| dim.symbol().is_some()) {
            facts.push((dim, n as i64));
            of_fact.push(leaf.clone());
        }
    }
    let origin = |at: usize| (&of_fact[at], "the argument");
    match solve(&types.symbols, &facts) {
        Ok(_) => Ok(()),
        Err(wrong) => Err(errors::inputs_disagree(&wrong, origin(wrong.first), origin(wrong.second))),
    }
}

/// Checks values against the types of the slots, in order. Errors: E0704 for a slot that is no tensor or tuple of tensors, E0705 for a
/// value of another type or a wrong number of values.
pub fn fit(slots: &[Slot], types: &Types, args: &[Bound]) -> Result<(), Diagnostic> {
    if slots.len() != args.len() {
        let message = format!("expected {}, found {}", count(slots.len(), "argument"), args.len());
        return Err(Diagnostic::new(codes::E0705, message));
    }
    let mut all = vec![];
    for (slot, arg) in slots.iter().zip(args) {
        let takes = leaves::leaves(&slot.name, slot.ty, types).map_err(|why| errors::no_data(slot, types, why))?;
        let given = leaves::flatten(&slot.name, arg);
        if !takes.iter().map(|leaf| &leaf.name).eq(given.iter().map(|(name, _)| name)) {
            let message = format!("parameter `{}` is {}, the argument has other fields", slot.name, types.text(slot.ty));
            return Err(Diagnostic::new(codes::E0705, message));
        }
        if let Some((leaf, (_, tensor))) = takes.iter().zip(&given).find(|(leaf, (_, tensor))| !leaf.accepts(tensor)) {
            return Err(errors::wrong_type(leaf, tensor.dtype(), tensor.shape(), "the argument"));
        }
        all.extend(takes.into_iter().zip(given.into_iter().map(|(_, tensor)| tensor)));
    }
    agree(types, all.iter().map(|(leaf, tensor)| (leaf.clone(), tensor.shape())))
}

/// As [`bind`]; also returns the names of the tensors that weight files gave and no later source replaced.
pub(crate) fn bind_telling(
    slots: &[Slot],
    types: &Types,
    requests: &Requests,
) -> Result<(Vec<Bound>, FxHashSet<String>), Vec<Diagnostic>> {
    bind_choosing(slots, types, requests, None)
}

/// As [`bind_telling`]; a seed chooses the numbers of dimensions that nothing determines.
fn bind_choosing(
    slots: &[Slot],
    types: &Types,
    requests: &Requests,
    seed: Option<u64>,
) -> Result<(Vec<Bound>, FxHashSet<String>), Vec<Diagnostic>> {
    let mut leaves = Vec::new();
    for slot in slots {
        leaves.extend(leaves::leaves(&slot.name, slot.ty, types).map_err(|error| vec![errors::no_data(slot, types, error)])?);
    }
    let mut binder = Binder::new(leaves, &types.symbols, requests);
    binder.carry_out(&requests.set);
    binder.take_packed(&requests.packed);
    binder.read_params(&requests.params);
    binder.read_inputs(requests.inputs_file.as_ref());
    for input in &requests.inputs {
        binder.input(input);
    }
    if let Some(seed) = seed {
        binder.choose_sizes(seed);
    }
    binder.fill_missing(requests.fill.as_deref());
    let is_weight = |given: &Option<Given>| given.as_ref().is_some_and(|given| given.is_weight);
    let weights = binder.leaves.iter().zip(&binder.given).filter(|(_, given)| is_weight(given));
    let weights = weights.map(|(leaf, _)| leaf.name.clone()).collect();
    let mut tensors = binder.finish()?.into_iter();
    Ok((slots.iter().map(|slot| leaves::assemble(slot.ty, types, &mut tensors)).collect(), weights))
}

/// Reads tensors by name from weight files for the parameters that are tensors; a missing one is no error. Errors: E0701, E0703
/// and E0804 for files, E0705 for a wrong type, E0803 for too much memory.
pub(crate) fn weights(
    slots: &[Slot],
    types: &Types,
    params: &[PathBuf],
    packed: &Packed,
) -> Result<FxHashMap<String, Tensor>, Vec<Diagnostic>> {
    let tensors = slots.iter().filter(|slot| types.as_tensor(slot.ty).is_some());
    // A tensor is one leaf.
    let leaves = tensors.filter_map(|slot| leaves::leaves(&slot.name, slot.ty, types).ok()).flatten().collect();
    let mut binder = Binder::new(leaves, &types.symbols, &Requests::default());
    binder.take_packed(packed);
    binder.read_params(params);
    let names: Vec<String> =
        binder.leaves.iter().zip(&binder.given).filter(|(_, given)| given.is_some()).map(|(leaf, _)| leaf.name.clone()).collect();
    Ok(names.into_iter().zip(binder.finish()?).collect())
}

/// The file that a `NAME=SPEC` reads, if any.
pub fn file_of(text: &str) -> Option<&Path> {
    match Source::parse(text.split_once('=')?.1) {
        Ok(Source::File { path, .. }) => Some(Path::new(path)),
        _ => None,
    }
}

/// The name of a `NAME=SPEC`, and its tensor for an input of a type. Errors: E0707 for a malformed one, E0803 for one that is too
/// large; E0701, E0703 and E0804 for files.
pub(crate) fn constant(text: &str) -> Result<(String, Constant<'_>), Diagnostic> {
    let split = text.split_once('=').map(|(name, spec)| (name.trim(), spec));
    let (name, spec) = split.ok_or_else(|| errors::bad_input(text, "it is not NAME=SPEC"))?;
    let tensor = move |dims: &[Dim], dtype: DType| {
        let leaf = Leaf::new(name.to_owned(), dims.to_vec(), dtype);
        let wrong = |words: &str| errors::bad_input(text, words).help(errors::forms(&leaf));
        let (limit, sizes) = (sys::default_memory_limit(), dims_of(dims));
        let bytes = sizes.as_ref().and_then(|dims| checked_size(dims, dtype).ok()).map_or(0, |(_, bytes)| bytes as u64);
        match (Source::parse(spec), Written::parse(spec)) {
            (Ok(source @ Source::File { .. }), _) => Files::default().tensor(&source, &leaf, text),
            _ if bytes > limit => Err(errors::over_memory(&format!("with `{name}`"), bytes, limit)),
            (Ok(Source::Filling(_)), _) if sizes.is_none() => Err(wrong("it does not say a shape")),
            (Ok(source), _) => Files::default().tensor(&source, &leaf, text),
            (Err(_), Some(written)) => written.tensor(dims, dtype).map_err(|words| wrong(&words)),
            (Err(words), None) => Err(wrong(&words)),
        }
    };
    Ok((name.to_owned(), Box::new(tensor)))
}

/// The parameter that an input of a model is.
pub(super) fn own_name<'a>(model_names: &'a [(String, String)], name: &str) -> Option<&'a str> {
    model_names.iter().find(|(_, model_name)| model_name == name).map(|(own, _)| own.as_str())
}

/// `SIZE=N`: the name of a size and its number, if that is one.
pub fn size_setting(setting: &str) -> Option<(&str, Option<i64>)> {
    let (name, n) = setting.split_once('=').filter(|(name, _)| !name.contains('.'))?;
    Some((name.trim(), n.trim().parse().ok().filter(|&n| n >= 0)))
}

/// `NAME.AXIS=N`: the name of a tensor, an axis and its number.
pub(super) fn axis_setting<'a>(flag: &str, setting: &'a str) -> Result<(&'a str, usize, i64), Diagnostic> {
    let parsed = setting.split_once('=').and_then(|(place, n)| {
        let (name, axis) = place.rsplit_once('.')?;
        Some((name.trim_start_matches('%'), axis.parse::<usize>().ok()?, n))
    });
    let (name, axis, n) = parsed.ok_or_else(|| errors::bad_setting(flag, setting, "it is neither NAME.AXIS=N nor SIZE=N"))?;
    let n = n.trim().parse().ok().filter(|&n| n >= 0);
    Ok((name, axis, n.ok_or_else(|| errors::bad_setting(flag, setting, errors::NO_SIZE))?))
}

/// Gives a dimension of one of the tensors the number of `NAME.AXIS=N`, which came with `flag`. Returns what it was.
///
/// Errors: E0706 for an unknown name; E0707 for a setting that is malformed or not about an open dimension.
pub fn carry_out(leaves: &mut [Leaf], flag: &str, setting: &str) -> Result<(Dim, i64), Diagnostic> {
    let (name, axis, n) = axis_setting(flag, setting)?;
    let Some(at) = leaves.iter().position(|leaf| leaf.is_called(name)) else {
        return Err(errors::unknown_name(name, flag, leaves.iter().map(Leaf::shown)));
    };
    let leaf = &mut leaves[at];
    match leaf.dims.get(axis).copied() {
        None => Err(errors::bad_setting(flag, setting, &format!("`{name}` is {}", leaf.type_text()))),
        Some(Dim::Known { value, .. }) if value != n => {
            Err(errors::bad_setting(flag, setting, &format!("axis {axis} of `{name}` is {value}")))
        }
        Some(dim) => {
            leaf.dims[axis] = Dim::known(n);
            Ok((dim, n))
        }
    }
}

/// A tensor, and its origin in words.
#[derive(Clone)]
struct Given {
    tensor: Tensor,
    from: String,
    /// The position among `-i`, if it came from there.
    input: Option<usize>,
    /// Whether a weight file gave it.
    is_weight: bool,
}

struct Binder<'t> {
    leaves: Vec<Leaf>,
    symbols: &'t Symbols,
    by_name: FxHashMap<String, usize>,
    given: Vec<Option<Given>>,
    /// Leaves with a reported error: they are not reported as missing again.
    reported: Vec<bool>,
    /// Weights without a parameter, with their files: the names may be misspelt.
    unused: Vec<(String, String)>,
    files: Files,
    n_inputs: usize,
    /// Bytes of all given tensors.
    used: u64,
    max_memory: u64,
    /// Why the program came without weights, and the parameters concerned.
    doubt: Option<Diagnostic>,
    open: Vec<String>,
    errors: Vec<Diagnostic>,
}

impl<'t> Binder<'t> {
    fn new(mut leaves: Vec<Leaf>, symbols: &'t Symbols, requests: &Requests) -> Binder<'t> {
        let mut by_name = FxHashMap::default();
        let model_names: FxHashMap<&str, &str> =
            requests.packed.model_names.iter().map(|(own, model_name)| (own.as_str(), model_name.as_str())).collect();
        // What one input is in the model may be the parameter of another: the model's names come first.
        for (i, leaf) in leaves.iter_mut().enumerate() {
            if let Some(&model_name) = model_names.get(leaf.name.as_str()) {
                leaf.call(model_name);
                by_name.entry(model_name.to_owned()).or_insert(i);
            }
        }
        for (i, leaf) in leaves.iter().enumerate() {
            by_name.entry(leaf.name.clone()).or_insert(i);
        }
        Binder {
            given: vec![None; leaves.len()],
            reported: vec![false; leaves.len()],
            leaves,
            symbols,
            by_name,
            unused: vec![],
            files: Files::default(),
            n_inputs: 0,
            used: 0,
            max_memory: requests.max_memory.unwrap_or_else(sys::default_memory_limit),
            doubt: None,
            open: vec![],
            errors: vec![],
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.leaves.iter().map(Leaf::shown)
    }

    /// Gives a parameter its tensor, which replaces one from an earlier source.
    fn give(&mut self, leaf: usize, given: Given) {
        let bytes = tensor_bytes(&given.tensor);
        let before = self.given[leaf].replace(given).map_or(0, |before| tensor_bytes(&before.tensor));
        self.used = self.used.saturating_sub(before).saturating_add(bytes);
    }

    fn take_packed(&mut self, packed: &Packed) {
        let mut weights = packed.weights.iter();
        let taken = weights
            .try_for_each(|(name, tensor)| self.take_weight(name, tensor_bytes(tensor), &packed.from, &|| Ok(tensor.clone())));
        self.errors.extend(taken.err());
        self.doubt.clone_from(&packed.doubt);
        self.open.clone_from(&packed.open);
    }

    fn read_params(&mut self, paths: &[PathBuf]) {
        for path in paths {
            let read = tensors::open(path).and_then(|file| self.take_weights(&file));
            self.errors.extend(read.err());
        }
    }

    /// Reads the tensors of parameters one by one. Errors: those of the file and of [`Binder::take_weight`].
    fn take_weights(&mut self, file: &tensors::File) -> Result<(), Diagnostic> {
        let mut items = file.items().iter();
        items.try_for_each(|item| self.take_weight(&item.name, item.head.size as u64, file.name(), &|| file.read(item)))
    }

    /// Takes a weight of the given size if a parameter has its name. Errors: those of `read`, and E0803 if all tensors together
    /// are too large; the rest of the file is not read then.
    fn take_weight(
        &mut self,
        name: &str,
        bytes: u64,
        file: &str,
        read: &dyn Fn() -> Result<Tensor, Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let Some(&leaf) = self.by_name.get(name) else {
            self.unused.push((name.to_owned(), file.to_owned()));
            return Ok(());
        };
        let before = self.given[leaf].as_ref().map_or(0, |given| tensor_bytes(&given.tensor));
        let used = self.used.saturating_sub(before).saturating_add(bytes);
        if used > self.max_memory {
            return Err(errors::over_memory("together", used, self.max_memory));
        }
        self.give(leaf, Given { tensor: read()?, from: format!("`{file}`"), input: None, is_weight: true });
        Ok(())
    }

    fn read_inputs(&mut self, path: Option<&PathBuf>) {
        let Some(path) = path else { return };
        match tensors::open(path).and_then(|file| file.read_all()) {
            Err(error) => self.errors.push(error),
            Ok(named) => self.take_inputs(named, &path.display().to_string()),
        }
    }

    fn take_inputs(&mut self, named: Named, file: &str) {
        let (mut unknown, mut known) = (Vec::new(), None);
        for (name, tensor) in named {
            match self.by_name.get(&name) {
                Some(&leaf) => {
                    self.give(leaf, Given { tensor, from: format!("`{file}`"), input: None, is_weight: false });
                    known.get_or_insert(name);
                }
                None => unknown.push(name),
            }
        }
        // A file of another program can have thousands.
        for name in unknown.iter().take(errors::LISTED) {
            let mut error = errors::unknown_name(name, &format!("`{file}`"), self.names());
            // Expected results may lie beside the inputs.
            if let Some(known) = &known {
                error = error.help(format!("`-i {known}=@{file}:{known}` takes one tensor of the file"));
            }
            if unknown.len() > errors::LISTED {
                error = error.note(format!("it is one of {} such names", unknown.len()));
            }
            self.errors.push(error);
        }
    }

    /// `NAME=SPEC`.
    fn input(&mut self, text: &str) {
        self.n_inputs += 1;
        let Some((name, spec)) = text.split_once('=') else {
            // Which input it is for is not known.
            self.reported.fill(true);
            let error = errors::bad_input(text, "it is not NAME=SPEC");
            return self.errors.push(match self.leaves.first() {
                Some(leaf) => error.help(errors::named(text, Source::parse(text).is_ok(), leaf)),
                None => error,
            });
        };
        let name = name.trim().trim_start_matches('%');
        let source = Source::parse(spec);
        if source.is_err()
            && let Some(written) = Written::parse(spec)
            && (self.by_name.contains_key(name) || !self.fields_of(name).is_empty())
        {
            return self.written(name, written, text);
        }
        let fields = self.fields_of(name);
        let targets = match (self.by_name.get(name), &source) {
            (Some(&leaf), _) => vec![leaf],
            (None, Ok(Source::Filling(_))) if !fields.is_empty() => fields,
            (None, _) if !fields.is_empty() => {
                let names = fields.iter().map(|&leaf| self.leaves[leaf].name.clone()).collect();
                return self.errors.push(errors::input_of_tuple(text, name, names));
            }
            (None, _) => {
                let error = errors::unknown_name(name, "-i", self.names());
                return self.errors.push(error);
            }
        };
        let source = source.map_err(|words| errors::bad_input(text, &words).help(errors::forms(&self.leaves[targets[0]])));
        for leaf in targets {
            if self.given[leaf].as_ref().is_some_and(|given| given.input.is_some()) {
                self.errors.push(errors::twice(self.leaves[leaf].shown()));
                continue;
            }
            let tensor = source.clone().and_then(|source| {
                self.check_memory(leaf, &source)?;
                self.files.tensor(&source, &self.leaves[leaf], text)
            });
            match tensor {
                Ok(tensor) => {
                    let from = format!("`-i {}`", errors::short(text));
                    self.give(leaf, Given { tensor, from, input: Some(self.n_inputs), is_weight: false });
                }
                Err(error) => self.report(leaf, error),
            }
        }
    }

    /// A value that its parameter's type tells how to read; of tuples each field.
    fn written(&mut self, name: &str, written: Written, text: &str) {
        let mut stack = vec![(name.to_owned(), written)];
        while let Some((name, written)) = stack.pop() {
            let leaf = self.by_name.get(&name).copied();
            let written = match (leaf, written.fields(&name)) {
                (None, Ok(fields)) => {
                    let is_missing =
                        |(name, _): &(String, Written)| !self.by_name.contains_key(name) && self.fields_of(name).is_empty();
                    let more = format!("{name}.{}", fields.len());
                    let lacks = self.by_name.contains_key(&more) || !self.fields_of(&more).is_empty();
                    if lacks || fields.iter().any(is_missing) {
                        return self.misfit(&name, errors::bad_input(text, &format!("`{name}` has another number of fields")));
                    }
                    stack.extend(fields.into_iter().rev());
                    continue;
                }
                (Some(_), Ok(_)) => {
                    let error = errors::bad_input(text, &format!("`{name}` is no tuple"));
                    return self
                        .misfit(&name, error.help("the elements of a tensor are in brackets: `[1, 2]`, `[[1, 2], [3, 4]]`"));
                }
                (_, Err(written)) => written,
            };
            let Some(leaf) = leaf else {
                let names = self.fields_of(&name).iter().map(|&leaf| self.leaves[leaf].name.clone()).collect();
                return self.misfit(&name, errors::input_of_tuple(text, &name, names));
            };
            if self.given[leaf].as_ref().is_some_and(|given| given.input.is_some()) {
                self.errors.push(errors::twice(self.leaves[leaf].shown()));
                continue;
            }
            // A number may fill a large tensor.
            let memory = self.check_memory(leaf, &Source::Filling(Filling::Zeros));
            let wrong = |words: String| errors::bad_input(text, &words).help(errors::forms(&self.leaves[leaf]));
            match memory.and_then(|()| written.tensor(&self.leaves[leaf].dims, self.leaves[leaf].dtype).map_err(wrong)) {
                Ok(tensor) => {
                    let from = format!("`-i {}`", errors::short(text));
                    self.give(leaf, Given { tensor, from, input: Some(self.n_inputs), is_weight: false });
                }
                Err(error) => self.report(leaf, error),
            }
        }
    }

    /// Reports a value that a parameter or a field of one cannot have.
    fn misfit(&mut self, name: &str, error: Diagnostic) {
        for leaf in self.by_name.get(name).copied().into_iter().chain(self.fields_of(name)) {
            self.reported[leaf] = true;
        }
        self.errors.push(error);
    }

    /// The leaves inside the tuple parameter, or tuple field, of that name.
    fn fields_of(&self, name: &str) -> Vec<usize> {
        let inside = |leaf: &Leaf| leaf.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        self.leaves.iter().enumerate().filter(|(_, leaf)| inside(leaf)).map(|(i, _)| i).collect()
    }

    /// Checks that a tensor about to be made from a shape alone fits into memory with the others.
    fn check_memory(&self, leaf: usize, source: &Source) -> Result<(), Diagnostic> {
        let (dims, dtype) = match source {
            Source::File { .. } => return Ok(()),
            Source::Filling(_) => (dims_of(&self.leaves[leaf].dims), self.leaves[leaf].dtype),
            Source::Literal(literal) => (Some(literal.shape.clone()), literal.dtype),
        };
        let bytes = dims.and_then(|dims| checked_size(&dims, dtype).ok()).map_or(0, |(_, bytes)| bytes as u64);
        let used = self.used.saturating_add(bytes);
        if used <= self.max_memory {
            return Ok(());
        }
        Err(errors::over_memory(&format!("with `{}`", self.leaves[leaf].shown()), used, self.max_memory))
    }

    fn report(&mut self, leaf: usize, error: Diagnostic) {
        self.reported[leaf] = true;
        // A file that cannot be read is one mistake, however many parameters come from it, and so is too little memory.
        let is_memory = |error: &Diagnostic| error.code == codes::E0803;
        let said = is_memory(&error) && self.errors.iter().any(is_memory);
        if !said && !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    fn fill_missing(&mut self, fill: Option<&str>) {
        let missing: Vec<usize> = (0..self.leaves.len()).filter(|&i| self.given[i].is_none() && !self.reported[i]).collect();
        let Some(text) = fill else { return self.report_missing(&missing) };
        let Some(filling) = Filling::parse(text).map(Source::Filling) else {
            return self.errors.push(errors::bad_filling(text));
        };
        // Contradictions are reported at the end.
        if !self.settle_sizes(&missing) {
            return;
        }
        for leaf in missing {
            let memory = self.check_memory(leaf, &filling);
            match memory.and_then(|()| self.files.tensor(&filling, &self.leaves[leaf], "--fill")) {
                Ok(tensor) => self.give(leaf, Given { tensor, from: "`--fill`".into(), input: None, is_weight: false }),
                Err(error) => self.report(leaf, error),
            }
        }
    }

    /// Gives dimensions the numbers that are set, and with them all that are the same size. A size that is set by its name and
    /// that no parameter has any more got its number in the program and its types before.
    fn carry_out(&mut self, settings: &[String]) {
        let (mut facts, mut of_fact) = (vec![], vec![]);
        let open: FxHashSet<_> =
            self.leaves.iter().flat_map(|leaf| &leaf.dims).flat_map(|&dim| self.symbols.vars_of(dim)).collect();
        let names = self.symbols.names();
        for setting in settings {
            let Some((name, Some(n))) = size_setting(setting) else { continue };
            if let Some(&id) = open.iter().find(|id| names.get(*id) == Some(&name)) {
                facts.push((self.symbols.dim(id), n));
                of_fact.push(setting.as_str());
            }
        }
        for setting in settings.iter().filter(|setting| size_setting(setting).is_none()) {
            match carry_out(&mut self.leaves, "--set", setting) {
                Ok(fact) => {
                    facts.push(fact);
                    of_fact.push(setting.as_str());
                }
                Err(wrong) => self.errors.push(wrong),
            }
        }
        match solve(self.symbols, &facts) {
            Ok(values) => (0..self.leaves.len()).for_each(|leaf| self.settle(leaf, &values)),
            Err(wrong) => self.errors.push(errors::settings_disagree(&wrong, |at| of_fact[at])),
        }
    }

    /// Gives the dimensions of a leaf their numbers.
    fn settle(&mut self, leaf: usize, values: &SizeValues) {
        if values.is_empty() {
            return;
        }
        for dim in self.leaves[leaf].dims.iter_mut().filter(|dim| dim.symbol().is_some()) {
            let number = self.symbols.evaluate(*dim, &|id| values.get(&id).copied()).filter(|&number| number >= 0);
            *dim = number.map_or(*dim, Dim::known);
        }
    }

    /// Gives the dimensions of missing tensors that nothing determines numbers: the same to all that are one size, and to all without
    /// a name, which often have to agree.
    fn choose_sizes(&mut self, seed: u64) {
        let number = |at: usize| 2 + (seed.wrapping_add(at as u64) % 4) as i64;
        // Contradictions are reported at the end.
        let mut values = solve(self.symbols, &self.facts().0).unwrap_or_default();
        for leaf in (0..self.leaves.len()).filter(|&leaf| self.given[leaf].is_none()).collect::<Vec<_>>() {
            for id in self.leaves[leaf].dims.iter().flat_map(|&dim| self.symbols.vars_of(dim)) {
                let next = number(values.len());
                values.entry(id).or_insert(next);
            }
            self.settle(leaf, &values);
            self.leaves[leaf].dims.iter_mut().filter(|dim| matches!(dim, Dim::Any)).for_each(|dim| *dim = Dim::known(number(0)));
        }
    }

    /// The dimensions of the tensors given so far, each with the number it has there and its leaf.
    fn facts(&self) -> (Vec<(Dim, i64)>, Vec<usize>) {
        let given = self.leaves.iter().zip(&self.given).enumerate();
        let given = given.filter_map(|(at, (leaf, given))| Some((at, leaf, &given.as_ref()?.tensor)));
        let fitting = given.filter(|(_, leaf, tensor)| leaf.accepts(tensor));
        let dims = fitting
            .flat_map(|(at, leaf, tensor)| leaf.dims.iter().zip(tensor.shape()).map(move |(&dim, &n)| ((dim, n as i64), at)));
        dims.filter(|((dim, _), _)| dim.symbol().is_some()).unzip()
    }

    /// Gives leaves without a tensor the sizes that the others have, unless those contradict each other.
    fn settle_sizes(&mut self, missing: &[usize]) -> bool {
        let Ok(values) = solve(self.symbols, &self.facts().0) else { return false };
        missing.iter().for_each(|&leaf| self.settle(leaf, &values));
        true
    }

    /// Reports missing parameters, unless a failed file or a misspelt name may explain them: that mistake comes first.
    fn report_missing(&mut self, missing: &[usize]) {
        if self.errors.iter().all(|error| error.code == codes::E0707) {
            let missing: Vec<&Leaf> = missing.iter().map(|&i| &self.leaves[i]).collect();
            let open = &self.open;
            self.errors.extend(self.doubt.take_if(|_| missing.iter().any(|leaf| open.contains(&leaf.name))));
            self.errors.extend(errors::missing(&missing, &self.unused));
        }
    }

    /// Checks every tensor against its parameter.
    fn finish(mut self) -> Result<Vec<Tensor>, Vec<Diagnostic>> {
        let (facts, of_fact) = self.facts();
        if let Err(wrong) = solve(self.symbols, &facts) {
            let origin = |at: usize| {
                let leaf = of_fact[at];
                (&self.leaves[leaf], self.given[leaf].as_ref().map_or("", |given| given.from.as_str()))
            };
            self.errors.push(errors::inputs_disagree(&wrong, origin(wrong.first), origin(wrong.second)));
        }
        let given = || self.leaves.iter().zip(&self.given).filter_map(|(leaf, given)| Some((leaf, given.as_ref()?)));
        let misfits: Vec<(&Leaf, &Given)> = given().filter(|(leaf, given)| !leaf.accepts(&given.tensor)).collect();
        // The weights of each file that do not fit.
        let mut of_files: FxHashMap<&str, Vec<(&Leaf, &Tensor)>> = FxHashMap::default();
        for (leaf, given) in misfits.iter().filter(|(_, given)| given.is_weight) {
            of_files.entry(&given.from).or_default().push((leaf, &given.tensor));
        }
        for (leaf, Given { tensor, from, is_weight, .. }) in misfits {
            match of_files.get(from.as_str()).filter(|of_file| *is_weight && of_file.len() > errors::FEW) {
                None => self.errors.push(errors::wrong_type(leaf, tensor.dtype(), tensor.shape(), from)),
                Some(of_file) if std::ptr::eq(of_file[0].0, leaf) => {
                    let n = given().filter(|(_, other)| other.from == *from).count();
                    self.errors.push(errors::wrong_weights(from, of_file, n));
                }
                Some(_) => {}
            }
        }
        let tensors = self.given.into_iter().flatten().map(|given| given.tensor).collect();
        if self.errors.is_empty() && self.used > self.max_memory {
            self.errors.push(errors::over_memory("together", self.used, self.max_memory));
        }
        if self.errors.is_empty() { Ok(tensors) } else { Err(self.errors) }
    }
}

fn tensor_bytes(tensor: &Tensor) -> u64 {
    tensor.len() as u64 * tensor.dtype().bytes()
}

/// The tensors of values, in order.
pub fn tensors_in(values: &[Bound]) -> Vec<&Tensor> {
    let (mut leaves, mut stack) = (vec![], values.iter().rev().collect::<Vec<_>>());
    while let Some(value) = stack.pop() {
        match value {
            Bound::Tensor(tensor) => leaves.push(tensor),
            Bound::Tuple(fields) => stack.extend(fields.iter().rev()),
        }
    }
    leaves
}

#[cfg(test)]
mod tests;
