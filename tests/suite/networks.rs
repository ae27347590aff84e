//! Tests the compiled networks of the zoo. No operator falls back to the interpreter, and the answer matches the interpreter's,
//! with the same five largest numbers. The bytes are the same for any number of threads and in every run.

use crate::networks_list::{WHOLE, network, unbound};
use relayc_codegen::asm::Isa;
use relayc_codegen::cpu::Cpu;
use relayc_driver::bind::Bound;
use relayc_driver::bind::tensors_in;
use relayc_driver::check_text;
use relayc_driver::example::Runner;
use relayc_driver::optimise::UNTIL;
use relayc_driver::run::Limits;
use relayc_engine::compile::{Compiled, Machine, Policy, Settings, compile};
use relayc_ir::tensor::Tensor;

/// The networks whose small forms the interpreter runs in little time.
const NETWORKS: &[(&str, &str)] = &[
    ("mlp", ""),
    ("dqn", ""),
    ("resnet", "--layers 20 --image-shape 3,28,28 --classes 10"),
    ("resnet", "--layers 50 --image-shape 3,40,40 --classes 10"),
    ("mobilenet", "--image-shape 3,48,48 --classes 10"),
    ("squeezenet", "--image-shape 3,48,48 --classes 10"),
    ("squeezenet", "--version 1.1 --image-shape 3,48,48 --classes 11"),
    ("dcgan", "--ngf 4"),
    ("synthetic", ""),
];

/// A network compiled, and its inputs. `None` where it is left to the interpreter as a whole.
fn compiled(name: &str, flags: &str, isa: Isa, threads: usize, accuracy: Policy) -> Option<(Compiled, Vec<Bound>)> {
    let program = network(name, flags);
    let args = {
        let runner = Runner::new(&program, ".");
        let example = runner.random("main").expect("a network is entered by its `@main`");
        runner.arguments(&example).expect("its inputs are tensors")
    };
    let compiled = compile(
        &program,
        "main",
        &Settings { level: 3, isa, threads, accuracy, machine: Machine::Native, choices: Default::default(), fault: None },
        Limits::default(),
    )
    .ok()?;
    Some((compiled, args))
}

fn isas() -> Vec<Isa> {
    [Isa::Avx2, Isa::Avx512].into_iter().filter(|&isa| Cpu::get().has(isa)).collect()
}

fn floats(value: &Bound) -> Vec<f64> {
    tensors_in(std::slice::from_ref(value)).into_iter().flat_map(Tensor::to_f64s).collect()
}

/// The places of the five largest numbers, the largest first.
fn best(numbers: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..numbers.len()).collect();
    places.sort_by(|&a, &b| numbers[b].total_cmp(&numbers[a]));
    places.truncate(5);
    places
}

#[test]
fn every_operator_has_a_kernel_and_answers_are_the_interpreters() {
    let mut wrong = vec![];
    for &(name, flags) in NETWORKS {
        let program = network(name, flags);
        let runner = Runner::new(&program, ".");
        let example = runner.random("main").expect("a network is entered by its `@main`");
        let expected =
            runner.outcome(&example).expect("it can be called").unwrap_or_else(|failure| panic!("{name}: {failure:?}"));
        let expected = floats(&expected);
        let scale = expected.iter().fold(0.0, |scale: f64, x| scale.max(x.abs()));
        let strict = isas().into_iter().map(|isa| (isa, Policy::Strict, 1e-5));
        let fast = isas().into_iter().last().map(|isa| (isa, Policy::Fast, 1e-4));
        for (isa, accuracy, tolerance) in strict.chain(fast) {
            let Some((compiled, args)) = compiled(name, flags, isa, 1, accuracy) else {
                wrong.push(format!("{name} {flags} on {isa:?}: not compiled"));
                continue;
            };
            let fallbacks = compiled.program.fallbacks();
            if !fallbacks.is_empty() {
                wrong.push(format!("{name} {flags} on {isa:?} has no kernel for {fallbacks:?}"));
            }
            let found = floats(&compiled.run(&args).unwrap_or_else(|failure| panic!("{name}: {failure:?}")));
            let off = found.iter().zip(&expected).fold(0.0, |off: f64, (a, b)| off.max((a - b).abs()));
            let near = found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= tolerance * scale);
            if found.len() != expected.len() || !near {
                wrong.push(format!("{name} {flags} on {isa:?}, {accuracy:?}, is off by {off:e} of {scale:e}"));
            }
            // Also for what are no classes: five places of a picture do not change theirs either.
            if best(&found) != best(&expected) {
                wrong.push(format!("{name} {flags} on {isa:?}, {accuracy:?}, ranks {:?} first", best(&found)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bytes_are_the_same_for_any_number_of_threads() {
    for (name, flags) in [NETWORKS[0], NETWORKS[2], NETWORKS[4], NETWORKS[6], NETWORKS[7]] {
        for isa in isas() {
            let mut first: Option<Vec<Vec<u8>>> = None;
            for threads in [1, 2, 3, 8] {
                let (compiled, args) =
                    compiled(name, flags, isa, threads, Policy::Fast).unwrap_or_else(|| panic!("{name} is compiled"));
                let mut session = compiled.session().expect("there is memory");
                let inputs: Vec<Vec<u8>> = tensors_in(&args).into_iter().map(Tensor::to_le_bytes).collect();
                for run in 0..50 {
                    let mut outputs = compiled.outputs();
                    compiled.run_session(&mut session, &inputs, &mut outputs, None).expect("it runs");
                    let same = first.get_or_insert_with(|| outputs.clone()) == &outputs;
                    assert!(same, "{name} {flags} on {isa:?}: run {run} by {threads} threads gives other bytes");
                }
            }
        }
    }
}

/// Weights are parameters here: that changes where they are packed, and no kernel.
#[test]
fn no_operator_of_the_zoo_or_of_an_encoder_is_without_a_kernel() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/transformer/encoder.relay"));
    let encoder = check_text("encoder", &text.expect("the example"), UNTIL);
    let zoo = WHOLE.iter().map(|&(name, flags)| (format!("{name} {flags}"), unbound(name, flags)));
    for (name, program) in zoo.chain([("encoder".to_owned(), encoder)]) {
        assert!(!program.has_errors(), "{name}: {:?}", program.diagnostics);
        for isa in isas() {
            let settings = Settings {
                level: 3,
                isa,
                threads: 2,
                accuracy: Policy::Fast,
                machine: Machine::Native,
                choices: Default::default(),
                fault: None,
            };
            let compiled = compile(&program, "main", &settings, Limits::default());
            let compiled = compiled.ok().unwrap_or_else(|| panic!("{name} is compiled"));
            assert!(compiled.program.fallbacks().is_empty(), "{name} on {isa:?}: {:?}", compiled.program.fallbacks());
        }
    }
}
