//! `parse`: what the syntax alone has to say, as `relayc check` prints it.

use super::{Case, Kind};
use crate::diag::render::{Format, render, summary};
use crate::driver::{Until, check_text};

pub struct Parse;

impl Kind for Parse {
    fn name(&self) -> &'static str {
        "parse"
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let program = check_text(case.name, case.text, Until::Parse);
        let mut out = render(&program.diagnostics, &program.sources, Format::Plain, false);
        out.push_str(&summary(&program.diagnostics, case.name, Format::Plain));
        Ok(Some(out))
    }
}
