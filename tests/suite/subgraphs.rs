//! Tests partial compilation of programs that branch or have `?` dimensions. Their dataflow is compiled by subgraphs, once for
//! each set of shapes.
//!
//! The rest behaves as on the interpreter: the same answers, the same limits, reported at the same places.

use crate::growth::took;
use relayc_driver::bind::Bound;
use relayc_driver::optimise::UNTIL;
use relayc_driver::run::{Limits, entry, interpret};
use relayc_driver::{Program, check_text};
use relayc_engine::compile::Settings;
use relayc_engine::subgraphs::{CompileTrigger, MAX_VARIANTS, PartialProgram, Prepared, prepare};
use relayc_ir::tensor::Tensor;
use std::time::Instant;

fn program(text: &str) -> Program {
    let program = check_text("x", text, UNTIL);
    assert!(!program.has_errors(), "{:?}", program.diagnostics);
    program
}

fn parts_with(program: &Program, limits: Limits, when: CompileTrigger) -> PartialProgram {
    let settings = Settings::native(3, 2).expect("no variable says otherwise").expect("a machine with AVX2");
    match prepare(program, "main", None, &settings, limits, when) {
        Ok(Prepared::Partial(parts)) => *parts,
        Ok(Prepared::Whole(_)) => panic!("it is compiled as a whole"),
        Err(_) => panic!("it is not compiled"),
    }
}

fn parts(program: &Program) -> PartialProgram {
    parts_with(program, Limits::default(), CompileTrigger::Called)
}

fn floats(shape: &[usize]) -> Bound {
    Bound::Tensor(Tensor::from_fn(shape, |i| (i % 7) as f32 - 3.0))
}

fn int(value: i32) -> Bound {
    Bound::Tensor(Tensor::scalar(value))
}

fn interpreted(program: &Program, args: &[Bound]) -> Bound {
    let entry = entry(&program.module, "main").expect("there is a main");
    interpret(program, &entry, args.to_vec(), Limits::default()).expect("it does not fail")
}

/// Elementwise operators with one rounding give the same to the bit.
const OPEN: &str = "def @main(%x: Tensor[(?, ?), float32], %y: Tensor[(?), float32]) { nn.relu(multiply(add(%x, %y), 2f)) }";

#[test]
fn each_set_of_shapes_is_compiled_once() {
    let program = program(OPEN);
    let parts = parts(&program);
    for (round, (rows, columns)) in [(2, 3), (4, 3), (2, 3), (2, 5), (4, 3), (2, 3)].into_iter().enumerate() {
        let args = [floats(&[rows, columns]), floats(&[columns])];
        assert_eq!(parts.run(&args).expect("it runs"), interpreted(&program, &args));
        assert_eq!(parts.n_compiled(), [1, 2, 2, 3, 3, 3][round], "after run {round}");
    }
    assert_eq!(parts.summary(), "3 subgraphs compiled");
}

#[test]
fn no_more_than_so_many_variants_are_kept() {
    let program = program("def @main(%x: Tensor[(?), float32]) { add(%x, %x) }");
    let parts = parts(&program);
    for n in 1..MAX_VARIANTS + 20 {
        let args = [floats(&[n])];
        assert_eq!(parts.run(&args).expect("it runs"), interpreted(&program, &args));
        assert!(parts.n_kept() <= MAX_VARIANTS);
    }
    assert_eq!(parts.n_kept(), MAX_VARIANTS);
    // What was used last is there, what was used first is not.
    let before = parts.n_compiled();
    parts.run(&[floats(&[MAX_VARIANTS + 10])]).expect("it runs");
    assert_eq!(parts.n_compiled(), before);
    parts.run(&[floats(&[1])]).expect("it runs");
    assert_eq!(parts.n_compiled(), before + 1);
}

/// A loop that calls itself, with something to compute in each call.
fn looped(before: &str, after: &str) -> String {
    let body = format!("let %y = tanh(add(%x, %x)); {before}@main(subtract(%n, 1), %y){after}");
    format!(
        "def @main(%n: int32, %x: Tensor[(1, 4), float32]) -> Tensor[(1, 4), float32] {{
           if (equal(%n, 0)) {{ %x }} else {{ {body} }}
         }}"
    )
}

#[test]
fn ten_thousand_calls_with_a_part_in_each() {
    for (before, after) in [("", ""), ("add(%y, ", ")")] {
        let program = program(&looped(before, after));
        let parts = parts(&program);
        let args = [int(10_000), floats(&[1, 4])];
        let Bound::Tensor(result) = parts.run(&args).expect("it runs") else { panic!("a tensor") };
        let Bound::Tensor(expected) = interpreted(&program, &args) else { panic!("a tensor") };
        for (got, expected) in result.to_f64s().into_iter().zip(expected.to_f64s()) {
            assert!((got - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{got} {expected}");
        }
        assert!(parts.n_compiled() >= 2, "{}", parts.summary());
    }
}

/// Each call of a part is compared in a moment: it starts no threads.
#[test]
fn a_comparison_costs_a_few_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("loop.relay");
    std::fs::write(&path, format!("#[version = \"0.0.5\"]\n{}\n", looped("add(%y, ", ")"))).expect("written");
    let seconds = |engine: &str| {
        let took = took(&path, &["run", "--quiet", "--engine", engine, "-i", "n=20000", "-i", "x=ones"], &[]);
        assert_eq!(took.code, Some(0), "{engine}: {}", took.said);
        took.seconds
    };
    let [both, interp, jit] = ["both", "interp", "jit"].map(seconds);
    assert!(both < 6.0 * (interp + jit) + 0.2, "{both:.2} s for both, {interp:.2} s and {jit:.2} s for each");
}

#[test]
fn limits_are_the_interpreters() {
    let program = program(&looped("add(%y, ", ")"));
    let entry = entry(&program.module, "main").expect("there is a main");
    let args = [int(1000), floats(&[1, 4])];
    let some = Limits { max_depth: 200, ..Limits::default() };
    let few = Limits { max_calls: 300, ..Limits::default() };
    for limits in [some, few] {
        let expected = interpret(&program, &entry, args.to_vec(), limits.clone()).expect_err("a limit is met");
        for when in [CompileTrigger::Called, CompileTrigger::ItPays] {
            let parts = parts_with(&program, limits.clone(), when);
            let found = parts.run(&args).expect_err("a limit is met");
            assert_eq!((found.code, found.span(), &found.message), (expected.code, expected.span(), &expected.message));
        }
    }
    // Time is over wherever it is first looked at.
    let late = Limits { deadline: Some(Instant::now()), ..Limits::default() };
    let found = parts_with(&program, late, CompileTrigger::Called).run(&args).expect_err("time is over");
    assert_eq!(found.code.id(), "E0805");
    // Just enough is enough.
    let enough = Limits { max_depth: 1001, max_calls: 1000, ..Limits::default() };
    interpret(&program, &entry, args.to_vec(), enough.clone()).expect("it runs");
    parts_with(&program, enough, CompileTrigger::Called).run(&args).expect("it runs");
}

#[test]
fn a_trap_is_said_of_its_place() {
    let text = "
def @main(%c: bool, %x: Tensor[(2), int32]) {
  %0 = add(%x, 1);
  if (%c) { divide(multiply(%0, 2), subtract(%0, %0)) } else { %0 }
}";
    let program = program(text);
    let parts = parts(&program);
    let args = |c: bool| [Bound::Tensor(Tensor::scalar(c)), Bound::Tensor(Tensor::from_vec(&[2], vec![1, 2]))];
    let entry = entry(&program.module, "main").expect("there is a main");
    let expected = interpret(&program, &entry, args(true).to_vec(), Limits::default()).expect_err("it traps");
    let found = parts.run(&args(true)).expect_err("it traps");
    assert_eq!((found.code, found.span(), &found.message), (expected.code, expected.span(), &expected.message));
    assert_eq!(parts.run(&args(false)).expect("the other branch does not"), interpreted(&program, &args(false)));
}

#[test]
fn what_hangs_on_data_is_interpreted_between_parts() {
    let text = "
def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(3, 4), float32], %n: Tensor[(2), int64]) {
  %0 = nn.relu(nn.dense(%x, %w, units=3));
  %1 = dyn.strided_slice(%0, cast(zeros_like(%n), dtype=\"int64\"), %n, ones_like(%n), begin=None, end=None, strides=None, axes=None);
  add(exp(%1), 1f)
}";
    let program = program(text);
    let parts = parts(&program);
    for (rows, n) in [(4, vec![2i64, 3]), (4, vec![1, 2]), (6, vec![2, 3]), (4, vec![2, 3])] {
        let args = [floats(&[rows, 4]), floats(&[3, 4]), Bound::Tensor(Tensor::from_vec(&[2], n))];
        let (Bound::Tensor(got), Bound::Tensor(expected)) = (parts.run(&args).expect("it runs"), interpreted(&program, &args))
        else {
            panic!("tensors")
        };
        assert_eq!(got.shape(), expected.shape());
        let near = got.to_f64s().into_iter().zip(expected.to_f64s()).all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs());
        assert!(near, "{got:?} {expected:?}");
    }
    let words = parts.summary();
    assert!(words.starts_with("5 subgraphs compiled"), "{words}");
}

#[test]
fn little_work_is_interpreted_until_it_adds_up() {
    let program = program(&looped("", ""));
    let count = |n: i32| {
        let parts = parts_with(&program, Limits::default(), CompileTrigger::ItPays);
        parts.run(&[int(n), floats(&[1, 4])]).expect("it runs");
        (parts.n_compiled(), parts.summary())
    };
    let (compiled, words) = count(3);
    assert_eq!(compiled, 0, "{words}");
    assert!(words.contains("too little to compute"), "{words}");
    assert!(count(20_000).0 > 0);
}

#[test]
fn same_bytes_from_run_to_run_and_for_any_number_of_threads() {
    let program = program(&looped("add(%y, ", ")"));
    let args = [int(3000), floats(&[1, 4])];
    let run = |threads: usize| {
        let settings = Settings::native(3, threads).expect("no variable says otherwise").expect("a machine with AVX2");
        let Ok(prepared) = prepare(&program, "main", Some(&args), &settings, Limits::default(), CompileTrigger::ItPays) else {
            panic!("it is compiled")
        };
        prepared.run(&args).expect("it runs")
    };
    let first = run(1);
    assert!([1, 2, 3].into_iter().all(|threads| run(threads) == first));
}
