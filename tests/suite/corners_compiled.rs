//! Tests corner-case semantics of compiled code: every elementwise operator over the special values squared, by every
//! instruction set of this machine.
//!
//! Results are compared with the interpreter, which `tests/suite/corners.rs` checks against the table.

use crate::compare::{Near, Reference, Verdict, held, isas, reference};
use crate::support::grid::{ATTRS, FLOATS, corners, ints};
use rayon::prelude::*;
use relayc_driver::bind::Bound;
use relayc_driver::optimise::UNTIL;
use relayc_driver::run::Limits;
use relayc_driver::{Program, check_text};
use relayc_engine::compile::{Machine, Policy, Settings, compile};
use relayc_engine::error_budget::BoundedValue;
use relayc_exec::plan::{Accuracy, accuracy};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::DType;
use relayc_ops::lower::Lower;
use relayc_ops::{OpDef, table};

/// The special values of a dtype, so often each and in such an order that operands meet in all pairs.
fn operand(dtype: DType, at: usize) -> Tensor {
    let grid = corners(dtype);
    let n = grid.len();
    let index = |i: usize| if at.is_multiple_of(2) { i / n } else { i % n };
    let bytes: Vec<u8> = (0..n * n).flat_map(|i| grid[index(i)].to_le_bytes()).collect();
    Tensor::from_le_bytes(dtype, &[n * n], &bytes).expect("pairs of the grid")
}

/// The program of an operator on operands, if their types are right for it.
fn program(def: &OpDef, args: &[Tensor], attrs: &str) -> Option<(String, Program)> {
    let params: Vec<String> = args.iter().enumerate().map(|(at, arg)| format!("%a{at}: {}", arg.type_text())).collect();
    let names: Vec<String> = (0..args.len()).map(|at| format!("%a{at}")).chain([attrs.to_owned()]).collect();
    let names = names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
    let text = format!("#[version = \"0.0.5\"]\ndef @main({}) {{ {}({names}) }}\n", params.join(", "), def.name);
    let program = check_text("corner", &text, UNTIL);
    (!program.has_errors()).then_some((text, program))
}

/// Whether an operator has a kernel of a dtype, on each instruction set; `None` where it does not take the dtype.
fn has_kernel(def: &OpDef, dtype: DType, attrs: &str) -> Option<bool> {
    let args: Vec<Tensor> = (0..def.args.len()).map(|at| operand(dtype, at)).collect();
    let (_, program) = program(def, &args, attrs)?;
    let compiled = |isa| {
        let settings = Settings {
            level: 0,
            isa,
            threads: 1,
            accuracy: Policy::Strict,
            machine: Machine::Native,
            choices: Default::default(),
            fault: None,
        };
        compile(&program, "main", &settings, Limits::default()).is_ok_and(|compiled| compiled.program.fallbacks().is_empty())
    };
    Some(isas().into_iter().all(compiled))
}

/// What is wrong with an operator on operands of a dtype.
fn wrong(def: &OpDef, dtype: DType, attrs: &str) -> Option<Vec<String>> {
    let args: Vec<Tensor> = (0..def.args.len()).map(|at| operand(dtype, at)).collect();
    let (text, program) = program(def, &args, attrs)?;
    let args: Vec<Bound> = args.into_iter().map(Bound::Tensor).collect();
    let mut expected = reference(&program, "main", &args);
    let fails = matches!(expected, Reference::Failed(_));
    exact_at_corners(&program, &mut expected);
    let mut found = hold(def, &text, &args, &expected);
    if fails && dtype.is_int() && args.len() == 2 {
        // There is a zero among the divisors; the rest without it.
        let (Bound::Tensor(a), Bound::Tensor(b)) = (&args[0], &args[1]) else { unreachable!("both are tensors") };
        let (a, b): (Vec<i128>, Vec<i128>) = a.to_ints().into_iter().zip(b.to_ints()).filter(|&(_, b)| b != 0).unzip();
        let args = [Bound::Tensor(ints(dtype, &a)), Bound::Tensor(ints(dtype, &b))];
        found.extend(wrong_without_zeros(def, &args, attrs).unwrap_or_default());
    }
    Some(found)
}

fn wrong_without_zeros(def: &OpDef, args: &[Bound], attrs: &str) -> Option<Vec<String>> {
    let tensors: Vec<Tensor> =
        args.iter().filter_map(|arg| if let Bound::Tensor(one) = arg { Some(one.clone()) } else { None }).collect();
    let (text, program) = program(def, &tensors, attrs)?;
    let mut expected = reference(&program, "main", args);
    exact_at_corners(&program, &mut expected);
    Some(hold(def, &text, args, &expected))
}

/// Functions are within their units of the last place, zeros, infinities and NaN exact.
fn exact_at_corners(program: &Program, expected: &mut Reference) {
    let module = &program.module;
    let main = module.globals[module.find_global("main").expect("it has a @main")].func;
    let said = accuracy(module, table(), module.funcs[main].body);
    let Reference::Near(Near { value: BoundedValue::Tensor(near), .. }) = expected else { return };
    let mut near = near.clone();
    match said {
        Accuracy::Exact => near.error = None,
        // The comparison takes errors fourfold, and `x * 2^-23` is up to two units of `x`.
        Accuracy::Ulps(ulps) => {
            let error = |x: f64| {
                if x == 0.0 || !x.is_finite() { 0.0 } else { x.abs().max(2f64.powi(-126)) * 2f64.powi(-23) * ulps / 8.0 }
            };
            near.error = Some(near.value.to_f64s().into_iter().map(error).collect());
        }
        _ => return,
    }
    *expected = Reference::Near(Near::known(BoundedValue::Tensor(near)));
}

fn hold(def: &OpDef, text: &str, args: &[Bound], expected: &Reference) -> Vec<String> {
    let settings = isas().into_iter().flat_map(|isa| {
        [0, 3].map(|level| Settings {
            level,
            isa,
            threads: 1,
            accuracy: Policy::Strict,
            machine: Machine::Native,
            choices: Default::default(),
            fault: None,
        })
    });
    settings
        .filter_map(|settings| match held("corner", text, "main", &settings, &[(args.to_vec(), expected)]) {
            Verdict::Agrees => None,
            Verdict::PartsAgree | Verdict::NotCompiled(_) => Some(format!("{}: not compiled", def.name)),
            Verdict::Differs(why) => Some(format!("{text}at -O{} on {:?}: {why}", settings.level, settings.isa)),
        })
        .collect()
}

#[test]
fn elementwise_operators_keep_the_corners() {
    let elementwise =
        |def: &&OpDef| matches!(def.lower, Some(Lower::Scalar(_) | Lower::Divided(_) | Lower::Along(..) | Lower::AlongOr(..)));
    let defs: Vec<&OpDef> = table().defs().iter().copied().filter(elementwise).collect();
    let cases: Vec<(&OpDef, DType, &str)> = defs
        .iter()
        .flat_map(|&def| {
            let attrs = ATTRS.iter().find(|(name, _)| *name == def.name).map_or(&[""][..], |(_, attrs)| attrs);
            DType::RUNTIME.into_iter().flat_map(move |dtype| attrs.iter().map(move |&attrs| (def, dtype, attrs)))
        })
        .collect();
    let results: Vec<Option<Vec<String>>> = cases.par_iter().map(|&(def, dtype, attrs)| wrong(def, dtype, attrs)).collect();
    let ran = results.iter().flatten().count();
    let failures: Vec<&String> = results.iter().flatten().flatten().collect();
    println!("{} operators, {ran} programs", defs.len());
    assert!(
        failures.is_empty(),
        "{} of {ran}:\n{}",
        failures.len(),
        failures.iter().map(|f| format!("{f}\n")).collect::<String>()
    );
    let ran_once = |def: &&&OpDef| cases.iter().zip(&results).any(|(case, result)| case.0.name == def.name && result.is_some());
    // What makes tensors has no operand with corners, or one that is a scalar; the goldens have it.
    let makes = |def: &&&OpDef| ["full", "full_like", "ones", "zeros"].contains(&def.name);
    // Quantized numbers come with scales of another dtype: the goldens have them.
    let mixed = |def: &&&OpDef| def.name.starts_with("qnn.");
    let silent: Vec<&str> = defs.iter().filter(|def| !ran_once(def) && !makes(def) && !mixed(def)).map(|def| def.name).collect();
    assert!(silent.is_empty(), "never run: {silent:?}");
}

/// Elementwise operators that have kernels of some dtypes only: functions without an approximation in f64.
const WITHOUT: &[(&[&str], &[DType])] = &[
    (&["erf", "fast_erf", "sin", "cos", "tan", "power", "mod", "trunc_mod", "floor_mod"], &[DType::F64]),
    // What has no bits, and what no network divides.
    (&["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "left_shift", "right_shift"], &FLOATS),
    (
        &[
            "divide",
            "trunc_divide",
            "floor_divide",
            "mod",
            "trunc_mod",
            "floor_mod",
            "left_shift",
            "right_shift",
            "clip",
            "nn.relu",
            "nn.leaky_relu",
            "nn.prelu",
        ],
        &[DType::BOOL],
    ),
];

#[test]
fn elementwise_operators_have_kernels_of_every_dtype() {
    let defs =
        table().defs().iter().copied().filter(|def| {
            matches!(def.lower, Some(Lower::Scalar(_) | Lower::Divided(_) | Lower::Along(..) | Lower::AlongOr(..)))
        });
    let mut wrong = vec![];
    for def in defs {
        let attrs = ATTRS.iter().find(|(name, _)| *name == def.name).and_then(|(_, attrs)| attrs.first()).unwrap_or(&"");
        for dtype in DType::RUNTIME {
            let without = WITHOUT.iter().any(|(names, dtypes)| names.contains(&def.name) && dtypes.contains(&dtype));
            if has_kernel(def, dtype, attrs).is_some_and(|has| has == without) {
                wrong.push(format!("{} {dtype}: {}", def.name, if without { "has a kernel" } else { "has none" }));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
