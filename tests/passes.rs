//! Every program of the repository that says what it gives gives the same after the whole pipeline, on every level and for
//! either vector width; every pass is verified on the way.

use rayon::prelude::*;
use relayc::driver::example::{Example, Runner};
use relayc::driver::optimise::{How, Target, UNTIL, bind_weights, optimise};
use relayc::driver::{Program, check_text, model};
use std::path::{Path, PathBuf};

/// The programs with `// run:` lines.
fn programs() -> Vec<(PathBuf, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
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

/// What went wrong with a program at a level.
fn broken(path: &Path, text: &str, level: u8, target: Target) -> Vec<String> {
    let name = path.display().to_string();
    let before = check_text(&name, text, UNTIL);
    let mut after = check_text(&name, text, UNTIL);
    let how = How { verify: true, ..How::level(level, target) };
    let wrong = |why: String| format!("{name} at -O{level} for {target:?}: {why}");
    if let Err(diagnostic) = optimise(&mut after.module, &how, &mut ()) {
        return vec![wrong(diagnostic.message)];
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let (before, after) = (Runner::new(&before, folder), Runner::new(&after, folder));
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("// run:"));
    // A line that goes on behind its end is left to the goldens.
    let examples = lines.filter_map(|line| Example::parse(line).ok());
    let failures =
        examples.filter_map(|example| before.same(&after, &example).err().map(|why| format!("@{}: {why}", example.function())));
    failures.map(wrong).collect()
}

fn check(level: u8, target: Target) {
    let programs = programs();
    assert!(programs.len() > 250, "{} programs", programs.len());
    let failures: Vec<String> = programs.par_iter().flat_map(|(path, text)| broken(path, text, level, target)).collect();
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn level_1_keeps_every_answer() {
    check(1, Target::V4);
}

#[test]
fn level_2_keeps_every_answer() {
    check(2, Target::V4);
}

#[test]
fn level_3_keeps_every_answer() {
    check(3, Target::V4);
}

#[test]
fn level_3_keeps_every_answer_for_short_vectors() {
    check(3, Target::V3);
}

/// A network of the zoo with its initial weights as constants, as text would give it.
fn network(name: &str, flags: &str) -> Program {
    let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
    let model = model::build(name, &flags, Some(1)).unwrap_or_else(|_| panic!("{name} {flags:?} is a network"));
    let folder = tempfile::tempdir().expect("a folder");
    let weights = folder.path().join("weights.params");
    std::fs::write(&weights, model.weights.expect("weights were asked for")).expect("the folder can be written");
    let mut program = check_text(name, &model.text, UNTIL);
    bind_weights(&mut program, "main", &[weights]).unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
    program
}

#[test]
fn networks_keep_their_answers() {
    let networks = [
        ("resnet", "--layers 20 --image-shape 3,28,28 --classes 10"),
        ("resnet", "--layers 50 --image-shape 3,40,40 --classes 10"),
        ("mobilenet", "--image-shape 3,48,48 --classes 10"),
        ("squeezenet", "--image-shape 3,48,48 --classes 10"),
        ("squeezenet", "--version 1.1 --image-shape 3,48,48 --classes 11"),
        ("dqn", ""),
        ("mlp", ""),
        ("lstm", "--iterations 3 --hidden 16"),
        ("dcgan", "--ngf 4"),
        ("synthetic", ""),
    ];
    let broken = |&(name, flags): &(&str, &str)| {
        let before = network(name, flags);
        let failures = [(Target::V4, 3), (Target::V3, 3), (Target::V4, 1)].into_iter().filter_map(|(target, level)| {
            let mut after = network(name, flags);
            let how = How { verify: true, entry: Some("main".into()), ..How::level(level, target) };
            optimise(&mut after.module, &how, &mut ()).unwrap_or_else(|wrong| panic!("{name} {flags}: {}", wrong.message));
            let (before, after) = (Runner::new(&before, "."), Runner::new(&after, "."));
            let example = before.random("main").expect("a network is entered by its `@main`");
            before.same(&after, &example).err().map(|why| format!("{name} {flags} at -O{level} for {target:?}: {why}"))
        });
        failures.collect::<Vec<String>>()
    };
    let failures: Vec<String> = networks.iter().flat_map(broken).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
