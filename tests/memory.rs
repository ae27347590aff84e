//! Memory of a compiled program: weights are in memory once, as they are kept, and the arena is hardly larger than the live
//! tensors.

#![cfg(feature = "jit")]

#[path = "support/networks.rs"]
mod networks;
#[path = "support/mod.rs"]
mod support;

use networks::{WHOLE, network, unbound};
use regex_lite::{Captures, Regex};
use relayc_base::diag::Diagnostic;
use relayc_codegen::asm::Isa;
use relayc_codegen::pool::Pool;
use relayc_driver::bind::Requests;
use relayc_driver::bind::tensors_in;
use relayc_driver::bind::{Bound, bind};
use relayc_driver::run::{Limits, entry, limits};
use relayc_driver::timings::Timings;
use relayc_driver::{Phase, check_text};
use relayc_engine::compile::{Compiled, Policy, Settings, assembled, compile, compile_taking};
use relayc_engine::cross_check;
use relayc_exec::plan::Scratch;
use relayc_interp::{Value, ValueObserver};
use relayc_ir::tensor::Tensor;
use relayc_ir::{ExprId, Module};
use relayc_ops as ops;
use relayc_ops::eval::{ArgValue, EvalCx, OutTy, Work};
use relayc_weights::params;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use support::counted::{Counted, most};
use support::programs;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

const MIB: f64 = (1 << 20) as f64;

fn settings() -> Settings {
    let native = Settings::native(3, 2).expect("RELAYC_ISA is none or sound");
    Settings { accuracy: Policy::Fast, ..native.expect("a machine with AVX2") }
}

#[test]
fn the_arena_is_hardly_larger_than_what_is_needed_at_one_time() {
    let mut scratch = 0;
    for &(name, flags) in WHOLE {
        for isa in [Isa::Avx2, Isa::Avx512] {
            let mut program = unbound(name, flags);
            let settings = Settings { isa, ..settings() };
            let code = assembled(&mut program.module, "main", &settings, &Limits::default(), &mut Timings::default());
            let plan = code.ok().unwrap_or_else(|| panic!("{name} {flags} is compiled")).plan;
            let (arena, needed) = (plan.arena_bytes, plan.needed_bytes);
            scratch += plan.scratch.iter().map(Scratch::bytes).sum::<u64>();
            assert!(arena >= needed && needed > 0, "{name} {flags}: an arena of {arena} bytes where {needed} are needed");
            assert!(
                10 * arena <= 11 * needed,
                "{name} {flags} on {isa:?}: an arena of {arena} bytes, {needed} needed at one time"
            );
        }
    }
    assert!(scratch > 0, "some step needs scratch memory");
}

/// Text, trees, types, plan and code are all there before the first weight is packed. With the pages of the program's file they are what
/// a run has beside weights and arena, which for the binary that people use is held by `.ci/memory.py`.
#[test]
fn compiling_takes_little_memory() {
    for &(name, flags) in WHOLE {
        for isa in [Isa::Avx2, Isa::Avx512] {
            let settings = Settings { isa, ..settings() };
            let (n_steps, bytes) = most(|| {
                let mut program = unbound(name, flags);
                let code = assembled(&mut program.module, "main", &settings, &Limits::default(), &mut Timings::default());
                code.ok().unwrap_or_else(|| panic!("{name} {flags} is compiled")).plan.steps.len()
            });
            let mib = bytes as f64 / MIB;
            // Its windows read half a million rows beside tensors, of which the plan has a list.
            let most = if name == "resnet_3d" { 20.0 } else { 10.0 };
            assert!(mib > 0.0 && mib < most, "{name} {flags} on {isa:?}: {mib:.1} MiB for {n_steps} steps");
        }
    }
}

/// The plan of a text at a level, its code made.
fn arena(text: &str) -> (u64, u64) {
    let program = relayc_driver::check_text("x", text, relayc_driver::optimise::UNTIL);
    assert!(!program.has_errors(), "{:?}", program.diagnostics);
    let compiled = compile(&program, "main", &settings(), Limits::default()).ok().expect("it is compiled");
    (compiled.program.plan.live_bytes, compiled.program.plan.arena_bytes)
}

#[test]
fn a_result_takes_the_place_of_an_operand_that_dies() {
    const PAGE: u64 = 4 * 64 * 256;
    // Only the last element is left of each row, so that nothing but a tensor of the arena holds the rows.
    let program = |body: &str| {
        format!(
            "def @main(%x: Tensor[(64, 256), float32], %w: Tensor[(256, 256), float32]) {{
               %0 = nn.dense(%x, %w, units=256);
               {body}
               sum(%9, axis=[1])
             }}"
        )
    };
    // Over the logits; over the other branch behind a product.
    assert_eq!(arena(&program("%9 = nn.softmax(%0);")).0, PAGE);
    assert_eq!(arena(&program("%9 = add(nn.dense(tanh(%0), %w, units=256), %0);")).0, 2 * PAGE);
    // In any order of the loops; what is read later again stays.
    assert_eq!(arena(&program("%9 = nn.softmax(nn.softmax(%0, axis=0));")).0, PAGE);
    assert_eq!(
        arena(&program("%1 = nn.softmax(%0); %9 = nn.dense(%1, nn.softmax(%0, axis=0), units=64);")).0,
        2 * PAGE + 4 * 64 * 64
    );
}

/// The bytes of the outputs of a run on random inputs.
fn outputs(compiled: &Compiled, args: &[Bound]) -> Vec<Vec<u8>> {
    let result = compiled.run(args).expect("it runs");
    tensors_in(&[result]).into_iter().map(Tensor::to_le_bytes).collect()
}

#[test]
fn a_program_that_gave_its_weights_away_computes_the_same() {
    let small = [
        ("mlp", ""),
        ("dqn", ""),
        ("resnet", "--layers 20 --image-shape 3,28,28 --classes 10"),
        ("mobilenet", "--image-shape 3,48,48 --classes 10"),
        ("dcgan", "--ngf 4"),
    ];
    let mut n_gone = 0;
    for (name, flags) in small {
        let mut program = network(name, flags);
        let slots = entry(&program.module, "main").expect("a network has one").slots;
        let requests = Requests { fill: Some("rand:seed=3".into()), ..Requests::default() };
        let args = bind(&slots, &program.module.types, &requests).expect("its inputs are tensors");
        let kept = compile(&program, "main", &settings(), Limits::default()).ok().expect("it is compiled");
        let expected = outputs(&kept, &args);
        let taken = compile_taking(&mut program.module, "main", &settings(), Limits::default()).ok().expect("it is compiled");
        assert!(program.module.exprs.is_empty(), "{name}: nothing is left of the module");
        assert!(taken.program.kept_bytes() <= kept.program.kept_bytes(), "{name}");
        assert_eq!(outputs(&taken, &args), expected, "{name} {flags}");
        assert_eq!(outputs(&taken, &args), expected, "{name} {flags}, again");
        // Groups whose weights are gone cannot be compared; nothing else changes.
        let all = cross_check::run(&kept, &args).expect("they agree");
        let some = cross_check::run(&taken, &args).expect("they agree");
        assert!(some.groups <= all.groups, "{name}: {} of {}", some.groups, all.groups);
        n_gone += all.groups - some.groups;
    }
    assert!(n_gone > 0, "no weight has gone");
}

#[test]
fn a_session_may_have_more_threads_than_the_plan_was_made_for() {
    let program = network("resnet", "--layers 18 --image-shape 3,64,64 --classes 10");
    let slots = entry(&program.module, "main").expect("a network has one").slots;
    let requests = Requests { fill: Some("rand:seed=3".into()), ..Requests::default() };
    let args = bind(&slots, &program.module.types, &requests).expect("its inputs are tensors");
    let one = Settings { threads: 1, ..settings() };
    let compiled = compile(&program, "main", &one, Limits::default()).ok().expect("it is compiled");
    assert!(compiled.program.scratch_bytes() > 0, "some kernel has scratch memory");
    let expected = outputs(&compiled, &args);
    for threads in [2, 5] {
        let mut session = compiled.session_on(Arc::new(Pool::new(threads))).expect("there is memory");
        let result = compiled.run_in(&mut session, &args, None).expect("it runs");
        let got: Vec<Vec<u8>> = tensors_in(&[result]).into_iter().map(Tensor::to_le_bytes).collect();
        assert!(got == expected, "{threads} threads");
    }
}

/// The layers of a program with a weight of 4 MiB each.
const LAYERS: usize = 24;

/// Products whose weights are packed, every other one scaled before; the last reads its weight as it is.
fn program() -> String {
    let mut params = "%x: Tensor[(64, 1024), float32], %s: Tensor[(1024), float32]".to_owned();
    let (mut body, mut last) = (String::new(), "%x".to_owned());
    for layer in 0..LAYERS {
        params.push_str(&format!(", %w{layer}: Tensor[(1024, 1024), float32]"));
        if layer + 1 == LAYERS {
            let row = format!("strided_slice({last}, begin=[0, 0], end=[1, 1024], strides=[1, 1], axes=None)");
            body.push_str(&format!("  nn.dense({row}, %w{layer}, units=None)\n"));
        } else {
            let product = format!("nn.dense({last}, %w{layer}, units=None)");
            let scaled = if layer % 2 == 0 { format!("multiply({product}, %s)") } else { product };
            body.push_str(&format!("  %{layer} = nn.relu({scaled});\n"));
        }
        last = format!("%{layer}");
    }
    format!("#[version = \"0.0.5\"]\ndef @main({params}) {{\n{body}}}\n")
}

/// `weights as kept`, `arena` and `peak of the process` of `relayc profile`, in MiB.
fn profiled(folder: &Path, program: &str, params: Option<&str>) -> [f64; 3] {
    std::fs::write(folder.join("p.relay"), program).expect("the folder can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    command.current_dir(folder).args(["profile", "p.relay", "--fill", "rand", "--seconds", "0", "--threads", "1"]);
    let out = command.args(params.iter().flat_map(|file| ["--params", file])).output().expect("it can be started");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
    ["weights as kept ", "arena ", "peak of the process "].map(|name| {
        let number = text.split(name).nth(1).and_then(|rest| rest.split(" MiB").next());
        number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name} is said in {text}"))
    })
}

#[test]
fn no_weight_is_in_memory_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let square = |layer: usize| Tensor::from_fn(&[1024, 1024], |i| ((i + layer) % 251) as f32 * 1e-4);
    let mut weights: Vec<(String, Tensor)> = (0..LAYERS).map(|layer| (format!("w{layer}"), square(layer))).collect();
    weights.push(("s".into(), Tensor::from_fn(&[1024], |i| 1.0 + i as f32 * 1e-4)));
    let weights = params::write(&weights);
    let of_file = weights.len() as f64 / MIB;
    std::fs::write(folder.path().join("w.params"), &weights).expect("the folder can be written");
    drop(weights);
    // What the process has without weights: its own code, above all.
    let small = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(64, 64), float32], %w: Tensor[(64, 64), float32]) { nn.dense(%x, %w, units=None) }";
    let [_, _, bare] = profiled(folder.path(), small, None);
    let [kept, arena, peak] = profiled(folder.path(), &program(), Some("w.params"));
    assert!(of_file > 90.0 && (of_file - kept).abs() < 1.0, "{kept} MiB are kept of {of_file}");
    assert!(peak > kept, "{peak} MiB at most, {kept} MiB kept");
    // Not even one weight, of 4 MiB, is there in both forms.
    assert!(peak <= kept + arena + bare + 3.5, "{peak} MiB at most: weights {kept}, arena {arena}, without them {bare}");
}

/// Measures what evaluators take beside their results, against what their operators declare.
#[derive(Default)]
struct WorkSpaces {
    seen: RefCell<BTreeSet<&'static str>>,
    excesses: RefCell<BTreeSet<String>>,
}

/// What is not counted: positions along an axis, names, small tables.
const UNCOUNTED: i64 = 64 << 10;

impl ValueObserver for WorkSpaces {
    fn value(&self, _: &Module, _: ExprId, _: &Value) {}

    fn call(&self, module: &Module, call: ExprId, operands: &[&Value], result: &Value) -> Result<(), Box<Diagnostic>> {
        let def = ops::table().def(module.called_op(call).expect("a call of an operator"));
        let values: Vec<Value> = operands.iter().map(|&value| value.clone()).collect();
        let result_tys: Vec<OutTy> =
            tensors_of(result).iter().map(|x| OutTy { shape: x.shape().into(), dtype: x.dtype() }).collect();
        let args: Vec<ArgValue> = operands
            .iter()
            .map(|value| match value {
                Value::Tensor(tensor) => ArgValue::Tensor(tensor.clone()),
                value => ArgValue::Tuple(tensors_of(value)),
            })
            .collect();
        let (again, taken) = most(|| relayc_interp::call_operator(module, ops::table(), call, &values, &limits(Some(LIMIT))));
        let Ok(again) = again else { return Ok(()) };
        let result: u64 = tensors_of(&again).iter().map(|tensor| tensor.storage().bytes).sum();
        let cx = EvalCx { args: &args, attrs: module.call_attrs(call), out: &result_tys, max_bytes: LIMIT };
        let declared = def.work.bytes(&cx);
        let all = (result + declared) as i64;
        self.seen.borrow_mut().insert(def.name);
        // What is declared for the call itself is hardly more than it takes.
        let is_generous = matches!(def.work, Work::Of(_)) && all > taken + taken / 2 + UNCOUNTED;
        if taken - all > UNCOUNTED || is_generous {
            let sizes: Vec<String> = args.iter().map(arg_text).collect();
            self.excesses.borrow_mut().insert(format!(
                "`{}` of {}: {taken} bytes, declared are {declared} beside {result}",
                def.name,
                sizes.join(", ")
            ));
        }
        Ok(())
    }
}

fn arg_text(arg: &ArgValue) -> String {
    match arg {
        ArgValue::Tensor(tensor) => tensor.type_text(),
        ArgValue::Tuple(tensors) => tensors.iter().map(|tensor| tensor.type_text()).collect::<Vec<_>>().join("; "),
    }
}

fn tensors_of(value: &Value) -> Vec<Tensor> {
    match value {
        Value::Tensor(tensor) => vec![tensor.clone()],
        Value::Tuple(fields) => fields.iter().flat_map(tensors_of).collect(),
        _ => vec![],
    }
}

/// The memory of each run of a scaled golden.
const LIMIT: u64 = 8 << 20;

/// The functions of the goldens of operators, with one dimension of their parameters several times as large.
fn scaled(text: &str) -> Vec<String> {
    let dims = Regex::new(r"Tensor\[\(([^()]*)\),").expect("a pattern");
    let mut programs = vec![];
    // What sorts of operands an operator has its first functions show.
    for part in text.split("\ndef @").skip(1).take(10) {
        let (Some(brace), Some(end)) = (part.find("{\n"), part.find("\n}")) else { continue };
        let Some(open) = part.find('(').filter(|&open| open < brace) else { continue };
        let params = part[open..brace].split(") ->").next().unwrap_or_default().trim().trim_end_matches(')');
        let numbers = |text: &str| text.split(',').map(|dim| dim.trim().parse::<i64>().ok()).collect::<Vec<_>>();
        let found: BTreeSet<i64> = dims.captures_iter(params).flat_map(|found| numbers(&found[1])).flatten().collect();
        for (dim, times) in found.iter().flat_map(|&dim| [(dim, 8000), (dim, 60)]) {
            let mut elements = 0;
            let larger = dims.replace_all(params, |found: &Captures| {
                let larger =
                    numbers(&found[1]).into_iter().map(|n| n.map(|n| if n == dim { n.saturating_mul(times) } else { n }));
                let larger: Vec<i64> = larger.map(|n| n.unwrap_or(1)).collect();
                elements = larger.iter().fold(1i64, |n, &dim| n.saturating_mul(dim)).saturating_add(elements);
                format!("Tensor[({}),", larger.iter().map(i64::to_string).collect::<Vec<_>>().join(", "))
            });
            if (3_000..150_000).contains(&elements) {
                programs.push(format!("#[version = \"0.0.5\"]\ndef @main{larger}) {}}}\n", &part[brace..end + 1]));
            }
        }
    }
    programs
}

#[test]
fn evaluators_take_the_memory_that_their_operators_declare() {
    let spaces = WorkSpaces::default();
    for path in programs::under("tests/golden/ops", &["relay"]) {
        for text in scaled(&std::fs::read_to_string(path).expect("a golden")) {
            let program = check_text("scaled", &text, Phase::Infer);
            let Ok(main) = entry(&program.module, "main") else { continue };
            if program.has_errors() {
                continue;
            }
            // Indices that random numbers leave out of range are in range as zeros.
            for fill in ["rand:seed=3", "zeros"] {
                let requests = Requests { fill: Some(fill.into()), max_memory: Some(LIMIT), ..Requests::default() };
                let Ok(args) = bind(&main.slots, &program.module.types, &requests) else { continue };
                let lowered = relayc_interp::lower(&program.module);
                let interp = relayc_interp::Interp::new(&program.module, ops::table(), &lowered, limits(Some(LIMIT)));
                let global = program.module.find_global("main").expect("it is the entry");
                let args = args.into_iter().map(relayc_driver::run::to_value).collect();
                if interp.seen_by(Some(&spaces)).call_global(global, args).is_ok() {
                    break;
                }
            }
        }
    }
    let (seen, excesses) = (spaces.seen.into_inner(), spaces.excesses.into_inner());
    assert!(seen.len() > 200, "only {} operators were run", seen.len());
    assert!(excesses.is_empty(), "{}", excesses.into_iter().collect::<Vec<_>>().join("\n"));
}
