//! The exit codes, and which diagnostics lead to which.

use crate::diag::Diagnostic;

pub const FINE: u8 = 0;
/// The program is wrong, or a test or an expectation failed.
pub const PROGRAM: u8 = 1;
/// Wrong usage, or a file that cannot be read, written or understood.
pub const USAGE: u8 = 2;
/// The model failed while running.
pub const FAILED: u8 = 3;
/// Interrupted.
pub const INTERRUPTED: u8 = 130;
/// A bug in relayc.
pub const BUG: u8 = 101;

/// The exit code of a check that found these: the gravest.
pub fn of(diagnostics: &[Diagnostic]) -> u8 {
    gravest(diagnostics, PROGRAM)
}

/// As [`of`], where files other than programs were read: a limit is the file's.
pub fn of_files(diagnostics: &[Diagnostic]) -> u8 {
    gravest(diagnostics, USAGE)
}

/// As [`of`], where a program was running: a limit is the run's, and so is a rule that broke on the actual shapes.
pub fn of_run(diagnostics: &[Diagnostic]) -> u8 {
    gravest(diagnostics, FAILED).max(if diagnostics.is_empty() { FINE } else { FAILED })
}

/// A limit (`E08`) has the exit code of the phase it stops.
fn gravest(diagnostics: &[Diagnostic], limit: u8) -> u8 {
    let code = |d: &Diagnostic| if d.code.id().starts_with("E08") { limit } else { d.code.exit_code() };
    diagnostics.iter().filter(|d| d.is_error()).map(code).max().unwrap_or(FINE)
}
