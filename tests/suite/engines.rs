//! Every program of the repository with expected results gives them when compiled: each `// run:` line of the goldens, on the
//! instruction sets of this machine, by one thread and by two. `RELAYC_PROGRAMS=WORD` runs those whose path holds the word.

use crate::compare::{Reference, Verdict, held, isas, reference};
use crate::goldens::programs;
use rayon::prelude::*;
use relayc_driver::bind::Bound;
use relayc_driver::check_text;
use relayc_driver::example::{Example, Runner};
use relayc_driver::optimise::UNTIL;
use relayc_engine::compile::{Machine, Policy, Settings};
use relayc_testing::run_lines;
use std::collections::BTreeMap;
use std::path::Path;

/// What became of the functions of a program.
#[derive(Default)]
struct Outcome {
    compiled: usize,
    in_parts: usize,
    interpreted: Vec<String>,
    failures: Vec<String>,
}

fn run(path: &Path, text: &str, levels: &[u8]) -> Outcome {
    let name = path.display().to_string();
    let program = check_text(&name, text, UNTIL);
    let runner = Runner::new(&program, path.parent().unwrap_or(Path::new("")));
    let mut calls: BTreeMap<String, Vec<(Vec<Bound>, Reference)>> = BTreeMap::new();
    for (line, text) in run_lines(text) {
        let example = Example::parse(&text).unwrap_or_else(|why| panic!("{name}:{line}: {why}"));
        // Values of data types enter a program in none of its files.
        if example.has_constructors() {
            continue;
        }
        let args = runner.arguments(&example).unwrap_or_else(|why| panic!("{name}:{line}: {why}"));
        let reference = reference(&program, example.function(), &args);
        calls.entry(example.function().to_owned()).or_default().push((args, reference));
    }
    let mut outcome = Outcome::default();
    for (function, calls) in &calls {
        let calls: Vec<(Vec<Bound>, &Reference)> = calls.iter().map(|(args, reference)| (args.clone(), reference)).collect();
        for (&level, isa) in levels.iter().flat_map(|level| isas().into_iter().map(move |isa| (level, isa))) {
            let threads = if isa == isas()[0] { 1 } else { 2 };
            match held(
                &name,
                text,
                function,
                &Settings {
                    level,
                    isa,
                    threads,
                    accuracy: Policy::Strict,
                    machine: Machine::Native,
                    choices: Default::default(),
                    fault: None,
                },
                &calls,
            ) {
                Verdict::Agrees => outcome.compiled += 1,
                Verdict::PartsAgree => outcome.in_parts += 1,
                Verdict::NotCompiled(why) => outcome.interpreted.push(format!("{name} @{function}: {why}")),
                Verdict::Differs(why) => outcome.failures.push(format!("{name} @{function} at -O{level} on {isa:?}: {why}")),
            }
        }
    }
    outcome
}

#[test]
fn every_answer_is_the_interpreters() {
    let word = std::env::var("RELAYC_PROGRAMS").unwrap_or_default();
    let mut programs = programs();
    assert!(programs.len() > 250, "{} programs", programs.len());
    programs.retain(|(path, _)| path.to_string_lossy().contains(&word));
    let outcomes: Vec<Outcome> = programs.par_iter().map(|(path, text)| run(path, text, &[3])).collect();
    let failures: Vec<&String> = outcomes.iter().flat_map(|outcome| &outcome.failures).collect();
    let count = |of: fn(&Outcome) -> usize| outcomes.iter().map(of).sum::<usize>();
    let (compiled, in_parts, interpreted) = (count(|o| o.compiled), count(|o| o.in_parts), count(|o| o.interpreted.len()));
    println!("{compiled} functions compiled, {in_parts} in parts, {interpreted} interpreted");
    outcomes.iter().flat_map(|outcome| &outcome.interpreted).for_each(|why| println!("{why}"));
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.iter().map(|f| format!("{f}\n")).collect::<String>());
    // What is interpreted has nothing in it but control flow, or a few operators whose shapes are their operands' data.
    let interpreted: Vec<&String> = outcomes.iter().flat_map(|outcome| &outcome.interpreted).collect();
    let (branching, shaped): (Vec<&String>, Vec<&String>) =
        interpreted.iter().partition(|why| why.contains("it branches, calls functions"));
    assert!(
        shaped.iter().all(|why| why.contains("0 subgraphs compiled") || why.contains("a dimension is not known")),
        "{shaped:#?}"
    );
    assert!(
        compiled > 25 * shaped.len() && compiled > 50 * branching.len() && (in_parts > interpreted.len() || !word.is_empty()),
        "{compiled} compiled, {in_parts} in parts, {} interpreted, {} of them branch",
        interpreted.len(),
        branching.len()
    );
}
