//! The tour of README.md is what the commands print: each `$ relayc …` with output under it is run in a copy of `tests/data/readme/`, and
//! so is each `relayc build`, whose artifact the next command runs.

use std::path::Path;
use std::process::Command;

/// The commands of the fenced blocks, each with the lines under it.
fn sessions(readme: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == "```text";
            // A block's output ends with it.
            found.push((String::new(), String::new()));
        } else if let (true, Some(command)) = (inside, line.strip_prefix("$ relayc ")) {
            found.push((command.to_owned(), String::new()));
        } else if let (true, Some((_, output))) = (inside, found.last_mut()) {
            output.push_str(line);
            output.push('\n');
        }
    }
    found.retain(|(command, output)| !command.is_empty() && (!output.trim().is_empty() || command.starts_with("build ")));
    found
}

#[test]
fn the_tour_is_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
    let sessions = sessions(&readme);
    assert!(sessions.len() >= 3, "the tour shows output: {sessions:?}");
    let folder = tempfile::tempdir().expect("a folder");
    for file in std::fs::read_dir(root.join("tests/data/readme")).expect("the programs").flatten() {
        std::fs::copy(file.path(), folder.path().join(file.file_name())).expect("copied");
    }
    for (command, expected) in sessions {
        let args = command.split_whitespace();
        let out = Command::new(env!("CARGO_BIN_EXE_relayc")).args(args).current_dir(folder.path()).output();
        let out = out.expect("relayc runs");
        let found = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
        assert_eq!(found.trim_end(), expected.trim_end(), "$ relayc {command}");
    }
}

/// The program the tour begins with is the one its commands are run on.
#[test]
fn the_program_shown_is_the_program_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
    let net = std::fs::read_to_string(root.join("tests/data/readme/net.relay")).expect("the program");
    assert!(readme.contains(&format!("```text\n{net}```")));
}
