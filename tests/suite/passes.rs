//! Every program of the repository with expected results keeps them after the whole pipeline, on every level and for either
//! vector width. Every pass is verified on the way.

use crate::goldens::programs;
use crate::networks_list::network;
use rayon::prelude::*;
use relayc_driver::check_text;
use relayc_driver::example::{Example, Runner};
use relayc_driver::optimise::{PassPlan, Target, UNTIL, optimise};
use relayc_testing::run_lines;
use std::path::Path;

/// What went wrong with a program at a level.
fn broken(path: &Path, text: &str, level: u8, target: Target) -> Vec<String> {
    let name = path.display().to_string();
    let before = check_text(&name, text, UNTIL);
    let mut after = check_text(&name, text, UNTIL);
    let how = PassPlan { verify: true, ..PassPlan::level(level, target) };
    let wrong = |why: String| format!("{name} at -O{level} for {target:?}: {why}");
    if let Err(diagnostic) = optimise(&mut after.module, &how, &mut ()) {
        return vec![wrong(diagnostic.message)];
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let (before, after) = (Runner::new(&before, folder), Runner::new(&after, folder));
    let parse = |(line, text): (usize, String)| Example::parse(&text).unwrap_or_else(|why| panic!("{name}:{line}: {why}"));
    let examples = run_lines(text).into_iter().map(parse);
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
            let how = PassPlan { verify: true, entry: Some("main".into()), ..PassPlan::level(level, target) };
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
