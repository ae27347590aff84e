//! Artifacts give the same bytes as programs in memory, both in relayc and in a C program without relayc.
//!
//! `tests/suite/artifacts_damaged.rs` tests damaged artifacts.

#![allow(unsafe_code, reason = "a library is loaded and its functions are called")]

use crate::goldens::programs;
use rayon::prelude::*;
use relayc_codegen::cpu::Cpu;
use relayc_driver::bind::Bound;
use relayc_driver::bind::tensors_in;
use relayc_driver::example::{Example, Runner};
use relayc_driver::optimise::UNTIL;
use relayc_driver::run::{Limits, entry, interpret};
use relayc_driver::{Program, check_text};
use relayc_engine::artifact;
use relayc_engine::build::{Request, THREADS, build};
use relayc_engine::compile::{Isa, Machine, Policy, Settings, compile};
use relayc_engine::subgraphs::{CompileTrigger, prepare};
use relayc_testing::run_lines;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

fn settings(isa: Isa) -> Settings {
    Settings {
        level: 3,
        isa,
        threads: THREADS,
        accuracy: Policy::Fast,
        machine: Machine::Common(isa),
        choices: Default::default(),
        fault: None,
    }
}

fn request(entry: &str, machines: &[Isa]) -> Request {
    Request {
        entry: entry.to_owned(),
        settings: machines.iter().map(|&isa| settings(isa)).collect(),
        sizes: vec![],
        limits: Limits::default(),
        asm: false,
        object: false,
        name: "net".into(),
    }
}

/// The bytes of a result, or the code and the words of a failure.
type Answer = Result<Vec<Vec<u8>>, (&'static str, String)>;

/// What the artifact of a function gives for each call, on each instruction set; `None` where none can be built.
fn from_artifact(program: &Program, function: &str, calls: &[Vec<Bound>]) -> Option<Vec<Answer>> {
    let built = match build(program, &request(function, &Cpu::get().isas())) {
        Ok(built) => built,
        // Without code, or with sizes that this request leaves open.
        Err(errors) if errors.iter().any(|error| ["E0603", "E0704"].contains(&error.code.id())) => return None,
        // A part that is computed when it is built may fail, as it does when it is compiled.
        Err(errors) => return Some(vec![Err((errors[0].code.id(), errors[0].message.clone()))]),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("net.so");
    std::fs::write(&path, built.so).expect("written");
    let ready = artifact::open(&path).and_then(artifact::Artifact::load).unwrap_or_else(|error| panic!("{error:?}"));
    let answer = |isa: Isa, threads: usize, args: &Vec<Bound>| {
        let ran = ready.run(args, threads, Some(isa), &Limits::default());
        let bytes = |ran: artifact::ArtifactRun| ran.outputs.iter().map(|(_, tensor)| tensor.to_le_bytes()).collect();
        ran.map(bytes).map_err(|error| (error.code.id(), error.message))
    };
    let runs = Cpu::get().isas().into_iter().flat_map(|isa| calls.iter().map(move |args| (isa, args))).enumerate();
    Some(runs.map(|(at, (isa, args))| answer(isa, 1 + at % 3, args)).collect())
}

/// The same from the program in memory.
fn from_memory(program: &Program, function: &str, calls: &[Vec<Bound>]) -> Vec<Answer> {
    let mut answers = vec![];
    for isa in Cpu::get().isas() {
        match compile(program, function, &settings(isa), Limits::default()) {
            Ok(compiled) => answers.extend(calls.iter().map(|args| match compiled.run(args) {
                Ok(result) => Ok(tensors_in(&[result]).into_iter().map(|tensor| tensor.to_le_bytes()).collect()),
                Err(error) => Err((error.code.id(), error.message)),
            })),
            Err(relayc_engine::compile::Refused::Wrong(error)) => return vec![Err((error.code.id(), error.message))],
            Err(relayc_engine::compile::Refused::Not(_)) => answers.extend(by_subgraphs(program, function, calls, isa)),
        }
    }
    answers
}

/// The same from a program with control flow, whose subgraphs are compiled when they are called.
fn by_subgraphs(program: &Program, function: &str, calls: &[Vec<Bound>], isa: Isa) -> Vec<Answer> {
    let prepared = prepare(program, function, None, &settings(isa), Limits::default(), CompileTrigger::Called).ok();
    let entry = entry(&program.module, function).expect("it is there");
    let answer = |args: &Vec<Bound>| match &prepared {
        Some(prepared) => prepared.run(args),
        // It computes nothing.
        None => interpret(program, &entry, args.clone(), Limits::default()).map_err(Box::new),
    };
    let answer = |args: &Vec<Bound>| match answer(args) {
        Ok(result) => Ok(tensors_in(&[result]).into_iter().map(|tensor| tensor.to_le_bytes()).collect()),
        Err(error) => Err((error.code.id(), error.message)),
    };
    calls.iter().map(answer).collect()
}

/// Whether answers have the same bytes, and failures the same words, behind which an artifact says where in the text it was.
fn alike(found: &[Answer], expected: &[Answer]) -> bool {
    let same = |(found, expected): (&Answer, &Answer)| match (found, expected) {
        (Err((code, words)), Err((known, beginning))) => code == known && words.starts_with(beginning.as_str()),
        (found, expected) => found == expected,
    };
    found.len() == expected.len() && found.iter().zip(expected).all(same)
}

/// How many functions of a program were built, how many not, and which differ.
fn compared(path: &Path, text: &str) -> (usize, usize, Vec<String>) {
    let name = path.display().to_string();
    let program = check_text(&name, text, UNTIL);
    let runner = Runner::new(&program, path.parent().unwrap_or(Path::new("")));
    let mut calls: BTreeMap<String, Vec<Vec<Bound>>> = BTreeMap::new();
    for (line, text) in run_lines(text) {
        let example = Example::parse(&text).unwrap_or_else(|why| panic!("{name}:{line}: {why}"));
        // Values of data types enter a program in none of its files.
        if example.has_constructors() {
            continue;
        }
        let args = runner.arguments(&example).unwrap_or_else(|why| panic!("{name}:{line}: {why}"));
        calls.entry(example.function().to_owned()).or_default().push(args);
    }
    let (mut built, mut refused, mut differ) = (0, 0, vec![]);
    for (function, calls) in &calls {
        match from_artifact(&program, function, calls) {
            None => refused += 1,
            Some(found) if alike(&found, &from_memory(&program, function, calls)) => built += 1,
            Some(_) => differ.push(format!("{name} @{function}")),
        }
    }
    (built, refused, differ)
}

#[test]
fn goldens_give_the_same_bytes_and_fail_with_the_same_words() {
    let programs = programs();
    let found: Vec<(usize, usize, Vec<String>)> = programs.par_iter().map(|(path, text)| compared(path, text)).collect();
    let differ: Vec<&String> = found.iter().flat_map(|(_, _, differ)| differ).collect();
    assert!(differ.is_empty(), "{differ:#?}");
    let (built, refused) = found.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("{built} functions built, {refused} refused");
    // What is refused branches, or has an operator without a kernel: that is said in its golden.
    assert!(built > 950, "{built} built, {refused} refused");
}

fn relayc(folder: &Path, args: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_relayc")).args(args).current_dir(folder).output().expect("relayc runs");
    assert!(out.status.success(), "relayc {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Convolutions whose weights are inputs, so that each run packs them, by tiles and otherwise.
const WEIGHTS_LATE: &str = r#"
def @main(%x: Tensor[(1, 32, 56, 56), float32], %w: Tensor[(32, 32, 3, 3), float32], %m: Tensor[(10, 32), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]));
  %1 = nn.batch_flatten(nn.global_avg_pool2d(%0));
  (nn.softmax(nn.dense(%1, %m, units=10)), %0)
}
"#;

#[test]
fn networks_give_the_same_bytes_for_any_number_of_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("late.relay"), WEIGHTS_LATE).expect("written");
    for name in ["mlp", "mobilenet", "lstm"] {
        relayc(at, &["model", name, "--params", &format!("{name}.params"), "-o", &format!("{name}.relay")]);
    }
    for name in ["late", "mlp", "mobilenet", "lstm"] {
        let (text, so) = (format!("{name}.relay"), format!("{name}.so"));
        let params = format!("{name}.params");
        let params: &[&str] = if name == "late" { &[] } else { &["--params", &params] };
        let late: &[&str] = if name == "late" { &["--weights-as-inputs"] } else { &[] };
        relayc(at, &[&["build", &text, "-o", &so], params, late].concat());
        for isa in Cpu::get().isas() {
            let target = if isa == Isa::Avx2 { "x86-64-v3" } else { "x86-64-v4" };
            let common = ["--fill", "rand:seed=7", "--target", target];
            relayc(at, &[&["run", &text, "--outputs", "jit.npz"], params, &common].concat());
            let expected = std::fs::read(at.join("jit.npz")).expect("written");
            for threads in ["1", "2", "5"] {
                relayc(at, &[&["run", &so, "--outputs", "so.npz", "--threads", threads][..], &common].concat());
                let found = std::fs::read(at.join("so.npz")).expect("written");
                assert!(found == expected, "{name} on {target} by {threads} threads");
            }
        }
    }
}

/// The compiler that also links relayc.
fn cc(folder: &Path, args: &[&str]) {
    let out = Command::new("cc").args(["-Wall", "-Wextra", "-Werror", "-O1"]).args(args).current_dir(folder).output();
    let out = out.expect("a C compiler: Rust links with it too");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn c_programs_link_artifacts_and_load_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/c");
    relayc(at, &["model", "mlp", "--params", "mlp.params", "-o", "mlp.relay"]);
    relayc(at, &["build", "mlp.relay", "--params", "mlp.params", "-o", "net.so", "--emit", "so,header,obj"]);
    relayc(at, &["run", "mlp.relay", "--params", "mlp.params", "--fill", "ones", "--target", target(), "-o", "out=@y.npy"]);
    let bytes = std::fs::read(at.join("y.npy")).expect("written");
    let numbers: Vec<String> =
        bytes[bytes.len() - 40..].as_chunks().0.iter().map(|x| f32::from_le_bytes(*x).to_string()).collect();
    let run = |program: &str| {
        let out = Command::new(at.join(program)).current_dir(at).stdin(Stdio::null()).output().expect("it runs");
        assert!(out.status.success(), "{program}: {}", String::from_utf8_lossy(&out.stderr));
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let found = text.trim().strip_prefix("out: ").unwrap_or_else(|| panic!("{text}")).split(' ');
        let found: Vec<String> = found.map(|x| x.parse::<f32>().expect("a number").to_string()).collect();
        assert_eq!(found, numbers[..found.len()], "{program}");
        assert_eq!(found.len(), 5);
    };
    let source = |name: &str| examples.join(name).display().to_string();
    cc(at, &["-I.", &source("linked.c"), "./net.so", "-o", "linked"]);
    run("linked");
    cc(at, &["-I.", &source("loaded.c"), "-ldl", "-o", "loaded"]);
    run("loaded");
    // Nothing but what every process has, and the same with threads of its own.
    cc(at, &["-I.", &source("threads.c"), "./net.so", "-lpthread", "-o", "threads"]);
    run("threads");
    cc(at, &["-I.", &source("threads.c"), "net.o", "-lpthread", "-o", "threads_in_one"]);
    std::fs::remove_file(at.join("net.so")).expect("it was there");
    run("threads_in_one");
}

/// Compiles a test in C, links it with an artifact and runs it.
fn passes(folder: &Path, test: &str, artifact: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support").join(test).display().to_string();
    cc(folder, &[&["-I.", &source], artifact, &["-o", "abi"]].concat());
    let out = Command::new(folder.join("abi")).current_dir(folder).output().expect("it runs");
    assert!(out.status.success(), "{test} with {artifact:?}: {}", String::from_utf8_lossy(&out.stdout));
}

#[test]
fn c_functions_answer_as_their_header_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let text = "def @main(%x: Tensor[(3), int32], %y: Tensor[(3), int32]) { divide(%x, %y) }";
    std::fs::write(at.join("net.relay"), text).expect("written");
    relayc(at, &["build", "net.relay", "-o", "net.so", "--emit", "so,header,obj"]);
    for artifact in [&["./net.so"][..], &["net.o", "-lpthread"]] {
        passes(at, "abi.c", artifact);
    }
}

#[test]
fn c_functions_run_branches_and_loops() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let text = "def @main(%n: int32, %m: int32) -> (int32, int32) {
      if (equal(%m, 0)) { (%n, 0) } else { @main(%m, subtract(%n, multiply(%m, divide(%n, %m)))) }
    }";
    std::fs::write(at.join("net.relay"), text).expect("written");
    relayc(at, &["build", "net.relay", "-o", "net.so", "--emit", "so,header,obj"]);
    for artifact in [&["./net.so"][..], &["net.o", "-lpthread"]] {
        passes(at, "abi_flow.c", artifact);
    }
}

#[test]
fn c_functions_answer_for_several_sizes() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let text = "def @main(%x: Tensor[(n, 3), float32], %y: Tensor[(n, m), float32]) { (sum(%x, axis=[1]), nn.relu(%y)) }";
    std::fs::write(at.join("net.relay"), text).expect("written");
    relayc(at, &["build", "net.relay", "-o", "net.so", "--sizes", "n=1,2", "--sizes", "m=2,4"]);
    passes(at, "abi_sizes.c", &["./net.so"]);
}

#[test]
fn c_functions_say_the_shapes_that_a_run_decides() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("net.relay"), "def @main(%x: Tensor[(4), float32]) { (argwhere(greater(%x, 0f)), %x) }")
        .expect("written");
    relayc(at, &["build", "net.relay", "-o", "net.so"]);
    passes(at, "abi_open.c", &["./net.so"]);
}

/// A network of any number of images, with a convolution whose weights instances pack.
const OPEN: &str = r#"
def @main(%x: Tensor[(n, 32, 12, 12), float32]) {
  let %w = reshape(sin(cumsum(full(1f, shape=[9216], dtype="float32"), attrs_type_key="relay.attrs.ScanopAttrs")), newshape=[32, 32, 3, 3]);
  let %k = reshape(cos(cumsum(full(1f, shape=[320], dtype="float32"), attrs_type_key="relay.attrs.ScanopAttrs")), newshape=[10, 32]);
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]));
  nn.softmax(nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%0)), %k, units=10))
}
"#;

#[test]
fn sizes_share_weights_and_give_the_same_bytes_as_programs_of_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("open.relay"), OPEN).expect("written");
    for (name, sizes) in [("one", "n=2"), ("all", "n=1,2,5")] {
        relayc(at, &["build", "open.relay", "-o", &format!("{name}.so"), "--sizes", sizes]);
    }
    let weights = |name: &str| {
        let text = relayc(at, &["inspect", name, "--message-format", "json"]);
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let targets = value["targets"].as_array().expect("targets");
        assert!(targets.iter().all(|target| target["at_load_bytes"].as_u64() > Some(0)), "instances pack some");
        targets.iter().map(|target| target["weight_bytes"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!(weights("all.so"), weights("one.so"));
    for n in ["n=1", "n=2", "n=5"] {
        let common = ["--set", n, "--fill", "rand:seed=7", "--target", target()];
        relayc(at, &[&["run", "open.relay", "--outputs", "jit.npz"][..], &common].concat());
        for threads in ["1", "2"] {
            relayc(at, &[&["run", "all.so", "--outputs", "so.npz", "--threads", threads][..], &common].concat());
            let [found, expected] = ["so.npz", "jit.npz"].map(|name| std::fs::read(at.join(name)).expect("written"));
            assert!(found == expected, "{n} by {threads} threads");
        }
    }
}

#[test]
fn runs_end_though_no_thread_comes() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let text = "def @main(%x: Tensor[(1, 8, 32, 32), float32]) {
      let %w = full(0.125f, shape=[16, 8, 3, 3], dtype=\"float32\");
      %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3], channels=16);
      nn.max_pool2d(tanh(%0), pool_size=[2, 2], strides=[2, 2])
    }";
    std::fs::write(at.join("net.relay"), text).expect("written");
    relayc(at, &["build", "net.relay", "-o", "net.so", "--emit", "so,header", "--weights-as-inputs"]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/absent.c").display().to_string();
    cc(at, &["-I.", &source, "./net.so", "-o", "absent"]);
    let out = Command::new(at.join("absent")).current_dir(at).output().expect("it runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
}

/// Under gcc's sanitizers a C program sees what an artifact reads, writes, frees and forgets of the program's memory, by the C library
/// and by threads; the kernels themselves are not instrumented.
#[test]
fn c_programs_are_clean_under_sanitizers() {
    use std::os::unix::process::CommandExt;
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let divides = "def @main(%x: Tensor[(3), int32], %y: Tensor[(3), int32]) { divide(%x, %y) }";
    std::fs::create_dir(at.join("mlp")).expect("a new folder");
    std::fs::write(at.join("net.relay"), divides).expect("written");
    relayc(at, &["build", "net.relay", "-o", "net.so", "--emit", "so,header,obj"]);
    relayc(at, &["model", "mlp", "--params", "mlp/mlp.params", "-o", "mlp/mlp.relay"]);
    relayc(at, &["build", "mlp/mlp.relay", "--params", "mlp/mlp.params", "-o", "mlp/net.so", "--emit", "so,header,obj"]);
    // That of threads sees how an object fills its memory, by functions of the C library, but not that it gives memory back to the system
    // before another thread gets it: it would take that for a race.
    for (sanitizer, artifacts) in [("address", &["./net.so", "net.o"][..]), ("thread", &["./net.so"][..])] {
        for (source, within) in [("tests/support/abi.c", "."), ("examples/c/threads.c", "mlp")] {
            for artifact in artifacts {
                let (within, source) = (at.join(within), root.join(source).display().to_string());
                let flag = format!("-fsanitize={sanitizer}");
                cc(&within, &[&flag, "-g", "-I.", &source, artifact, "-lpthread", "-o", "watched"]);
                let mut watched = Command::new(within.join("watched"));
                // SAFETY: between fork and exec it makes one system call, which takes a number. The sanitizer of threads has places for
                // memory that random addresses may miss.
                unsafe {
                    watched.pre_exec(|| {
                        libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                        Ok(())
                    })
                };
                let out = watched.current_dir(&within).stdin(Stdio::null()).output().expect("it runs");
                let words = String::from_utf8_lossy(&out.stderr);
                assert!(out.status.success() && words.is_empty(), "{source} with {artifact:?}, {sanitizer}: {words}");
            }
        }
    }
}

/// The best target that this machine runs.
fn target() -> &'static str {
    if Cpu::get().has(Isa::Avx512) { "x86-64-v4" } else { "x86-64-v3" }
}

#[test]
fn a_file_does_not_write_to_the_terminal() {
    use std::io::Read;
    use std::os::fd::FromRawFd;
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let text = "// \x1b[31mred \u{202e}back\ndef @main(%x: Tensor[(2), float32]) { nn.relu(%x) }\n";
    std::fs::write(at.join("net.relay"), text).expect("written");
    relayc(at, &["build", "net.relay", "-o", "net.so"]);
    assert_eq!(relayc(at, &["inspect", "net.so", "--source"]), text, "what is no terminal gets it as it is");
    let (mut ours, mut theirs) = (0, 0);
    let null = std::ptr::null_mut();
    // SAFETY: there is a place for both; a terminal needs no name and no settings.
    let opened = unsafe { libc::openpty(&mut ours, &mut theirs, null, null.cast(), null.cast()) };
    assert_eq!(opened, 0, "there are terminals");
    // SAFETY: both were just opened and are nobody else's.
    let (mut ours, theirs) = unsafe { (std::fs::File::from_raw_fd(ours), std::fs::File::from_raw_fd(theirs)) };
    let inspect = ["inspect", "net.so", "--source"];
    let status = Command::new(env!("CARGO_BIN_EXE_relayc")).args(inspect).current_dir(at).stdout(theirs).status();
    assert!(status.expect("relayc runs").success());
    let mut shown = vec![0; 4096];
    let n = ours.read(&mut shown).expect("something is shown");
    let shown = String::from_utf8_lossy(&shown[..n]).into_owned();
    assert!(shown.starts_with("// \\u{1b}[31mred \\u{202e}back\r\n"), "{shown:?}");
}

#[test]
fn what_is_for_no_machine_is_not_built() {
    let program = check_text("late.relay", WEIGHTS_LATE, UNTIL);
    let Err(refused) = build(&program, &request("main", &[])) else { panic!("there is no code in it") };
    assert_eq!(refused[0].code.id(), "E0602");
}

#[test]
fn the_same_program_gives_the_same_file() {
    let program = check_text("late.relay", WEIGHTS_LATE, UNTIL);
    let files = [0, 1].map(|_| build(&program, &request("main", &[Isa::Avx2, Isa::Avx512])).map(|built| built.so));
    let [Ok(first), Ok(second)] = files else { panic!("it can be built on any machine") };
    assert!(first == second);
}
