//! Promises, each tried on random programs: printing and reading back keeps the meaning; checking never panics, and every place
//! it names lies in the text; formatting keeps tokens and comments and settles at once. That printing and reading back is the
//! identity is tried in `roundtrip.rs`.

#[path = "support/mod.rs"]
mod support;

use proptest::prelude::*;
use relayc::base::FileId;
use relayc::diag::render::{Format, render};
use relayc::diag::{Diagnostic, Edit, Label};
use relayc::driver::bind::Bound;
use relayc::driver::run::{Limits, entry, interpret};
use relayc::driver::{Program, Until, check_text, show};
use relayc::fmt::{format, upgrade};
use relayc::syntax::lexer::lex;
use relayc::syntax::token::Tok;
use relayc::tensor::Tensor;
use relayc::types::DType;
use support::writer::{Purpose, write};

fn programs(purpose: Purpose) -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<u8>(), 0..400).prop_map(move |choices| write(&choices, purpose))
}

/// The programs of the golden tests: every construct, right and wrong.
fn goldens() -> Vec<String> {
    let paths = support::programs::under("tests/golden", &["relay"]);
    let mut texts: Vec<String> = paths.into_iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    texts.sort();
    texts
}

/// Broken pieces of text, whole signs and letters that are not ASCII among them.
fn wrong_programs() -> impl Strategy<Value = String> {
    const PIECES: [&str; 24] = [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ",",
        ";",
        "%",
        "@",
        "=",
        "let ",
        "fn ",
        "if ",
        "else",
        "match",
        "\"",
        "/*",
        "*/",
        "1e5",
        "é",
        "\u{1F600}",
        "%x",
        "#[metadata]",
    ];
    let edits = proptest::collection::vec((any::<u16>(), any::<u16>(), 0..4u8), 1..5);
    let base = prop_oneof![programs(Purpose::Read), proptest::sample::select(goldens())];
    (base, edits).prop_map(|(mut text, edits)| {
        for (at, what, how) in edits {
            let floor = |at: usize| (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let start = floor(usize::from(at) % (text.len() + 1));
            let end = floor((start + usize::from(what) % 12).min(text.len()));
            let piece = PIECES[usize::from(what) % PIECES.len()];
            match how {
                0 => text.insert_str(start, piece),
                1 => drop(text.drain(start..end.max(start))),
                2 => text.replace_range(start..end.max(start), piece),
                _ => {
                    let copied = text[start..end.max(start)].to_owned();
                    text.insert_str(start, &copied);
                }
            }
        }
        text
    })
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// The program, which must be right.
fn right(text: &str, until: Until) -> Program {
    let program = check_text("random", text, until);
    let said = render(&program.diagnostics, &program.sources, Format::Plain, false);
    assert!(said.is_empty(), "{text}\n{said}");
    program
}

/// What `@main` gives, or how it fails; as text, in which NaN is NaN.
fn value_of_main(program: &Program) -> String {
    let entry = entry(&program.module, "main").expect("there is a main");
    let of = |value: f64| Bound::Tensor(Tensor::full(DType::F32, &[2, 3], value).expect("tensors hold float32"));
    match interpret(program, &entry, vec![of(0.75), of(-1.25)], Limits::default()) {
        Ok(Bound::Tensor(tensor)) => format!("{tensor:?}"),
        Err(trap) => trap.code.id().to_owned(),
        other => panic!("a tensor, not {other:?}"),
    }
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn printing_keeps_the_meaning(text in programs(Purpose::Run)) {
        let program = right(&text, Until::Infer);
        let again = right(&show::print(&program, show::Options { types: true, meta: true, exact: false }), Until::Infer);
        prop_assert_eq!(value_of_main(&program), value_of_main(&again), "{}", text);
    }
}

/// Whether a place lies in the text and between its letters.
fn lies_in(text: &str, start: u32, end: u32) -> bool {
    let (start, end) = (start as usize, end as usize);
    start <= end && end <= text.len() && text.is_char_boundary(start) && text.is_char_boundary(end)
}

proptest! {
    #![proptest_config(config(384))]

    #[test]
    fn checking_never_panics_and_names_places_in_the_text(text in wrong_programs()) {
        let program = check_text("random", &text, Until::Infer);
        for Diagnostic { code, labels, helps, .. } in &program.diagnostics {
            for Label { span, .. } in labels {
                prop_assert!(lies_in(&text, span.start, span.end), "{code:?} at {span:?} of {text}");
            }
            for Edit { span, .. } in helps.iter().flat_map(|help| &help.edits) {
                prop_assert!(lies_in(&text, span.start, span.end), "{code:?} edits {span:?} of {text}");
            }
            prop_assert!(labels.iter().any(|label| label.primary), "{code:?} has no place in {text}");
        }
        for format in [Format::Human, Format::Plain, Format::Short, Format::Json] {
            let rendered = render(&program.diagnostics, &program.sources, format, true);
            prop_assert!(program.diagnostics.iter().all(|d| rendered.contains(d.code.id())));
        }
    }
}

/// Programs with comments and line breaks between any two tokens, so many as `density` says, and lines of any length.
fn commented_programs() -> impl Strategy<Value = String> {
    const GAPS: [&str; 16] = [
        " /* b */ ",
        " // l\n",
        "\n// own\n",
        "\n/* own */\n",
        "\n/* lead */ ",
        " /* trail */\n",
        "\n\n\n",
        "\n\n// far\n\n",
        "\r\n",
        "\n  /* a\n   * b */ ",
        " /* a\nb */\n",
        "\n//^^ up\n",
        " ",
        "\t",
        " /* b */ // l\n",
        " /* a comment that is so long that whatever it stands in cannot be on one line any more, I think */ ",
    ];
    let base = prop_oneof![programs(Purpose::Read), proptest::sample::select(goldens())];
    let gaps = proptest::collection::vec(any::<u16>(), 1..200);
    (base, gaps, 1..40usize).prop_map(|(text, gaps, density)| {
        let (mut out, mut end) = (String::new(), 0);
        for (token, gap) in lex(FileId(0), &text).tokens.iter().zip(gaps.iter().cycle()) {
            let (start, gap) = (token.start as usize, usize::from(*gap));
            out.push_str(&text[end..start]);
            if start > 0 && gap % 40 < density {
                out.push_str(GAPS[gap / 40 % GAPS.len()]);
            }
            end = token.end as usize;
            out.push_str(&text[start..end]);
        }
        out + &text[end..]
    })
}

/// The tokens but for commas, and the comments without blanks. Carets move with what they are under and are as many as that
/// is long, so they are left out of the comments and these sorted.
fn tokens_and_comments(text: &str) -> (Vec<Tok>, Vec<String>) {
    let lexed = lex(FileId(0), text);
    let is_arrow = |at: usize| lexed.tokens[at..].iter().take(2).map(|token| token.tok).eq([Tok::Minus, Tok::Gt]);
    let toks = lexed.tokens.iter().enumerate().filter(|(at, token)| token.tok != Tok::Comma && !is_arrow(*at));
    let toks = toks.map(|(at, token)| if at > 0 && is_arrow(at - 1) { Tok::Arrow } else { token.tok }).collect();
    let comment = |place: &relayc::base::Span| {
        let words: String = text[place.start as usize..place.end as usize].split_whitespace().collect();
        if words.starts_with("//^") { words.replace('^', "") } else { words }
    };
    let mut comments: Vec<String> = lexed.comments.iter().map(comment).collect();
    comments.sort();
    (toks, comments)
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn formatting_keeps_tokens_and_comments_and_settles_at_once(text in commented_programs()) {
        match format(FileId(0), &text) {
            Ok(once) => {
                prop_assert_eq!(tokens_and_comments(&once), tokens_and_comments(&text), "{} became {}", text, once);
                prop_assert_eq!(format(FileId(0), &once), Ok(once.clone()), "formatted twice, from {}", text);
                // The section is data.
                let mut program = once.lines().take_while(|line| !line.contains("#[metadata]"));
                prop_assert!(program.all(|line| !line.ends_with([' ', '\t'])), "blanks at the end of a line of {}", once);
            }
            // Some goldens are wrong on purpose, others are of older TVMs.
            Err(errors) => prop_assert!(errors.iter().all(|error| error.code.id() < "E09"), "{text}: {errors:?}"),
        }
        match upgrade(FileId(0), &text) {
            Ok(today) => {
                prop_assert_eq!(tokens_and_comments(&today).1, tokens_and_comments(&text).1, "{} became {}", text, today);
                prop_assert_eq!(format(FileId(0), &today), Ok(today.clone()), "upgraded, then formatted, from {}", text);
            }
            Err(errors) => prop_assert!(errors.iter().all(|error| error.code.id() < "E09"), "upgrading {text}: {errors:?}"),
        }
    }
}
