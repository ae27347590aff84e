//! Measures the cost of reading: `cargo bench`.
//!
//! Compares a network text of 100,000 bindings (about 9 MB with its types) with one of 1,000: `relayc check` as a whole, and
//! each phase alone, by the best of several rounds. From the small text to the large, the cost of an operator may grow by half.

use relayc_base::FileId;
use relayc_check::infer;
use relayc_check::resolve;
use relayc_driver::{Phase, check_text, show};
use relayc_ops as ops;
use relayc_syntax as syntax;
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

/// A residual network of so many bindings, with types as TVM prints them.
fn network(n_bindings: usize) -> String {
    const TY: &str = "Tensor[(1, 16, 32, 32), float32]";
    let mut text = format!(
        "#[version = \"0.0.5\"]\ndef @main(%data: {TY}, %weight: Tensor[(16, 16, 3, 3), float32], %bias: Tensor[(16), float32]) -> {TY} {{\n"
    );
    let mut last = "%data".to_owned();
    for i in 0..n_bindings {
        let value = match i % 4 {
            0 => format!("nn.conv2d({last}, %weight, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3])"),
            1 => format!("nn.bias_add({last}, %bias)"),
            2 => format!("nn.relu({last})"),
            _ if i < 4 => format!("add({last}, %data)"),
            _ => format!("add({last}, %{})", i - 4),
        };
        writeln!(text, "  %{i} = {value} /* ty={TY} */;").expect("a string takes all");
        last = format!("%{i}");
    }
    text.push_str(&format!("  nn.relu({last}) /* ty={TY} */\n}}\n"));
    text
}

const SIZES: [usize; 2] = [1_000, 100_000];

/// The shortest time of an operator in several rounds, in nanoseconds, with what a round needs made anew for each.
fn cost<T>(n: usize, mut prepare: impl FnMut() -> T, mut round: impl FnMut(T)) -> f64 {
    let rounds = (2_000_000 / n).max(5);
    let times = (0..rounds).map(|_| {
        let given = prepare();
        let start = Instant::now();
        round(given);
        start.elapsed()
    });
    times.min().expect("rounds").as_secs_f64() * 1e9 / n as f64
}

/// The cost of an operator in a network of `n`: as a whole, with the size of the text, and in each phase.
fn costs(n: usize) -> Vec<(&'static str, f64)> {
    let text = network(n);
    let program = check_text("network", &text, Phase::Infer);
    assert!(program.diagnostics.is_empty(), "the network is right");
    let (ast, _) = syntax::parse(FileId(0), text.as_str().into());
    let (resolved, _) = resolve::resolve(&ast, ops::table());
    let options = show::Options { types: true, meta: true, ..show::Options::default() };
    let whole = cost(n, || (), |()| drop(black_box(check_text("network", &text, Phase::Infer))));
    println!("check {n} bindings: {:.1} MB/s", text.len() as f64 / n as f64 / whole * 1e3);
    vec![
        ("check", whole),
        ("lex", cost(n, || (), |()| drop(black_box(syntax::lexer::lex(FileId(0), &text))))),
        ("parse", cost(n, || (), |()| drop(black_box(syntax::parse(FileId(0), text.as_str().into()))))),
        ("resolve", cost(n, || (), |()| drop(black_box(resolve::resolve(&ast, ops::table()))))),
        ("infer", cost(n, || resolved.clone(), |mut module| drop(black_box(infer::infer(&mut module, ops::table()))))),
        ("print", cost(n, || (), |()| drop(black_box(show::print(&program, options))))),
    ]
}

fn main() {
    let [small, large] = SIZES.map(costs);
    for ((phase, small), (_, large)) in small.into_iter().zip(large) {
        let ratio = large / small;
        println!("{phase:<8}{small:7.0} ns an operator at {}, {large:7.0} ns at {}: {ratio:.2} times", SIZES[0], SIZES[1]);
    }
}
