//! The programs of `examples/` hold what they say, as `relayc test` finds it.

use std::process::Command;

#[test]
fn the_examples_hold() {
    let out =
        Command::new(env!("CARGO_BIN_EXE_relayc")).args(["test", "examples"]).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let out = out.expect("relayc runs");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}");
    for program in ["peano", "closure", "mutual_recursion", "reference", "tree_fold", "printed"] {
        assert!(text.contains(&format!("examples/language/{program}.relay")), "{text}");
    }
}

/// With random weights up to the last normalisation, whose slope is 0 and whose shift is 1: any NaN on the way would show.
#[test]
fn the_encoder_runs() {
    let random = ["run", "examples/transformer/encoder.relay", "--fill", "rand:seed=1", "--engine", "interp"];
    let last = ["-i", "final_gamma=zeros", "-i", "final_beta=ones", "--expect", "out=1x128x768xf32=1"];
    let out = Command::new(env!("CARGO_BIN_EXE_relayc")).args(random).args(last).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let out = out.expect("relayc runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

/// From a network to its answer, in relayc and in C: each step succeeds, and all answers agree.
#[test]
fn the_tutorial_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("sh");
    command.arg("examples/tutorial/tutorial.sh").arg(folder.path()).current_dir(env!("CARGO_MANIFEST_DIR"));
    let out = command.env("RELAYC", env!("CARGO_BIN_EXE_relayc")).output().expect("sh runs");
    let data = String::from_utf8_lossy(&out.stdout);
    let text = format!("{data}{}", String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{text}");
    for said in ["jit agrees within 1e-5", "interp agrees within 1e-5", "\nagrees within 1e-5", "1 function equal"] {
        assert!(text.contains(said), "`{said}` is missing in\n{text}");
    }
    let answer = data.trim_end().lines().last().unwrap_or_default();
    assert!(answer.ends_with("7  seven"), "{text}");
    for file in ["net.so", "net.h", "net.html"] {
        assert!(folder.path().join(file).metadata().is_ok_and(|file| file.len() > 0), "{file}");
    }
}
