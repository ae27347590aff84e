//! What the grammars of editors make of programs is what relayc's lexer makes of them, so that they cannot drift.
//!
//! For every program of the repository that lexes, and for some generated ones, each byte has one class by the lexer: keyword,
//! boolean, local, graph variable, global, number, string, meta reference, section, comment, or none. The TextMate grammar, the
//! Vim syntax and the highlight query of the tree-sitter grammar must give the same. Right programs parse without an error node.
//!
//! node (with the packages of `editors/vscode`, which `.ci/run` puts into `target/gate/vscode`) and vim are asked if they are
//! here; what is not checked is said. With `RELAYC_EDITORS=all`, as in the gate, node has to be here.

#[path = "editors/classes.rs"]
mod classes;
#[path = "support/mod.rs"]
mod support;
#[path = "editors/textmate.rs"]
mod textmate;
#[path = "editors/tree_sitter_relay.rs"]
mod tree_sitter_relay;
#[path = "editors/vim.rs"]
mod vim;

use std::path::{Path, PathBuf};

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Says something on the terminal, whatever a test runner captures.
pub fn say(words: &str) {
    use std::io::Write;
    writeln!(std::io::stderr(), "{words}").expect("the terminal can be written to");
}

/// What a program prints, `None` where it does not exist.
pub fn output(command: &mut std::process::Command, input: &str) -> Option<std::process::Output> {
    use std::io::Write;
    use std::process::Stdio;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let mut stdin = child.stdin.take().expect("it was asked for");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().ok();
    drop(writer.join());
    output
}

/// The paths one a line, for the scripts.
pub fn lines(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("{}\n", path.display())).collect()
}
