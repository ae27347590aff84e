//! Tests the 257 programs of `tests/data/relay-text-examples.md`, each with the result of TVM v0.14.0.
//!
//! An accepted program prints the same bytes, and the output reads back to the same bytes. A rejected program is rejected with
//! a code of the same class, at the same line if TVM names one. `tests/data/relay-text-differences.md` lists the programs where
//! relayc does better, with its behaviour; `cargo bless suite specified` rewrites that list.

use relayc_base::text::count;
use relayc_driver::{self as driver, Phase, Program, show};
use std::fmt::Write;
use std::path::Path;

/// A program of the table.
struct Example<'a> {
    title: &'a str,
    text: String,
    /// The line that begins with `api:`.
    outcome: &'a str,
    /// What TVM prints of it, if it accepts it.
    printed: Option<&'a str>,
    note: Option<&'a str>,
}

fn examples(page: &str) -> Vec<Example<'_>> {
    let example = |part| {
        let part: &str = part;
        let (title, rest) = part.split_once("\n")?;
        title.split_once('.')?.0.parse::<u32>().ok()?;
        let (text, rest) = rest.split_once("```relay\n")?.1.split_once("\n```")?;
        let outcome = rest.lines().find_map(|line| line.strip_prefix("api: "))?;
        let printed = rest.split_once("printed:\n```relay\n").and_then(|(_, rest)| rest.split_once("\n```"));
        let printed = printed.or(rest.contains("printed: (nothing").then_some(("", "")));
        let note = rest.lines().find_map(|line| line.strip_prefix("note: "));
        Some(Example { title, text: text.replace('␍', "\r"), outcome, printed: printed.map(|(printed, _)| printed), note })
    };
    page.split("\n### ").filter_map(example).collect()
}

impl Example<'_> {
    fn until(&self) -> Phase {
        match self.outcome.split_once(" — ").map(|(api, _)| api) {
            Some("expr") => Phase::Resolve,
            Some("expr+infer") => Phase::Main,
            Some("module") => Phase::Infer,
            api => panic!("{}: an interface that is not known: {api:?}", self.title),
        }
    }

    /// The first characters of the codes of its class of errors; `None` if it is accepted.
    fn class(&self) -> Option<&'static str> {
        let words = self.outcome.split_once("**").expect("an outcome is set in bold").1;
        let words = words.split("TVM:").next().unwrap_or(words);
        let classes = [
            ("ok**", None),
            ("LexError", Some("E00")),
            ("ParseError", Some("E01")),
            ("NameError", Some("E02")),
            ("TypeError", Some("E03")),
            ("KindError", Some("E03")),
            ("ExhaustivenessError", Some("E03")),
            ("WellFormedError", Some("E03")),
            ("AttrError", Some("E04")),
            // A failure of TVM without a suggestion of what it should be.
            ("InternalError", Some("E09")),
        ];
        // What is suggested instead of an internal error counts.
        let words = words.split_once("suggested: ").map_or(words, |(_, suggested)| suggested);
        if words.starts_with("accept") {
            return None;
        }
        classes.iter().find(|(name, _)| words.starts_with(name)).expect("the class is known").1
    }

    /// The lines TVM's diagnostics name.
    fn lines(&self) -> Vec<usize> {
        let places = self.outcome.split(" at ").nth(1).unwrap_or("");
        let line = |place: &str| place.trim().split_once(':').and_then(|(line, _)| line.parse().ok());
        places.trim_end_matches('.').split(',').filter_map(line).collect()
    }
}

/// The program as the table prints it: with metadata and, where they are inferred, types; without the header.
/// The table leaves metadata sections out where they are about types.
fn agrees_in_text(example: &Example, printed: &str) -> bool {
    let Some(expected) = example.printed else { return false };
    let shown = if expected.contains("#[metadata]") { Some(printed) } else { printed.split("\n\n#[metadata]").next() };
    shown == Some(expected)
}

fn printed(program: &Program, until: Phase) -> String {
    let text = show::print(program, show::Options { types: until != Phase::Resolve, meta: true, exact: false, dim_names: false });
    let body = text.strip_prefix("#[version = \"0.0.5\"]\n").unwrap_or(&text);
    body.trim_end_matches('\n').to_owned()
}

/// What relayc makes of a program, as the list of differences tells it.
fn behaviour(program: &Program, until: Phase) -> String {
    let mut out = String::new();
    for diagnostic in &program.diagnostics {
        let (line, column) = program.sources.line_col(diagnostic.span()).unwrap_or((0, 0));
        writeln!(out, "{line}:{column}: {}: {}", diagnostic.code.id(), diagnostic.message).expect("a string takes all");
    }
    if !program.has_errors() {
        out.push_str(&printed(program, until));
        out.push('\n');
    }
    out
}

/// Whether relayc does what TVM does.
fn agrees(example: &Example, program: &Program) -> bool {
    let first = program.diagnostics.iter().find(|d| d.is_error());
    match (example.class(), first) {
        (None, None) => agrees_in_text(example, &printed(program, example.until())),
        (Some(class), Some(error)) => {
            let line = program.sources.line_col(error.span()).map_or(0, |(line, _)| line);
            let lines = example.lines();
            error.code.id().starts_with(class) && (lines.is_empty() || lines.contains(&line))
        }
        _ => false,
    }
}

#[test]
fn every_program_behaves_as_specified() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = include_str!("../data/relay-text-examples.md");
    let examples = examples(page);
    assert_eq!(examples.len(), 257);
    let mut differences = String::new();
    let (mut n_differences, mut failures) = (0, vec![]);
    for example in &examples {
        let until = example.until();
        let program = driver::check_text("x", &example.text, until);
        if !program.has_errors() {
            // Whatever is accepted reads back, also where TVM cannot read what it prints.
            let text = show::print(
                &program,
                show::Options { types: until != Phase::Resolve, meta: true, exact: false, dim_names: false },
            );
            let again = driver::check_text("printed", &text, until);
            let messages: Vec<_> = again.diagnostics.iter().filter(|d| d.is_error()).map(|d| &d.message).collect();
            if !messages.is_empty() {
                failures.push(format!("{} does not read back: {messages:?}\n{text}", example.title));
            } else if printed(&again, until) != printed(&program, until) {
                failures.push(format!("{} reads back as something else:\n{text}", example.title));
            }
        }
        if agrees(example, &program) {
            continue;
        }
        n_differences += 1;
        let note = example.note.map_or(String::new(), |note| format!("\nnote: {note}"));
        write!(
            differences,
            "\n## {}\n\n```relay\n{}\n```\n\nTVM: {}{note}\n\nrelayc:\n```text\n{}```\n",
            example.title,
            example.text.replace('\r', "␍"),
            example.outcome,
            behaviour(&program, until),
        )
        .expect("a string takes all");
    }
    let head = "# Where relayc differs from TVM v0.14.0\n\nOf the 257 programs of `relay-text-examples.md` these are read otherwise than \
                TVM reads them; `tests/suite/specified.rs` writes this list and holds it.\n";
    let list = format!("{head}\n{} of {}.\n{differences}", count(n_differences, "program"), examples.len());
    let path = root.join("tests/data/relay-text-differences.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &list).expect("the list can be written");
    }
    let expected = std::fs::read_to_string(&path).expect("the list can be read");
    let diff = relayc_base::diff::unified(("kept", &expected), ("found", &list));
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(expected == list, "the differences changed:\n{diff}");
}
