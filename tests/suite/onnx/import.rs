//! Exported models import back: the imported program is valid and has the same inputs and results as the first.

use super::SMALL;
use crate::support::writer::{Purpose, choices, write};
use rayon::prelude::*;
use relayc_driver::example::{Example, Runner};
use relayc_driver::import::{Imported, Request, onnx_bytes};
use relayc_driver::{Phase, Program, check_text, export, model};
use std::path::Path;

/// A function as a model, and the model as a program; `None` where ONNX cannot say it.
fn back(program: &Program, entry: &str) -> Result<Option<(Program, Imported)>, String> {
    let model = match export::to_onnx(program, entry, &[]) {
        Ok(model) => model,
        Err(errors) if errors.iter().all(|error| error.code.id() == "E0708") => return Ok(None),
        Err(errors) => return Err(format!("{errors:?}")),
    };
    let request = Request { model: "m.onnx".into(), ..Request::default() };
    let outcome = onnx_bytes(model.bytes, &request);
    let Some(imported) = outcome.imported else { return Err(format!("{:#?}", outcome.diagnostics)) };
    let again = check_text("again", &imported.text, Phase::Main);
    match again.has_errors() {
        true => Err(format!("{:?}\n{}", again.diagnostics, imported.text)),
        false => Ok(Some((again, imported))),
    }
}

/// What the parameters of `@main` are called, if all are tensors.
fn tensors(program: &Program) -> Option<Vec<&str>> {
    let module = &program.module;
    let params = &module.funcs[module.globals[module.find_global("main")?].func].params;
    let is_tensor = |&var: &_| {
        let var = &module.vars[var];
        var.checked_ty.or(var.ty).is_some_and(|ty| module.types.as_tensor(ty).is_some())
    };
    params.iter().all(is_tensor).then(|| params.iter().map(|&var| &*module.vars[var].name).collect())
}

/// Requires every function of a program that ONNX can say to come back as it was. Returns how many did.
fn all_back(program: &Program) -> Result<usize, String> {
    let mut n = 0;
    for global in program.module.globals.iter().filter(|global| &*global.name == "main") {
        let Some((again, imported)) = back(program, &global.name)? else { continue };
        // Random numbers go by names, and tuples come back as their fields.
        if tensors(program).is_none() || tensors(program) != tensors(&again) {
            continue;
        }
        let runner = Runner::new(program, "");
        let Some(example) = runner.random(&global.name) else { continue };
        runner.same(&Runner::new(&again, ""), &example).map_err(|why| format!("{why}\n{}", imported.text))?;
        n += 1;
    }
    Ok(n)
}

#[test]
fn small_networks_come_back() {
    for &(name, flags) in SMALL {
        let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
        let text = model::build(name, &flags, None).ok().unwrap_or_else(|| panic!("{name} builds")).text;
        assert_eq!(all_back(&check_text(name, &text, Phase::Infer)), Ok(1), "{name}");
    }
}

/// Each call says which node it comes from.
#[test]
fn calls_name_their_nodes() {
    let text = model::build("mlp", &[], None).ok().expect("it builds").text;
    let (_, imported) = back(&check_text("mlp", &text, Phase::Infer), "main").expect("it comes back").expect("ONNX can say it");
    let calls = imported.text.matches("nn.dense(").count();
    assert_eq!(imported.text.lines().filter(|line| line.contains("nn.dense(") && line.contains("/* span=")).count(), calls);
    assert!(calls == 3 && imported.text.contains("%data: Tensor[(1, 1, 28, 28), float32]"), "{}", imported.text);
}

/// The converter of `Gather` counts negative positions from the end, unless the model has done so.
#[test]
fn positions_are_counted_from_the_start_once() {
    let text = "def @main(%x: Tensor[(3), float32], %i: Tensor[(2), int64]) {
  take(%x, where(less(%i, 0i64), add(%i, 3i64), %i), axis=0, mode=\"fast\")
}";
    let program = check_text("taken", text, Phase::Main);
    let (_, imported) = back(&program, "main").expect("it comes back").expect("ONNX can say it");
    assert_eq!(imported.text.matches("where(").count(), 1, "{}", imported.text);
}

#[test]
fn goldens_come_back() {
    let programs = ["tests/golden/ops", "tests/golden/language", "tests/golden/kernels"];
    let programs = programs.into_iter().flat_map(|folder| crate::support::programs::under(folder, &["relay"]));
    let done: Vec<Result<usize, String>> = programs
        .par_bridge()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let program = check_text("golden", &text, Phase::Main);
            let done = if program.has_errors() { Ok(0) } else { all_back(&program) };
            done.map_err(|why| format!("{}: {why}", path.display()))
        })
        .collect();
    let wrong: Vec<&String> = done.iter().filter_map(|done| done.as_ref().err()).collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        done.len(),
        wrong.iter().map(|why| format!("{why}\n")).collect::<String>()
    );
}

/// Runs of numbers half between two integers, and of NaN, which `QuantizeLinear` makes other integers of than `qnn.quantize`.
const OTHERWISE: [&str; 3] =
    ["@to_int8([0, 0.25,", "@to_uint8([0, 0.25,", "@nan_and_infinities([nan, inf, -inf]) == [127, 127, -128]"];

/// What the `// run:` lines of the operators' goldens say holds of the functions that come back too.
#[test]
fn runs_of_goldens_come_back() {
    let done: Vec<Vec<Result<(), String>>> = crate::support::programs::under("tests/golden/ops", &["relay"])
        .into_iter()
        .par_bridge()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let program = check_text("golden", &text, Phase::Main);
            let folder = path.parent().unwrap_or(&path);
            let runs = text.lines().filter_map(|line| line.trim().strip_prefix("// run:"));
            let done = runs.filter_map(|line| run_comes_back(&program, folder, line));
            done.map(|done| done.map_err(|why| format!("{}: {why}", path.display()))).collect()
        })
        .collect();
    let wrong: Vec<&String> = done.iter().flatten().filter_map(|done| done.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.iter().map(|why| format!("{why}\n")).collect::<String>());
    let n = done.iter().flatten().count();
    println!("{n} runs came back");
    assert!(n > 200, "only {n} runs came back");
}

/// Runs a line on the function that came back; nothing where ONNX cannot say the function, or the line is of a failure or of tuples.
fn run_comes_back(program: &Program, folder: &Path, line: &str) -> Option<Result<(), String>> {
    let example = Example::parse(line).ok().filter(|_| !program.has_errors() && !line.contains(" error E"))?;
    let name = example.function();
    let (again, imported) = match back(program, name) {
        Ok(again) => again?,
        Err(why) => return Some(Err(format!("{line}: {why}"))),
    };
    let module = &program.module;
    let params = &module.funcs[module.globals[module.find_global(name)?].func].params;
    // A graph of one result says nothing of a tuple round it.
    let ret = module.funcs[module.globals[module.find_global(name)?].func].ret?;
    module.types.as_tuple(ret).is_none_or(|fields| fields.len() != 1).then_some(())?;
    let names: Vec<&str> = params.iter().map(|&var| &*module.vars[var].name).collect();
    (tensors(&again)? == names).then_some(())?;
    let again_line = line.replacen(&format!("@{name}("), "@main(", 1);
    let checked = Example::parse(&again_line).and_then(|example| Runner::new(&again, folder).check(&example));
    if OTHERWISE.iter().any(|start| line.trim().starts_with(start)) {
        assert!(checked.is_err(), "{line} is no exception any more");
        return None;
    }
    Some(checked.map_err(|why| format!("{line}: {why}\n{}", imported.text)))
}

/// Programs nobody would write.
#[test]
fn random_programs_come_back() {
    const PROGRAMS: u64 = 500;
    let done: Vec<Result<usize, String>> = (0..PROGRAMS)
        .into_par_iter()
        .map(|seed| {
            let program = check_text("random", &write(&choices(seed), Purpose::Run), Phase::Main);
            if program.has_errors() { Ok(0) } else { all_back(&program).map_err(|why| format!("program {seed}: {why}")) }
        })
        .collect();
    let wrong: Vec<&String> = done.iter().filter_map(|done| done.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{} wrong, such as {}", wrong.len(), wrong[0]);
    let n: usize = done.iter().flatten().sum();
    assert!(n > 50, "of {PROGRAMS} programs only {n} are models");
}
