//! What is in files that were compiled: looked at, never run.

use crate::diag::{Diagnostic, codes};
use crate::formats::{self, Kind, Named, graph_json, package};
use crate::sys;
use std::path::{Path, PathBuf};

/// A file as text, and in what the weights beside it do not fit.
pub struct Inspected {
    pub text: String,
    pub wrong: Vec<Diagnostic>,
}

/// Looks at a graph of TVM's graph executor, beside files of its weights, or at an archive. Errors: E0701 for what cannot be read, E0703
/// and E0804 for what is not sound or of no such kind.
pub fn inspect(path: &Path, params: &[PathBuf]) -> Result<Inspected, Diagnostic> {
    let name = path.display().to_string();
    let bytes = sys::read_file(path, sys::DATA_LIMIT)?;
    match formats::kind(&bytes) {
        Some(Kind::GraphJson) => graph(&name, &bytes, params),
        Some(Kind::Archive) => Ok(Inspected { text: package::show(&name, &bytes)?, wrong: vec![] }),
        Some(Kind::MxnetSymbol | Kind::Json | Kind::Elf) | None => {
            Err(Diagnostic::new(codes::E0703, format!("`{name}`: no compiled file that relayc knows"))
                .help("`relayc print` and `relayc check` show programs"))
        }
    }
}

fn graph(name: &str, bytes: &[u8], params: &[PathBuf]) -> Result<Inspected, Diagnostic> {
    let graph = graph_json::read(name, bytes)?;
    let (mut weights, mut wrong): (Named, Vec<Diagnostic>) = (vec![], vec![]);
    for path in params {
        let from = path.display().to_string();
        let named = formats::read_tensors(&from, &sys::read_file(path, sys::DATA_LIMIT)?)?;
        let lines = graph_json::unmatched(&graph, &named);
        if !lines.is_empty() {
            let error = Diagnostic::new(codes::E0705, format!("the weights of `{from}` do not fit the graph of `{name}`"));
            wrong.push(lines.into_iter().fold(error, Diagnostic::note));
        }
        weights.extend(named);
    }
    Ok(Inspected { text: graph_json::show(&graph, &weights), wrong })
}
