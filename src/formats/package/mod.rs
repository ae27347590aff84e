//! Archives that TVM writes: a model in Model Library Format (`python/tvm/micro/model_library_format.py`, its versions 1 to 7), and a
//! package of TVMC (`python/tvm/driver/tvmc/model.py`).
//!
//! The first holds the program it was compiled from, without the version line that Relay text begins with, the constants of the
//! compiled graph and the graph; the second a compiled library in place of the program, so that its weights and its graph can be read
//! and it cannot be run. What is machine code is never looked at. Deliberately not here: which weight is which parameter's.

mod entries;
mod metadata;

pub use entries::is_tar;

use super::file::{Item, TensorFile};
use super::graph_json::{self, Graph};
use super::{Named, errors, params, repeated};
use crate::base::text::{count, escape_control, thousands};
use crate::base::u64_of;
use crate::diag::{Diagnostic, codes};
use entries::Archive;
use metadata::Metadata;
use std::fmt::Write;

/// A model in Model Library Format.
pub struct Model {
    /// The program's file in the archive, and its bytes.
    pub text_name: String,
    pub text: Vec<u8>,
    /// The constants of the compiled graph.
    pub weights: Named,
    /// Absent for models that are compiled without an executor of graphs.
    pub graph: Option<Graph>,
}

/// Reads a model. Errors: E0703 and E0804 for what is not sound, E0726 for an archive that has no program in it.
pub fn read(name: &str, bytes: &[u8]) -> Result<Model, Diagnostic> {
    let archive = Archive::read(name, bytes)?;
    let Some(metadata) = metadata(name, &archive)? else { return Err(no_program(name, &archive)) };
    let text = metadata.text_files().into_iter().find_map(|file| archive.get(&file).map(|bytes| (file, bytes)));
    let Some((text_name, text)) = text else { return Err(no_program(name, &archive)) };
    let graph = metadata.graph_files().into_iter().find_map(|file| archive.get(&file).map(|bytes| (file, bytes)));
    let graph = graph.map(|(file, bytes)| graph_json::read(&inside(name, &file), bytes)).transpose()?;
    Ok(Model { text_name, text: text.to_vec(), weights: weights(name, &archive)?, graph })
}

/// What the weight files of an archive say of their tensors. Errors: E0703, E0803 and E0804.
pub(super) fn index(name: &str, bytes: &[u8]) -> Result<Vec<Item>, Diagnostic> {
    items(name, &Archive::read(name, bytes)?)
}

fn items(name: &str, archive: &Archive) -> Result<Vec<Item>, Diagnostic> {
    let mut all: Vec<Item> = vec![];
    for entry in archive.entries().filter(|entry| entry.name.ends_with(".params")) {
        let mut items = params::index(&inside(name, entry.name), &entry.bytes)?;
        if items.len().saturating_add(all.len()) > params::MAX_ENTRIES {
            let words = format_args!("more than {} weights, which is the limit", params::MAX_ENTRIES);
            return Err(errors::entry_limit(name, entry.at, words));
        }
        items.iter_mut().for_each(|item| item.place.shift(entry.at));
        if all.is_empty() {
            all = items;
        } else {
            all.append(&mut items);
        }
    }
    match repeated(all.iter().map(|item| item.name.as_str())).and_then(|at| all.get(at)) {
        Some(twice) => Err(errors::unsound(name, format_args!("a second weight named `{}`", escape_control(&twice.name)))),
        None => Ok(all),
    }
}

fn weights(name: &str, archive: &Archive) -> Result<Named, Diagnostic> {
    TensorFile::new(name, archive.bytes(), "tar", items(name, archive)?).read_all()
}

fn metadata(name: &str, archive: &Archive) -> Result<Option<Metadata>, Diagnostic> {
    let file = "metadata.json";
    archive.get(file).map(|bytes| Metadata::read(&inside(name, file), bytes)).transpose()
}

/// A file of an archive, for messages.
fn inside(archive: &str, file: &str) -> String {
    format!("{archive}:{file}")
}

/// The files of a package of TVMC: compiled libraries, for its executors.
const LIBRARIES: &[&str] = &["mod.so", "mod.tar", "lib.so", "lib.tar"];

/// The most files that a message lists.
const MAX_LISTED: usize = 8;

fn no_program(name: &str, archive: &Archive) -> Diagnostic {
    let is_tvmc = archive.entries().any(|entry| LIBRARIES.contains(&entry.name));
    let what =
        if is_tvmc { "a package of TVMC, which holds a compiled library and no program" } else { "an archive without a program" };
    let mut error = Diagnostic::new(codes::E0726, format!("`{name}` is {what}"));
    for entry in archive.entries().take(MAX_LISTED) {
        error = error.note(line(entry));
    }
    let n_more = archive.entries().count().saturating_sub(MAX_LISTED);
    if n_more > 0 {
        error = error.note(format!("and {}", count(n_more, "file")));
    }
    if is_tvmc {
        error = error
            .help(format!("`relayc inspect {name}` shows its graph, `--params {name}` reads its weights"))
            .help("`tvmc compile --output-format mlf` writes an archive that holds the program too");
    }
    error
}

fn line(entry: entries::Entry) -> String {
    let bytes = thousands(u64_of(entry.bytes.len()));
    let what = match entry.name.rsplit('.').next() {
        Some("so" | "o" | "a") => ", machine code for TVM's runtime",
        Some("params") => ", weights",
        Some("graph") => ", the compiled graph",
        Some("relay") => ", the program",
        _ => "",
    };
    format!("{}: {bytes} bytes{what}", escape_control(entry.name))
}

/// What is in an archive: its files, then its graph beside its weights. Errors: as [`read`], without E0726.
pub fn show(name: &str, bytes: &[u8]) -> Result<String, Diagnostic> {
    let archive = Archive::read(name, bytes)?;
    let metadata = metadata(name, &archive)?;
    let weights = weights(name, &archive)?;
    let mut out = match &metadata {
        Some(metadata) => metadata.summary(),
        None if archive.entries().any(|entry| LIBRARIES.contains(&entry.name)) => {
            "package of TVMC, without a program\n".to_owned()
        }
        None => "archive\n".to_owned(),
    };
    for entry in archive.entries() {
        let _ = writeln!(out, "  {}", line(entry));
    }
    let mut files = metadata.as_ref().map_or(vec![], Metadata::graph_files);
    files.push("mod.json".to_owned());
    if let Some((file, bytes)) = files.into_iter().find_map(|file| archive.get(&file).map(|bytes| (file, bytes))) {
        let graph = graph_json::read(&inside(name, &file), bytes)?;
        let _ = write!(out, "\n{file}: {}", graph_json::show(&graph, &weights));
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
