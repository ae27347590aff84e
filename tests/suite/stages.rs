//! Tests the stages between groups and code as data. Listings cover all bytes, choices follow from their own numbers, and the
//! counts of each step's traffic and operations are right.

use relayc_driver::optimise::UNTIL;
use relayc_driver::run::Limits;
use relayc_driver::timings::Timings;
use relayc_driver::{check_text, model};
use relayc_engine::compile::{Isa, Machine, Policy, Settings, assembled};
use relayc_exec::assemble::Assembled;
use relayc_exec::listing;
use relayc_exec::plan::{Traffic, traffic};
use relayc_ir::kernel::Rejection;

/// The code of a program for a common machine, which need not be this one.
fn code(text: &str, isa: Isa, accuracy: Policy) -> Assembled {
    let mut program = check_text("stages", text, UNTIL);
    assert!(!program.has_errors(), "{:?}", program.diagnostics);
    let settings =
        Settings { level: 3, isa, threads: 1, accuracy, machine: Machine::Common(isa), choices: Default::default(), fault: None };
    let made = assembled(&mut program.module, "main", &settings, &Limits::default(), &mut Timings::default());
    made.unwrap_or_else(|_| panic!("it is compiled:\n{text}"))
}

/// Networks whose steps are of every kind that has code.
fn networks() -> Vec<String> {
    let network = |name: &str, flags: &str| {
        let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        model::build(name, &flags, None).unwrap_or_else(|_| panic!("{name} is a network")).text
    };
    vec![
        network("resnet", "--layers 18 --image-shape 3,64,64 --classes 10"),
        network("mobilenet", "--image-shape 3,48,48 --classes 10"),
        "def @main(%x: Tensor[(4, 9, 33), float32]) { nn.softmax(tanh(%x)) }".to_owned(),
    ]
}

#[test]
fn listings_are_of_all_the_bytes() {
    for text in networks() {
        for isa in [Isa::Avx2, Isa::Avx512] {
            let all = code(&text, isa, Policy::Fast);
            let mut end = 0;
            for (step, range) in all.ranges.iter().enumerate() {
                let again = !range.is_empty() && all.ranges[..step].contains(range);
                assert!(again || range.start == end, "steps follow one another, or have the code of an equal one");
                end = end.max(range.end);
                let listing = listing::step(&all, step);
                assert!(!listing.contains("(bad)"), "{listing}");
                assert_eq!(listing.is_empty(), range.is_empty());
                // Every jump goes to a place with that name.
                let names = listing.split(|c: char| c.is_whitespace() || c == ',').filter(|word| word.starts_with(".L"));
                let (places, jumps): (Vec<&str>, Vec<&str>) = names.partition(|name| name.ends_with(':'));
                assert!(jumps.iter().all(|jump| places.contains(&format!("{jump}:").as_str())), "{listing}");
                // The first instruction of a step is under a word about it.
                assert!(listing.is_empty() || listing.trim_start().starts_with([';', '(']), "{listing}");
            }
            assert!(end <= all.pool_start && all.pool_start <= all.bytes.len());
        }
    }
}

#[test]
fn code_for_a_common_machine_is_the_same_every_time() {
    for text in networks() {
        assert!(code(&text, Isa::Avx512, Policy::Fast).bytes == code(&text, Isa::Avx512, Policy::Fast).bytes);
    }
}

#[test]
fn what_was_chosen_has_the_least_estimate() {
    let mut compared = 0;
    for text in networks() {
        for isa in [Isa::Avx2, Isa::Avx512] {
            for reason in code(&text, isa, Policy::Fast).reasons {
                assert!(!reason.name.is_empty() && !reason.why.is_empty(), "{reason:?}");
                // A contraction becomes a nest only where that is asked for.
                for other in reason.alternatives.iter().filter(|other| other.name != "nest") {
                    match (reason.ns, &other.rejection) {
                        // Winograd's method has to be better by a tenth to be worth its accuracy.
                        (Some(own), Rejection::Ns(ns)) => {
                            assert!(own * if reason.name.starts_with("direct") { 0.9 } else { 1.0 } <= *ns, "{reason:?}")
                        }
                        _ => continue,
                    }
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn strict_sums_are_never_tiled() {
    let conv = "def @main(%x: Tensor[(1, 64, 56, 56), float32], %w: Tensor[(64, 64, 3, 3), float32]) { \
                nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3]) }";
    let names = |accuracy| code(conv, Isa::Avx512, accuracy).reasons.iter().map(|reason| reason.name.clone()).collect::<Vec<_>>();
    assert!(names(Policy::Fast).iter().any(|name| name == "winograd F(4x4,3x3)"), "{:?}", names(Policy::Fast));
    assert!(names(Policy::Strict).iter().all(|name| !name.contains("winograd")), "{:?}", names(Policy::Strict));
}

#[test]
fn what_a_step_moves_and_computes_is_counted() {
    let counts = |text: &str| {
        let all = code(text, Isa::Avx2, Policy::Strict);
        all.plan.steps.iter().map(|step| traffic(&all.plan, step)).collect::<Vec<Traffic>>()
    };
    let elementwise = "def @main(%x: Tensor[(8, 16), float32], %b: Tensor[(16), float32]) { nn.relu(add(%x, %b)) }";
    // Two operations an element; it is read and written, the row is read once.
    assert_eq!(counts(elementwise), [Traffic { bytes: 4 * (2 * 8 * 16 + 16), ops: 2 * 8 * 16 }]);
    let dense = "def @main(%x: Tensor[(1, 32), float32], %w: Tensor[(8, 32), float32]) { nn.dense(%x, %w, units=8) }";
    assert_eq!(counts(dense), [Traffic { bytes: 4 * (32 + 8 * 32 + 8), ops: 2 * 8 * 32 }]);
    let sum = "def @main(%x: Tensor[(4, 16), float32]) { sum(%x, axis=[1]) }";
    assert_eq!(counts(sum), [Traffic { bytes: 4 * (4 * 16 + 4), ops: 4 * 16 }]);
}
