//! `check`: all diagnostics of the program, as `relayc check` prints them; `check-human`, `check-short` and `check-json` in the
//! other formats.

use super::{Case, Kind};
use relayc_base::diag::render::{Format, render, summary};
use relayc_driver::{Phase, check_text};

pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) format: Format,
}

impl Kind for Check {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let program = check_text(case.name, case.text, Phase::Lint);
        let mut out = render(&program.diagnostics, &program.sources, self.format, false);
        out.push_str(&summary(&program.diagnostics, case.name, self.format));
        Ok(Some(out))
    }
}
