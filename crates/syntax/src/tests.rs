//! Tests of the parser as a whole.

use super::ast::{Ast, Root};
use super::parse;
use proptest::prelude::*;
use relayc_base::FileId;
use relayc_base::diag::{Code, Diagnostic, codes, has_errors};
use std::path::Path;

fn parsed(text: &str) -> (Ast, Vec<Diagnostic>) {
    parse(FileId(0), text.into())
}

/// Parses texts that TVM prints.
#[test]
fn printed_examples_parse() {
    let page = include_str!("../../../tests/data/relay-text-examples.md");
    let printed = page.split("\nprinted:\n```relay\n").skip(1).filter_map(|part| part.split_once("\n```"));
    let mut n = 0;
    for (text, _) in printed {
        let (_, diagnostics) = parsed(text);
        assert!(!has_errors(&diagnostics), "{text}\n{diagnostics:#?}");
        n += 1;
    }
    assert!(n > 100, "{n} printed texts");
}

#[test]
fn the_copy_of_the_examples_is_current() {
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec/relay-text-examples.md");
    let Ok(original) = std::fs::read_to_string(original) else { return };
    assert!(include_str!("../../../tests/data/relay-text-examples.md").ends_with(&original));
}

#[test]
fn conformance_texts_parse() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let Ok(kinds) = std::fs::read_dir(&root) else { return };
    for kind in kinds.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        for path in std::fs::read_dir(&kind).unwrap().flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.ends_with(".relay") {
                continue;
            }
            let broken = kind.ends_with("reject") && (name.starts_with("m-brace") || name.starts_with("m-paren"));
            let (ast, diagnostics) = parsed(&std::fs::read_to_string(&path).unwrap());
            assert_eq!(has_errors(&diagnostics), broken, "{}: {diagnostics:#?}", path.display());
            assert!(broken || !matches!(ast.root, Root::Error));
        }
    }
}

/// The codes and places (line, column) of the reports about a text.
fn problems(text: &str) -> Vec<String> {
    let mut sources = relayc_base::Sources::new();
    let file = sources.add("x", text);
    let (_, diagnostics) = parse(file, text.into());
    let shown = |d: &Diagnostic| {
        let (line, col) = sources.line_col(d.span()).unwrap();
        format!("{} {line}:{col} {}", d.code.id(), d.message)
    };
    diagnostics.iter().map(shown).collect()
}

/// The text in a page's block under a head.
fn block<'p>(page: &'p str, head: &str) -> Option<&'p str> {
    let (_, section) = page.split_once(&format!("\n## {head}\n\n```relay\n"))?;
    section.split_once("\n```").map(|(text, _)| text)
}

#[test]
fn pages_keep_their_word() {
    let ours = |code: &Code| code.id().starts_with("E00") || code.id().starts_with("E01") || code.id() == "W0001";
    for code in codes::ALL.iter().copied().filter(ours) {
        let page = code.page();
        assert!(page.starts_with(&format!("# {}: {}\n\n## What it means\n", code.id(), code.title())), "{code:?}");
        let (Some(wrong), Some(right)) = (block(page, "Wrong"), block(page, "Right")) else {
            // Bytes that are no text cannot be shown as text.
            assert_eq!(code.id(), "E0005");
            continue;
        };
        let found: Vec<Code> = parsed(wrong).1.iter().map(|d| d.code).collect();
        assert!(!found.is_empty() && found.iter().all(|found| *found == code), "{code:?}: {found:?}");
        assert_eq!(parsed(right).1, [], "{code:?}");
    }
}

/// One report for each mistake, at its place, and none that follows from another.
#[test]
fn independent_errors_are_reported_once_each() {
    let text = r#"#[version = "0.0.5"]
def @a(%x: int32) {
  let %a = %x +;
  let %b = add(%x 2);
  let %c = nn.relu %x);
  let %d = fn (%y: int32) { %y + };
  let %e = if (%c) { %x + } else { 1 };
  (%a, %b, %c, %d)
}
def @b(%x: Tensor[(2, 3) float32], %y: int32) -> { %x }
def c(%x: int32) { %x }
type T { A(int32 B }
defn @e() { 1 }
def @f(%x: int32) { match (%x) { A => 1 +, B 2, C => %x } }
def @g(%x: int32) { %x; }
"#;
    assert_eq!(
        problems(text),
        [
            "E0101 3:16 expected an expression, found `;`",
            "E0101 4:19 expected `)` or `,`, found `2`",
            "E0103 5:19 expected `(` after `relu`",
            "E0101 6:34 expected an expression, found `}`",
            "E0101 7:27 expected an expression, found `}`",
            "E0101 10:26 expected `,`, found `float32`",
            "E0101 10:50 expected a type, found `{`",
            "E0101 11:5 expected a global name, found `c`",
            "E0103 12:11 `(` is never closed",
            "E0101 13:1 expected a definition, found `defn`",
            "E0101 14:42 expected an expression, found `,`",
            "E0101 14:46 expected `(` or `=>`, found `2`",
            "E0101 15:24 expected an expression, found `}`",
        ]
    );
}

#[test]
fn names_of_other_frameworks_hold_double_colons() {
    let header = "#[version = \"0.0.5\"]\n";
    let text = "def @main(%x: int32, %aten::_convolution_0.weight: int32) { %x + %aten::_convolution_0.weight }";
    assert_eq!(problems(&format!("{header}{text}")), [] as [&str; 0]);
    let wrong = format!("{header}def @f(%x::Tensor[(2), int32]) {{ %x }}");
    assert_eq!(problems(&wrong), ["E0101 2:11 expected a type, found `:`"]);
}

#[test]
fn headers() {
    let (ast, diagnostics) = parsed("#[version = \"0.0.5\"]\n#[metadata] {\"a\": 1}\n");
    assert!(matches!(ast.root, Root::Module) && diagnostics.is_empty());
    assert_eq!(ast.metadata.map(|json| ast.text(json)), Some(" {\"a\": 1}\n"));
    assert_eq!(problems("v0.0.3\ndef @main() { 1 }"), ["E0106 1:1 expected version \"0.0.5\", found version v0.0.3"]);
    assert_eq!(problems("free_var %x: int32;\n%x"), [] as [&str; 0]);
    assert_eq!(problems("def @main() { 1 }"), ["W0001 1:1 a module without a version header"]);
    assert_eq!(problems("\u{feff}1"), ["E0001 1:1 a byte order mark"]);
}

/// Runs on a thread whose stack recursion over the input would overflow.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(work).unwrap();
    assert!(thread.join().is_ok());
}

#[test]
fn deep_nesting_needs_no_stack() {
    on_a_small_stack(|| {
        const N: usize = 100_000;
        let deep = |open: &str, middle: &str, close: &str| format!("{}{middle}{}", open.repeat(N), close.repeat(N));
        for (text, limited) in [
            (deep("(", "1", ")"), true),
            (deep("f(", "1", ")"), true),
            (deep("{", "1", "}"), true),
            (deep("if (%c) {", "1", "} else { 2 }"), true),
            (deep("fn () {", "1", "}"), true),
            (format!("let %x: {} = 1; %x", deep("(", "", ")")), true),
            (format!("let %x: {} = 1; %x", deep("ref(", "A", ")")), true),
            (format!("f(a={})", deep("[", "", "]")), true),
            (format!("match (%x) {{ {} => 1 }}", deep("(", "_", ")")), true),
            (deep("let %x = ", "1", "; 2"), false),
            (deep("1 + ", "1", ""), false),
            (format!("let %x: {} A = 1; %x", "fn () -> ".repeat(N)), false),
            (deep("%0 = ", "1", "; 2"), false),
            // Brackets without partners, in the middle of errors.
            ("(".repeat(N), true),
            (format!("{} {}", "(".repeat(4000), "+ ".repeat(N)), false),
            (format!("{} {}", "let %x = ".repeat(4000), "=> ".repeat(N)), false),
            ("f(] ".repeat(N), false),
            (")".repeat(N), false),
            ("}{".repeat(N), false),
        ] {
            let (_, diagnostics) = parsed(&text);
            let is_limited = diagnostics.iter().any(|d| d.code == codes::E0802);
            assert_eq!(is_limited, limited, "{:.40}: {:?}", text, diagnostics.first());
        }
    });
}

#[test]
fn long_texts_need_no_stack() {
    on_a_small_stack(|| {
        // A frame of 16 bytes for each line would take ten times the stack.
        let bindings = |line: fn(usize) -> String| (0..200_000).map(line).collect::<String>() + "%x";
        for text in [
            bindings(|n| format!("%{n} = add(%x, %y);\n")),
            bindings(|n| format!("let %v{n} = add(%x, %y);\n")),
            bindings(|_| "// comment\n".to_owned()),
            bindings(|_| "/* comment */".to_owned()),
            format!("f(%x, name=\"{}\")", "x".repeat(16 << 20)),
            format!("/*{}*/ %x", "/*/*/**/*/*/".repeat(200_000)),
        ] {
            let (ast, diagnostics) = parsed(&text);
            assert!(matches!(ast.root, Root::Expr(_)) && diagnostics.is_empty(), "{:.40}: {:?}", text, diagnostics.first());
        }
    });
}

/// Texts that a careless lexer reads again and again.
#[test]
fn lexing_is_linear() {
    for unit in [
        "-", "meta[", "#[", "\"\\\"\n", "\\\"\n", "/*", "&", "1e", "==", "\r", "%", "\u{fffd}", "metadata", "i", "//", "'", "a'",
        "\"\"\"", "f\"",
    ] {
        let start = std::time::Instant::now();
        let (_, diagnostics) = parsed(&unit.repeat(100_000));
        assert!(has_errors(&diagnostics) || unit == "i" || unit == "metadata" || unit == "//", "{unit:?}");
        assert!(start.elapsed().as_secs() < 3, "{unit:?} took {:?}", start.elapsed());
    }
}

/// Many errors, far more than are shown.
#[test]
fn reports_are_capped() {
    let text = "f(%x; +);\n".repeat(50_000) + "1";
    let (_, diagnostics) = parsed(&text);
    assert_eq!(diagnostics.len(), 100);
    assert!(diagnostics[99].notes.last().unwrap().ends_with("more problems, not shown"));
    let (_, diagnostics) = parsed(&"1+2;\n".repeat(50_000));
    assert!(diagnostics[99].notes.last().unwrap().contains(" 49901 more problems"), "{:?}", diagnostics[99].notes);
}

/// Parses any text and checks the invariants: no panic, places inside the text and on character boundaries, text order, and an
/// error wherever the tree is incomplete.
fn check_any(text: &str) {
    let (ast, diagnostics) = parsed(text);
    let mut last = 0;
    for diagnostic in &diagnostics {
        let edits = diagnostic.helps.iter().flat_map(|help| &help.edits).map(|edit| edit.span);
        for span in diagnostic.labels.iter().map(|label| label.span).chain(edits) {
            let (start, end) = (span.start as usize, span.end as usize);
            assert!(start <= end && text.is_char_boundary(start) && text.is_char_boundary(end), "{text:?}: {diagnostic:?}");
        }
        assert!(last <= diagnostic.span().start, "{text:?}: not in text order");
        last = diagnostic.span().start;
    }
    assert!(has_errors(&diagnostics) || !matches!(ast.root, Root::Error), "{text:?}: silent");
    let holes = ast.exprs.iter().any(|expr| matches!(expr.kind, super::ast::ExprKind::Error));
    assert!(has_errors(&diagnostics) || !holes, "{text:?}: silent hole");
}

/// Pieces that make text look like a program.
const SOUP: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    ";",
    ":",
    "?",
    "=",
    "=>",
    "->",
    "*",
    "/",
    "+",
    "-",
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
    "let ",
    "fn ",
    "def ",
    "if ",
    " else ",
    "type ",
    "match ",
    "match? ",
    "extern ",
    "free_var ",
    "ref",
    "ref_read",
    "ref_write",
    "True",
    "False",
    "Tensor",
    "_",
    "x",
    "nn.relu",
    "%x",
    "@f",
    "%0",
    "1",
    "-1",
    "2.5",
    "2f",
    "\"s\"",
    "\"",
    "meta[A][0]",
    "meta[",
    "#[version = \"0.0.5\"]\n",
    "#[metadata]",
    "#[",
    "/*",
    "*/",
    "//",
    "\n",
    " ",
    "\r",
    "&",
    "é",
    "%",
    "@",
    "let %a = 1;\n",
    "def @f() { 1 }\n",
    "if (%c) { 1 } else { 2 }",
    "%1 = f(%x, a=1);\n",
    "match (%x) { A => 1, B(%y) => %y }",
    "fn (%x: Tensor[(2, ?), float32]) -> int32 { %x }",
    "type T[A] { C(A), D }\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,60}") {
        check_any(&text);
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        check_any(&super::decode(FileId(0), &bytes).0);
    }

    #[test]
    fn any_tokens_are_survived(pieces in proptest::collection::vec(proptest::sample::select(SOUP), 0..60)) {
        check_any(&pieces.concat());
    }

    /// Inserts a piece into a good program or deletes a byte of it: parsing survives, with at most four reports.
    #[test]
    fn small_mistakes_give_few_reports(at in 21usize..PROGRAM.len(), piece in proptest::sample::select(SOUP), insert in any::<bool>()) {
        let mut text = PROGRAM.to_owned();
        if insert { text.insert_str(at, piece) } else { text.remove(at); }
        check_any(&text);
        // A comment, a string or a section that swallows half of the program, or a definition in the middle of another,
        // is no small mistake.
        if !["/*", "\"", "#[", "#[metadata]", "meta["].contains(&piece) && !piece.contains("def") && !piece.contains("type") {
            let found = problems(&text);
            prop_assert!(found.len() <= 4, "{text}\n{found:#?}");
        }
    }
}

/// A program with most of the language in it.
const PROGRAM: &str = r#"#[version = "0.0.5"]
type List[A] { Nil, Cons(A, List[A]) }
extern type Handle
def @main[A](%x: Tensor[(2, ?), float32], %l: List[A], %g: fn (int32) -> int32, Primitive=1) -> (int32, float32) {
  let %a: int32 = %g(1) + 2 * 3;
  %0 = nn.conv2d(%x, meta[relay.Constant][0], padding=[1, 1], data_layout="NCHW");
  %1 = if (%a < 4) { (%0, 1f).0 } else { let %b = exp(%0); %b };
  let %f = fn (%y: float32) -> float32 { multiply(%y, 2.5f) };
  let %r = ref(%a);
  ref_write(%r, 5);
  match (%l) {
    Nil => (ref_read(%r), %f(1f)),
    Cons(%h, _) => { (%a, 2f) }
  }
}
def @other(%t: (int32, int32)) { %t.0 - 1 }
"#;
