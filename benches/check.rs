//! Measures the cost of reading: `cargo bench`.
//!
//! Compares a network text of 100,000 bindings (about 9 MB with its types) with one of 1,000: `relayc check` as a whole, and
//! each phase alone. Throughput is in text (MB/s) and in operators (elements/s). From the small text to the large, the cost of
//! an operator may grow by half; the last lines report it.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use relayc_base::FileId;
use relayc_check::infer;
use relayc_check::resolve;
use relayc_driver::{Phase, check_text, show};
use relayc_ops as ops;
use relayc_syntax as syntax;
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

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

fn steps(criterion: &mut Criterion) {
    for n in SIZES {
        let text = network(n);
        let program = check_text("network", &text, Phase::Infer);
        assert!(program.diagnostics.is_empty(), "the network is right");
        let (ast, _) = syntax::parse(FileId(0), text.as_str().into());
        let (resolved, _) = resolve::resolve(&ast, ops::table());
        for (name, throughput) in
            [("text", Throughput::Bytes(text.len() as u64)), ("operators", Throughput::Elements(n as u64 + 1))]
        {
            let mut group = criterion.benchmark_group(format!("check/{name}"));
            group.sample_size(10).throughput(throughput);
            group.bench_function(BenchmarkId::from_parameter(n), |b| {
                b.iter(|| black_box(check_text("network", &text, Phase::Infer)))
            });
            group.finish();
        }
        let mut group = criterion.benchmark_group("step");
        group.sample_size(10).throughput(Throughput::Elements(n as u64 + 1));
        group.bench_function(BenchmarkId::new("lex", n), |b| b.iter(|| black_box(syntax::lexer::lex(FileId(0), &text))));
        group.bench_function(BenchmarkId::new("parse", n), |b| {
            b.iter(|| black_box(syntax::parse(FileId(0), text.as_str().into())));
        });
        group.bench_function(BenchmarkId::new("resolve", n), |b| b.iter(|| black_box(resolve::resolve(&ast, ops::table()))));
        group.bench_function(BenchmarkId::new("infer", n), |b| {
            b.iter_batched_ref(
                || resolved.clone(),
                |module| infer::infer(module, ops::table()),
                criterion::BatchSize::PerIteration,
            );
        });
        let options = show::Options { types: true, meta: true, ..show::Options::default() };
        group.bench_function(BenchmarkId::new("print", n), |b| b.iter(|| black_box(show::print(&program, options))));
        group.finish();
    }
}

/// The cost of an operator in the large text over that in the small one: the least of several rounds each.
fn ratio(_: &mut Criterion) {
    let cost = |n: usize| {
        let text = network(n);
        let rounds = 2_000_000 / n;
        let best = (0..5)
            .map(|_| {
                let start = Instant::now();
                (0..rounds.max(1)).for_each(|_| drop(black_box(check_text("network", &text, Phase::Infer))));
                start.elapsed() / rounds as u32
            })
            .min();
        best.unwrap_or(Duration::ZERO).as_secs_f64() / n as f64
    };
    let [small, large] = SIZES.map(cost);
    println!(
        "cost of an operator: {:.0} ns at {}, {:.0} ns at {}: {:.2} times",
        small * 1e9,
        SIZES[0],
        large * 1e9,
        SIZES[1],
        large / small
    );
}

criterion_group!(benches, steps, ratio);
criterion_main!(benches);
