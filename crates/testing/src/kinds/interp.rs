//! `interp`: checks the `// run:` lines on the reference interpreter, see `driver::example`.

use super::{Case, Kind, without_errors};
use relayc_driver::example::{Example, RUN, Runner, lines};
use relayc_driver::{Phase, check_text};
use std::path::Path;

pub(crate) struct Interp;

impl Kind for Interp {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let program = check_text(case.name, case.text, Phase::Infer);
        without_errors(&program)?;
        let lines = run_lines(case.text);
        if lines.is_empty() {
            return Err("there is no `// run:` line".to_owned());
        }
        let runner = Runner::new(&program, case.path.parent().unwrap_or(Path::new("")));
        let check = |(line, text): &(usize, String)| {
            let held = Example::parse(text).and_then(|example| runner.check(&example));
            held.err().map(|why| format!("line {line}: {text}\n  {why}"))
        };
        let failures: Vec<String> = lines.iter().filter_map(check).collect();
        if failures.is_empty() { Ok(None) } else { Err(failures.join("\n")) }
    }
}

/// The text of each `// run:` line, with its number from 1.
pub fn run_lines(text: &str) -> Vec<(usize, String)> {
    lines(text, RUN)
}
