//! Protocol tests that are files, `tests/lsp/**/*.lsp`: a text with marks, requests, and the answers.
//!
//! ```text
//! //! What is shown.
//! def @f(%x: Tensor[(2), float32]) { nn.re$0lu(%x) }
//! > hover $0
//! …the answer
//! ```
//!
//! `$0` to `$9` mark places and are no part of the text. A line `> request …` asks about the text above the first of them; its words
//! are marks, ranges `$0..$1`, and JSON that is merged into the parameters. `> change $0..$1 "text"` edits. A remark at the head
//! `//! client: {…}` or `//! options: {…}` is what the client can do besides, or its `initializationOptions`. Ranges of answers are
//! shown as `line:column-line:column`, counted from 1. `BLESS=1` rewrites the answers.

mod answers;
mod case;
#[path = "../support/mod.rs"]
mod support;

use libtest_mimic::{Arguments, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    // What the server starts for a command is this program again. A profile takes machine code: the text says what came of it.
    if std::env::args().nth(1).is_some_and(|arg| arg == "profile") {
        let text = std::io::read_to_string(std::io::stdin()).expect("the text");
        println!("{}", text.lines().find_map(|line| line.strip_prefix("// profile: ")).expect("a profile"));
        return ExitCode::SUCCESS;
    }
    if std::env::args().skip(1).eq(["lsp", "--job"]) {
        return if relayc_lsp::perform().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let args = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/lsp");
    let mut files = vec![];
    collect(&root, &mut files);
    files.sort();
    assert!(!files.is_empty(), "no tests in {}", root.display());
    let trial = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        Trial::test(name, move || run(&path).map_err(Into::into))
    };
    libtest_mimic::run(&args, files.into_iter().map(trial).collect()).exit_code()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder of the tests can be read") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn run(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let case = case::Case::parse(&text)?;
    let answered = case.answered()?;
    if answered == text {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(path, answered).map_err(|error| error.to_string());
    }
    let (wanted, found): (Vec<&str>, Vec<&str>) = (text.lines().collect(), answered.lines().collect());
    let first = wanted.iter().zip(&found).take_while(|(wanted, found)| wanted == found).count();
    let shown = |lines: &[&str]| lines[first.min(lines.len())..lines.len().min(first + 12)].join("\n");
    Err(format!("line {}: expected\n{}\nfound\n{}", first + 1, shown(&wanted), shown(&found)))
}
