//! `relayc inspect`: what is in a file that was compiled.

use super::{Console, exit};
use crate::base::Sources;
use crate::base::text::escape_control;
use crate::diag::Diagnostic;
use crate::driver::artifact::{self, Shown};
use crate::driver::inspect::{self, Inspected};
use crate::sys;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Show what is in a compiled file, without running anything of it.
///
/// Artifacts of `relayc build` (`net.so`), graphs of TVM's graph executor (`net.json`), archives in Model Library Format and packages
/// of TVMC (`net.tar`).
#[derive(clap::Args)]
pub struct Args {
    /// The file.
    file: PathBuf,
    /// Weights to hold against the inputs of a graph; may be repeated.
    #[arg(long, value_name = "FILE")]
    params: Vec<PathBuf>,
    /// Of an artifact, the Relay text that it was built from.
    #[arg(long, conflicts_with_all = ["graph_json", "steps", "params"])]
    source: bool,
    /// Of an artifact, its graph as the JSON of TVM's graph executor; nothing where that cannot run it.
    #[arg(long, conflicts_with_all = ["steps", "params"])]
    graph_json: bool,
    /// Of an artifact, what each step computes, how, its bytes of code, and where it stands in the text.
    #[arg(long, conflicts_with = "params")]
    steps: bool,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    let what = match args {
        Args { source: true, .. } => Some(Shown::Source),
        Args { graph_json: true, .. } => Some(Shown::Graph),
        Args { steps: true, .. } => Some(Shown::Steps),
        _ => None,
    };
    let inspected = if what.is_some() || artifact::is_elf(&args.file) {
        let text = |artifact: artifact::Artifact| artifact.shown(what.unwrap_or(Shown::Summary { json: console.is_json() }));
        artifact::open(&args.file).map(|artifact| Inspected { text: text(artifact), wrong: vec![] })
    } else {
        inspect::inspect(&args.file, &args.params)
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
