//! `check`: all diagnostics of the program, as `relayc check` prints them below its `relayc.toml`; `check-human`, `check-short` and
//! `check-json` in the other formats.

use super::{Case, Kind};
use relayc_base::diag::render::{Format, render, summary};
use relayc_driver::config::WeightFiles;
use relayc_driver::{Dialect, Phase, ReadOptions, check_text_as};

pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) format: Format,
}

impl Kind for Check {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let weights = case.project.weights(case.path, &mut WeightFiles::default());
        let how = ReadOptions { levels: case.project.levels.clone(), weights, ..ReadOptions::of(Dialect::Today) };
        let program = check_text_as(case.name, case.text, Phase::Lint, &how);
        let mut out = render(&program.diagnostics, &program.sources, self.format, false);
        out.push_str(&summary(&program.diagnostics, case.name, self.format));
        Ok(Some(out))
    }
}
