//! Promises, each tried on random programs: printing and reading back is the identity and keeps the meaning; checking
//! never panics, and every place it names lies in the text; formatting keeps tokens and comments and settles at once.

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
use std::path::Path;

/// Makes programs out of random numbers: each decides one choice, and none left means the simplest.
struct Writer<'a> {
    choices: std::slice::Iter<'a, u16>,
    text: String,
    indent: usize,
    n_names: usize,
    /// How many functions of one tensor may be called.
    n_funcs: usize,
}

/// The names in scope, by type: tensors of shape (2, 3), pairs of them, functions of one.
#[derive(Clone, Default)]
struct Scope {
    tensors: Vec<String>,
    pairs: Vec<String>,
    funcs: Vec<String>,
}

const TENSOR: &str = "Tensor[(2, 3), float32]";

impl Writer<'_> {
    fn choose(&mut self, n: usize) -> usize {
        self.choices.next().map_or(0, |&choice| usize::from(choice) % n)
    }

    fn pick(&mut self, names: &[String]) -> String {
        let at = self.choose(names.len());
        names[at].clone()
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(&"  ".repeat(self.indent));
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn name(&mut self, prefix: &str) -> String {
        self.n_names += 1;
        format!("%{prefix}{}", self.n_names)
    }

    fn module(&mut self) {
        self.line("#[version = \"0.0.5\"]");
        let n_funcs = self.choose(3);
        self.n_funcs = n_funcs;
        self.line(&format!("def @main(%a: {TENSOR}, %b: {TENSOR}) {{"));
        self.block(&Scope { tensors: vec!["%a".into(), "%b".into()], ..Scope::default() }, 0);
        self.line("}");
        for i in 0..n_funcs {
            // A function calls those above it, so that every program ends.
            self.n_funcs = i;
            self.line(&format!("def @f{i}(%x: {TENSOR}) {{"));
            self.block(&Scope { tensors: vec!["%x".into()], ..Scope::default() }, 1);
            self.line("}");
        }
    }

    /// Some bindings and a tensor.
    fn block(&mut self, scope: &Scope, depth: usize) {
        self.indent += 1;
        let mut scope = scope.clone();
        for _ in 0..self.choose(6) {
            self.binding(&mut scope, depth);
        }
        let value = self.tensor(&scope);
        self.line(&value);
        self.indent -= 1;
    }

    fn binding(&mut self, scope: &mut Scope, depth: usize) {
        // A graph variable is its expression wherever it is used, so inside a block it may not mention what is bound there.
        let is_let = depth > 0 || self.choose(2) == 0;
        let name = if is_let { self.name("v") } else { self.name("") };
        let (head, tail) = (if is_let { format!("let {name} = ") } else { format!("{name} = ") }, ";");
        match self.choose(if depth < 3 { 6 } else { 3 }) {
            0 | 1 => {
                let value = self.tensor(scope);
                self.line(&format!("{head}{value}{tail}"));
                scope.tensors.push(name);
            }
            2 => {
                let (a, b) = (self.tensor(scope), self.tensor(scope));
                self.line(&format!("{head}({a}, {b}){tail}"));
                scope.pairs.push(name);
            }
            3 | 4 => {
                let condition = ["True", "all(less(%x, %x))", "max(%x) > 0f"][self.choose(3)];
                let condition = condition.replace("%x", &self.pick(&scope.tensors));
                self.line(&format!("{head}if ({condition}) {{"));
                self.block(scope, depth + 1);
                self.line("} else {");
                self.block(scope, depth + 1);
                self.line(&format!("}}{tail}"));
                scope.tensors.push(name);
            }
            _ => {
                let param = self.name("p");
                self.line(&format!("{head}fn ({param}: {TENSOR}) {{"));
                let mut inner = scope.clone();
                inner.tensors.push(param);
                self.block(&inner, depth + 1);
                self.line(&format!("}}{tail}"));
                scope.funcs.push(name);
            }
        }
    }

    /// An expression that is a tensor.
    fn tensor(&mut self, scope: &Scope) -> String {
        let a = self.pick(&scope.tensors);
        match self.choose(13) {
            0 => a,
            1 => format!("nn.relu({a})"),
            2 => format!("{a} + {}", self.pick(&scope.tensors)),
            3 => format!("({a} - {}) * 0.5f", self.pick(&scope.tensors)),
            4 => format!("nn.leaky_relu({a}, alpha=0.1f)"),
            5 => format!("nn.softmax(tanh({a}), axis={})", self.choose(2)),
            6 => format!("transpose(reshape({a}, newshape=[3, -1]), axes=[1, 0])"),
            7 => format!("clip({a}, a_min=-1f, a_max=2.5f)"),
            8 if !scope.pairs.is_empty() => format!("{}.{}", self.pick(&scope.pairs), self.choose(2)),
            9 if !scope.funcs.is_empty() => format!("{}({a})", self.pick(&scope.funcs)),
            10 if self.n_funcs > 0 => format!("@f{}({a})", self.choose(self.n_funcs)),
            11 => format!("cast(cast({a}, dtype=\"int8\"), dtype=\"float32\")"),
            _ => format!("add({a}, mean({a}, axis=[1], keepdims=True))"),
        }
    }
}

fn write(choices: &[u16]) -> String {
    let mut writer = Writer { choices: choices.iter(), text: String::new(), indent: 0, n_names: 0, n_funcs: 0 };
    writer.module();
    writer.text
}

fn programs() -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<u16>(), 0..160).prop_map(|choices| write(&choices))
}

/// The programs of the golden tests: every construct, right and wrong.
fn goldens() -> Vec<String> {
    let mut texts = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("the goldens are there").flatten().map(|entry| entry.path()) {
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "relay" => texts.extend(std::fs::read_to_string(path)),
                _ => {}
            }
        }
    }
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
    let base = prop_oneof![programs(), proptest::sample::select(goldens())];
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

fn value_of_main(program: &Program) -> Tensor {
    let entry = entry(&program.module, "main").expect("there is a main");
    let of = |value: f64| Bound::Tensor(Tensor::full(DType::F32, &[2, 3], value).expect("tensors hold float32"));
    match interpret(program, &entry, vec![of(0.75), of(-1.25)], Limits::default()) {
        Ok(Bound::Tensor(tensor)) => tensor,
        other => panic!("a tensor, not {other:?}"),
    }
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn printing_and_reading_back_is_the_identity(text in programs()) {
        for (types, until) in [(false, Until::Resolve), (true, Until::Infer)] {
            let options = show::Options { types, meta: true, exact: false };
            let printed = show::print(&right(&text, until), options);
            let again = show::print(&right(&printed, until), options);
            prop_assert_eq!(&printed, &again, "from {}", text);
        }
    }

    #[test]
    fn printing_keeps_the_meaning(text in programs()) {
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
    let base = prop_oneof![programs(), proptest::sample::select(goldens())];
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

/// The tokens but for commas, and the comments with blanks as one.
fn tokens_and_comments(text: &str) -> (Vec<Tok>, Vec<String>) {
    let lexed = lex(FileId(0), text);
    let is_arrow = |at: usize| lexed.tokens[at..].iter().take(2).map(|token| token.tok).eq([Tok::Minus, Tok::Gt]);
    let toks = lexed.tokens.iter().enumerate().filter(|(at, token)| token.tok != Tok::Comma && !is_arrow(*at));
    let toks = toks.map(|(at, token)| if at > 0 && is_arrow(at - 1) { Tok::Arrow } else { token.tok }).collect();
    let comment = |place: &relayc::base::Span| text[place.start as usize..place.end as usize].split_whitespace().collect();
    (toks, lexed.comments.iter().map(comment).collect())
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
