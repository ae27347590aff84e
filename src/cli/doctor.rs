//! `relayc doctor`: describes the machine as relayc sees and uses it.

use super::{Console, exit};
use crate::engine::doctor;
use relayc_sys as sys;

/// Show the machine as relayc sees and uses it: processor, caches, threads, memory, speed; exit 3 if relayc cannot compile for
/// it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do not measure.
    #[arg(long)]
    no_probe: bool,
    /// Print JSON, `relayc.doctor/2`.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let found = doctor::find(!args.no_probe);
    let text = if args.json || console.is_json() { format!("{}\n", found.json()) } else { found.text() };
    match sys::stdout(&text) {
        Ok(()) if found.is_well() => exit::FINE,
        Ok(()) => exit::FAILED,
        Err(wrong) => console.files(&[wrong], &Default::default()),
    }
}
