//! Rewritings of the programs of the goldens: after each action the program computes the same, without new errors.

use crate::editor::edited;
use crate::support::{Client, URI};
use relayc_base::FileId;
use relayc_driver::compare::programs::compute_same;
use relayc_driver::{Phase, Program, check_text};
use relayc_syntax::lexer;
use relayc_syntax::token::Tok;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Programs of the goldens and the examples that are not long, each some number of them.
fn programs(step: usize) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("examples"), root.join("tests/golden/passes"), root.join("tests/golden/infer")];
    let mut files = vec![];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("it can be read").path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|ext| ext == "relay") => files.push(path),
                false => {}
            }
        }
    }
    files.sort();
    files.into_iter().step_by(step).collect()
}

fn position(text: &str, at: usize) -> Value {
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    json!({ "line": before.matches('\n').count(), "character": before[start..].encode_utf16().count() })
}

/// The places of names and numbers, and those of whole calls.
fn places(text: &str) -> Vec<(usize, usize)> {
    let tokens = lexer::lex(FileId(0), text).tokens;
    let (mut places, mut open) = (vec![], vec![]);
    for (index, token) in tokens.iter().enumerate() {
        let start = token.start as usize;
        match token.tok {
            Tok::Local | Tok::Graph | Tok::Ident | Tok::Match => places.push((start, start)),
            Tok::LParen => {
                let mut first = index;
                while first > 0 && matches!(tokens[first - 1].tok, Tok::Ident | Tok::Dot | Tok::Global) {
                    first -= 1;
                }
                open.push(tokens[first].start as usize);
            }
            Tok::RParen => places.extend(open.pop().map(|start| (start, token.end as usize))),
            _ => {}
        }
    }
    places
}

fn n_errors(program: &Program) -> usize {
    program.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count()
}

#[test]
fn a_rewritten_program_computes_the_same() {
    let step = std::env::var("RELAYC_STEP").ok().map_or(16, |step| step.parse().expect("a number"));
    let mut client = Client::start();
    let (mut n_programs, mut n_actions) = (0, std::collections::BTreeMap::<String, usize>::new());
    for path in programs(step) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let before = check_text("net.relay", &text, Phase::Infer);
        // Positions in the edits of other texts would need their columns in UTF-16.
        if text.len() > 6000 || !text.is_ascii() {
            continue;
        }
        n_programs += 1;
        client.open(&text);
        for (start, end) in places(&text) {
            let params = json!({
                "textDocument": { "uri": URI }, "range": { "start": position(&text, start), "end": position(&text, end) },
                "context": { "diagnostics": [], "only": ["refactor.extract", "refactor.inline", "refactor.rewrite"] },
            });
            let actions = client.ask("textDocument/codeAction", params).expect("an answer");
            for action in actions.as_array().into_iter().flatten() {
                let new = edited(&text, &action["edit"]);
                let after = check_text("net.relay", &new, Phase::Infer);
                let title = action["title"].as_str().unwrap_or("");
                let what = || format!("{}: {title}:\n{new}", path.display());
                assert!(new != text, "{}", what());
                assert!(n_errors(&after) <= n_errors(&before), "{}", what());
                // What rewrites old text has compared it itself.
                assert!(title.starts_with("Rewrite") || compute_same(&before, &after), "{}", what());
                let kind = title.split(' ').next().unwrap_or("").to_owned();
                *n_actions.entry(kind).or_default() += 1;
            }
        }
    }
    println!("{n_programs} programs, actions {n_actions:?}");
    assert!(n_actions.len() >= 6, "{n_actions:?}");
    client.stop();
}
