//! The exit codes, and how diagnostics map to them.
//!
//! A closed pipe on standard output, as of `relayc ops | head`, ends a command that is otherwise fine with the exit code that the
//! signal of such a pipe gives. Every other code stays: `relayc check --message-format json net.relay | head` exits with that of
//! the check.

use relayc_base::diag::{Diagnostic, codes};

pub(crate) const FINE: u8 = 0;
/// The program is wrong, or a test or an expectation failed.
pub(crate) const PROGRAM: u8 = 1;
/// Wrong usage, or a file that cannot be read, written or understood.
pub(crate) const USAGE: u8 = 2;
/// The model failed while running.
pub(crate) const FAILED: u8 = 3;
/// A bug in relayc.
pub(crate) const BUG: u8 = 101;

/// Fine, but the reader of the output left: 128 and the number of SIGPIPE.
const READER_LEFT: u8 = 141;

/// The exit code of a command that ends with this one.
pub(crate) fn of_end(code: u8) -> u8 {
    if code == FINE && relayc_sys::reader_left() { READER_LEFT } else { code }
}

/// The exit code of a check with these diagnostics: the most serious one's.
pub(crate) fn of(diagnostics: &[Diagnostic]) -> u8 {
    gravest(diagnostics, PROGRAM)
}

/// As [`of`], for a command that reads files other than programs: a limit concerns the file.
pub(crate) fn of_files(diagnostics: &[Diagnostic]) -> u8 {
    gravest(diagnostics, USAGE)
}

/// As [`of`], for a command that runs a program: limits, and rules that fail on the actual shapes, concern the run.
pub(crate) fn of_run(diagnostics: &[Diagnostic]) -> u8 {
    gravest(diagnostics, FAILED).max(if diagnostics.is_empty() { FINE } else { FAILED })
}

/// The most serious exit code. A limit (`E08`) has the exit code of the phase that it stops; E0804 is about files other than texts,
/// such as the archive that a program comes in.
fn gravest(diagnostics: &[Diagnostic], limit: u8) -> u8 {
    let code = |d: &Diagnostic| match d.code {
        code if code == codes::E0804 => USAGE,
        code if code.id().starts_with("E08") => limit,
        code => code.exit_code(),
    };
    diagnostics.iter().filter(|d| d.is_error()).map(code).max().unwrap_or(FINE)
}
