//! Compares the classes of tokens in editor grammars with relayc's lexer, so that they cannot diverge.
//!
//! For every program of the repository that lexes, and for some generated ones, the lexer assigns each byte one class. The
//! classes are keyword, boolean, local, graph variable, global, number, string, meta reference, section, comment, and none. The
//! TextMate grammar, the Vim syntax and the highlight query of the tree-sitter grammar must agree. Valid programs must parse
//! without an error node.
//!
//! The tests use node (with the packages of `editors/vscode`, which `.ci/run` puts into `target/gate/vscode`) and vim if they
//! are installed, and report skipped checks. With `RELAYC_EDITORS=all`, as in the gate, node is required.

mod classes;
mod textmate;
mod tree_sitter_relay;
mod vim;

use std::path::{Path, PathBuf};

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Says something on the terminal, whatever a test runner captures.
pub(crate) fn say(words: &str) {
    use std::io::Write;
    writeln!(std::io::stderr(), "{words}").expect("the terminal can be written to");
}

/// What a program prints, `None` where it does not exist.
pub(crate) fn output(command: &mut std::process::Command, input: &str) -> Option<std::process::Output> {
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
pub(crate) fn lines(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("{}\n", path.display())).collect()
}
