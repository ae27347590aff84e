//! `relayc lsp`: the language server for editors.

use super::{Console, exit};
use relayc_base::Sources;

/// Serve an editor with the language server protocol, over standard input and output.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Accepted for editors that name the transport; there is no other.
    #[arg(long)]
    stdio: bool,
    /// What the server starts for a command: one piece of work, as JSON at standard input.
    #[arg(long, hide = true)]
    job: bool,
}

pub(crate) fn run(console: &Console, Args { stdio: _, job }: &Args) -> u8 {
    let served = if *job { relayc_lsp::perform().map(|()| true) } else { relayc_lsp::serve() };
    match served {
        Ok(true) => exit::FINE,
        // The protocol wants it after `exit` without `shutdown`.
        Ok(false) => 1,
        Err(diagnostic) => {
            console.diagnostics(&[diagnostic], &Sources::new());
            exit::USAGE
        }
    }
}
