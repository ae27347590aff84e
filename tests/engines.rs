//! Every program of the repository that says what it gives gives the same when it is compiled: each `// run:` line of the goldens, on
//! the instruction sets this machine has, by one thread and by two.

#[path = "engines/compare.rs"]
mod compare;

use compare::{Reference, Verdict, held, isas, reference};
use rayon::prelude::*;
use relayc::driver::bind::Bound;
use relayc::driver::check_text;
use relayc::driver::compile::{Policy, Settings};
use relayc::driver::example::{Example, Runner};
use relayc::driver::optimise::UNTIL;
use relayc::testing::run_lines;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The programs with `// run:` lines.
fn programs() -> Vec<(PathBuf, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")]);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "relay") {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                // A program of another kind may be wrong on purpose.
                let runs = |line: &str| line.starts_with("// test:") && (line.contains("interp") || line.contains("pass"));
                if text.lines().any(runs) {
                    found.push((path, text));
                }
            }
        }
    }
    found.sort();
    found
}

/// What became of the functions of a program.
#[derive(Default)]
struct Outcome {
    compiled: usize,
    interpreted: usize,
    failures: Vec<String>,
}

fn run(path: &Path, text: &str, levels: &[u8]) -> Outcome {
    let name = path.display().to_string();
    let program = check_text(&name, text, UNTIL);
    let runner = Runner::new(&program, path.parent().unwrap_or(Path::new("")));
    let mut calls: BTreeMap<String, Vec<(Vec<Bound>, Reference)>> = BTreeMap::new();
    for (line, text) in run_lines(text) {
        let example = Example::parse(&text).unwrap_or_else(|why| panic!("{name}:{line}: {why}"));
        let args = runner.arguments(&example).unwrap_or_else(|why| panic!("{name}:{line}: {why}"));
        let reference = reference(&program, example.function(), &args);
        calls.entry(example.function().to_owned()).or_default().push((args, reference));
    }
    let mut outcome = Outcome::default();
    for (function, calls) in &calls {
        let calls: Vec<(Vec<Bound>, &Reference)> = calls.iter().map(|(args, reference)| (args.clone(), reference)).collect();
        for (&level, isa) in levels.iter().flat_map(|level| isas().into_iter().map(move |isa| (level, isa))) {
            let threads = if isa == isas()[0] { 1 } else { 2 };
            match held(&name, text, function, &Settings { level, isa, threads, accuracy: Policy::Strict }, &calls) {
                Verdict::Agrees => outcome.compiled += 1,
                Verdict::NotCompiled => outcome.interpreted += 1,
                Verdict::Differs(why) => outcome.failures.push(format!("{name} @{function} at -O{level} on {isa:?}: {why}")),
            }
        }
    }
    outcome
}

#[test]
fn every_answer_is_the_interpreters() {
    let programs = programs();
    assert!(programs.len() > 250, "{} programs", programs.len());
    let outcomes: Vec<Outcome> = programs.par_iter().map(|(path, text)| run(path, text, &[3])).collect();
    let (compiled, interpreted): (Vec<usize>, Vec<usize>) = outcomes.iter().map(|o| (o.compiled, o.interpreted)).unzip();
    let failures: Vec<&String> = outcomes.iter().flat_map(|outcome| &outcome.failures).collect();
    let count = |numbers: &[usize]| numbers.iter().sum::<usize>();
    println!("{} functions compiled, {} interpreted", count(&compiled), count(&interpreted));
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.iter().map(|f| format!("{f}\n")).collect::<String>());
    assert!(count(&compiled) > 4 * count(&interpreted), "{} compiled, {} interpreted", count(&compiled), count(&interpreted));
}
