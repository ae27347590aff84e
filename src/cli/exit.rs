//! The exit codes, and which diagnostics lead to which.

use crate::diag::Diagnostic;

pub const FINE: u8 = 0;
/// The program is wrong, or an expectation failed.
pub const WRONG: u8 = 1;
/// Wrong usage, or a file that cannot be read, written or understood.
pub const USAGE: u8 = 2;
/// The model failed while running.
pub const FAILED: u8 = 3;
/// A bug in relayc.
pub const BUG: u8 = 101;

/// The exit code of a run that found these: the gravest.
pub fn of(diagnostics: &[Diagnostic]) -> u8 {
    diagnostics.iter().filter(|d| d.is_error()).map(|d| d.code.exit_code()).max().unwrap_or(FINE)
}
