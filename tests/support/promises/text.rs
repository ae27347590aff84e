//! Promises of texts that are built: of tokens, with metadata, with messages.

use super::super::choices::Choices;
use super::super::counted::within;
use super::super::writer::{Purpose, write};
use super::{EXTREMES, check, mutated, places_lie_in, repository};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use relayc_base::FileId;
use relayc_base::diag::render::{Format, render};
use relayc_driver::{Phase, check_text, show};
use relayc_syntax as syntax;
use serde_json::Value;
use std::sync::OnceLock;

/// Tokens.
const TOKENS: &str = r#"
    ( ) [ ] { } , . ; : ? = => -> * / + - < <= > >= == != let fn def if else type match match? extern free_var ref ref_read
    ref_write True False Tensor _ add nn.relu shape_of float32 int64 bool axis A Cons Nil List %x %y %a.b %0 %1 %7 @main @f
    0 1 2 340282366920938463463374607431768211456 1i64 0.5f 1e+06f 2f64 inff nanf16 "s" "\"\u{e9}" meta[relay.Constant][0]
    meta[tir.Var][1] #[metadata] ^ $
"#;

/// Comments, and beginnings of constructs, with blanks between their tokens.
const PIECES: [&str; 33] = [
    "#[version = \"0.0.5\"]",
    "// x\n",
    "/* x */",
    "def @main (",
    "def @main ( ) {",
    "def @f [ A ] ( %x : A ) -> A {",
    "type List [ A ] { Cons ( A , List [ A ] ) , Nil }",
    "let %x =",
    "%0 =",
    "%1 = add ( %x , %0 ) ;",
    "%x : Tensor [ ( 2 , 3 ) , float32 ]",
    "( %x : float32 , %y : float32 )",
    ": Tensor [ ( ) , float32 ]",
    ": ( float32 , ( ) )",
    ": fn ( float32 ) -> float32",
    ": ref ( float32 )",
    "Tensor [ ( ? , n ) , int64 ]",
    "fn ( %x ) {",
    "if ( True ) {",
    "} else {",
    "match ( %x ) {",
    "Cons ( %x , _ ) => {",
    "Nil =>",
    "( 1f , 2f )",
    ". 0",
    "add ( 1f , 2f )",
    "concatenate ( ( %x , %y ) , axis = 0 )",
    "sum ( %x , axis = [ 0 , 1 ] , keepdims = True )",
    "cast ( %x , dtype = \"int64\" )",
    "@f ( %x )",
    "free_var %x : float32 ;",
    "ref_write ( %x , 1f )",
    "} )",
];

/// Tokens in any order are all read, and a text of them is checked.
pub fn parse_tokens(choices: &[u8]) {
    static SOUP: OnceLock<Vec<&str>> = OnceLock::new();
    let soup = SOUP.get_or_init(|| TOKENS.split_ascii_whitespace().chain(PIECES).collect());
    let text = choices.iter().map(|&choice| soup[usize::from(choice) % soup.len()]).collect::<Vec<_>>().join(" ");
    // A comment ends at its line or at its mark, and the section of metadata takes all behind it.
    if !["//", "/*", "#["].iter().any(|other| text.contains(other)) {
        let lexed = syntax::lexer::lex(FileId(0), &text);
        let tokens = lexed.tokens.iter().map(|token| &text[token.start as usize..token.end as usize]);
        let read: String = tokens.flat_map(str::split_ascii_whitespace).collect();
        assert_eq!(read, text.split_ascii_whitespace().collect::<String>(), "not all of {text}");
    }
    check(&text);
}

/// Where the section of metadata begins in a text.
const SECTION: &str = "#[metadata]";

/// Nodes of JSON, their containers before them.
fn nth(json: &mut Value, mut n: usize) -> Option<&mut Value> {
    let mut left = vec![json];
    while let Some(node) = left.pop() {
        if n == 0 {
            return Some(node);
        }
        n -= 1;
        match node {
            Value::Array(items) => left.extend(items.iter_mut()),
            Value::Object(members) => left.extend(members.values_mut()),
            _ => {}
        }
    }
    None
}

fn count(json: &Value) -> usize {
    let (mut left, mut n) = (vec![json], 0);
    while let Some(node) = left.pop() {
        n += 1;
        match node {
            Value::Array(items) => left.extend(items),
            Value::Object(members) => left.extend(members.values()),
            _ => {}
        }
    }
    n
}

const WORDS: [&str; 12] = [
    "",
    "x",
    "float32",
    "relay.Constant",
    "tir.Var",
    "IntImm",
    "Array",
    "Map",
    "VirtualDevice",
    "runtime.String",
    "\u{1b}\u{202e}",
    "bool",
];

/// Another node in the place of one: a changed number or word, other bytes, fewer or more items.
fn edited(node: &mut Value, choices: &mut Choices, other: Value) {
    let how = choices.one(8);
    match node {
        _ if how == 0 => *node = other,
        Value::Array(items) if how < 4 && !items.is_empty() => drop(items.remove(choices.one(items.len()))),
        Value::Array(items) => items.push(other),
        Value::Object(members) if how < 4 => {
            let key = members.keys().nth(choices.one(members.len())).cloned();
            if let Some(key) = key {
                members.remove(&key);
            }
        }
        Value::Object(members) => drop(members.insert(choices.of(&WORDS).to_owned(), other)),
        Value::Number(_) => *node = choices.of(&EXTREMES).into(),
        Value::String(word) => match STANDARD.decode(&*word) {
            // The bytes of a tensor: most of their meaning is at the beginning.
            Ok(mut bytes) if word.len() >= 40 && how < 7 => {
                match how {
                    1 => bytes.truncate(choices.wide(bytes.len())),
                    2 => bytes.resize(bytes.len() + choices.one(9), 0),
                    _ => {
                        let (at, byte) = (choices.one(80.min(bytes.len())), choices.one(256));
                        bytes[at] = byte as u8;
                    }
                }
                *word = STANDARD.encode(bytes);
            }
            _ if how < 4 => *word = choices.of(&EXTREMES).to_string(),
            _ if how < 6 => *word = choices.one(16).to_string(),
            _ => *word = choices.of(&WORDS).to_owned(),
        },
        _ => *node = other,
    }
}

/// The largest text whose metadata is edited.
const MOST: usize = 1 << 15;

/// The programs of the repository with metadata, in front of the section and the section.
fn with_metadata() -> &'static [(String, Value)] {
    static PROGRAMS: OnceLock<Vec<(String, Value)>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let texts = repository().iter().filter(|text| text.len() <= MOST);
        texts.filter_map(|text| parts(std::str::from_utf8(text).ok()?)).collect()
    })
}

fn parts(text: &str) -> Option<(String, Value)> {
    let (front, section) = text.split_once(SECTION)?;
    Some((front.to_owned(), serde_json::from_str(section).ok()?))
}

/// A program whose metadata was damaged, as JSON and as base64, is checked; what is right of them is printed, and reads back as what
/// prints the same.
pub fn meta_section(choices: &[u8]) {
    let mut choices = Choices::new(choices);
    let known = with_metadata();
    let at = choices.wide(2 * known.len());
    let n_edits = 1 + choices.one(4);
    let edits: Vec<[u8; 8]> = (0..n_edits).map(|_| std::array::from_fn(|_| choices.one(256) as u8)).collect();
    let (front, mut json) = match known.get(at) {
        Some(program) => program.clone(),
        None => parts(&write(choices.rest(), Purpose::Read)).unwrap_or_else(|| known[at - known.len()].clone()),
    };
    for edit in edits {
        let mut choices = Choices::new(&edit);
        let n = count(&json);
        let (at, from) = (choices.wide(n), choices.wide(n));
        let other = nth(&mut json, from).cloned().filter(|other| other.is_string() || other.is_number());
        if let Some(node) = nth(&mut json, at) {
            edited(node, &mut choices, other.unwrap_or(Value::Null));
        }
    }
    let text = format!("{front}{SECTION}\n{json}\n");
    let program = within(text.len(), || check(&text));
    if program.has_errors() {
        return;
    }
    let exact = show::Options { types: false, meta: true, exact: true, dim_names: false };
    let printed = show::print(&program, exact);
    let again = check_text("printed", &printed, Phase::Infer);
    assert!(!again.has_errors(), "{text}\nis printed as\n{printed}\n{:?}", again.diagnostics);
    assert_eq!(printed, show::print(&again, exact), "{text}\nis printed as the first, which is printed as the second");
}

/// What is said of a damaged program is shown in every format: nothing in it controls a terminal, and JSON is one object a line.
pub fn diag_render(choices: &[u8]) {
    let text = String::from_utf8_lossy(&mutated(repository(), choices)).into_owned();
    let program = check_text("a \u{1b}[31mname\r\u{202e}\u{7}", &text, Phase::Main);
    places_lie_in(&text, &program.diagnostics);
    for color in [false, true] {
        for format in [Format::Human, Format::Plain, Format::Short, Format::Json] {
            let shown = render(&program.diagnostics, &program.sources, format, color);
            if format == Format::Json {
                let lines: Vec<Value> = shown
                    .lines()
                    .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}\nof {text}")))
                    .collect();
                let codes = lines.iter().map(|line| line["code"].as_str());
                assert!(codes.eq(program.diagnostics.iter().map(|diagnostic| Some(diagnostic.code.id()))), "{shown}\nof {text}");
            }
            // A reader of JSON escapes what it shows.
            let hostile = |c: char| c.is_control() && c != '\n' && format != Format::Json;
            assert!(color || !shown.contains(hostile), "{format:?} shows control characters: {shown:?}\nof {text}");
        }
    }
}
