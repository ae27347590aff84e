//! Printing and reading back is the identity: on modules that cover the language, and on every available text that TVM wrote.
//!
//! The canonical text of a module reads back as the same module and prints as the same bytes, as written and with inferred
//! types. Numbers of generated modules have few enough digits to survive printing (language 5.5).

use crate::support::promises::round_trip;
use crate::support::seeds::seeds;
use crate::support::writer::{Purpose, choices, write};
use rayon::prelude::*;
use relayc_base::FileId;
use relayc_base::diag::{Diagnostic, codes};
use relayc_driver::{Phase, Program, check_text};
use relayc_syntax::lexer::lex;
use relayc_syntax::token::{TERMINALS, Tok, name};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

/// Says a number that matters on the terminal, whatever a test runner captures.
fn say(words: String) {
    writeln!(std::io::stderr(), "{words}").expect("the terminal can be written to");
}

#[test]
fn generated_modules() {
    let seeds = seeds(20_000);
    let bytes: Result<Vec<usize>, String> = seeds
        .clone()
        .into_par_iter()
        .map(|seed| {
            let text = write(&choices(seed), Purpose::Read);
            let both = round_trip(&text, false).and_then(|()| round_trip(&text, true));
            both.map(|()| text.len()).map_err(|why| format!("module {seed}:\n{why}"))
        })
        .collect();
    match bytes {
        Ok(bytes) => say(format!("round trip: modules of the seeds {seeds:?}, {} bytes", bytes.iter().sum::<usize>())),
        Err(why) => panic!("{why}"),
    }
}

/// Names of variants, without what is in them.
fn variant(value: impl std::fmt::Debug) -> String {
    format!("{value:?}").chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// What a text is made of: tokens, nodes of the syntax tree, comments.
fn constructs(text: &str) -> BTreeSet<String> {
    let file = FileId(0);
    let lexed = lex(file, text);
    let (ast, _) = relayc_syntax::parse(file, text.into());
    let mut found: BTreeSet<String> = lexed.tokens.iter().map(|token| format!("token {}", name(token.tok))).collect();
    found.extend(lexed.comments.iter().map(|place| format!("comment {}", &text[place.start as usize..][..2])));
    found.extend(ast.exprs.iter().map(|expr| format!("expression {}", variant(expr.kind))));
    found.extend(ast.stmts.iter().map(|stmt| format!("statement {}", variant(stmt.kind))));
    found.extend(ast.types.iter().map(|ty| format!("type {}", variant(ty.kind))));
    found.extend(ast.pats.iter().map(|pat| format!("pattern {}", variant(pat.kind))));
    found.extend(ast.values.iter().map(|value| format!("attribute {}", variant(value.kind))));
    found
}

/// The generator covers the language: all tokens and all nodes of the syntax tree, but those of wrong text, of text of older
/// versions and of bare expressions, and the tokens for statements and definitions that were read before.
#[test]
fn the_generated_modules_cover_the_language() {
    let found: BTreeSet<String> = (1..2_000).flat_map(|seed| constructs(&write(&choices(seed), Purpose::Read))).collect();
    let unwritten = [Tok::Caret, Tok::Bad, Tok::Hole, Tok::Known, Tok::KnownDefs, Tok::Module, Tok::Expr, Tok::FreeVar];
    let tokens = TERMINALS.iter().filter(|(tok, ..)| !unwritten.contains(tok)).map(|(tok, ..)| format!("token {}", name(*tok)));
    let nodes = [
        "expression Int Float Bool Local Global Graph Meta Name Tuple Paren Proj Call Binary Fn If Block Seq Match RefNew RefRead RefWrite",
        "statement Graph Let Expr",
        "type Tensor Tuple Fn Name Ref Infer",
        "pattern Wildcard Local Ctor Tuple",
        "attribute Str List Paren Expr",
        "comment // /*",
    ];
    let nodes = nodes.iter().flat_map(|line| {
        let (kind, names) = line.split_once(' ').expect("a kind and names");
        names.split(' ').map(move |name| format!("{kind} {name}"))
    });
    let missing: Vec<String> = tokens.chain(nodes).filter(|construct| !found.contains(construct)).collect();
    assert!(missing.is_empty(), "never written: {missing:?}");
}

/// Printed text names no sizes, and its numbers need not fit an int32.
#[test]
fn sizes_in_attributes_and_dimensions_that_no_int32_holds() {
    let texts = [
        "def @main(%x: Tensor[(n), float32]) { zeros(shape=[n], dtype=\"float32\") }",
        "def @main(%x: Tensor[(h), float32]) { ones(shape=[(h / 2), 3], dtype=\"float32\") }",
        "def @main(%x: Tensor[(n, 4), float32]) { reshape(%x, newshape=[(2*n), 2]) }",
        "def @main(%x: Tensor[(n), float32], %y: Tensor[(1), float32]) { broadcast_to(%y, shape=[n]) }",
        "def @main(%x: Tensor[(n), float32], %y: Tensor[(1), float32]) { tile(%y, reps=[n]) }",
        "def @main(%x: Tensor[(4), float32]) { nn.pad(%x, 0f, pad_width=[[0, 4294967296]]) }",
    ];
    for text in texts {
        let text = format!("#[version = \"0.0.5\"]\n{text}\n");
        for types in [false, true] {
            round_trip(&text, types).unwrap_or_else(|why| panic!("{text}{why}"));
        }
    }
}

/// The texts of a folder and those under it, with their paths.
fn texts_under(folder: &Path) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("the folder can be read").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "relay") {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                texts.push((path.display().to_string(), text));
            }
        }
    }
    texts.sort();
    texts
}

/// What a program needs that does not exist yet: operators, and attributes where a function is called.
fn missing(program: &Program) -> BTreeSet<String> {
    let missing = |d: &Diagnostic| {
        let attrs = d.code == codes::E0405 && d.message.contains("a call of a function");
        let operator = d.message.split('`').nth(1).filter(|_| d.code == codes::E0204);
        operator.or(attrs.then_some("(attributes of functions)")).map(str::to_owned)
    };
    program.diagnostics.iter().filter_map(missing).collect()
}

/// Every text that TVM wrote reads, prints and reads back. Texts whose operators do not exist yet are counted and named;
/// those in `reject/` are wrong, and so is nothing else.
#[test]
fn texts_of_tvm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/conformance");
    if !folder.is_dir() {
        return say("round trip: the texts of TVM are not here".to_owned());
    }
    let mut operators: BTreeMap<String, usize> = BTreeMap::new();
    let (mut n_right, mut n_typed, mut n_waiting, mut n_wrong) = (0, 0, 0, 0);
    let mut failures = Vec::new();
    for (path, text) in texts_under(&folder) {
        let program = check_text("read", &text, Phase::Resolve);
        let unknown = missing(&program);
        if !unknown.is_empty() {
            n_waiting += 1;
            unknown.into_iter().for_each(|operator| *operators.entry(operator).or_default() += 1);
        } else if path.contains("/reject/") && program.has_errors() {
            n_wrong += 1;
        } else {
            n_right += 1;
            // TVM prints programs that have no types too.
            let has_types = !check_text("read", &text, Phase::Infer).has_errors();
            n_typed += usize::from(has_types);
            let found = round_trip(&text, false).and_then(|()| if has_types { round_trip(&text, true) } else { Ok(()) });
            failures.extend(found.err().map(|why| format!("{path}: {why}")));
        }
    }
    let names: Vec<String> = operators.iter().map(|(name, n)| format!("{name} {n}")).collect();
    say(format!(
        "round trip: {n_right} texts of TVM, {n_typed} with types; {n_wrong} are wrong on purpose; {n_waiting} wait for operators: {}",
        names.join(", ")
    ));
    assert!(failures.is_empty(), "{} of {n_right}\n{}", failures.len(), failures.join("\n\n"));
}
