//! Every program of the repository that says what it gives gives the same after the whole pipeline, on every level and for
//! either vector width; every pass is verified on the way.

use rayon::prelude::*;
use relayc::driver::check_text;
use relayc::driver::example::{Example, Runner};
use relayc::driver::optimise::{How, Target, UNTIL, optimise};
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
fn level_0_keeps_every_answer() {
    check(0, Target::V4);
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
