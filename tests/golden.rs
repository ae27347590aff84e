//! Runs every golden test under `tests/golden/` (`relayc::testing` says what they are).
//!
//! `cargo golden [part of a name]` compares, `cargo bless [part of a name]` rewrites the expectations.

use libtest_mimic::{Arguments, Trial};
use relayc::ops::table;
use relayc::testing::{Golden, Options, discover};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    const BLESS: &str = "--bless";
    let bless = std::env::args().any(|arg| arg == BLESS);
    // A path as the shell completes it is a fine filter too.
    let args = std::env::args().filter(|arg| arg != BLESS).map(|arg| arg.replace("tests/golden/", ""));
    let args = Arguments::from_iter(args);
    let options = Options {
        bless,
        strict: true,
        relayc: env!("CARGO_BIN_EXE_relayc").into(),
        rerun: "cargo golden".to_owned(),
        bless_command: "cargo bless".to_owned(),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let goldens = discover(&root).expect("tests/golden can be read");
    if !args.list {
        println!("{}", count(&root, &goldens));
    }
    let trial = |golden: Golden| {
        let options = options.clone();
        Trial::test(golden.name.clone(), move || golden.run(&options).map(drop).map_err(Into::into))
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
