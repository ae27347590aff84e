//! Runs the tree-sitter grammar: its tokens and its trees. The grammar's own package tests that `src/` is generated from
//! `grammar.js`.

use super::classes::{Class, Program, programs};
use super::{root, say};
use relayc_base::diag::codes;
use relayc_driver::{Phase, check_text};
use std::path::{Path, PathBuf};
use tree_sitter::{Node, Parser, Query, QueryCursor, StreamingIterator};

fn parser() -> Parser {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_relay::LANGUAGE.into()).expect("the versions agree");
    parser
}

fn class(capture: &str) -> Option<Class> {
    Some(match capture {
        "keyword" => Class::Keyword,
        "boolean" => Class::Boolean,
        "variable" => Class::Local,
        "variable.builtin" => Class::Graph,
        "function" => Class::Global,
        "number" => Class::Number,
        "string" => Class::Str,
        "constant.builtin" => Class::Meta,
        "keyword.directive" => Class::Section,
        "comment" => Class::Comment,
        _ => return None,
    })
}

/// The class of each byte by the highlight query.
fn classes(query: &Query, root: Node, text: &str) -> Vec<Class> {
    let mut found = vec![Class::None; text.len()];
    let mut cursor = QueryCursor::new();
    let mut matches = cursor.matches(query, root, text.as_bytes());
    while let Some(found_match) = matches.next() {
        for capture in found_match.captures() {
            if let Some(class) = class(query.capture_names()[capture.index as usize]) {
                found[capture.node.byte_range()].fill(class);
            }
        }
    }
    // What is injected is JSON; to the lexer it is a part of the section.
    if let Some(last) = root.child(root.child_count().saturating_sub(1)).filter(|last| last.kind() == "metadata") {
        found[last.byte_range()].fill(Class::Section);
    }
    found
}

/// The first node that is an error or was not there.
fn error(root: Node) -> Option<String> {
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            return Some(format!("{} at {}", node.to_sexp().chars().take(80).collect::<String>(), node.start_position()));
        }
        if node.has_error() && cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return None;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

#[test]
fn tree_sitter_parses_right_programs_and_sees_the_tokens_of_the_lexer() {
    let folder = tempfile::tempdir().expect("a folder");
    let query =
        Query::new(&tree_sitter_relay::LANGUAGE.into(), tree_sitter_relay::HIGHLIGHTS).expect("the query fits the grammar");
    let mut parser = parser();
    let mut differences = Vec::new();
    // The syntax of older versions, of which relayc warns, is not in the grammar.
    let is_right = |program: &Program| {
        let checked = check_text("program", &program.text, Phase::Parse);
        !checked.has_errors() && checked.diagnostics.iter().all(|diagnostic| diagnostic.code != codes::W0010)
    };
    let programs: Vec<Program> = programs(folder.path()).into_iter().filter(is_right).collect();
    for program in &programs {
        let tree = parser.parse(&program.text, None).expect("no limit is set");
        let root = tree.root_node();
        match error(root) {
            Some(error) => differences.push(format!("{}: {error}", program.path.display())),
            None => differences.extend(program.difference(&classes(&query, root, &program.text))),
        }
    }
    assert!(differences.is_empty(), "{} programs of {}:\n{}", differences.len(), programs.len(), differences.join("\n"));
    say(&format!("editors: the tree-sitter grammar agrees with the lexer on {} programs", programs.len()));
}

/// The queries of editors fit the grammar, and each of their patterns finds something in the programs.
#[test]
fn every_pattern_of_every_query_finds_something() {
    let folder = tempfile::tempdir().expect("a folder");
    let programs = programs(folder.path());
    let queries = root().join("editors/tree-sitter-relay/queries");
    let mut parser = parser();
    for entry in std::fs::read_dir(queries).expect("the queries are there").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(entry.path()).expect("it can be read");
        let query = Query::new(&tree_sitter_relay::LANGUAGE.into(), &text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut left: Vec<usize> = (0..query.pattern_count()).collect();
        for program in &programs {
            if left.is_empty() {
                break;
            }
            let tree = parser.parse(&program.text, None).expect("no limit is set");
            let mut cursor = QueryCursor::new();
            let mut matches = cursor.matches(&query, tree.root_node(), program.text.as_bytes());
            while let Some(found) = matches.next() {
                left.retain(|&pattern| pattern != found.pattern_index);
            }
        }
        let lines = left.iter().map(|&pattern| text[..query.start_byte_for_pattern(pattern)].lines().count() + 1);
        assert!(left.is_empty(), "{name}: nothing is found by the patterns at lines {:?}", lines.collect::<Vec<_>>());
    }
}

fn bless() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// `(a (b) (c))` on lines of its own for each node, as the corpus has it.
fn pretty(sexp: &str) -> String {
    let mut out = String::new();
    let mut depth = 0;
    for (at, c) in sexp.char_indices() {
        match c {
            '(' => {
                let is_field = sexp[..at].ends_with(": ");
                if at > 0 && !is_field {
                    out.truncate(out.trim_end().len());
                    out.push('\n');
                    out.push_str(&"  ".repeat(depth));
                }
                depth += 1;
                out.push(c);
            }
            ')' => {
                depth -= 1;
                out.push(c);
            }
            // A field's name begins a line.
            ' ' if sexp[at + 1..].split('(').next().is_some_and(|word| word.ends_with(": ")) => {
                out.push('\n');
                out.push_str(&"  ".repeat(depth));
            }
            c => out.push(c),
        }
    }
    out
}

/// `test/corpus/*.txt`: a title between lines of `=`, a text, a line of `---`, the tree.
#[test]
fn the_corpus_holds() {
    let line = "=".repeat(18);
    let mut parser = parser();
    let mut n_cases = 0;
    for path in files(&root().join("editors/tree-sitter-relay/test/corpus"), "txt") {
        let corpus = std::fs::read_to_string(&path).expect("a file of the corpus");
        let mut blessed = String::new();
        let parts: Vec<&str> = corpus.split(&format!("{line}\n")).collect();
        for pair in parts[1..].chunks(2) {
            let [title, body] = pair else { panic!("{}: a title without a text", path.display()) };
            let (text, expected) = body.split_once("\n---\n").expect("a text and a tree");
            let tree = parser.parse(text.trim_start_matches('\n'), None).expect("no limit is set");
            let found = pretty(&tree.root_node().to_sexp());
            blessed.push_str(&format!("{line}\n{title}{line}\n\n{}\n\n---\n\n{found}\n\n", text.trim_matches('\n')));
            let words = |text: &str| text.split_whitespace().collect::<String>();
            assert!(bless() || words(expected) == words(&found), "{}: {title}found\n{found}", path.display());
            assert!(!found.contains("ERROR") && !found.contains("MISSING"), "{}: {title}", path.display());
            n_cases += 1;
        }
        if bless() {
            std::fs::write(&path, blessed.trim_end().to_owned() + "\n").expect("the corpus can be written");
        }
    }
    assert!(n_cases >= 10, "the corpus has {n_cases} cases");
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    found.sort();
    found
}
