//! `relayc completions`: writes a shell script that completes commands and flags.

use super::{Console, exit};
use clap::CommandFactory;
use clap_complete::Shell;
use relayc_sys as sys;

/// Write a script that completes commands and flags: `relayc completions bash > /etc/bash_completion.d/relayc`.
#[derive(clap::Args)]
pub(crate) struct Args {
    shell: Shell,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Args::command(), "relayc", &mut script);
    match sys::stdout_bytes(&script) {
        Ok(()) => exit::FINE,
        Err(wrong) => console.files(&[wrong], &Default::default()),
    }
}
