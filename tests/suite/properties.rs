//! Property tests on random programs. Printing and reading back keeps the meaning. Checking never panics, and its places lie in
//! the text. Formatting keeps tokens and comments and is idempotent.
//!
//! `roundtrip.rs` tests that printing and reading back is the identity.

use crate::support;
use crate::support::writer::{Purpose, write};
use proptest::prelude::*;
use relayc_base::FileId;
use relayc_base::diag::render::{Format, render};
use relayc_base::diag::{Diagnostic, Edit, Label, codes};
use relayc_driver::bind::Bound;
use relayc_driver::run::{Limits, entry, interpret};
use relayc_driver::{Phase, Program, check_text, show};
use relayc_ir::print::literal;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_syntax::fmt::{format, upgrade};
use relayc_syntax::lexer::lex;
use relayc_syntax::token::Tok;

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
fn right(text: &str, until: Phase) -> Program {
    let program = check_text("random", text, until);
    // The writer leaves commas out.
    let told: Vec<_> = program.diagnostics.iter().filter(|diagnostic| diagnostic.code != codes::W0021).cloned().collect();
    let said = render(&told, &program.sources, Format::Plain, false);
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
        let program = right(&text, Phase::Infer);
        let again = right(&show::print(&program, show::Options { types: true, meta: true, exact: false, dim_names: false }), Phase::Infer);
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
        let program = check_text("random", &text, Phase::Infer);
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
    let comment = |place: &relayc_base::Span| {
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

/// The extremes of every dtype with literals, and numbers between them and those that round to infinity.
const EDGES: [f64; 20] = [
    f64::MAX,
    1.7976931348623155e308,
    3.4028235677973362e38,
    3.4028234663852886e38,
    3.4028235e38,
    65519.999,
    65504.0,
    65488.0,
    2.2250738585072014e-308,
    2.225073858507201e-308,
    5e-324,
    1.1754943508222875e-38,
    1.401298464324817e-45,
    6.103515625e-05,
    5.960464477539063e-08,
    9.223372036854776e18,
    1.0,
    0.0,
    f64::INFINITY,
    f64::NAN,
];

/// A scalar of each dtype with these bits.
fn of_bits(bits: u64) -> [Tensor; 6] {
    [
        Tensor::scalar(bits as i16),
        Tensor::scalar(bits as i32),
        Tensor::scalar(bits as i64),
        Tensor::scalar(half::f16::from_bits(bits as u16)),
        Tensor::scalar(f32::from_bits(bits as u32)),
        Tensor::scalar(f64::from_bits(bits)),
    ]
}

/// A scalar of each float dtype with this value.
fn of_value(value: f64) -> [Tensor; 3] {
    [Tensor::scalar(half::f16::from_f64(value)), Tensor::scalar(value as f32), Tensor::scalar(value)]
}

/// A printed scalar reads back: with all digits as the same number, with the six digits of TVM as one that prints the same.
fn scalars_read_back(scalars: &[Tensor]) -> Result<(), String> {
    for exact in [false, true] {
        let (scalars, texts): (Vec<&Tensor>, Vec<String>) =
            scalars.iter().filter_map(|scalar| Some((scalar, literal(scalar, exact)?))).unzip();
        let program = check_text("numbers", &format!("({},)", texts.join(", ")), Phase::Infer);
        let said: Vec<&String> = program.diagnostics.iter().map(|diagnostic| &diagnostic.message).collect();
        let read: Vec<&Tensor> = program.module.consts.iter().collect();
        if !said.is_empty() || read.len() != texts.len() {
            return Err(format!("{} of {} numbers are read back: {said:?}", read.len(), texts.len()));
        }
        for ((scalar, text), read) in scalars.into_iter().zip(&texts).zip(read) {
            let same = if exact { same_scalar(scalar, read) } else { literal(read, false).as_ref() == Some(text) };
            if !same {
                return Err(format!("{} reads back as {} from {text}", scalar.preview(), read.preview()));
            }
        }
    }
    Ok(())
}

/// A printed attribute reads back. It is a double even with the suffix of a float32.
fn attributes_read_back(values: &[f64]) -> Result<(), String> {
    for value in values.iter().filter(|value| value.is_finite()) {
        let text = format!("free_var %x: Tensor[(2), float32];\nclip(%x, a_min={value:e}f64, a_max=1f)");
        for exact in [false, true] {
            let print =
                |program: &Program| show::print(program, show::Options { types: false, meta: true, exact, dim_names: false });
            let printed = print(&check_text("attribute", &text, Phase::Infer));
            let again = check_text("printed", &printed, Phase::Infer);
            let said: Vec<&String> = again.diagnostics.iter().map(|diagnostic| &diagnostic.message).collect();
            if !said.is_empty() || print(&again) != printed {
                return Err(format!("{printed}\nreads back as {}: {said:?}", print(&again)));
            }
        }
    }
    Ok(())
}

/// Compares bits; a literal of a NaN has only a sign.
fn same_scalar(a: &Tensor, b: &Tensor) -> bool {
    let nan = |tensor: &Tensor| tensor.to_f64s().first().is_some_and(|value| value.is_nan());
    a.dtype() == b.dtype() && (a.to_le_bytes() == b.to_le_bytes() || (a.dtype().is_float() && nan(a) && nan(b)))
}

#[test]
fn numbers_at_the_edges_read_back() {
    let signed: Vec<f64> = EDGES.iter().flat_map(|&value| [value, -value]).collect();
    attributes_read_back(&signed).expect("attributes");
    let least = [i64::MIN as u64, i64::MAX as u64, i32::MIN as u64, i32::MAX as u64, i16::MIN as u64, i16::MAX as u64];
    let scalars = signed.iter().copied().flat_map(of_value).chain(least.into_iter().flat_map(of_bits));
    scalars_read_back(&scalars.collect::<Vec<_>>()).expect("the edges");
    let halves = (0..=u16::MAX).map(|bits| Tensor::scalar(half::f16::from_bits(bits)));
    scalars_read_back(&halves.collect::<Vec<_>>()).expect("every float16");
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn numbers_read_back_whatever_their_bits(bits in proptest::collection::vec(any::<u64>(), 64)) {
        let near = |bits: &u64| EDGES[*bits as usize % EDGES.len()] * (1.0 + (*bits >> 32) as f64 / 2f64.powi(52));
        let values: Vec<f64> = bits.iter().flat_map(|bits| [near(bits), f64::from_bits(*bits)]).collect();
        let scalars = bits.iter().copied().flat_map(of_bits).chain(values.iter().copied().flat_map(of_value));
        scalars_read_back(&scalars.collect::<Vec<_>>()).map_err(TestCaseError::fail)?;
        attributes_read_back(&values).map_err(TestCaseError::fail)?;
    }
}
