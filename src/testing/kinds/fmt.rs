//! `fmt`: the formatted text, which formatting leaves as it is.

use super::{Case, Kind};
use crate::base::Sources;
use crate::diag::Diagnostic;
use crate::diag::render::{Format, render};
use crate::fmt::format;
use crate::testing::diff;

pub struct Fmt;

impl Kind for Fmt {
    fn name(&self) -> &'static str {
        "fmt"
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let mut sources = Sources::new();
        let file = sources.add(case.name, case.text);
        let wrong = |diagnostics: Vec<Diagnostic>| render(&diagnostics, &sources, Format::Plain, false);
        let formatted = format(file, case.text).map_err(wrong)?;
        let again = format(file, &formatted).map_err(|_| format!("what was formatted has errors:\n{formatted}"))?;
        if again != formatted {
            return Err(format!("formatted twice, it differs:\n{}", diff::unified("formatted", &formatted, &again)));
        }
        Ok(Some(formatted))
    }
}
