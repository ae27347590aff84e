//! `print`: the canonical text; `print-types`: with types. Checks that the text reads back and prints the same.

use super::{Case, Kind, without_errors};
use crate::diff;
use relayc_driver::show::{Options, print};
use relayc_driver::{Phase, check_text};

pub(crate) struct Print {
    pub(crate) name: &'static str,
    pub(crate) types: bool,
}

impl Kind for Print {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let until = if self.types { Phase::InferModule } else { Phase::Resolve };
        let program = check_text(case.name, case.text, until);
        without_errors(&program)?;
        let options = Options { types: self.types, meta: true, exact: false, dim_names: false };
        let printed = print(&program, options);
        let again = check_text("printed", &printed, until);
        without_errors(&again)?;
        let reprinted = print(&again, options);
        if printed != reprinted {
            return Err(format!("printed twice, it differs:\n{}", diff::unified("printed", &printed, &reprinted)));
        }
        Ok(Some(printed))
    }
}
