//! `check`: all that is wrong with the program, as `relayc check` prints it; `check-human`, `check-short` and `check-json`
//! in the other formats.

use super::{Case, Kind};
use crate::diag::render::{Format, render, summary};
use crate::driver::{Until, check_text};

pub struct Check {
    pub name: &'static str,
    pub format: Format,
}

impl Kind for Check {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let program = check_text(case.name, case.text, Until::Lint);
        let mut out = render(&program.diagnostics, &program.sources, self.format, false);
        out.push_str(&summary(&program.diagnostics, case.name, self.format));
        Ok(Some(out))
    }
}
