//! `relayc inspect`: what is in a file that was compiled.

use super::{Console, exit};
use crate::base::Sources;
use crate::driver::inspect;
use crate::sys;
use std::path::PathBuf;

/// Show what is in a compiled file, without running anything of it.
///
/// Graphs of TVM's graph executor (`net.json`), archives in Model Library Format and packages of TVMC (`net.tar`).
#[derive(clap::Args)]
pub struct Args {
    /// The file.
    file: PathBuf,
    /// Weights to hold against the inputs of a graph; may be repeated.
    #[arg(long, value_name = "FILE")]
    params: Vec<PathBuf>,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    let shown = inspect::inspect(&args.file, &args.params).map_err(|diagnostic| vec![diagnostic]);
    let shown = shown.and_then(|inspected| sys::stdout(&inspected.text).map(|()| inspected.wrong).map_err(|error| vec![error]));
    match shown {
        Ok(wrong) if wrong.is_empty() => exit::FINE,
        Ok(wrong) | Err(wrong) => console.files(&wrong, &Sources::default()),
    }
}
