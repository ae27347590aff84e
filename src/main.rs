//! The command line `relayc`.

// These macros panic if they cannot write; `relayc_sys::stdout` and `Console::words` do not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod cli;
#[cfg(not(feature = "jit"))]
mod no_jit;

#[cfg(not(feature = "jit"))]
use no_jit as engine;
#[cfg(feature = "jit")]
use relayc_engine as engine;

#[cfg(feature = "jit")]
#[global_allocator]
static ALLOCATOR: relayc_sys::LargePages = relayc_sys::LargePages;

fn main() -> std::process::ExitCode {
    cli::main()
}
