//! Reads TVM's archives: a model in Model Library Format (`python/tvm/micro/model_library_format.py`, versions 1 to 7), and a
//! package of TVMC (`python/tvm/driver/tvmc/model.py`).
//!
//! The former contains the program it was compiled from, without the version line of Relay text, the constants of the compiled
//! graph, and the graph. The latter contains a compiled library in place of the program, so its weights and its graph can be
//! read, but it cannot be run. Machine code is never read. Absent: the mapping of weights to parameters.

mod metadata;

use super::graph_json::{self, Graph};
use metadata::Metadata;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{count, escape_control, thousands};
use relayc_base::u64_of;
use relayc_weights::Named;
use relayc_weights::tar::{self, Archive, inside, weights};
use std::fmt::Write;

/// A model in Model Library Format.
pub struct Model {
    /// Name of the program's file in the archive, and its bytes.
    pub text_name: String,
    pub text: Vec<u8>,
    /// The constants of the compiled graph.
    pub weights: Named,
    /// Absent for models compiled without a graph executor.
    pub graph: Option<Graph>,
}

/// Reads a model. Errors: E0703 and E0804 for an unsound archive, E0726 for an archive without a program.
pub fn read(name: &str, bytes: &[u8]) -> Result<Model, Diagnostic> {
    let archive = Archive::read(name, bytes)?;
    let Some(metadata) = metadata(name, &archive)? else { return Err(no_program(name, &archive)) };
    let text = metadata.text_files().into_iter().find_map(|file| archive.get(&file).map(|bytes| (file, bytes)));
    let Some((text_name, text)) = text else { return Err(no_program(name, &archive)) };
    let graph = metadata.graph_files().into_iter().find_map(|file| archive.get(&file).map(|bytes| (file, bytes)));
    let graph = graph.map(|(file, bytes)| graph_json::read(&inside(name, &file), bytes)).transpose()?;
    Ok(Model { text_name, text: text.to_vec(), weights: weights(name, &archive)?, graph })
}

fn metadata(name: &str, archive: &Archive) -> Result<Option<Metadata>, Diagnostic> {
    let file = "metadata.json";
    archive.get(file).map(|bytes| Metadata::read(&inside(name, file), bytes)).transpose()
}

/// The files of a TVMC package: compiled libraries, for its executors.
const LIBRARIES: &[&str] = &["mod.so", "mod.tar", "lib.so", "lib.tar"];

/// Maximum number of files that a message lists.
const MAX_LISTED: usize = 8;

fn no_program(name: &str, archive: &Archive) -> Diagnostic {
    let is_tvmc = archive.entries().any(|entry| LIBRARIES.contains(&entry.name));
    let own = archive.entries().find(|entry| entry.name.ends_with(".relay")).map(|entry| entry.name);
    let what = match own {
        _ if is_tvmc => "a package of TVMC, which holds a compiled library and no program",
        Some(_) => "an archive that TVM did not write: what is in it is said by no `metadata.json`",
        None => "an archive without a program",
    };
    let mut error = Diagnostic::new(codes::E0726, format!("`{name}` is {what}"));
    for entry in archive.entries().take(MAX_LISTED) {
        error = error.note(line(entry));
    }
    let n_more = archive.entries().count().saturating_sub(MAX_LISTED);
    if n_more > 0 {
        error = error.note(format!("and {}", count(n_more, "file")));
    }
    if let (Some(own), false) = (own, is_tvmc) {
        error = error.help(format!("unpack it, and give what is inside: `tar -xf {name} {}`", escape_control(own)));
    }
    if is_tvmc {
        error = error
            .help(format!("`relayc inspect {name}` shows its graph, `--params {name}` reads its weights"))
            .help("`tvmc compile --output-format mlf` writes an archive that holds the program too");
    }
    error
}

fn line(entry: tar::Entry) -> String {
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

/// Prints the content of an archive: its files, then its graph with its weights. Errors: those of [`read`], without E0726.
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
