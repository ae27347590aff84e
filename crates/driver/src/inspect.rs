//! Describes compiled files without running them.

use super::misplaced::{misplaced, no_other_binary};
use relayc_base::diag::{Diagnostic, codes};
use relayc_exchange::{Kind, graph_json, package};
use relayc_sys as sys;
use relayc_weights as formats;
use relayc_weights::Named;
use std::path::{Path, PathBuf};

/// What is expected.
const COMPILED: &str = "a compiled file";

/// The description of a file, and any mismatch with the weights beside it.
pub struct Inspected {
    pub text: String,
    pub wrong: Vec<Diagnostic>,
}

/// Describes a graph of TVM's graph executor, with files of its weights, or an archive. Errors: E0701 for an unreadable file,
/// E0703 and E0804 for a malformed file or one of another kind.
pub fn inspect(path: &Path, params: &[PathBuf]) -> Result<Inspected, Diagnostic> {
    let name = path.display().to_string();
    let bytes = sys::read_file_if(path, sys::Limit::data(), &|start| no_other_binary(&name, start, COMPILED))?;
    match relayc_exchange::kind(&bytes) {
        Some(Kind::GraphJson) => graph(&name, &bytes, params),
        Some(Kind::Archive) => Ok(Inspected { text: package::show(&name, &bytes)?, wrong: vec![] }),
        _ => Err(misplaced(&name, &bytes, COMPILED).unwrap_or_else(|| {
            Diagnostic::new(codes::E0703, format!("`{name}`: no compiled file that relayc knows"))
                .help("`relayc print` and `relayc check` show programs")
        })),
    }
}

fn graph(name: &str, bytes: &[u8], params: &[PathBuf]) -> Result<Inspected, Diagnostic> {
    let graph = graph_json::read(name, bytes)?;
    let (mut weights, mut wrong): (Named, Vec<Diagnostic>) = (vec![], vec![]);
    for path in params {
        let from = path.display().to_string();
        let named = formats::read_tensors(&from, &sys::read_file(path, sys::Limit::data())?)?;
        let lines = graph_json::unmatched(&graph, &named);
        if !lines.is_empty() {
            let error = Diagnostic::new(codes::E0705, format!("the weights of `{from}` do not fit the graph of `{name}`"));
            wrong.push(lines.into_iter().fold(error, Diagnostic::note));
        }
        weights.extend(named);
    }
    Ok(Inspected { text: graph_json::show(&graph, &weights), wrong })
}

/// Whether a file begins like an ELF file; false for one that cannot be read, which another caller reports, and for a pipe, which can be
/// read once.
pub fn is_elf(path: &Path) -> bool {
    path != Path::new("-")
        && path.is_file()
        && sys::open_file(path, sys::Limit::data())
            .and_then(|file| file.start::<4>())
            .is_ok_and(|bytes| relayc_exchange::artifact::is_elf(&bytes))
}
