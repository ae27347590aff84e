//! Runs the Vim files of `editors/vim`.

use super::classes::{Class, compare, programs};
use super::{lines, output, root, say};
use std::process::Command;

fn class(group: &str) -> Class {
    match group {
        "relayKeyword" | "relayConditional" | "relayReference" => Class::Keyword,
        "relayBoolean" => Class::Boolean,
        "relayLocal" => Class::Local,
        "relayGraph" => Class::Graph,
        "relayGlobal" => Class::Global,
        "relayNumber" => Class::Number,
        "relayString" => Class::Str,
        "relayMeta" => Class::Meta,
        "relayVersion" | "relayMetadata" => Class::Section,
        "relayLineComment" | "relayBlockComment" => Class::Comment,
        _ => Class::None,
    }
}

/// Vim without anyone's settings, with ours in its path.
fn vim() -> Command {
    let mut vim = Command::new("vim");
    vim.args(["-Nu", "NONE", "-i", "NONE", "-n", "-es", "--cmd"]);
    vim.arg(format!("set runtimepath^={}", root().join("editors/vim").display()));
    vim
}

#[test]
fn vim_sees_the_tokens_of_the_lexer() {
    let folder = tempfile::tempdir().expect("a folder");
    // A megabyte of programs takes Vim a minute.
    let programs: Vec<_> = programs(folder.path()).into_iter().step_by(5).collect();
    let paths: Vec<_> = programs.iter().map(|program| program.path.clone()).collect();
    let (texts, groups) = (folder.path().join("texts"), folder.path().join("groups"));
    std::fs::write(&texts, lines(&paths)).expect("a folder that can be written to");
    let mut vim = vim();
    vim.arg("-S").arg(root().join("editors/vim/test/groups.vim")).env("RELAY_TEXTS", &texts).env("RELAY_GROUPS", &groups);
    if output(&mut vim, "").is_none() {
        return say("editors: NOT CHECKED: the Vim syntax; vim is not here");
    }
    let printed = std::fs::read(&groups).expect("what Vim wrote");
    compare(&programs, &String::from_utf8_lossy(&printed), class);
    say(&format!("editors: the Vim syntax agrees with the lexer on {} programs", programs.len()));
}

/// `:make` finds the places of relayc's short messages.
#[test]
fn vim_reads_the_messages() {
    let folder = tempfile::tempdir().expect("a folder");
    let (messages, found) = (folder.path().join("messages"), folder.path().join("found"));
    let checked = Command::new(env!("CARGO_BIN_EXE_relayc"))
        .args(["check", "--message-format", "short", "tests/data/book/wrong.relay"])
        .current_dir(root())
        .output()
        .expect("relayc runs");
    std::fs::write(&messages, [checked.stdout, checked.stderr].concat()).expect("a folder that can be written to");
    let mut vim = vim();
    vim.args(["-c", "compiler relayc", "-c"]).arg(format!("cgetfile {}", messages.display()));
    let list = "map(getqflist(), {_, e -> join([bufname(e.bufnr), e.lnum, e.col, e.type, e.nr, e.text[:10]], '|')})";
    vim.arg("-c").arg(format!("call writefile({list}, '{}')", found.display())).args(["-c", "qall!"]).current_dir(root());
    if output(&mut vim, "").is_none() {
        return say("editors: NOT CHECKED: the error format of Vim; vim is not here");
    }
    let found = std::fs::read_to_string(&found).expect("what Vim wrote");
    assert_eq!(found, "tests/data/book/wrong.relay|5|17|e|308|`nn.conv2d`\n");
}
