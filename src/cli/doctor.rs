//! `relayc doctor`: what of the machine relayc sees and uses.

use super::{Console, exit};
use crate::driver::doctor;
use crate::sys;

/// Show what of the machine relayc sees and uses: processor, caches, threads, memory, how fast it is; exit 3 where nothing can be
/// compiled.
#[derive(clap::Args)]
pub struct Args {
    /// Do not measure.
    #[arg(long)]
    no_probe: bool,
    /// Print JSON, `relayc.doctor/1`.
    #[arg(long)]
    json: bool,
}

pub fn run(console: &Console, args: &Args) -> u8 {
    let found = doctor::find(!args.no_probe);
    let text = if args.json || console.is_json() { format!("{}\n", found.json()) } else { found.text() };
    match sys::stdout(&text) {
        Ok(()) if found.is_well() => exit::FINE,
        Ok(()) => exit::FAILED,
        Err(wrong) => console.files(&[wrong], &Default::default()),
    }
}
