//! `relayc inspect`: describes a compiled file.

use super::{Console, exit};
#[cfg(feature = "jit")]
use crate::engine::artifact::{self, ArtifactView};
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_base::text::escape_control;
use relayc_driver::inspect::{self, Inspected};
use relayc_sys as sys;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Show the content of a compiled file without running it.
///
/// Artifacts of `relayc build` (`net.so`), graphs of TVM's graph executor (`net.json`), archives in Model Library Format and
/// packages of TVMC (`net.tar`).
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The file.
    file: PathBuf,
    /// Weights to compare with the inputs of a graph; may be repeated.
    #[arg(long, value_name = "FILE")]
    params: Vec<PathBuf>,
    /// Print the Relay text of an artifact.
    #[arg(long, conflicts_with_all = ["graph_json", "steps", "params"])]
    source: bool,
    /// Print the graph of an artifact as the JSON of TVM's graph executor; empty if that cannot run it.
    #[arg(long, conflicts_with_all = ["steps", "params"])]
    graph_json: bool,
    /// Show for each step of an artifact its computation and method, its bytes of code, and its place in the text.
    #[arg(long, conflicts_with = "params")]
    steps: bool,
    /// Describe an artifact as JSON, `relayc.artifact/1`.
    #[arg(long, conflicts_with_all = ["source", "graph_json", "steps", "params"])]
    json: bool,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let inspected = match artifact(console, args) {
        Some(inspected) => inspected,
        None => inspect::inspect(&args.file, &args.params),
    };
    let one = |diagnostic: Diagnostic| vec![diagnostic];
    let shown = inspected.and_then(|Inspected { text, wrong }| {
        // Whoever wrote the file does not write to the terminal.
        let text = if std::io::stdout().is_terminal() { escape_control(&text).into_owned() } else { text };
        sys::stdout(&text).map(|()| wrong)
    });
    let shown = shown.map_err(one);
    match shown {
        Ok(wrong) if wrong.is_empty() => exit::FINE,
        Ok(wrong) | Err(wrong) => console.files(&wrong, &Sources::default()),
    }
}

/// Describes an artifact; `None` for another file.
#[cfg(feature = "jit")]
fn artifact(console: &Console, args: &Args) -> Option<Result<Inspected, Diagnostic>> {
    let what = match args {
        Args { source: true, .. } => Some(ArtifactView::Source),
        Args { graph_json: true, .. } => Some(ArtifactView::Graph),
        Args { steps: true, .. } => Some(ArtifactView::Steps),
        _ => None,
    };
    if what.is_none() && !inspect::is_elf(&args.file) {
        return None;
    }
    let text = |artifact: artifact::Artifact| {
        artifact.shown(what.unwrap_or(ArtifactView::Summary { json: args.json || console.is_json() }))
    };
    Some(artifact::open(&args.file).map(|artifact| Inspected { text: text(artifact), wrong: vec![] }))
}

/// Describes an artifact, which takes a build with the feature `jit`.
#[cfg(not(feature = "jit"))]
fn artifact(_console: &Console, args: &Args) -> Option<Result<Inspected, Diagnostic>> {
    let wanted = args.source || args.graph_json || args.steps || inspect::is_elf(&args.file);
    wanted.then(|| Err(super::no_artifacts(&args.file)))
}
