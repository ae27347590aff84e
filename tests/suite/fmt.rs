//! Tests the formatter on every program of the repository that parses: goldens, examples, pages in `tests/data/`, and
//! explanations. Formatting is idempotent and keeps all tokens and comments.

use crate::support;
use relayc_base::{FileId, Span};
use relayc_syntax::fmt::{format, upgrade};
use relayc_syntax::lexer::lex;
use relayc_syntax::old_calls::OldCalls;
use relayc_syntax::token::Tok;

/// The programs under a folder, each with its name: files, and blocks of pages.
fn programs(folder: &str) -> Vec<(String, String)> {
    let mut found = vec![];
    for path in support::programs::under(folder, &["relay", "md"]) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let name = path.display().to_string();
        if path.extension().is_some_and(|extension| extension == "md") {
            let blocks = text.split("```relay\n").skip(1).filter_map(|rest| rest.split("\n```").next());
            found.extend(blocks.map(|text| (name.clone(), text.to_owned())));
        } else {
            found.push((name, text));
        }
    }
    found
}

/// The tokens but for commas, which come and go at the end of lists; `- >` is `->`.
fn words(text: &str) -> Vec<(Tok, String)> {
    let lexed = lex(FileId(0), text);
    let mut words: Vec<(Tok, String)> = vec![];
    for token in lexed.tokens.iter().filter(|token| token.tok != Tok::Comma) {
        let word = token.text(text).replace("\r\n", if token.tok == Tok::Metadata { "\n" } else { "\r\n" });
        match words.last_mut() {
            Some(last) if last.0 == Tok::Minus && token.tok == Tok::Gt => *last = (Tok::Arrow, "->".into()),
            _ => words.push((token.tok, word.trim_end().to_owned())),
        }
    }
    words
}

/// The comments without the blanks at the ends of their lines.
fn comments(text: &str) -> Vec<String> {
    let of = |span: &Span| text[span.start as usize..span.end as usize].lines().map(str::trim).collect::<Vec<_>>().join("\n");
    lex(FileId(0), text).comments.iter().map(of).collect()
}

/// The words of all comments in order of the alphabet: carets move with what they are under, and may pass a comment.
fn sorted(text: &str) -> Vec<String> {
    let mut comments: Vec<String> = comments(text).iter().map(|comment| comment.replace(['/', ' ', '^'], "")).collect();
    comments.sort();
    comments
}

#[test]
fn every_program_keeps_its_tokens_and_comments_and_settles_at_once() {
    let (mut n_programs, mut n_comments, mut n_wrong) = (0, 0, 0);
    for (name, text) in ["tests", "examples", "crates/base/src/diag/explain"].into_iter().flat_map(programs) {
        let Ok(once) = format(FileId(0), &text).inspect_err(|errors| {
            assert!(errors.iter().all(|error| error.code.id() < "E09"), "{name}: {errors:?}");
        }) else {
            n_wrong += 1;
            continue;
        };
        assert_eq!(words(&once), words(&text), "{name}");
        assert_eq!(sorted(&once), sorted(&text), "{name}");
        assert_eq!(format(FileId(0), &once).as_ref(), Ok(&once), "{name}, formatted twice");
        assert!(once.is_empty() || (once.ends_with('\n') && !once.ends_with("\n\n")), "{name}");
        n_programs += 1;
        n_comments += comments(&once).len();
    }
    println!("{n_programs} programs with {n_comments} comments; {n_wrong} texts have syntax errors");
    assert!(n_programs > 400 && n_comments > 1000, "{n_programs} programs, {n_comments} comments");
}

#[test]
fn every_program_can_be_upgraded_and_keeps_its_comments() {
    let (mut n_programs, mut n_upgraded) = (0, 0);
    for (name, text) in ["tests", "examples", "crates/base/src/diag/explain"].into_iter().flat_map(programs) {
        let Ok(today) = upgrade(FileId(0), &text).inspect_err(|errors| {
            assert!(errors.iter().all(|error| error.code.id() < "E09"), "{name}: {errors:?}");
        }) else {
            continue;
        };
        assert_eq!(sorted(&today), sorted(&text), "{name}");
        assert_eq!(format(FileId(0), &today).as_ref(), Ok(&today), "{name}, formatted");
        assert_eq!(upgrade(FileId(0), &today).as_ref(), Ok(&today), "{name}, upgraded twice");
        n_programs += 1;
        n_upgraded += usize::from(format(FileId(0), &text).as_ref() != Ok(&today));
    }
    println!("{n_programs} programs; {n_upgraded} were not today's");
    assert!(n_programs > 400 && n_upgraded > 10, "{n_programs} programs, {n_upgraded} upgraded");
}

/// Operators have changed since TVM 0.6; what is right today is left alone.
#[test]
fn no_call_of_today_is_taken_for_an_old_one() {
    let mut n_programs = 0;
    let folders = ["print", "ops", "infer", "kernels", "language", "passes"].map(|folder| format!("tests/golden/{folder}"));
    for (name, text) in folders.iter().flat_map(|folder| programs(folder)) {
        let (ast, diagnostics) = relayc_syntax::parse(FileId(0), text.as_str().into());
        if relayc_base::diag::has_errors(&diagnostics) {
            continue;
        }
        // A call that breaks a rule of today's may be right in an older TVM.
        if name.contains(".rules.") {
            continue;
        }
        let old = OldCalls::new(&ast).all();
        assert!(old.iter().all(|call| call.edits.is_empty()), "{name}: {old:?}");
        if name.contains("golden/print") {
            // A header is all that it may add.
            let new = upgrade(FileId(0), &text)
                .map(|new| if text.contains("#[version") { new } else { new.replacen("#[version = \"0.0.5\"]\n", "", 1) });
            assert_eq!(new, format(FileId(0), &text), "{name}");
        }
        n_programs += 1;
    }
    assert!(n_programs > 400, "{n_programs} programs");
}

/// What a test expects, it expects of the formatted program too: carets are still under the same text.
#[test]
fn formatted_tests_still_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = relayc_testing::Options {
        bless: false,
        strict: false,
        relayc: "relayc".into(),
        rerun: String::new(),
        bless_command: String::new(),
    };
    let mut n_tests = 0;
    for (i, (name, text)) in
        ["tests/golden/infer", "tests/golden/language", "examples"].into_iter().flat_map(programs).enumerate()
    {
        // What is printed is compared elsewhere, and messages name lines.
        let in_place = text.contains("//^") || text.contains(" ^");
        if !in_place || text.contains("] error") || text.contains("^ error[") || text.contains("^ warning[") {
            continue;
        }
        let Ok(formatted) = format(FileId(0), &text) else { continue };
        let head = if text.contains("infer") { formatted } else { format!("// test: infer\n{formatted}") };
        let head: String = head
            .lines()
            .map(|line| if line.contains("test:") { "// test: infer\n".into() } else { format!("{line}\n") })
            .collect();
        let path = folder.path().join(format!("{i}.relay"));
        std::fs::write(&path, head).expect("the folder can be written");
        for test in relayc_testing::collect(&path, false).expect("it is there") {
            let result = test.run(&options);
            // The carets are under an `if`, which takes several lines when it is formatted.
            if !name.ends_with("infer/branches.relay") {
                assert!(result.is_ok(), "{name}, formatted: {}", result.unwrap_err());
            }
            n_tests += 1;
        }
    }
    assert!(n_tests >= 10, "{n_tests} tests");
}

#[test]
fn every_example_is_formatted() {
    for (name, text) in programs("examples") {
        assert_eq!(format(FileId(0), &text), Ok(text.clone()), "{name}: run `relayc fmt` on it");
    }
}
