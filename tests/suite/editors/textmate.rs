//! Runs the TextMate grammar of `editors/vscode`.

use super::classes::{Class, compare, programs};
use super::{lines, output, root, say};
use std::process::Command;

fn class(scope: &str) -> Class {
    let classes = [
        ("comment.", Class::Comment),
        ("string.", Class::Str),
        ("constant.numeric.", Class::Number),
        ("constant.language.boolean.", Class::Boolean),
        ("variable.other.local.", Class::Local),
        ("variable.other.graph.", Class::Graph),
        ("variable.language.meta.", Class::Meta),
        ("entity.name.function.global.", Class::Global),
        ("keyword.control.directive.", Class::Section),
        ("meta.section.", Class::Section),
        ("keyword.control.", Class::Keyword),
        ("keyword.declaration.", Class::Keyword),
        ("keyword.other.", Class::Keyword),
    ];
    classes.iter().find(|(prefix, _)| scope.starts_with(prefix)).map_or(Class::None, |(_, class)| *class)
}

#[test]
fn textmate_sees_the_tokens_of_the_lexer() {
    let modules = root().join("target/gate/vscode/node_modules");
    let is_required = std::env::var_os("RELAYC_EDITORS").is_some_and(|wish| wish == "all");
    if !modules.is_dir() {
        assert!(!is_required, "the packages of editors/vscode are not in {}", modules.display());
        return say("editors: NOT CHECKED: the TextMate grammar; `npm ci` in target/gate/vscode is missing, see .ci/run");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let programs = programs(folder.path());
    let paths: Vec<_> = programs.iter().map(|program| program.path.clone()).collect();
    let editor = root().join("editors/vscode");
    let mut node = Command::new("node");
    node.arg(editor.join("test/scopes.js")).arg(editor.join("syntaxes/relay.tmLanguage.json")).env("NODE_PATH", modules);
    let Some(found) = output(&mut node, &lines(&paths)) else {
        assert!(!is_required, "node is not here");
        return say("editors: NOT CHECKED: the TextMate grammar; node is not here");
    };
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    compare(&programs, &String::from_utf8_lossy(&found.stdout), class);
    say(&format!("editors: the TextMate grammar agrees with the lexer on {} programs", programs.len()));
}

/// The files that the extension names are there and are JSON.
#[test]
fn the_extension_is_whole() {
    let folder = root().join("editors/vscode");
    let read = |path: &str| -> serde_json::Value {
        let text = std::fs::read_to_string(folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let package = read("package.json");
    let contributes = &package["contributes"];
    let named =
        [&contributes["languages"][0]["configuration"], &contributes["grammars"][0]["path"], &contributes["snippets"][0]["path"]];
    for path in named {
        read(path.as_str().expect("a path"));
    }
    assert_eq!(read("syntaxes/relay.tmLanguage.json")["scopeName"], contributes["grammars"][0]["scopeName"]);
    let resolved =
        std::fs::read_to_string(folder.join("package-lock.json")).expect("the lock file").matches("\"resolved\"").count();
    assert_eq!(resolved, 0, "the lock file names no registry: npm install --omit-lockfile-registry-resolved");
}

/// A snippet, its places filled with what stands in them, is text that the lexer knows.
#[test]
fn snippets_are_relay_text() {
    let text = std::fs::read_to_string(root().join("editors/vscode/snippets/relay.json")).expect("the snippets");
    let snippets: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for (name, snippet) in snippets.as_object().expect("an object") {
        let body: Vec<&str> = snippet["body"].as_array().expect("lines").iter().filter_map(|line| line.as_str()).collect();
        let mut text = String::new();
        for (i, part) in body.join("\n").split('$').enumerate() {
            match part.strip_prefix('{').and_then(|part| part.split_once('}')) {
                Some((place, rest)) => text.extend([place.split_once(':').map_or("", |(_, default)| default), rest]),
                None if i > 0 => text.push_str(&part[1..]),
                None => text.push_str(part),
            }
        }
        let lexed = relayc_syntax::lexer::lex(relayc_base::FileId(0), &text);
        assert!(lexed.diagnostics.is_empty() && !lexed.tokens.is_empty(), "{name}: {text}");
    }
}
