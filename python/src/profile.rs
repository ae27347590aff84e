//! The profile of a program: the time of each group of operators.

use crate::compile::{Made, duration, limits};
use crate::signals::{begin, ended, with_threads};
use pyo3::prelude::*;
use relayc_base::diag::Diagnostic;
use relayc_driver::bind::Bound as Values;
use relayc_engine::library::Error;
use relayc_engine::measure;
use relayc_engine::profile::{self, Profile, SubgraphsProfile};
use relayc_engine::subgraphs::{self, CompileTrigger, Prepared};
use relayc_sys as sys;

/// The profile as a table and as JSON of `relayc.profile/2`. Compiles the program anew, as its parts have to be told apart.
pub(crate) fn of(py: Python<'_>, made: &Made, values: &[Values], seconds: f64) -> PyResult<(String, String)> {
    let settings = made.how.settings()?;
    let seconds = duration("seconds", seconds)?;
    begin();
    let found = with_threads(py, || {
        let sources = &made.program.sources;
        let prepared =
            subgraphs::prepare(&made.program, &made.how.entry, Some(values), &settings, limits(), CompileTrigger::Called);
        let prepared = prepared.map_err(|refused| refused.of_entry(&made.how.entry))?;
        match &prepared {
            Prepared::Whole(compiled) => {
                let rows = profile::profile(compiled, values, seconds, sources)?;
                let (peak, probed) = (sys::peak_memory(), measure::probe(&settings));
                let profile = Profile::of(&rows, compiled, &settings, &probed, peak);
                Ok((profile.table(), profile.json().to_string()))
            }
            Prepared::Partial(partial) => {
                let measured = partial.measure(values, seconds)?;
                let (peak, probed) = (sys::peak_memory(), measure::probe(&settings));
                let subgraphs = profile::of_parts(&measured, sources);
                let words = partial.summary();
                let profile = SubgraphsProfile {
                    measured: &measured,
                    subgraphs: &subgraphs,
                    words,
                    settings: &settings,
                    probed: &probed,
                    peak,
                    sources,
                };
                Ok((profile.table(), profile.json().to_string()))
            }
        }
    });
    found.map_err(|error: Box<Diagnostic>| ended(&Error::new(vec![*error], &made.program.sources)))
}
