//! `print`: the canonical text; `print-types`: with types. Either reads back and prints the same.

use super::{Case, Kind, without_errors};
use crate::driver::show::{Options, print};
use crate::driver::{Until, check_text};
use crate::testing::diff;

pub struct Print {
    pub name: &'static str,
    pub types: bool,
}

impl Kind for Print {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let until = if self.types { Until::InferModule } else { Until::Resolve };
        let program = check_text(case.name, case.text, until);
        without_errors(&program)?;
        let options = Options { types: self.types, meta: true, exact: false };
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
