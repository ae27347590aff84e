//! Runs the tests in the programs of `examples/`, as `relayc test` does.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

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

/// The tutorial with a relayc, its files in a folder.
fn tutorial(relayc: &Path, folder: &Path) -> Output {
    let mut command = Command::new("sh");
    command.arg("examples/tutorial/tutorial.sh").arg(folder).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.env("RELAYC", relayc).output().expect("sh runs")
}

/// From a network to its answer, in relayc and in C: each step succeeds, and all answers agree.
#[test]
fn the_tutorial_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let relayc = Path::new(env!("CARGO_BIN_EXE_relayc"));
    // As it is called by hand: by a path from where the script is called.
    let relayc = relayc.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(relayc);
    let out = tutorial(relayc, folder.path());
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

/// A step that fails ends the tutorial: the comparison of an engine, and one whose words go on to another program.
#[test]
fn the_tutorial_ends_where_a_step_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let relayc = folder.path().join("relayc");
    for (step, next) in [("--engine jit", "agrees"), ("params ls", "its text")] {
        let script =
            format!("#!/bin/sh\ncase \"$*\" in *\"{step}\"*) exit 1;; esac\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_relayc"));
        std::fs::write(&relayc, script).expect("the folder can be written");
        std::fs::set_permissions(&relayc, std::fs::Permissions::from_mode(0o755)).expect("ours");
        let out = tutorial(&relayc, &folder.path().join("out"));
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(!out.status.success() && !text.contains(next), "{text}{}", String::from_utf8_lossy(&out.stderr));
    }
}
