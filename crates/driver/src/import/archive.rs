//! Imports an archive: its program under its own header, and its weights under the names of the parameters.

use super::{Imported, Outcome, Request, weight_file};
use crate::{self as driver, Dialect, Phase, ReadOptions, show};
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::count;

pub(super) fn import(request: &Request) -> Outcome {
    if !request.shapes.is_empty() {
        let words = "`--shape` is for models of other frameworks: a program says its shapes, and `--set` gives open ones numbers";
        return Outcome::refused(Diagnostic::new(codes::E0707, words));
    }
    let mut program = driver::check_file(&request.model, Phase::Main, &ReadOptions::of(Dialect::Today));
    let mut diagnostics = std::mem::take(&mut program.diagnostics);
    let packed = std::mem::take(&mut program.packed);
    // Without weights there is a program nonetheless.
    diagnostics.extend(packed.doubt.filter(|_| request.params.is_some()));
    let weights = request.params.as_deref().map(|path| weight_file(path, &packed.weights)).transpose();
    let weights = weights.map_err(|error| diagnostics.push(error)).unwrap_or_default();
    let imported = (!relayc_base::diag::has_errors(&diagnostics)).then(|| {
        let text = show::print(&program, show::Options { types: false, meta: true, exact: true, dim_names: false });
        Imported { text, weights, told: format!("{}\n", count(packed.weights.len(), "weight")) }
    });
    Outcome { sources: program.sources, diagnostics, imported }
}
