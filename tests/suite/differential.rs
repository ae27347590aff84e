//! Differential test: random dataflow programs give the same compiled and interpreted, on every level, by every instruction set
//! of this machine, by one to three threads. Equivalent spellings give the same bytes.
//!
//! A fixed number of programs, by their seeds; `RELAYC_SEEDS=FROM..TO` runs those of a range instead, as `.ci/long` does.

use crate::compare::{Reference, Verdict, bytes, held, held_for, isas, reference};
use crate::support::dataflow::{Form, Program};
use crate::support::seeds::seeds;
use relayc_driver::bind::{Bound, tensors_in};
use relayc_driver::check_text;
use relayc_driver::optimise::UNTIL;
use relayc_driver::run::{Limits, entry, interpret};
use relayc_engine::compile::{Machine, Policy, Settings};
use relayc_ir::tensor::Tensor;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a program of a number is compiled.
fn settings(seed: u64) -> [Settings; 2] {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x5e77);
    let isas = isas();
    // Most as users have it, once with everything and once with something left out.
    let mut one = |level| Settings {
        level,
        isa: isas[random.usize(..isas.len())],
        threads: random.usize(1..4),
        accuracy: Policy::Strict,
        machine: Machine::Native,
        choices: Default::default(),
        fault: None,
    };
    [one(3), one((seed % 4) as u8)]
}

/// What is wrong with a program of so many steps.
fn wrong(seed: u64, n_steps: usize) -> Option<String> {
    let program = Program::new(seed, n_steps);
    let text = program.text(Form::Mixed);
    if seeds(0).eq([seed]) {
        println!("{text}");
    }
    let checked = check_text("random", &text, UNTIL);
    if checked.has_errors() {
        let messages: Vec<&str> = checked.diagnostics.iter().map(|diagnostic| &*diagnostic.message).collect();
        return Some(format!("it is wrong: {messages:?}\n{text}"));
    }
    let args = program.args();
    let reference: Reference = reference(&checked, "main", &args);
    for settings in settings(seed) {
        let said = match held("random", &text, "main", &settings, &[(args.clone(), &reference)]) {
            Verdict::Agrees => continue,
            Verdict::PartsAgree | Verdict::NotCompiled(_) => "it is not compiled".to_owned(),
            Verdict::Differs(why) => why,
        };
        let Settings { level, isa, threads, .. } = settings;
        return Some(format!("-O{level} on {isa:?} by {threads} threads: {said}\n{text}"));
    }
    None
}

/// What is wrong with the program of a number, made as small as cutting it off makes it.
fn failure(seed: u64) -> Option<String> {
    let n_steps = Program::n_steps(seed);
    let whole = wrong(seed, n_steps)?;
    let smaller = (1..n_steps).find_map(|n_steps| wrong(seed, n_steps));
    Some(format!("program {seed}: {}", smaller.unwrap_or(whole)))
}

/// Runs a promise on the seeds below `count`, or on those of the range that the environment names.
fn each(count: u64, promise: impl Fn(u64) -> Option<String> + Sync) {
    let Range { start: from, end: to } = seeds(count);
    let (next, done) = (AtomicU64::new(from), AtomicU64::new(0));
    let work = || {
        let mut found = vec![];
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= to || found.len() > 4 {
                break;
            }
            found.extend(promise(seed));
            done.fetch_add(1, Ordering::Relaxed);
        }
        found
    };
    // Threads of their own: in the pool that the interpreter uses, one promise would wait for another.
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let done = done.into_inner();
    println!("{done} programs");
    assert!(failures.is_empty(), "{} of {done} programs:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn compiled_programs_give_what_the_interpreter_gives() {
    each(4000, failure);
}

/// What is wrong where a program is written otherwise, or run by more threads.
fn another_way(seed: u64) -> Option<String> {
    let program = Program::new(seed, Program::n_steps(seed));
    let (args, [settings, _]) = (program.args(), settings(seed));
    let text = program.text(Form::Mixed);
    let expected = bytes(&text, &settings, &args);
    let more = Settings { threads: settings.threads % 3 + 1, ..settings.clone() };
    for form in [Form::Mixed, Form::Lets, Form::Packed] {
        let other = program.text(form);
        if bytes(&other, &more, &args) != expected {
            return Some(format!(
                "program {seed}: other bytes from\n{other}than from\n{text}by {} threads and by {}",
                more.threads, settings.threads
            ));
        }
    }
    // Passes meet what is outlined in another order, so that sums may be taken in another one too.
    let other = program.text(Form::Outlined);
    let reference = reference(&check_text("random", &text, UNTIL), "main", &args);
    match held("random", &other, "main", &more, &[(args, &reference)]) {
        Verdict::Differs(why) => Some(format!("program {seed}: {why}\n{other}")),
        Verdict::PartsAgree | Verdict::NotCompiled(_) => Some(format!("program {seed}: not compiled\n{other}")),
        Verdict::Agrees => None,
    }
}

#[test]
fn the_same_written_otherwise_gives_the_same_bytes() {
    each(600, another_way);
}

/// What is wrong with a program in parts: one that branches, or whose dimensions are found when it is run.
fn in_parts(seed: u64) -> Option<String> {
    let program = Program::new(seed, Program::n_steps(seed));
    let (args, [settings, _]) = (program.args(), settings(seed));
    let plain = check_text("random", &program.text(Form::Mixed), UNTIL);
    let reference = reference(&plain, "main", &args);
    for form in [Form::Branching, Form::Open] {
        let text = program.text(form);
        let checked = check_text("random", &text, UNTIL);
        // Some operators have to know dimensions.
        match (form, checked.has_errors()) {
            (Form::Open, true) => continue,
            (_, true) => return Some(format!("it is wrong: {:?}\n{text}", checked.diagnostics)),
            _ => {}
        }
        let mut args = args.clone();
        if form == Form::Branching {
            args.push(Bound::Tensor(Tensor::scalar(true)));
        }
        // Compiled for these shapes, or for those that come.
        let shapes = seed.is_multiple_of(2).then(|| args.clone());
        if let Verdict::Differs(why) = held_for("random", &text, "main", shapes.as_deref(), &settings, &[(args, &reference)]) {
            return Some(format!("program {seed} at -O{}: {why}\n{text}", settings.level));
        }
    }
    None
}

#[test]
fn programs_in_parts_give_the_same() {
    each(800, in_parts);
}

/// What is wrong with a program of quantized steps, whose results are the same bit for bit.
fn of_bytes(seed: u64) -> Option<String> {
    let program = Program::of_bytes(seed, Program::n_steps(seed));
    let (text, args) = (program.text(Form::Mixed), program.args());
    let checked = check_text("random", &text, UNTIL);
    if checked.has_errors() {
        return Some(format!("program {seed} is wrong: {:?}\n{text}", checked.diagnostics));
    }
    let entry = entry(&checked.module, "main").expect("it has an entry");
    let expected = interpret(&checked, &entry, args.clone(), Limits::default()).expect("nothing in it fails");
    let expected = raw(&expected).into_iter().map(|(_, bytes)| bytes).collect();
    settings(seed).into_iter().find_map(|settings| match bytes(&text, &settings, &args) {
        Some(Ok(found)) if found == expected => None,
        Some(found) => {
            Some(format!("program {seed} at -O{} by {:?}: {}\n{text}", settings.level, settings.isa, told(&found, &expected)))
        }
        None => Some(format!("program {seed} is not compiled\n{text}")),
    })
}

/// How results differ.
fn told(found: &Result<Vec<Vec<u8>>, &'static str>, expected: &Vec<Vec<u8>>) -> String {
    let found = match found {
        Ok(found) => found,
        Err(code) => return format!("it failed with {code}"),
    };
    let differ = |(found, expected): (&Vec<u8>, &Vec<u8>)| found.iter().zip(expected).filter(|(a, b)| a != b).count();
    let counts: Vec<usize> = found.iter().zip(expected).map(differ).collect();
    format!("so many bytes of each result differ: {counts:?}")
}

#[test]
fn quantized_programs_give_the_same_bytes() {
    each(1500, of_bytes);
}

/// For each number that becomes a name, the numbers of the runs.
type Names = Vec<(usize, Vec<usize>)>;

/// A choice of sizes.
fn choice(random: &mut fastrand::Rng, numbers: &[usize]) -> Names {
    let mut numbers = numbers.to_vec();
    random.shuffle(&mut numbers);
    numbers.truncate(random.usize(1..4));
    numbers.into_iter().map(|number| (number, (0..N_SIZES).map(|_| random.usize(1..2 * number + 1)).collect())).collect()
}

/// The sizes of a program that is run at several, besides those that it was made with.
const N_SIZES: usize = 3;

/// A program with names for some sizes that the checker accepts.
fn with_names(program: &Program, random: &mut fastrand::Rng) -> Option<(String, Names)> {
    const TRIES: usize = 4;
    let numbers = program.numbers();
    (0..TRIES).filter(|_| !numbers.is_empty()).find_map(|_| {
        let names = choice(random, &numbers);
        let named = |size: usize| {
            let is_named = names.iter().any(|(number, _)| *number == size);
            if is_named { format!("n{size}") } else { size.to_string() }
        };
        let text = program.sized(&named);
        (!check_text("random", &text, UNTIL).has_errors()).then_some((text, names))
    })
}

/// The shapes and the bytes of a value.
fn raw(value: &Bound) -> Vec<(Vec<usize>, Vec<u8>)> {
    let tensors = tensors_in(std::slice::from_ref(value));
    tensors.into_iter().map(|tensor| (tensor.shape().to_vec(), tensor.to_le_bytes())).collect()
}

/// What is wrong with a program of any size: at each size it gives what the program of these numbers gives.
fn of_any_size(seed: u64, n_right: &AtomicU64) -> Option<String> {
    let program = Program::new(seed, Program::n_steps(seed));
    let mut random = fastrand::Rng::with_seed(seed ^ 0x517e);
    let (text, names) = with_names(&program, &mut random)?;
    let open = check_text("random", &text, UNTIL);
    let open_entry = entry(&open.module, "main").expect("it has an entry");
    let mut runs: Vec<(Vec<Bound>, Reference)> = vec![];
    for run in 0..=N_SIZES {
        let sizes: Vec<(usize, usize)> =
            names.iter().map(|(number, sizes)| (*number, run.checked_sub(1).map_or(*number, |run| sizes[run]))).collect();
        let size = |dim: usize| sizes.iter().find(|(number, _)| *number == dim).map_or(dim, |(_, size)| *size);
        let (numbered, args) = (program.sized(&|dim| size(dim).to_string()), program.args_of(&size));
        let found = interpret(&open, &open_entry, args.clone(), Limits::default());
        let numbered = check_text("random", &numbered, UNTIL);
        if numbered.has_errors() {
            // What the sizes do not fit fails when it is run, and does nothing else.
            let nothing = Reference::Failed("E0308");
            let _ = held_for("random", &text, "main", Some(&args), &settings(seed)[0], &[(args.clone(), &nothing)]);
            continue;
        }
        let numbered_entry = entry(&numbered.module, "main").expect("it has an entry");
        let expected = interpret(&numbered, &numbered_entry, args.clone(), Limits::default());
        let same = match (&found, &expected) {
            (Ok(found), Ok(expected)) => raw(found) == raw(expected),
            (Err(found), Err(expected)) => found.code == expected.code,
            _ => false,
        };
        if !same {
            let code =
                |of: &Result<Bound, _>| of.as_ref().err().map(|error: &relayc_base::diag::Diagnostic| error.message.clone());
            return Some(format!(
                "program {seed} at {sizes:?}: {:?}, of these numbers {:?}\n{text}",
                code(&found),
                code(&expected)
            ));
        }
        n_right.fetch_add(1, Ordering::Relaxed);
        // What nobody needs may fail or not, such as an index into a slice that is empty at this size.
        let near = reference(&numbered, "main", &args);
        if matches!(near, Reference::Near(_)) {
            runs.push((args, near));
        }
    }
    let [settings, _] = settings(seed);
    runs.into_iter().find_map(|(args, near)| {
        match held_for("random", &text, "main", Some(&args), &settings, &[(args.clone(), &near)]) {
            Verdict::Differs(why) => Some(format!("program {seed} at -O{}: {why}\n{text}", settings.level)),
            _ => None,
        }
    })
}

#[test]
fn programs_of_any_size_give_the_same() {
    let n_right = AtomicU64::new(0);
    each(2000, |seed| of_any_size(seed, &n_right));
    println!("{} runs", n_right.load(Ordering::Relaxed));
    assert!(!seeds(2000).eq(0..2000) || n_right.into_inner() > 1000, "too few programs run at other sizes");
}
