//! `relayc passes`: the list of passes, from their declarations.

use super::{Console, exit};
use crate::base::text::shortened;
use crate::driver::optimise::{self, ON_REQUEST};
use crate::sys;
use std::io::IsTerminal;

/// The width of the list in a terminal; elsewhere sentences are whole.
const WIDTH: usize = 120;

/// The passes of `relayc opt` in the order in which they run, with the lowest -O that runs each.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(console: &Console, _args: &Args) -> u8 {
    // Written at once: who reads may stop after the first lines.
    match sys::stdout(&list(console.is_json(), std::io::stdout().is_terminal())) {
        Ok(()) => exit::FINE,
        Err(diagnostic) => {
            let diagnostics = [diagnostic];
            console.diagnostics(&diagnostics, &Default::default());
            exit::of_files(&diagnostics)
        }
    }
}

fn list(json: bool, terminal: bool) -> String {
    let passes = optimise::all();
    if json {
        return passes.iter().map(|pass| format!("{}\n", optimise::object(pass))).collect();
    }
    let width = passes.iter().map(|pass| pass.name.len()).max().unwrap_or(0);
    let line = |pass: &&optimise::Pass| {
        let level = if pass.level == ON_REQUEST { "   ".to_owned() } else { format!("-O{}", pass.level) };
        let line = format!("{:width$}  {level}  {}", pass.name, pass.summary());
        if terminal { shortened(&line, WIDTH).to_string() + "\n" } else { line + "\n" }
    };
    passes.iter().map(line).collect()
}
