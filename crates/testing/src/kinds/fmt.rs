//! `fmt`: the formatted text; `fmt-upgrade`: with older forms rewritten. Formatting the result again must not change it.

use super::{Case, Kind};
use crate::diff;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_base::diag::render::{Format, render};

pub(crate) struct Fmt {
    pub(crate) name: &'static str,
    pub(crate) upgrade: bool,
}

impl Kind for Fmt {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let mut sources = Sources::new();
        let file = sources.add(case.name, case.text);
        let wrong = |diagnostics: Vec<Diagnostic>| render(&diagnostics, &sources, Format::Plain, false);
        let style = case.project.style;
        let formatted = if self.upgrade { style.upgrade(file, case.text) } else { style.format(file, case.text) };
        let formatted = formatted.map_err(wrong)?;
        let again = style.format(file, &formatted).map_err(|_| format!("what was formatted has errors:\n{formatted}"))?;
        if again != formatted {
            return Err(format!("formatted twice, it differs:\n{}", diff::unified("formatted", &formatted, &again)));
        }
        Ok(Some(formatted))
    }
}
