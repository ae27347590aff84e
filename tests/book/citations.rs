//! Checks citations of the book in code: `(language 5.4)`, `(reliability 2)`. Each number must be a heading of that page.

use crate::markdown::Page;
use std::path::{Path, PathBuf};

/// What is cited, and the page that has its numbers.
const CITED: &[(&str, &str)] = &[
    ("language", "docs/src/reference/language.md"),
    ("reliability", "docs/src/reference/reliability.md"),
    ("architecture", "docs/src/architecture.md"),
];

/// Documents that are no part of the repository.
const OUTSIDE: &[&str] = &["relay-text ", "design ", "design.md", "reliability.md", "spec/relay-text.md"];

/// Where code is that cites.
const FOLDERS: &[&str] = &["crates", "src", "tests", "grammar", "editors", "benches", "fuzz"];

/// A citation: where it stands, the page and the number.
pub(crate) struct Citation {
    pub at: String,
    pub page: &'static str,
    pub number: String,
}

/// The numbers that follow a word: `2, 4 and 7.7`, `1.4 to 1.7`.
fn numbers(mut rest: &str) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let len = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let number = rest[..len].trim_end_matches('.');
        if number.is_empty() || number.starts_with('.') {
            return found;
        }
        found.push(number.to_owned());
        rest = &rest[len..];
        let Some(after) = [", ", " and ", " to "].iter().find_map(|between| rest.strip_prefix(between)) else { return found };
        rest = after;
    }
}

/// The citations of a text.
pub(crate) fn citations(path: &str, text: &str) -> Vec<Citation> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for &(word, page) in CITED {
            for (at, _) in line.match_indices(&format!("{word} ")) {
                let begins = line[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '-');
                if begins {
                    let cited = numbers(&line[at + word.len() + 1..]);
                    found.extend(cited.into_iter().map(|cited| Citation {
                        at: format!("{path}:{}", number + 1),
                        page,
                        number: cited,
                    }));
                }
            }
        }
    }
    found
}

/// The files under a folder that may cite.
pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() && name != "target" && name != "node_modules" && name != "data" {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|ext| ["rs", "lalrpop", "js", "c", "relay", "md", "toml"].iter().any(|e| ext == *e))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The citations of the repository that no heading answers.
pub(crate) fn unresolved(root: &Path) -> Vec<String> {
    let headings: Vec<(&str, Vec<String>)> = CITED
        .iter()
        .map(|&(_, page)| {
            let text = std::fs::read_to_string(root.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
            let numbers = Page::parse(&text).headings.into_iter();
            let numbers = numbers.filter_map(|heading| Some(heading.split_once(' ')?.0.trim_end_matches('.').to_owned()));
            (page, numbers.collect())
        })
        .collect();
    let mut wrong = Vec::new();
    let mut n = 0;
    for path in files(root) {
        let name = path.strip_prefix(root).expect("below the root").display().to_string();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for citation in citations(&name, &text) {
            n += 1;
            let known = headings.iter().any(|(page, numbers)| *page == citation.page && numbers.contains(&citation.number));
            if !known {
                wrong.push(format!("{}: {} has no section {}", citation.at, citation.page, citation.number));
            }
        }
        if name.starts_with("tests/book") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            for &outside in OUTSIDE {
                let cites = |at: usize| {
                    let after = &line[at + outside.len()..];
                    let begins = line[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '/');
                    begins && (!outside.ends_with(' ') || after.starts_with(|c: char| c.is_ascii_digit()))
                };
                if line.match_indices(outside).any(|(at, _)| cites(at)) {
                    wrong.push(format!("{name}:{}: cites `{}`, which is no part of the repository", number + 1, outside.trim()));
                }
            }
        }
    }
    assert!(n > 50, "the code cites the book: found {n} citations");
    wrong
}
