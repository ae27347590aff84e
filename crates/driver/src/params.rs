//! Weight files, `relayc params`: lists them and compares them with a program (`ls`), reads one tensor (`get`), converts formats
//! (`convert`), moves weights into a program's text (`bind`) and out of it (`unbind`).
//!
//! Files are read tensor by tensor; commands that need only names and types read no element.

mod errors;
mod table;

use super::bind::errors::unknown_entry;
use super::bind::leaves::{self, Leaf};
use super::tensors::{self, Format};
use super::{Program, bind, endings, run, show};
use relayc_base::diag::Diagnostic;
use relayc_base::text::SpellingSearch;
use relayc_ir::tensor::{Tensor, npy};
use relayc_passes as passes;
use relayc_sys::{self as sys, Content};
use relayc_weights::{Item, Named, Planned};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// The number of names that get spelling suggestions, and of candidates; nobody reads more.
const NEAR: usize = 256;

/// Weight files, and how they fit a program.
pub struct Listing {
    pub(crate) files: Vec<Listed>,
    /// Parameters without a tensor in any file, if there is a program.
    pub(crate) missing: Option<Vec<Missing>>,
}

/// A weight file.
pub(crate) struct Listed {
    pub(crate) name: String,
    /// As [`tensors::File::format`].
    pub(crate) format: &'static str,
    pub(crate) rows: Vec<Row>,
}

/// A tensor of a weight file.
pub(crate) struct Row {
    pub(crate) item: Item,
    pub(crate) fit: Fit,
}

/// How a tensor fits a program.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Fit {
    /// No program was given.
    Unknown,
    Fits,
    /// The parameter has another type, this one.
    Misshaped(Leaf),
    /// No parameter has the name; a missing parameter may have a similar one.
    Unused {
        near: Option<String>,
    },
}

/// A parameter without a tensor.
pub(crate) struct Missing {
    pub(crate) leaf: Leaf,
    /// A tensor without a parameter, with a similar name.
    pub(crate) near: Option<String>,
}

impl Listing {
    /// Whether no tensor has another type than its parameter.
    pub fn fits(&self) -> bool {
        self.files.iter().flat_map(|file| &file.rows).all(|row| !matches!(row.fit, Fit::Misshaped(_)))
    }
}

/// Lists files, with the parameters of an entry if there is a program. Errors: all those of the files; E0706.
pub fn list(files: &[PathBuf], program: Option<(&Program, &str)>) -> Result<Listing, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut listed = Vec::new();
    for path in files {
        match tensors::open(path) {
            Ok(file) => {
                let rows = file.items().iter().map(|item| Row { item: item.clone(), fit: Fit::Unknown }).collect();
                listed.push(Listed { name: file.name().to_owned(), format: file.format(), rows });
            }
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let missing = program.map(|(program, entry)| fit(&mut listed, program, entry)).transpose().map_err(|error| vec![error])?;
    Ok(Listing { files: listed, missing })
}

/// Sets how each tensor fits; returns the parameters without a tensor.
fn fit(files: &mut [Listed], program: &Program, entry: &str) -> Result<Vec<Missing>, Diagnostic> {
    let module = &program.module;
    let entry = run::entry(module, entry)?;
    let of_slot = |slot: &bind::Slot| leaves::leaves(&slot.name, slot.ty, &module.types).unwrap_or_default();
    let leaves: Vec<Leaf> = entry.slots.iter().flat_map(of_slot).collect();
    let by_name: FxHashMap<&str, &Leaf> = leaves.iter().map(|leaf| (leaf.name.as_str(), leaf)).collect();
    let mut given = rustc_hash::FxHashSet::default();
    for row in files.iter_mut().flat_map(|file| &mut file.rows) {
        row.fit = match by_name.get(row.item.name.as_str()) {
            Some(leaf) => {
                given.insert(leaf.name.as_str());
                if leaf.takes(row.item.head.dtype, &row.item.head.shape) { Fit::Fits } else { Fit::Misshaped((*leaf).clone()) }
            }
            None => Fit::Unused { near: None },
        };
    }
    let missing: Vec<&Leaf> = leaves.iter().filter(|leaf| !given.contains(leaf.name.as_str())).collect();
    let mut near = SpellingSearch::default();
    let mut unused = Vec::new();
    for row in files.iter_mut().flat_map(|file| &mut file.rows).filter(|row| matches!(row.fit, Fit::Unused { .. })).take(NEAR) {
        let name = near.among(&row.item.name, missing.iter().take(NEAR).map(|leaf| leaf.name.as_str()));
        row.fit = Fit::Unused { near: name.map(str::to_owned) };
        unused.push(row.item.name.clone());
    }
    let mut near = |leaf: &Leaf| near.among(&leaf.name, unused.iter().map(String::as_str)).map(str::to_owned);
    let missing = missing.into_iter().enumerate();
    Ok(missing.map(|(at, leaf)| Missing { near: if at < NEAR { near(leaf) } else { None }, leaf: leaf.clone() }).collect())
}

/// Reads one tensor of a file. Errors: those of the file, E0706 for an unknown name.
pub fn get(path: &Path, name: &str) -> Result<Tensor, Diagnostic> {
    let file = tensors::open(path)?;
    let names = || file.items().iter().map(|item| item.name.as_str());
    let item = file.find(name).ok_or_else(|| unknown_entry(name, file.name(), names()))?;
    file.read(item)
}

/// Writes a tensor as .npy or into a file of named tensors, by the file's name. Errors: E0702; E0721 for a name without a known
/// format.
pub fn save(path: &Path, name: &str, tensor: Tensor) -> Result<(), Diagnostic> {
    let named = [(name.to_owned(), tensor)];
    let content = match Format::of_name(&path.display().to_string()) {
        Some(format) => tensors::making_of(path, format, &named),
        None if relayc_weights::is_npy_name(&path.display().to_string()) => {
            Content::Made(Box::new(|out| npy::write_to(&named[0].1, out).map(Ok)))
        }
        None => return Err(endings::unknown(path, "a tensor", &endings::tensors(&[".npy"]))),
    };
    sys::write_all(vec![(path, content)])
}

/// Writes the tensors of a file in the format of the other name, in their order; returns their number. Errors: those of both
/// files, E0721 for a name without a known format.
pub fn convert(from: &Path, to: &Path) -> Result<usize, Diagnostic> {
    let format = endings::of_tensors(to, None)?;
    let file = tensors::open(from)?;
    let planned: Vec<Planned> =
        file.items().iter().map(|item| Planned { name: item.name.clone(), head: item.head.clone() }).collect();
    let n = planned.len();
    let give = |i: usize| file.read(&file.items()[i]);
    sys::write_all(vec![(to, tensors::making(format, to, planned, Box::new(give)))])?;
    Ok(n)
}

/// A program with bound weights.
pub struct Bound {
    pub text: String,
    /// How many weights are now part of the text.
    pub n_bound: usize,
}

/// The text of a program with the weights of files as constants, non-scalars in its metadata section. The entry loses those
/// parameters. Errors: E0706, those of [`bind::weights`], E0720 if the text cannot hold them.
pub fn bind(program: &mut Program, entry: &str, files: &[PathBuf]) -> Result<Bound, Vec<Diagnostic>> {
    let module = &mut program.module;
    let Some(global) = module.find_global(entry) else { return Err(vec![run::no_entry(module, entry)]) };
    let slots = run::entry(module, entry).map_err(|error| vec![error])?.slots;
    let weights = bind::weights(&slots, &module.types, files, &program.packed)?;
    if weights.is_empty() {
        return Err(vec![errors::nothing_bound(entry, &slots, files)]);
    }
    let n_bound = weights.len();
    let bytes = weights.values().map(|tensor| tensor.len() as u64 * tensor.dtype().bytes()).sum::<u64>();
    // Three bytes take four letters.
    if bytes / 3 * 4 > sys::Limit::source().bytes {
        return Err(vec![errors::too_much_text(bytes / 3 * 4)]);
    }
    if !passes::bind_params(module, global, weights) {
        return Err(vec![errors::calls_itself(entry)]);
    }
    let text = show::print(program, show::complete(&program.module));
    if text.len() as u64 > sys::Limit::source().bytes {
        return Err(vec![errors::too_much_text(text.len() as u64)]);
    }
    Ok(Bound { text, n_bound })
}

/// A program with constants moved out.
pub struct Unbound {
    pub text: String,
    pub weights: Named,
}

/// The text of a program in which the entry's non-scalar constants are parameters, and their values by parameter name. Errors:
/// E0706, E0720 if the program itself calls the entry.
pub fn unbind(program: &mut Program, entry: &str) -> Result<Unbound, Diagnostic> {
    let module = &mut program.module;
    let Some(global) = module.find_global(entry) else { return Err(run::no_entry(module, entry)) };
    let weights = passes::unbind_params(module, global).ok_or_else(|| errors::calls_itself(entry))?;
    Ok(Unbound { text: show::print(program, show::complete(&program.module)), weights })
}
