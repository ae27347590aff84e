//! `infer`: the types and diagnostics annotated in place, see `annotate.rs`. Without annotations: no errors.

use super::super::annotate;
use super::{Case, Kind};
use relayc_driver::{Phase, check_text};

pub(crate) struct Infer;

impl Kind for Infer {
    fn name(&self) -> &'static str {
        "infer"
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let annotations = annotate::parse(case.text)?;
        annotate::check(&annotations, &check_text(case.name, case.text, Phase::Infer))?;
        Ok(None)
    }
}
