//! `pass NAME…`: the text after these passes. Verifies each pass, and checks that the program gives the same answers as before.
//!
//! The answers are those of the `// run:` lines, which must also hold before; without any, those of `@main` on random inputs. The
//! target is AVX-512, unless `x86-64-v3` is among the names; `-O2` stands for all passes of that level. Arguments are written without
//! spaces: `split-args(max=3)`. `// after:` lines hold after the passes only, for those that
//! change answers.

use super::interp::run_lines;
use super::{Case, Kind, without_errors};
use crate::head;
use relayc_driver::check_text;
use relayc_driver::example::{Example, Runner, lines};
use relayc_driver::optimise::{PassPlan, Step, Target, UNTIL, optimise};
use relayc_driver::show::{Options, print};
use std::path::Path;

pub(crate) struct Pass;

const ENTRY: &str = "main";

impl Kind for Pass {
    fn name(&self) -> &'static str {
        "pass"
    }

    fn run(&self, case: &Case) -> Result<Option<String>, String> {
        let before = check_text(case.name, case.text, UNTIL);
        without_errors(&before)?;
        let (examples, after_only) = (examples(run_lines(case.text))?, examples(lines(case.text, "after:"))?);
        let mut after = check_text(case.name, case.text, UNTIL);
        let how = how(head::words(case.text, self.name()), examples.iter().chain(&after_only))?;
        optimise(&mut after.module, &how, &mut ()).map_err(|diagnostic| diagnostic.message)?;
        let folder = case.path.parent().unwrap_or(Path::new(""));
        let (old, new) = (Runner::new(&before, folder), Runner::new(&after, folder));
        let keeps = how.passes.iter().all(|step| step.pass.keeps_answers);
        for (line, text, example) in &examples {
            old.check(example).map_err(|why| format!("line {line}, before: {text}\n  {why}"))?;
        }
        for (line, text, example) in examples.iter().filter(|_| keeps).chain(&after_only) {
            new.check(example).map_err(|why| format!("line {line}, after: {text}\n  {why}"))?;
        }
        if after_only.is_empty() && !keeps {
            return Err("a pass that changes answers needs an `// after:` line".to_owned());
        }
        if examples.is_empty() && after_only.is_empty() {
            let example = old.random(ENTRY).ok_or("there is neither a `// run:` line nor a function `@main`")?;
            old.same(&new, &example)?;
        }
        Ok(Some(print(&after, Options::default())))
    }
}

/// The examples of some lines.
fn examples(lines: Vec<(usize, String)>) -> Result<Vec<(usize, String, Example)>, String> {
    let parse = |(line, text): (usize, String)| {
        let example = Example::parse(&text).map_err(|why| format!("line {line}: {why}"))?;
        Ok((line, text, example))
    };
    lines.into_iter().map(parse).collect()
}

/// The options that the head asks for. Functions that an example calls must stay.
fn how<'a>(words: Vec<&str>, mut examples: impl Iterator<Item = &'a (usize, String, Example)>) -> Result<PassPlan, String> {
    let target = if words.contains(&V3) { Target::V3 } else { Target::V4 };
    let names: Vec<&str> = words.into_iter().filter(|&word| word != V3).collect();
    let level = names.first().and_then(|name| name.strip_prefix("-O")?.parse().ok());
    let how = match level {
        Some(level) => PassPlan::level(level, target),
        None => {
            let steps: Result<Vec<_>, _> = names.into_iter().map(Step::parse_list).collect();
            PassPlan::requested(steps.map_err(|wrong| wrong.message)?.concat(), target)
        }
    };
    if how.passes.is_empty() {
        return Err("`pass` needs the name of a pass".to_owned());
    }
    let entry = examples.all(|(_, _, example)| example.function() == ENTRY).then(|| ENTRY.to_owned());
    Ok(PassPlan { entry, verify: true, ..how })
}

const V3: &str = "x86-64-v3";
