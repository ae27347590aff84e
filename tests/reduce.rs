//! `relayc reduce` on programs of which it is known what is wrong: faults put into the machine code on purpose (`RELAYC_FAULT`), and
//! words in the text.

use relayc::formats::params;
use relayc::tensor::Tensor;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn relayc(fault: Option<&str>, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    command.args(args).env_remove("RELAYC_FAULT");
    if let Some(fault) = fault {
        command.env("RELAYC_FAULT", fault);
    }
    command.output().expect("relayc runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The operators that a text calls.
fn operators(text: &str) -> Vec<String> {
    let body = text.split("#[metadata]").next().unwrap_or_default();
    let names = relayc::ops::table().defs().iter().map(|def| def.name);
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let calls = body.split('(').map(|before| before.rsplit(|c| !is_part(c)).next().unwrap_or_default());
    let known: Vec<&str> = names.collect();
    calls.filter(|name| known.contains(name)).map(str::to_owned).collect()
}

/// Weights as they are after training: no shift of a channel is 0.
fn shifted(weights: &Path) {
    let mut named = params::read("weights", &std::fs::read(weights).expect("they were written")).expect("they are weights");
    for (name, tensor) in named.iter_mut().filter(|(name, _)| name.ends_with("beta")) {
        *tensor = Tensor::random(tensor.dtype(), &[tensor.len() as i64], 1, name).expect("a vector of floats");
    }
    std::fs::write(weights, params::write(&named)).expect("the folder can be written");
}

/// Reduces a network with a fault in its code; the operators that are left. With weights of its own its parameters have values, which
/// go along; without, whatever is left of it is filled.
fn reduced(fault: &str, network: &[&str], with_values: bool) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let (net, small, weights) =
        (folder.path().join("net.relay"), folder.path().join("small.relay"), folder.path().join("net.params"));
    let model = relayc(None, &[&["model"], network, &["-o", path(&net), "--params", path(&weights)]].concat());
    assert!(model.status.success(), "{}", said(&model));
    let (net, small_path) = (path(&net), path(&small));
    let relayc_path = env!("CARGO_BIN_EXE_relayc");
    let mut args = vec!["reduce", net, "-o", small_path, "--exit", "1", "--stderr", "E0508", "--timeout", "600"];
    let fill = ["--fill", "rand:seed=1"];
    let command = ["--", relayc_path, "run", "{}", "--engine", "both", "--threads", "1"];
    if with_values {
        shifted(&weights);
        args.extend(fill);
        args.extend(["--params", path(&weights)]);
        args.extend(command);
        args.extend(["--inputs", "{inputs}"]);
    } else {
        args.extend(command);
        args.extend(fill);
    }
    let done = relayc(Some(fault), &args);
    assert!(done.status.success(), "{}", said(&done));
    // What is left shows it, and nothing else: without the fault it is fine.
    let archive = small.with_extension("npz");
    assert_eq!(archive.exists(), with_values, "values are written where there are any");
    let given: [&str; 2] = if with_values { ["--inputs", path(&archive)] } else { fill };
    let again = ["run", small_path, given[0], given[1], "--engine", "both", "--threads", "1"];
    let wrong = relayc(Some(fault), &again);
    assert_eq!(wrong.status.code(), Some(1), "{}", said(&wrong));
    assert!(said(&wrong).contains("E0508"), "{}", said(&wrong));
    let right = relayc(None, &again);
    assert!(right.status.success(), "{}", said(&right));
    let text = std::fs::read_to_string(&small).expect("it was written");
    let left = operators(&text);
    assert!(!left.is_empty() && left.len() <= 5, "{fault}: {left:?} in\n{text}\n{}", said(&done));
    left
}

const RESIDUAL: &[&str] = &["resnet", "--layers", "50", "--image-shape", "3,64,64", "--classes", "10"];

#[test]
fn a_forgotten_bias_in_a_network_is_found() {
    let left = reduced("bias", RESIDUAL, true);
    assert!(left.iter().any(|name| name == "nn.conv2d"), "{left:?}");
}

#[test]
fn a_wrong_pad_in_a_network_is_found() {
    assert_eq!(reduced("pad", RESIDUAL, true), ["nn.max_pool2d"]);
}

#[test]
fn a_wrong_clip_in_a_network_is_found() {
    let left = reduced("clip", RESIDUAL, true);
    assert!(left.iter().any(|name| name == "nn.relu"), "{left:?}");
}

#[test]
fn values_may_be_whatever_fills_the_parameters() {
    // No statistics in it that random numbers make senseless.
    let left = reduced("bias", &["vgg", "--layers", "11", "--image-shape", "3,32,32", "--classes", "10"], false);
    assert!(left.iter().any(|name| name == "nn.conv2d"), "{left:?}");
}

/// Reduces a text as long as a shell script succeeds; what is left.
fn reduced_by(text: &str, script: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let net = folder.path().join("net.relay");
    std::fs::write(&net, text).expect("the folder can be written");
    let script = script.replace("relayc", env!("CARGO_BIN_EXE_relayc"));
    let done = relayc(None, &["reduce", path(&net), "--", "sh", "-c", &script]);
    assert!(done.status.success(), "{}", said(&done));
    let left = String::from_utf8(done.stdout).expect("UTF-8");
    left.lines().filter(|line| !line.starts_with("#[version")).collect::<Vec<_>>().join("\n")
}

#[test]
fn branches_bindings_functions_and_tuples_go() {
    let text = r#"#[version = "0.0.5"]
def @deep(%n: int32, %x: Tensor[(4, 6), float32], %unused: Tensor[(3), float32]) -> Tensor[(4, 6), float32] {
  if (less(%n, 1)) { nn.relu(%x) } else { @deep(subtract(%n, 1), tanh(%x), %unused) }
}
def @shift(%x: Tensor[(4, 6), float32]) { add(%x, 1f) }
def @main(%x: Tensor[(4, 6), float32], %y: Tensor[(3), float32]) {
  let %a = @shift(@shift(%x));
  %0 = nn.softmax(@deep(3, %a, %y), axis=1);
  %1 = (%0, sigmoid(%a), nn.batch_flatten(%x));
  (%1.0, %1.1, exp(%1.2))
}
"#;
    // A single operator in the middle.
    assert_eq!(reduced_by(text, "grep -q softmax {}"), "def @main(%p0: Tensor[(1, 1), float32]) {\n  nn.softmax(%p0)\n}");
    // Something that holds of a function that calls itself keeps it.
    let left = reduced_by(text, "grep -q 'def @deep' {}");
    assert!(left.contains("def @deep") && !left.contains("softmax") && !left.contains("%unused"), "{left}");
}

#[test]
fn nothing_is_run_that_has_no_types() {
    let text = "def @main(%x: Tensor[(8, 16), float32], %w: Tensor[(4, 16), float32]) { nn.relu(nn.dense(%x, %w, units=4)) }";
    // The script fails the test if it ever sees a program with errors.
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = folder.path().join("wrong");
    let script = format!("relayc check -q {{}} || touch {}; grep -q nn.dense {{}}", wrong.display());
    let left = reduced_by(text, &script);
    assert!(!wrong.exists(), "a candidate has errors");
    assert!(left.contains("nn.dense(%") && left.contains("Tensor[(1, 1), float32]") && !left.contains("nn.relu"), "{left}");
}

/// `relayc reduce` in the middle of its second run, which would take a minute; the number of that run's process.
fn in_the_middle(folder: &Path) -> (Child, String) {
    let at = |name: &str| folder.join(name);
    std::fs::write(at("net.relay"), "def @main(%x: Tensor[(4), float32]) { tanh(exp(%x)) }").expect("the folder can be written");
    std::fs::create_dir(at("temporary")).expect("the folder can be written");
    let second = "if [ -e again ]; then echo $$ > starting && mv starting started; exec sleep 60; fi; touch again";
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    command.args(["reduce", "-q", "net.relay", "-o", "small.relay", "--", "sh", "-c", second]).current_dir(folder);
    let child = command.env("TMPDIR", at("temporary")).stdin(Stdio::null()).spawn().expect("relayc runs");
    let start = Instant::now();
    loop {
        match std::fs::read_to_string(at("started")) {
            Ok(pid) => return (child, pid.trim().to_owned()),
            Err(_) => assert!(start.elapsed() < Duration::from_secs(60), "no second run"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a process is gone, but for what nobody has waited for yet.
fn gone(pid: &str) {
    let start = Instant::now();
    let is_there = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while is_there() {
        assert!(start.elapsed() < Duration::from_secs(20), "{pid} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn nothing_stays_of_a_reduction_that_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut child, command) = in_the_middle(folder.path());
    let ended = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("there is a kill");
    assert!(ended.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    gone(&command);
    let temporary = std::fs::read_dir(folder.path().join("temporary")).expect("ours").count();
    assert_eq!(temporary, 0, "temporary files stay");
    let small = std::fs::read_to_string(folder.path().join("small.relay")).expect("the smallest so far is written");
    assert!(small.contains("tanh"), "{small}");
}

#[test]
fn a_command_ends_with_the_reduction_that_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut child, command) = in_the_middle(folder.path());
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    gone(&command);
}

#[test]
fn what_cannot_be_reduced_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let net = folder.path().join("net.relay");
    std::fs::write(&net, "def @main(%x: float32) { tanh(%x) }").expect("the folder can be written");
    let run = |args: &[&str]| relayc(None, &[&["reduce", path(&net)], args].concat());
    let never = run(&["--", "false"]);
    assert_eq!((never.status.code(), said(&never).contains("E0735")), (Some(2), true), "{}", said(&never));
    let none = run(&["--", "/no/such/command"]);
    assert_eq!((none.status.code(), said(&none).contains("E0736")), (Some(2), true), "{}", said(&none));
    let slow = run(&["--timeout", "0.05", "--", "sh", "-c", "sleep 30"]);
    assert_eq!((slow.status.code(), said(&slow).contains("E0735")), (Some(2), true), "{}", said(&slow));
    let inputs = run(&["--fill", "ones", "--", "true"]);
    assert_eq!(inputs.status.code(), Some(2), "{}", said(&inputs));
    // One run is the whole program's.
    let few = run(&["--max-runs", "1", "--", "true"]);
    assert!(few.status.success() && String::from_utf8_lossy(&few.stdout).contains("tanh"), "{}", said(&few));
}
