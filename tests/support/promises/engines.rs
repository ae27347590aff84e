//! Promises of compiled programs: they give what the interpreter gives, and touch their own memory only.

use super::super::choices::Choices;
use super::super::dataflow::{self, Form};
use super::super::guarded::{GuardedBuffer, Side, running};
use super::super::writer::{Purpose, write};
use relayc_base::diag::{Diagnostic, codes};
use relayc_codegen::cpu::Cpu;
use relayc_driver::bind::{Bound, tensors_in};
use relayc_driver::optimise::UNTIL;
use relayc_driver::run::{Limits, entry, interpret};
use relayc_driver::{Program, check_text};
use relayc_engine::compile::{Compiled, Isa, Machine, Policy, Refused, Settings, compile};
use relayc_engine::cross_check;
use relayc_engine::subgraphs::{CompileTrigger, Prepared, prepare};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use std::time::{Duration, Instant};

/// How a program is compiled, if the machine can run any of it.
fn settings(choices: &mut Choices) -> Option<Settings> {
    let isas: Vec<Isa> = [Isa::Avx2, Isa::Avx512].into_iter().filter(|&isa| Cpu::get().has(isa)).collect();
    let (isa, level) = (choices.one(isas.len()), [3, 3, 3, 2, 1, 0][choices.one(6)]);
    let accuracy = [Policy::Fast, Policy::Strict][choices.one(2)];
    let isa = *isas.get(isa)?;
    Some(Settings { level, isa, threads: 1, accuracy, machine: Machine::Native, choices: Default::default(), fault: None })
}

fn limits() -> Limits {
    Limits { deadline: Some(Instant::now() + Duration::from_secs(20)), ..Limits::default() }
}

/// Runs a program compiled, each part of it compared with the interpreter, as `relayc run --engine both` does. Errors: what failed.
fn both(program: &Program, args: &[Bound], settings: &Settings) -> Result<(), Box<Diagnostic>> {
    match prepare(program, "main", Some(args), settings, limits(), CompileTrigger::Compared) {
        Ok(Prepared::Whole(compiled)) => cross_check::run(&compiled, args).map(drop),
        Ok(Prepared::Partial(partial)) => partial.carry_out(args),
        Err(Refused::Not(_)) => Ok(()),
        Err(Refused::Wrong(diagnostic)) => Err(diagnostic),
    }
}

/// Requires a failure to be that of the interpreter.
fn fails_alike(program: &Program, args: &[Bound], failure: &Diagnostic, text: &str, settings: &Settings) {
    let main = entry(&program.module, "main").expect("it has a main");
    let expected = interpret(program, &main, args.to_vec(), limits());
    let shown = || format!("{settings:?}: {}[{}] {:?}\n{text}", failure.message, failure.code.id(), failure.notes);
    match expected {
        // Which operator notices a value that its type did not allow is not said by the language.
        Err(expected) => assert!([failure.code, codes::E0308].contains(&expected.code), "{}", shown()),
        Ok(_) => panic!("{}", shown()),
    }
}

/// A right program, on both engines: one with control flow, or one of dataflow, written in one of several ways.
pub fn jit_vs_interp(choices: &[u8]) {
    let mut choices = Choices::new(choices);
    let Some(settings) = settings(&mut choices) else { return };
    let forms = [Form::Mixed, Form::Lets, Form::Outlined, Form::Packed, Form::Branching, Form::Open];
    let form = forms.get(choices.one(2 * forms.len()));
    let (n_steps, seed) = (1 + choices.one(11), choices.one(256) as u64);
    let (text, args) = match form {
        Some(&form) => {
            let program = dataflow::Program::chosen(choices.rest(), n_steps, seed);
            let mut args = program.args();
            args.extend((form == Form::Branching).then(|| Bound::Tensor(Tensor::scalar(true))));
            (program.text(form), args)
        }
        None => {
            let of = |value: f64| Bound::Tensor(Tensor::full(DType::F32, &[2, 3], value).expect("tensors hold float32"));
            (write(choices.rest(), Purpose::Run), vec![of(0.75), of(-1.25)])
        }
    };
    let program = check_text("random", &text, UNTIL);
    // Some operators have to know dimensions.
    if form == Some(&Form::Open) && program.has_errors() {
        return;
    }
    assert!(!program.has_errors(), "{text}\n{:?}", program.diagnostics);
    if let Err(failure) = both(&program, &args, &settings) {
        fails_alike(&program, &args, &failure, &text, &settings);
    }
}

/// The outputs of a run on bytes.
fn run(compiled: &Compiled, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), Box<Diagnostic>> {
    compiled.run_session(&mut compiled.session()?, inputs, outputs, None)
}

/// An operator compiled, as [`jit_vs_interp`]; between pages that may not be touched, its operands not to be written, it gives the
/// same bytes wherever they lie.
pub fn kernel_fenced(choices: &[u8]) {
    let mut choices = Choices::new(choices);
    let Some(settings) = settings(&mut choices) else { return };
    let seed = choices.one(256) as u64;
    let program = dataflow::Program::chosen(choices.rest(), 1, seed);
    let (text, args) = (program.text(Form::Mixed), program.args());
    let program = check_text("random", &text, UNTIL);
    assert!(!program.has_errors(), "{text}\n{:?}", program.diagnostics);
    if let Err(failure) = both(&program, &args, &settings) {
        return fails_alike(&program, &args, &failure, &text, &settings);
    }
    let Ok(compiled) = compile(&program, "main", &settings, limits()) else { return };
    let inputs: Vec<Vec<u8>> = tensors_in(&args).into_iter().map(Tensor::to_le_bytes).collect();
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let mut expected = compiled.outputs();
    let plain = run(&compiled, &inputs, &mut expected.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
    for side in Side::ALL {
        running(format!("{side:?}, {settings:?}, {text}"));
        let fenced: Vec<GuardedBuffer<u8>> = inputs.iter().map(|input| GuardedBuffer::new(input, side).read_only()).collect();
        let mut outputs: Vec<GuardedBuffer<u8>> =
            expected.iter().map(|output| GuardedBuffer::output(output.len(), side)).collect();
        let fenced: Vec<&[u8]> = fenced.iter().map(GuardedBuffer::values).collect();
        let found = run(&compiled, &fenced, &mut outputs.iter_mut().map(GuardedBuffer::values_mut).collect::<Vec<_>>());
        assert_eq!(found.as_ref().map_err(|failure| failure.code), plain.as_ref().map_err(|failure| failure.code), "{text}");
        let same = outputs.iter().zip(&expected).all(|(output, expected)| output.values() == expected);
        assert!(found.is_err() || same, "other bytes {side:?} of {text}by {settings:?}");
    }
    running("");
}
