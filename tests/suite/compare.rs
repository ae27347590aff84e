//! Compares a function's results on the interpreter and compiled, within the bounds of reliability 5.

#![allow(dead_code, reason = "each test uses its part")]

use relayc_codegen::asm::Isa;
use relayc_codegen::cpu::Cpu;
use relayc_driver::bind::Bound;
use relayc_driver::bind::tensors_in;
use relayc_driver::optimise::UNTIL;
use relayc_driver::run::{Limits, entry, interpret};
use relayc_driver::{Program, check_text};
use relayc_engine::compile::{Refused, Settings, compile};
use relayc_engine::error_budget::{BoundedTensor, BoundedValue, Effort, Freedom, NoBudget, compare, evaluate};
use relayc_engine::subgraphs::{CompileTrigger, Prepared, prepare};
use rustc_hash::FxHashMap;

/// The vector widths this machine has.
pub(crate) fn isas() -> Vec<Isa> {
    [Isa::Avx2, Isa::Avx512].into_iter().filter(|&isa| Cpu::get().has(isa)).collect()
}

/// What the interpreter says of a call, to which compiled code is held.
pub(crate) enum Reference {
    Near(Near),
    Failed(&'static str),
}

/// A result with its errors as measured quickly, and the way to measure them well.
pub(crate) struct Near {
    pub(crate) value: BoundedValue,
    thorough: Box<dyn Fn() -> BoundedValue + Sync>,
}

impl Near {
    /// One with errors that are known.
    pub(crate) fn known(value: BoundedValue) -> Near {
        let same = value.clone();
        Near { value, thorough: Box::new(move || same.clone()) }
    }

    /// What is wrong with a result.
    fn wrong(&self, got: &Bound) -> Option<String> {
        let held = |value: &BoundedValue| match compare(&tensors_in(std::slice::from_ref(got)), &value.tensors()) {
            Ok(Ok(_)) => None,
            Ok(Err(worst)) => Some(format!("{worst:?}")),
            Err(why) => Some(why),
        };
        held(&self.value).and_then(|_| held(&(self.thorough)()))
    }
}

/// A relative error of a whole program's output, for programs that branch.
const BRANCHING: f64 = 2e-6;

/// The reference for a function of a program.
pub(crate) fn reference(program: &Program, function: &str, args: &[Bound]) -> Reference {
    match bounded(program, function, args, Effort::Quick) {
        Ok(value) => {
            let (program, function, args) = (program.clone(), function.to_owned(), args.to_vec());
            let thorough =
                Box::new(move || bounded(&program, &function, &args, Effort::Thorough).expect("it was evaluated before"));
            Reference::Near(Near { value, thorough })
        }
        Err(NoBudget::Failed(diagnostic)) => Reference::Failed(diagnostic.code.id()),
        Err(NoBudget::ControlFlow) => {
            let entry = entry(&program.module, function).expect("it was called before");
            match interpret(program, &entry, args.to_vec(), Limits::default()) {
                Ok(value) => Reference::Near(Near::known(within(value))),
                Err(diagnostic) => Reference::Failed(diagnostic.code.id()),
            }
        }
    }
}

/// What a function gives, with its errors.
fn bounded(program: &Program, function: &str, args: &[Bound], effort: Effort) -> Result<BoundedValue, NoBudget> {
    let module = &program.module;
    let func = module.globals[module.find_global(function).expect("it was called before")].func;
    let values: FxHashMap<_, _> =
        module.funcs[func].params.iter().copied().zip(args.iter().cloned().map(BoundedValue::exact)).collect();
    evaluate(module, module.funcs[func].body, values, Freedom::Rewritten, effort, &Limits::default())
}

fn within(value: Bound) -> BoundedValue {
    match value {
        Bound::Tuple(fields) => BoundedValue::Tuple(fields.into_iter().map(within).collect()),
        Bound::Tensor(value) => {
            let most = value.to_f64s().into_iter().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
            let error = (value.dtype().is_float() && most > 0.0).then(|| vec![most * BRANCHING; value.len()]);
            BoundedValue::Tensor(BoundedTensor { value, error })
        }
    }
}

/// What came of a comparison.
pub(crate) enum Verdict {
    Agrees,
    /// So do its parts; what is left is interpreted.
    PartsAgree,
    /// Nothing of it is compiled, for this reason.
    NotCompiled(String),
    Differs(String),
}

/// Compiles a function and holds its result to the reference.
pub(crate) fn held(name: &str, text: &str, function: &str, settings: &Settings, calls: &[(Vec<Bound>, &Reference)]) -> Verdict {
    let shapes = |args: &[Bound]| tensors_in(args).into_iter().map(|tensor| tensor.shape().to_vec()).collect::<Vec<_>>();
    let same = |first: &&[Bound]| calls.iter().all(|(args, _)| shapes(args) == shapes(first));
    held_for(name, text, function, calls.first().map(|(args, _)| &args[..]).filter(same), settings, calls)
}

/// As [`held`], compiled for the shapes of these arguments, or for those that the types say.
pub(crate) fn held_for(
    name: &str,
    text: &str,
    function: &str,
    args: Option<&[Bound]>,
    settings: &Settings,
    calls: &[(Vec<Bound>, &Reference)],
) -> Verdict {
    let program = check_text(name, text, UNTIL);
    let compiled = match prepare(&program, function, args, settings, Limits::default(), CompileTrigger::Called) {
        Ok(compiled) => compiled,
        Err(Refused::Not(reason)) => return Verdict::NotCompiled(reason.text().to_owned()),
        // A constant part of a program fails when it is loaded.
        Err(Refused::Wrong(diagnostic)) => {
            let right = |reference: &Reference| matches!(reference, Reference::Failed(code) if *code == diagnostic.code.id());
            if calls.iter().all(|(_, reference)| right(reference)) {
                return Verdict::Agrees;
            }
            return Verdict::Differs(format!("not compiled: {}[{}]", diagnostic.message, diagnostic.code.id()));
        }
    };
    for (args, reference) in calls {
        let wrong = match (compiled.run(args), reference) {
            // Which operator notices a value that its type did not allow is not said by the language.
            (_, Reference::Failed("E0308")) => continue,
            (Err(failure), Reference::Failed(code)) if failure.code.id() == *code => continue,
            (Err(failure), Reference::Failed(code)) => format!("it failed with {}, not {code}", failure.code.id()),
            (Err(failure), Reference::Near(_)) => format!("it failed: {}[{}]", failure.message, failure.code.id()),
            (Ok(_), Reference::Failed(code)) => format!("it did not fail with {code}"),
            (Ok(value), Reference::Near(near)) => match near.wrong(&value) {
                None => continue,
                Some(why) => why,
            },
        };
        return Verdict::Differs(wrong);
    }
    match compiled {
        Prepared::Whole(_) => Verdict::Agrees,
        Prepared::Partial(partial) if partial.n_compiled() > 0 => Verdict::PartsAgree,
        Prepared::Partial(partial) => Verdict::NotCompiled(partial.summary()),
    }
}

/// The bytes of what a function gives compiled, or the code it fails with; `None` where it is not compiled.
pub(crate) fn bytes(text: &str, settings: &Settings, args: &[Bound]) -> Option<Result<Vec<Vec<u8>>, &'static str>> {
    match compile(&check_text("x", text, UNTIL), "main", settings, Limits::default()) {
        Err(Refused::Not(_)) => None,
        Err(Refused::Wrong(diagnostic)) => Some(Err(diagnostic.code.id())),
        Ok(compiled) => Some(match compiled.run(args) {
            Ok(value) => Ok(tensors_in(&[value]).into_iter().map(|tensor| tensor.to_le_bytes()).collect()),
            Err(diagnostic) => Err(diagnostic.code.id()),
        }),
    }
}
