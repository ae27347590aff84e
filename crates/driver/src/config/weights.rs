//! The weights that belong to a program: whether each parameter has one, of its type.
//!
//! Only names and types are read of the files. Where the configuration does not name the inputs, the parameters before the first one
//! with a weight are inputs, as in the networks that TVM's importers write.

use super::pattern::Pattern;
use super::{Reach, errors, names};
use crate::bind::errors::{inputs_disagree, wrong_type};
use crate::bind::leaves::{Leaf, leaves};
use crate::sizes::solve;
use crate::{run, tensors};
use relayc_base::Span;
use relayc_base::diag::Diagnostic;
use relayc_base::text::{SpellingSearch, join_words};
use relayc_ir::Module;
use relayc_ir::tensor::binary::Head;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Weights for programs.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Entry {
    pub(super) pattern: Pattern,
    /// Where it stands in the file.
    pub(super) at: u32,
    /// The file and the line, for messages.
    pub(super) from: String,
    pub(super) files: Vec<PathBuf>,
    /// The parameters that are no weights.
    pub(super) inputs: Option<Vec<String>>,
}

/// The names and types in a file, or why it cannot be read.
type Heads = Result<Vec<(String, Head)>, Diagnostic>;

/// Files of weights that have been looked at, which are read again when they have changed.
#[derive(Default)]
pub struct WeightFiles(FxHashMap<PathBuf, Known>);

/// What was read of a file of this time and size.
struct Known {
    form: Option<(SystemTime, u64)>,
    heads: Arc<Heads>,
}

impl WeightFiles {
    fn heads(&mut self, path: &Path, reach: &Reach) -> Arc<Heads> {
        let metadata = path.metadata().ok().filter(|metadata| metadata.is_file());
        let now = metadata.and_then(|metadata| Some((metadata.modified().ok()?, metadata.len())));
        if let Some(known) = self.0.get(path).filter(|known| now.is_some() && known.form == now) {
            return known.heads.clone();
        }
        // A folder or a pipe that took its place is not opened.
        let heads = if now.is_some() && reach.allows(path) {
            tensors::open(path).map(|file| file.items().iter().map(|item| (item.name.clone(), item.head.clone())).collect())
        } else {
            Err(errors::gone(path))
        };
        let heads = Arc::new(heads);
        self.0.insert(path.to_owned(), Known { form: now, heads: heads.clone() });
        heads
    }
}

/// The weights of a program.
#[derive(Clone, Debug)]
pub struct Weights {
    files: Vec<(String, Arc<Heads>)>,
    inputs: Option<Vec<String>>,
    /// Where they were asked for.
    from: String,
}

impl Weights {
    /// The weights of entries together; none without entries.
    pub(super) fn of<'e>(entries: impl Iterator<Item = &'e Entry>, reach: &Reach, files: &mut WeightFiles) -> Option<Weights> {
        let mut weights: Option<Weights> = None;
        for entry in entries {
            let weights = weights.get_or_insert(Weights { files: vec![], inputs: None, from: String::new() });
            let name = |path: &PathBuf| super::shown(&path.canonicalize().unwrap_or_else(|_| path.clone()));
            let heads = |path: &PathBuf| (name(path), files.heads(path, reach));
            weights.files.extend(entry.files.iter().map(heads));
            weights.from.clone_from(&entry.from);
            if let Some(inputs) = &entry.inputs {
                weights.inputs.get_or_insert_default().extend(inputs.iter().cloned());
            }
        }
        weights
    }

    /// Those of each file beside a program, with its name, whether anything names it or not; files that cannot be read are left out.
    pub fn beside(program: &Path) -> Vec<(String, Weights)> {
        const MAX: usize = 8;
        let Some(folder) = program.parent() else { return vec![] };
        let files = names(folder).into_iter().filter(|name| tensors::Format::of_name(name).is_some()).take(MAX);
        let mut known = WeightFiles::default();
        let weights = |name: String| {
            let heads = known.heads(&folder.join(&name), &Reach::Everything);
            let weights = Weights { files: vec![(name.clone(), heads)], inputs: None, from: String::new() };
            (name, weights)
        };
        files.map(weights).filter(|(_, weights)| !weights.tensors().is_empty()).collect()
    }

    /// The tensors of all files with their types, by name, in their order; of several with a name the last one.
    pub fn tensors(&self) -> Vec<(&str, &Head)> {
        let all = self.files.iter().flat_map(|(_, heads)| heads.iter().flatten());
        let mut tensors: Vec<(&str, &Head)> = all.map(|(name, head)| (name.as_str(), head)).collect();
        let mut seen = FxHashSet::default();
        tensors.reverse();
        tensors.retain(|(name, _)| seen.insert(*name));
        tensors.reverse();
        tensors
    }

    /// Compares them with the parameters of a function of a checked program. Nothing is said of a program without the function.
    pub(crate) fn check(&self, module: &Module, function: &str) -> Vec<Diagnostic> {
        let Some(global) = module.find_global(function) else { return vec![] };
        let (name, params) = (module.globals[global].span, &module.funcs[module.globals[global].func].params);
        let broken = self.files.iter().filter_map(|(_, heads)| heads.as_ref().as_ref().err());
        let broken: Vec<Diagnostic> = broken.map(|error| error.clone().at(name, "its weights cannot be read")).collect();
        let Ok(entry) = run::entry(module, function) else { return vec![] };
        let found = if broken.is_empty() {
            let spans = params.iter().map(|&param| module.vars[param].span);
            let of = |(slot, span): (&crate::bind::Slot, Span)| {
                let leaves = leaves(&slot.name, slot.ty, &module.types).unwrap_or_default();
                leaves.into_iter().map(move |leaf| (leaf, span))
            };
            let leaves: Vec<(Leaf, Span)> = entry.slots.iter().zip(spans).flat_map(of).collect();
            self.compare(module, (function, name), &leaves)
        } else {
            broken
        };
        found.into_iter().map(|diagnostic| diagnostic.note(format!("{} gives the program these weights", self.from))).collect()
    }

    fn compare(&self, module: &Module, (function, name): (&str, Span), leaves: &[(Leaf, Span)]) -> Vec<Diagnostic> {
        let mut tensors: FxHashMap<&str, (&Head, &str)> = FxHashMap::default();
        for (file, heads) in &self.files {
            let heads = heads.iter().flatten();
            // Of several files the last with a name wins.
            tensors.extend(heads.map(|(name, head)| (name.as_str(), (head, file.as_str()))));
        }
        let given = |leaf: &Leaf| tensors.get(leaf.name.as_str()).copied();
        let Some(first) = leaves.iter().position(|(leaf, _)| given(leaf).is_some()) else {
            let is_open = !tensors.is_empty() && !leaves.is_empty();
            return is_open
                .then(|| errors::nothing_fits(function, &self.names()).at(name, "none of its parameters"))
                .into_iter()
                .collect();
        };
        let mut found = vec![];
        let (mut facts, mut of_fact) = (vec![], vec![]);
        for (at, (leaf, span)) in leaves.iter().enumerate() {
            let Some((head, file)) = given(leaf) else { continue };
            if !leaf.takes(head.dtype, &head.shape) {
                found.push(wrong_type(leaf, head.dtype, &head.shape, &format!("`{file}`")).at(*span, "this one"));
                continue;
            }
            for (&dim, &n) in leaf.dims.iter().zip(&head.shape).filter(|(dim, _)| dim.symbol().is_some()) {
                facts.push((dim, n as i64));
                of_fact.push((at, file));
            }
        }
        if let Err(wrong) = solve(&module.types.symbols, &facts) {
            let origin = |fact: usize| (&leaves[of_fact[fact].0].0, of_fact[fact].1);
            let span = leaves[of_fact[wrong.second].0].1;
            found.push(inputs_disagree(&wrong, origin(wrong.first), origin(wrong.second)).at(span, "this one"));
        }
        let is_input = |at: usize, leaf: &Leaf| match &self.inputs {
            None => at < first,
            Some(inputs) => inputs.iter().any(|input| {
                let rest = leaf.name.strip_prefix(input.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            }),
        };
        let missing = leaves.iter().enumerate().filter(|(at, (leaf, _))| given(leaf).is_none() && !is_input(*at, leaf));
        let missing: Vec<&(Leaf, Span)> = missing.map(|(_, leaf)| leaf).collect();
        found.extend(self.missing(&missing, name, leaves));
        found
    }

    /// A message for each parameter without a weight; one for all if they are many.
    fn missing(&self, missing: &[&(Leaf, Span)], function: Span, leaves: &[(Leaf, Span)]) -> Vec<Diagnostic> {
        const FEW: usize = 3;
        if missing.len() > FEW {
            let leaves: Vec<&Leaf> = missing.iter().map(|(leaf, _)| leaf).collect();
            return vec![errors::no_weights(&leaves, &self.names()).at(function, "parameters of this function")];
        }
        let params: FxHashSet<&str> = leaves.iter().map(|(leaf, _)| leaf.name.as_str()).collect();
        let names = self.files.iter().flat_map(|(_, heads)| heads.iter().flatten()).map(|(name, _)| name.as_str());
        let unused: Vec<&str> = names.filter(|name| !params.contains(name)).collect();
        let mut near = SpellingSearch::default();
        let mut one = |(leaf, span): &(Leaf, Span)| {
            let near = near.among(&leaf.name, unused.iter().copied());
            errors::no_weight(leaf, &self.names(), near).at(*span, "no tensor of this name")
        };
        missing.iter().map(|leaf| one(leaf)).collect()
    }

    /// The files in words.
    fn names(&self) -> String {
        let names: Vec<String> = self.files.iter().map(|(name, _)| format!("`{name}`")).collect();
        join_words(&names, "and")
    }
}
