//! `relayc lsp`: the language server for editors.

use super::exit;

/// Serve an editor with the language server protocol, over standard input and output.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Accepted for editors that name the transport; there is no other.
    #[arg(long)]
    stdio: bool,
}

pub(crate) fn run(Args { stdio: _ }: &Args) -> u8 {
    // The protocol wants 1 after `exit` without `shutdown`.
    if relayc_lsp::serve() { exit::FINE } else { 1 }
}
