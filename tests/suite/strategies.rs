//! Tests that every strategy of every step can be asked for, and that the answer stays the interpreter's.

use crate::networks_list::network;
use relayc_codegen::asm::Isa;
use relayc_codegen::cpu::Cpu;
use relayc_driver::bind::{Bound, tensors_in};
use relayc_driver::example::Runner;
use relayc_driver::optimise::UNTIL;
use relayc_driver::run::Limits;
use relayc_driver::timings::Timings;
use relayc_driver::{Program, check_text};
use relayc_engine::choices::{Choices, Rule};
use relayc_engine::compile::{Compiled, Machine, Policy, Settings, assembled, compile};
use relayc_engine::cross_check;
use relayc_engine::tuning::{Entries, Entry, Tuning, processor};
use relayc_exec::plan::{Plan, signature};
use relayc_ir::kernel::Reason;
use relayc_ir::tensor::Tensor;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Programs whose steps have strategies of every kind.
const TEXTS: &[&str] = &[
    // Few rows times weights that a run computes, a batch of products, and a row of a matrix.
    "def @main(%x: Tensor[(3, 40), float32], %w: Tensor[(24, 40), float32], %a: Tensor[(2, 9, 20), float32], \
     %b: Tensor[(2, 20, 17), float32]) { (nn.relu(nn.dense(%x, %w, units=24)), nn.batch_matmul(%a, %b), nn.softmax(%x, axis=0)) }",
    // Integers, which are multiplied in pairs or in words, as the machine has it.
    "def @main(%x: Tensor[(1, 24, 9, 9), uint8], %p: Tensor[(40, 3, 3, 24), int16], %w: Tensor[(40, 3, 3, 24), int8]) { \
     (nn.conv2d(%x, %p, padding=[1, 1, 1, 1], channels=40, kernel_size=[3, 3], kernel_layout=\"OHWI\", out_dtype=\"int32\"), \
     nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=40, kernel_size=[3, 3], kernel_layout=\"OHWI\", out_dtype=\"int32\")) }",
    // Channels alone, in groups, and strided.
    "def @main(%x: Tensor[(1, 24, 11, 12), float32], %w: Tensor[(24, 1, 3, 3), float32], %g: Tensor[(24, 6, 3, 3), float32], \
     %s: Tensor[(32, 24, 4, 4), float32]) { (nn.conv2d(%x, %w, groups=24, padding=[1, 1, 1, 1], channels=24, kernel_size=[3, 3]), \
     nn.conv2d(%x, %g, groups=4, channels=24, kernel_size=[3, 3]), \
     nn.leaky_relu(nn.conv2d(%x, %s, strides=[2, 2], channels=32, kernel_size=[4, 4]), alpha=0.1f)) }",
    // Nests: windows, sums, transposition, rows.
    "def @main(%x: Tensor[(3, 8, 14, 10), float32]) { (nn.max_pool2d(%x, pool_size=[3, 3], padding=[1, 1, 1, 1]), \
     sum(%x, axis=[1, 3]), transpose(tanh(%x), axes=[3, 1, 0, 2]), nn.softmax(%x, axis=1), mean(%x, axis=[2]), \
     cast(%x, dtype=\"float64\"), nn.layer_norm(%x, sum(%x, axis=[0, 1, 2]), sum(%x, axis=[0, 1, 2]))) }",
];

fn programs() -> Vec<(String, Program)> {
    let networks = [
        ("resnet", "--layers 20 --image-shape 3,28,28 --classes 10"),
        ("mobilenet", "--image-shape 3,48,48 --classes 10"),
        ("dcgan", "--ngf 4"),
    ];
    let networks = networks.map(|(name, flags)| (name.to_owned(), network(name, flags)));
    let texts = TEXTS.iter().map(|text| {
        let program = check_text("strategies", text, UNTIL);
        assert!(!program.has_errors(), "{text}: {:?}", program.diagnostics);
        ((*text).to_owned(), program)
    });
    networks.into_iter().chain(texts).collect()
}

fn settings(isa: Isa, machine: Machine, threads: usize, choices: Choices) -> Settings {
    Settings { level: 3, isa, threads, accuracy: Policy::Fast, machine, choices, fault: None }
}

/// Asks for strategy number `round` of each step that has so many; `None` if none has.
fn round(program: &Program, plan: &Plan, reasons: &[Arc<Reason>], isa: Isa, round: usize) -> Option<(Choices, Entries)> {
    let mut entries = Entries::new();
    for (step, reason) in plan.steps.iter().zip(reasons) {
        if let Some(name) = reason.possible().nth(round) {
            entries.entry(signature(plan, step, false)).or_insert_with(|| Entry::of(name));
        }
    }
    let mut tuning = Tuning::default();
    tuning.replace(&processor(isa), &[], entries.clone());
    (!entries.is_empty()).then(|| (Choices::new(vec![], Some(tuning), &program.sources), entries))
}

/// Checks that the strategies are those asked for, wherever a step has them; notes their kinds.
fn check(name: &str, plan: &Plan, reasons: &[Arc<Reason>], entries: &Entries, kinds: &mut BTreeSet<String>) {
    for (step, reason) in plan.steps.iter().zip(reasons) {
        let Some(entry) = entries.get(&signature(plan, step, false)) else { continue };
        if reason.find(&entry.strategy).is_some() {
            assert!(reason.forced && reason.strategy == entry.strategy, "{name}: asked for {}: {reason:?}", entry.strategy);
            kinds.insert(reason.strategy.split(' ').next().unwrap_or_default().to_owned());
        }
    }
}

fn arguments(program: &Program) -> Vec<Bound> {
    let runner = Runner::new(program, ".");
    let example = runner.random("main").expect("a program is entered by its `@main`");
    runner.arguments(&example).expect("its inputs are tensors")
}

fn compiled(program: &Program, settings: &Settings) -> Compiled {
    compile(program, "main", settings, Limits::default()).unwrap_or_else(|_| panic!("it is compiled"))
}

#[test]
fn every_strategy_agrees_with_the_interpreter() {
    let mut kinds = BTreeSet::new();
    for (name, program) in programs() {
        let args = arguments(&program);
        for isa in Cpu::get().isas() {
            let model = compiled(&program, &settings(isa, Machine::Native, 1, Choices::default()));
            for at in 0.. {
                let Some((choices, entries)) = round(&program, &model.program.plan, &model.program.reasons, isa, at) else {
                    break;
                };
                let forced = compiled(&program, &settings(isa, Machine::Native, 1, choices));
                check(&name, &forced.program.plan, &forced.program.reasons, &entries, &mut kinds);
                let agreement = cross_check::run(&forced, &args);
                let agreement =
                    agreement.unwrap_or_else(|wrong| panic!("{name} on {isa:?}, strategies {at} {entries:?}: {wrong:?}"));
                assert!(agreement.groups > 0, "{name}");
            }
        }
    }
    let all = ["depthwise", "direct", "lanes", "nest", "rows", "winograd"].map(str::to_owned);
    assert_eq!(kinds, BTreeSet::from(all));
}

#[test]
fn every_strategy_has_code_for_other_machines() {
    for (name, program) in programs() {
        for isa in [Isa::Avx2, Isa::Avx512] {
            let code = |choices: Choices| {
                let settings = settings(isa, Machine::Common(isa), 1, choices);
                let made = assembled(&mut program.module.clone(), "main", &settings, &Limits::default(), &mut Timings::default());
                made.unwrap_or_else(|_| panic!("{name} is compiled"))
            };
            let model = code(Choices::default());
            for at in 0.. {
                let Some((choices, entries)) = round(&program, &model.plan, &model.reasons, isa, at) else { break };
                let forced = code(choices);
                check(&name, &forced.plan, &forced.reasons, &entries, &mut BTreeSet::new());
            }
        }
    }
}

#[test]
fn choices_give_the_same_bytes_for_any_number_of_threads() {
    let program = network("resnet", "--layers 20 --image-shape 3,28,28 --classes 10");
    let args = arguments(&program);
    for isa in Cpu::get().isas() {
        let mut results = [1, 2, 3].map(|threads| {
            let rules = ["*=nest", "nn.conv2d=winograd"].iter().filter_map(|text| Rule::parse(text)).collect();
            let choices = Choices::new(rules, None, &program.sources);
            let result = compiled(&program, &settings(isa, Machine::Native, threads, choices)).run(&args);
            let result = result.unwrap_or_else(|wrong| panic!("it runs: {wrong:?}"));
            tensors_in(&[result]).into_iter().map(Tensor::to_le_bytes).collect::<Vec<_>>()
        });
        results.sort();
        assert!(results[0] == results[2], "{isa:?}");
    }
}
