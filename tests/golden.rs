//! Runs every golden test under `tests/golden/` (`relayc_testing` defines them).
//!
//! `cargo golden [part of a name]` compares, `cargo bless golden [part of a name]` rewrites the expectations.

use libtest_mimic::{Arguments, Trial};
use relayc_ops::table;
use relayc_testing::{Golden, Options, discover};
use std::path::Path;
use std::process::ExitCode;

/// The features of the relayc under test.
const FEATURES: &[&str] = if cfg!(feature = "jit") { &["jit"] } else { &[] };

fn main() -> ExitCode {
    // A path as the shell completes it is a fine filter too.
    let args = std::env::args().map(|arg| arg.replace("tests/golden/", ""));
    let args = Arguments::from_iter(args);
    let options = Options {
        bless: std::env::var_os("BLESS").is_some(),
        strict: true,
        relayc: env!("CARGO_BIN_EXE_relayc").into(),
        rerun: "cargo golden".to_owned(),
        bless_command: "cargo bless golden".to_owned(),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let goldens = discover(&root).expect("tests/golden can be read");
    if !args.list {
        println!("{}", count(&root, &goldens));
    }
    let trial = |golden: Golden| {
        let options = options.clone();
        // Shown as ignored in a build without what it needs.
        let lacks = golden.needs().iter().any(|feature| !FEATURES.contains(&feature.as_str()));
        Trial::test(golden.name.clone(), move || golden.run(&options).map(drop).map_err(Into::into)).with_ignored_flag(lacks)
    };
    libtest_mimic::run(&args, goldens.into_iter().map(trial).collect()).exit_code()
}

/// What the goldens of operators hold: answers, and rules broken.
fn count(root: &Path, goldens: &[Golden]) -> String {
    let ops = goldens.iter().filter(|golden| golden.name.starts_with("ops/"));
    let texts: Vec<String> = ops.filter_map(|golden| std::fs::read_to_string(root.join(&golden.name)).ok()).collect();
    let lines = |what: &str| -> usize { texts.iter().map(|text| text.matches(what).count()).sum() };
    let rules: usize = table().defs().iter().map(|def| def.rules.len()).sum();
    format!(
        "{} operators: {} answers; {rules} rules, broken by {} functions",
        table().defs().len(),
        lines("// run:"),
        lines("\ndef @c"),
    )
}
