//! Large and deep programs run on a stack of 256 KiB: nothing recurses over its input (architecture 3.1).
//!
//! The sizes are those of the promise, also in the development profile: a chain of 1,000,000 bindings, and nesting just below
//! the limit of 4,096 brackets.

use relayc_base::FileId;
use relayc_base::diag::render::{Format, render};
use relayc_driver::optimise::{MAX_LEVEL, PassPlan, Target, UNTIL, optimise};
use relayc_driver::{Phase, check_text, show};
use relayc_syntax::fmt::format;
use std::fmt::Write;

const STACK: usize = 256 << 10;
const DEPTH: usize = 4_000;

/// Reads, checks, prints, formats and drops a program on a small stack; gives the text printed.
fn round(text: String) -> String {
    let run = move || {
        let formatted = format(FileId(0), &text).expect("it has no errors");
        // Twice where that is not the same as once for a long time.
        assert!(text.len() > 1 << 20 || format(FileId(0), &formatted).as_ref() == Ok(&formatted));
        let program = check_text("large", &text, Phase::Lint);
        let said = render(&program.diagnostics, &program.sources, Format::Short, false);
        assert!(said.is_empty(), "{said:.1000}");
        show::print(&program, show::Options::default())
    };
    std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread").join().expect("no overflow")
}

/// A module with one function.
fn main_of(params: &str, body: &str) -> String {
    format!("#[version = \"0.0.5\"]\ndef @main({params}) {{\n{body}\n}}\n")
}

#[test]
fn a_million_graph_bindings() {
    let mut body = String::from("%0 = nn.relu(%x);\n");
    for i in 1..1_000_000 {
        writeln!(body, "%{i} = nn.relu(%{});", i - 1).expect("a string takes all");
    }
    body.push_str("nn.relu(%999999)");
    let printed = round(main_of("%x: Tensor[(2), float32]", &body));
    assert_eq!(printed.lines().count(), 1_000_004);
}

#[test]
fn a_million_lets() {
    let mut body = String::from("let %v0 = nn.relu(%x);\n");
    for i in 1..1_000_000 {
        writeln!(body, "let %v{i} = nn.relu(%v{});", i - 1).expect("a string takes all");
    }
    body.push_str("%v999999");
    let printed = round(main_of("%x: Tensor[(2), float32]", &body));
    assert_eq!(printed.lines().count(), 1_000_004);
}

#[test]
fn a_long_chain_of_infix_operators() {
    let body = "%x".to_owned() + &" + %x".repeat(200_000);
    assert_eq!(round(main_of("%x: float32", &body)).lines().count(), 200_003);
}

/// `open` and `close`, `n` times around `inside`.
fn nested(open: &str, inside: &str, close: &str, n: usize) -> String {
    open.repeat(n) + inside + &close.repeat(n)
}

#[test]
fn deep_parentheses() {
    let printed = round(main_of("%x: float32", &nested("(", "%x", ")", DEPTH)));
    assert!(printed.ends_with("{\n  %x\n}\n"));
}

#[test]
fn deep_calls() {
    round(main_of("%x: Tensor[(2), float32]", &nested("nn.relu(", "%x", ")", DEPTH)));
}

#[test]
fn deep_tuples() {
    round(main_of("%x: float32", &nested("(", "%x", ",)", DEPTH)));
}

#[test]
fn deep_branches() {
    round(main_of("%c: bool, %x: float32", &nested("if (%c) { ", "%x", " } else { %x }", DEPTH)));
}

#[test]
fn deep_functions() {
    round(main_of("%x: float32", &nested("fn () { ", "%x", " }", DEPTH)));
}

#[test]
fn deep_blocks() {
    round(main_of("%x: float32", &nested("{ ", "%x", " }", DEPTH)));
}

#[test]
fn deep_tuple_types() {
    round(main_of(&format!("%x: {}", nested("(", "float32", ",)", DEPTH)), "%x"));
}

#[test]
fn deep_function_types() {
    round(main_of(&format!("%x: {}", nested("fn (", "float32", ") -> float32", DEPTH)), "%x"));
}

#[test]
fn deep_lets_in_values() {
    // Each value is a block with a binding of its own.
    round(main_of("%x: float32", &nested("let %y = { ", "%x", " }; %y", DEPTH)));
}

/// `arange` with an attribute that is a chain of calls.
#[test]
fn deep_expressions_in_attributes() {
    const N: usize = 20_000;
    let mut section = String::from(
        r#"
#[metadata]
{"root": 1, "nodes": [
  {"type_key": ""},
  {"type_key": "Map", "keys": ["relay.Call"], "data": [2]},
  {"type_key": "Array", "data": [4]},
  {"type_key": "Op", "repr_str": "exp"}"#,
    );
    for i in 0..N {
        let call = 4 + 2 * i;
        let arg = if i + 1 < N { (call + 2).to_string() } else { String::new() };
        let attrs = format!(r#""attrs": {{"op": "3", "args": "{}", "attrs": "0", "type_args": "0"}}"#, call + 1);
        write!(section, ",\n  {{\"type_key\": \"relay.Call\", {attrs}}}").expect("a string takes all");
        write!(section, ",\n  {{\"type_key\": \"Array\", \"data\": [{arg}]}}").expect("a string takes all");
    }
    let body = "  arange(0, %n, 1, start=None, stop=meta[relay.Call][0], step=None, dtype=\"int32\")";
    round(main_of("%n: int32", body) + &section + "\n]}\n");
}

#[test]
fn deep_nonsense_is_reported_and_nothing_more() {
    for text in ["(", "[", "{", "fn (", "if (", "match ", "let %x = ", "/*", "%x.", "-", "f(a="] {
        let text = text.repeat(100_000);
        let run = move || drop(check_text("nonsense", &text, Phase::Infer));
        std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread").join().expect("no overflow");
    }
}

#[test]
fn a_type_of_exponential_size_is_cut_when_it_is_printed() {
    // Each line doubles the printed size of the type; in memory it grows by one node.
    let mut body = String::from("%0 = (%x, %x);\n");
    for i in 1..60 {
        writeln!(body, "%{i} = (%{0}, %{0});", i - 1).expect("a string takes all");
    }
    body.push_str("nn.relu(%59)");
    let text = main_of("%x: float32", &body);
    let program = check_text("exponential", &text, Phase::Infer);
    let said = render(&program.diagnostics, &program.sources, Format::Plain, false);
    assert!(program.has_errors() && said.len() < 1_000_000, "{} bytes", said.len());
}

/// Every pass that a level runs, on a chain of which no part may recurse.
#[test]
fn a_long_chain_through_all_passes() {
    let run = |text: String| {
        let mut program = check_text("long", &text, UNTIL);
        let how = PassPlan { entry: Some("main".into()), verify: true, ..PassPlan::level(MAX_LEVEL, Target::V4) };
        optimise(&mut program.module, &how, &mut ()).unwrap_or_else(|wrong| panic!("{}", wrong.message));
        show::print(&program, show::Options::default())
    };
    let on_small_stack = |text: String| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        thread.spawn(move || run(text)).expect("a thread").join().expect("no overflow")
    };
    let (mut graph, mut lets) = (String::from("%0 = exp(%x);\n"), String::from("let %v0 = exp(%x);\n"));
    for i in 1..100_000 {
        writeln!(graph, "%{i} = exp(%{});", i - 1).expect("a string takes all");
        writeln!(lets, "let %v{i} = exp(%v{});", i - 1).expect("a string takes all");
    }
    let param = "%x: Tensor[(2), float32]";
    let groups = |text: String| on_small_stack(text).matches("Primitive=1").count();
    // No group has more than 256 operators, and each but the first is full.
    assert_eq!(groups(main_of(param, &(graph + "%99999"))), 100_000usize.div_ceil(256));
    assert!(groups(main_of(param, &(lets + "%v99999"))) > 0);
}
