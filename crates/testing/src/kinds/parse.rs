//! `parse`: the diagnostics of the syntax alone, as `relayc check` prints them.

use super::{Case, Kind};
use relayc_base::diag::render::{Format, render, summary};
use relayc_driver::{Phase, check_text};

pub(crate) struct Parse;

impl Kind for Parse {
    fn name(&self) -> &'static str {
        "parse"
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let program = check_text(case.name, case.text, Phase::Parse);
        let mut out = render(&program.diagnostics, &program.sources, Format::Plain, false);
        out.push_str(&summary(&program.diagnostics, case.name, Format::Plain));
        Ok(Some(out))
    }
}
