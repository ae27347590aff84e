//! `relayc test`: runs golden tests written in `.relay` files.
//!
//! The crate `testing` describes the expectations in a file. Results go to standard output in the order of the files' names, for
//! any number of threads.

use super::projects::Projects;
use super::{Console, exit};
use rayon::prelude::*;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{count, escape_control, one_line};
use relayc_driver as driver;
use relayc_sys as sys;
use relayc_testing::{self as testing, Golden, Options, Passed};
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Run golden tests: programs whose comments state their expected results.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files, folders with `.relay` files, or patterns such as `tests/**/*.relay`.
    #[arg(default_value = ".")]
    paths: Vec<PathBuf>,
    /// Rewrite generated text (`.out` files, lines `//|`, sessions) instead of comparing; keep text written by hand.
    #[arg(long)]
    bless: bool,
    /// Run only tests whose name contains this; may be repeated.
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Run the sessions in `.console` files too; `sh` executes their lines.
    #[arg(long)]
    sessions: bool,
    /// List the tests without running them.
    #[arg(long)]
    list: bool,
    /// How many tests run at once; the default is the number of cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

pub(crate) fn run(console: &Console, args: &Args) -> u8 {
    let tests = match collect(args) {
        Ok(tests) => tests,
        Err(diagnostic) => return fail(console, diagnostic),
    };
    // Under a configuration that was not understood nothing is known to be as it should.
    let mut projects = Projects::new(console);
    tests.iter().for_each(|test| drop(projects.of(Path::new(&test.name))));
    if projects.code != exit::FINE {
        return projects.code;
    }
    if args.list {
        let names: String = tests.iter().map(|test| format!("{}\n", one_line(&test.name))).collect();
        return finish(console, &names, exit::FINE);
    }
    let options = Options {
        bless: args.bless,
        strict: false,
        relayc: std::env::current_exe().unwrap_or_else(|_| "relayc".into()),
        rerun: "relayc test".to_owned(),
        bless_command: "relayc test --bless".to_owned(),
    };
    let run_all = || tests.par_iter().map(|test| test.run(&options)).collect::<Vec<_>>();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.map_or(0, usize::from)).build();
    let results = pool.map_or_else(|_| tests.iter().map(|test| test.run(&options)).collect(), |pool| pool.install(run_all));
    let results: Vec<(&Golden, Result<Passed, String>)> = tests.iter().zip(results).collect();
    let text = if console.is_json() { as_json(&results) } else { as_text(&results, console) };
    let failed = results.iter().any(|(_, result)| result.is_err());
    finish(console, &text, if failed { exit::PROGRAM } else { exit::FINE })
}

fn collect(args: &Args) -> Result<Vec<Golden>, Diagnostic> {
    let mut tests: Vec<Golden> = Vec::new();
    for path in &args.paths {
        let of = |path: &PathBuf| testing::collect(path, args.sessions);
        let programs = if path.is_dir() { None } else { driver::programs::of(path) };
        let found = match programs {
            Some(files) => files.iter().map(of).collect::<Result<Vec<_>, _>>().map(|found| found.concat()),
            None => of(path),
        };
        let found =
            found.map_err(|error| sys::unreadable(path, &error).help("name a `.relay` file or a folder that holds some"))?;
        tests
            .extend(found.into_iter().filter(|test| args.filter.is_empty() || args.filter.iter().any(|f| test.name.contains(f))));
    }
    tests.sort_by(|a, b| a.name.cmp(&b.name));
    tests.dedup();
    if tests.is_empty() {
        let paths: Vec<String> = args.paths.iter().map(|path| format!("`{}`", path.display())).collect();
        let what =
            if args.filter.is_empty() { String::new() } else { format!(" whose name holds `{}`", args.filter.join("` or `")) };
        return Err(Diagnostic::new(codes::E0701, format!("there is no test under {}{what}", paths.join(", ")))
            .help("a test is a `.relay` file that says in comments what must come of it"));
    }
    Ok(tests)
}

/// The longest name that the column of names is made for.
const MAX_WIDTH: usize = 100;

fn as_text(results: &[(&Golden, Result<Passed, String>)], console: &Console) -> String {
    let mut out = String::new();
    let widths = results.iter().map(|(test, _)| test.name.len()).filter(|&width| width <= MAX_WIDTH);
    let width = widths.max().unwrap_or(0);
    for (test, result) in results {
        let words = match result {
            Ok(passed) if passed.blessed => format!("blessed  {}", passed.kinds.join(", ")),
            Ok(passed) => format!("ok       {}", passed.kinds.join(", ")),
            Err(_) => "FAILED".to_owned(),
        };
        if !console.quiet || result.is_err() {
            let _ = writeln!(out, "{:width$}  {}", one_line(&test.name), words.trim_end());
        }
    }
    for (test, result) in results {
        if let Err(why) = result {
            let _ = write!(out, "\n---- {} ----\n{}\n", one_line(&test.name), escape_control(why.trim_end()));
        }
    }
    let n_failed = results.iter().filter(|(_, result)| result.is_err()).count();
    let n_blessed = results.iter().filter(|(_, result)| result.as_ref().is_ok_and(|passed| passed.blessed)).count();
    let blessed = if n_blessed > 0 { format!(", {n_blessed} blessed") } else { String::new() };
    let _ = writeln!(
        out,
        "\n{}: {} passed{blessed}, {n_failed} failed",
        count(results.len(), "test"),
        results.len() - n_failed - n_blessed
    );
    out
}

/// One object a line: one for each test, then the totals.
fn as_json(results: &[(&Golden, Result<Passed, String>)]) -> String {
    let mut out = String::new();
    for (test, result) in results {
        let line = match result {
            Ok(passed) => json!({
                "schema": SCHEMA, "reason": "test", "name": test.name, "kinds": passed.kinds,
                "result": if passed.blessed { "blessed" } else { "ok" },
            }),
            Err(why) => json!({ "schema": SCHEMA, "reason": "test", "name": test.name, "result": "failed", "message": why }),
        };
        let _ = writeln!(out, "{line}");
    }
    let n_failed = results.iter().filter(|(_, result)| result.is_err()).count();
    let sum = json!({ "schema": SCHEMA, "reason": "summary", "passed": results.len() - n_failed, "failed": n_failed });
    let _ = writeln!(out, "{sum}");
    out
}

const SCHEMA: &str = "relayc.test/1";

fn finish(console: &Console, text: &str, code: u8) -> u8 {
    match sys::stdout(text) {
        Ok(()) => code,
        Err(diagnostic) => fail(console, diagnostic),
    }
}

fn fail(console: &Console, diagnostic: Diagnostic) -> u8 {
    let code = exit::of(std::slice::from_ref(&diagnostic));
    console.diagnostics(&[diagnostic], &relayc_base::Sources::new());
    code
}
