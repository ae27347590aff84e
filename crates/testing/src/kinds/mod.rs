//! The kinds of test, one file each; `ALL` lists them.

mod check;
mod fmt;
mod infer;
mod interp;
mod mistakes;
mod parse;
mod pass;
mod print;

pub use interp::run_lines;

use super::Case;
use relayc_base::diag::render::{Format, render};
use relayc_driver::Program;

/// A kind of test.
pub(crate) trait Kind: Sync {
    /// The name in the head of a test.
    fn name(&self) -> &'static str;

    /// Checks the program. Returns the expected content of its `.out`, if this kind prints one.
    fn run(&self, case: &Case) -> Result<Option<String>, String>;
}

/// Every kind, one line each.
pub(crate) const ALL: &[&dyn Kind] = &[
    &parse::Parse,
    &check::Check { name: "check", format: Format::Plain },
    &check::Check { name: "check-human", format: Format::Human },
    &check::Check { name: "check-short", format: Format::Short },
    &check::Check { name: "check-json", format: Format::Json },
    &infer::Infer,
    &fmt::Fmt { name: "fmt", upgrade: false },
    &fmt::Fmt { name: "fmt-upgrade", upgrade: true },
    &print::Print { name: "print", types: false },
    &print::Print { name: "print-types", types: true },
    &interp::Interp,
    &pass::Pass,
    &mistakes::Mistakes,
];

/// Finds the kind with this name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Kind> {
    ALL.iter().copied().find(|kind| kind.name() == name)
}

/// Fails with all diagnostics if the program has errors.
fn without_errors(program: &Program) -> Result<(), String> {
    if !program.has_errors() {
        return Ok(());
    }
    Err(format!("the program is wrong:\n{}", render(&program.diagnostics, &program.sources, Format::Plain, false)))
}
