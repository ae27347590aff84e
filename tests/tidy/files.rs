//! Rules for every file: its head, its size, and forbidden content.

use crate::tree::{code, files, none, read, root, sources};

/// A file asks for a split at 600 lines and may not pass this.
const MAX_LINES: usize = 800;

fn rust_files() -> Vec<String> {
    let mut all = vec![];
    for folder in ["crates", "src", "tests", "benches", "examples", "python"] {
        all.extend(files(folder, "rs"));
    }
    all
}

#[test]
fn every_file_says_what_it_is() {
    let silent = |path: &String| !read(path).starts_with("//! ");
    none("files that do not open with `//! `", rust_files().into_iter().filter(silent).collect());
    let silent = |path: &String| {
        let text = read(path);
        let code = text.trim_start_matches("#!/usr/bin/env python3\n");
        !code.trim().is_empty() && !code.starts_with("\"\"\"") && !code.starts_with("# ")
    };
    none("files of Python that do not open with what they are", files("python", "py").into_iter().filter(silent).collect());
}

#[test]
fn no_file_is_too_long() {
    let long = |path: &String| read(path).lines().count() > MAX_LINES;
    none(
        &format!("files over {MAX_LINES} lines, to be split"),
        [rust_files(), files("python", "py")].concat().into_iter().filter(long).collect(),
    );
}

#[test]
fn every_unsafe_says_why_it_is_sound() {
    let mut silent = Vec::new();
    for path in sources() {
        let text = read(&path);
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let block = code(line).contains("unsafe {") || code(line).contains("unsafe impl");
            let above = lines[..i].iter().rev().take_while(|line| line.trim_start().starts_with("//"));
            if block && !above.into_iter().any(|line| line.contains("SAFETY:")) {
                silent.push(format!("{path}:{}", i + 1));
            }
        }
    }
    none("`unsafe` without `// SAFETY:` above it", silent);
}

#[test]
fn nothing_names_a_machine() {
    // Written in two parts, so that this file may be searched too.
    let forbidden =
        [("/wo", "rk/"), ("/ro", "ot/"), ("/ho", "me/"), ("artifac", "tory"), ("127.0.", "0.1")].map(|(a, b)| format!("{a}{b}"));
    let mut found = Vec::new();
    for path in files("", "") {
        let bytes = std::fs::read(root().join(&path)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        found.extend(forbidden.iter().filter(|word| text.contains(word.as_str())).map(|word| format!("{path}: `{word}`")));
    }
    none("paths and hosts of one machine", found);
}

#[test]
fn packages_come_from_the_public_registry() {
    const PUBLIC: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let lock = read("Cargo.lock");
    let elsewhere = lock.lines().filter(|line| line.starts_with("source = ") && *line != PUBLIC);
    none("Cargo.lock names other sources", elsewhere.map(str::to_owned).collect());
}
