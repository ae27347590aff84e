//! Rules for diagnostics: every code has a page with true examples, and a golden test that shows it.

use crate::tree::{files, none, read};
use relayc_base::diag::codes::ALL;
use relayc_base::diag::{Code, Diagnostic};
use relayc_driver::lint::{self, Level, Levels};
use relayc_driver::{Dialect, Phase, Program, ReadOptions, check_text_as};

/// Codes no golden can show, with the reason.
const NOT_SHOWN: &[(&str, &str)] = &[
    ("E0508", "a bug that is known is mended, not shown: a unit test of crates/engine/src/cross_check.rs has it"),
    ("E0731", "the limit is 100,000 nodes: tests/suite/viz.rs has it"),
    ("E0804", "the limit is 32 GiB, or needs a crafted archive: unit tests in crates/weights/ have it"),
    ("E0901", "a bug that is known is mended, not shown"),
];

/// A page's parts.
struct Page<'a> {
    code: Code,
    wrong: &'a str,
    right: &'a str,
}

/// The page of a code, if it has its heads in order.
fn page(code: Code) -> Result<Page<'static>, String> {
    let heads = [
        format!("# {}: {}\n", code.id(), code.title()),
        "\n## What it means\n".into(),
        "\n## Wrong\n".into(),
        "\n## Right\n".into(),
    ];
    let mut rest = code.page();
    let mut parts = Vec::new();
    for head in &heads {
        let (before, after) = rest.split_once(head.as_str()).ok_or(format!("{}.md lacks `{}`", code.id(), head.trim()))?;
        parts.push(before);
        rest = after;
    }
    let [before, _, meaning, wrong] = parts[..] else { unreachable!("four heads make four parts") };
    if !before.is_empty() || meaning.trim().is_empty() {
        return Err(format!("{}.md begins with its title and says what it means", code.id()));
    }
    Ok(Page { code, wrong, right: rest })
}

/// The blocks of a language in a part of a page.
fn blocks<'a>(part: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    part.split(&open).skip(1).map(|rest| rest.split("```").next().unwrap_or("")).collect()
}

#[test]
fn every_page_has_its_heads_and_examples() {
    let mut wrong = Vec::new();
    for &code in ALL {
        match page(code) {
            Err(why) => wrong.push(why),
            Ok(page) => {
                // What happens while running, or to files, is shown as commands; what no page can hold is described.
                for (name, part) in [("Wrong", page.wrong), ("Right", page.right)] {
                    if ["relay", "sh", "text"].iter().all(|language| blocks(part, language).is_empty()) {
                        wrong.push(format!("{}.md shows nothing under `## {name}`", code.id()));
                    }
                }
            }
        }
    }
    none("pages in crates/base/src/diag/explain/", wrong);
}

/// Checks an example; if it is of a lint that is quiet by itself, the lint is asked for.
fn linted(id: &str, text: &str) -> Program {
    let mut levels = Levels::default();
    if id.starts_with('W') {
        levels.set(id, Level::Warn).expect("a code of a lint");
    }
    check_text_as(id, text, Phase::Lint, &ReadOptions { levels, ..ReadOptions::of(Dialect::Today) })
}

#[test]
fn the_examples_of_every_page_are_true() {
    let mut untrue = Vec::new();
    for page in ALL.iter().filter_map(|&code| page(code).ok()) {
        let id = page.code.id();
        let said = |diagnostics: &[Diagnostic]| {
            let mut codes: Vec<&str> = diagnostics.iter().map(|d| d.code.id()).collect();
            codes.dedup();
            codes.join(", ")
        };
        for (i, text) in blocks(page.wrong, "relay").into_iter().enumerate() {
            let program = linted(id, text);
            let found = said(&program.diagnostics);
            if found != id {
                untrue.push(format!(
                    "{id}.md, wrong example {}: found {}",
                    i + 1,
                    if found.is_empty() { "nothing" } else { &found }
                ));
            }
        }
        for (i, text) in blocks(page.right, "relay").into_iter().enumerate() {
            let program = linted(id, text);
            if !program.diagnostics.is_empty() {
                untrue.push(format!("{id}.md, right example {}: found {}", i + 1, said(&program.diagnostics)));
            }
        }
    }
    none("examples that are not what they say (wrong ones give exactly their code, right ones nothing)", untrue);
}

#[test]
fn every_code_has_a_golden() {
    // What a command line reads may be no text.
    let goldens = ["out", "console", "relay"].iter().flat_map(|kind| files("tests/golden", kind));
    let shown: String = goldens.filter(|path| !path.contains("/data/")).map(|path| read(&path)).collect();
    // Usage errors have a code in JSON only.
    let is_shown = |id: &str| shown.contains(&format!("[{id}]")) || shown.contains(&format!("\"code\":\"{id}\""));
    let missing = ALL.iter().map(|code| code.id()).filter(|id| !is_shown(id));
    let missing = missing.filter(|id| NOT_SHOWN.iter().all(|(not_shown, _)| not_shown != id));
    none("codes that no golden shows", missing.map(str::to_owned).collect());
}

#[test]
fn every_lint_is_in_the_guide_and_on_its_page() {
    let guide = read("docs/src/guide/check.md");
    let lints: Vec<(&str, &str)> =
        lint::names().filter_map(|name| Some((name, ALL.iter().find(|code| lint::name(**code) == Some(name))?.id()))).collect();
    let missing = lints.iter().filter(|(name, id)| !guide.contains(&format!("| `{name}` | {id} | ")));
    none("lints without a row in docs/src/guide/check.md", missing.map(|(name, id)| format!("{id} {name}")).collect());
    let rows = guide.lines().filter(|line| line.starts_with("| `") && line.contains("` | W0"));
    let strange = rows.filter(|row| !lints.iter().any(|(name, id)| row.starts_with(&format!("| `{name}` | {id} | "))));
    none("rows of docs/src/guide/check.md without a lint", strange.map(str::to_owned).collect());
    let silent = ALL.iter().filter(|code| lint::name(**code).is_some_and(|name| !code.page().contains(&format!("`{name}`"))));
    none("pages of lints that do not name them", silent.map(|code| code.id().to_owned()).collect());
}
