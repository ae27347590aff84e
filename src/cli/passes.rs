//! `relayc passes`: the list of passes, from their declarations.

use super::Console;
use relayc_base::Sources;
use relayc_base::text::shortened;
use relayc_driver::optimise::{self, ON_REQUEST, Param};
use std::io::IsTerminal;

/// The width of the list in a terminal; elsewhere sentences are not cut.
const WIDTH: usize = 120;

/// List the passes of `relayc opt` in the order in which they run, with the lowest -O that runs each, or describe one.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The pass to describe in full, by its name or by TVM's.
    name: Option<String>,
    /// Print JSON, `relayc.pass/1`: one pass a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let json = args.json || console.is_json();
    let terminal = std::io::stdout().is_terminal();
    let text = match args.name.as_deref().map(|name| optimise::find(name).ok_or_else(|| optimise::unknown_pass(name))) {
        Some(Ok(pass)) => list(&[pass], json, false, |pass| pass.doc),
        Some(Err(wrong)) => return console.files(&[*wrong], &Sources::new()),
        None => list(&optimise::all(), json, terminal, optimise::Pass::summary),
    };
    console.data(&text)
}

fn list(passes: &[&optimise::Pass], json: bool, terminal: bool, words: fn(&optimise::Pass) -> &'static str) -> String {
    if json {
        return passes.iter().map(|pass| format!("{}\n", optimise::object(pass))).collect();
    }
    let width = passes.iter().map(|pass| pass.name.len()).max().unwrap_or(0);
    let line = |pass: &&optimise::Pass| {
        let level = if pass.level == ON_REQUEST { "   ".to_owned() } else { format!("-O{}", pass.level) };
        let line = format!("{:width$}  {level}  {}", pass.name, words(pass));
        let line = if terminal { shortened(&line, WIDTH).to_string() + "\n" } else { line + "\n" };
        let param = |param: &Param| format!("{:width$}         {}={}: {}\n", "", param.name, param.default, param.doc);
        line + &pass.params.iter().map(param).collect::<String>()
    };
    passes.iter().map(line).collect()
}
