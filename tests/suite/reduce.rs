//! Tests `relayc reduce` on programs with known problems: faults injected into the machine code (`RELAYC_FAULT`), and words in
//! the text.

#[cfg(feature = "jit")]
mod ended;
#[cfg(feature = "jit")]
mod faults;

use std::path::Path;
use std::process::{Command, Output};

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
