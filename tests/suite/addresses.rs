//! A process whose addresses are limited (`ulimit -v`): tensors that do not fit are E0803, as where the machine's memory is the limit.

use std::process::Command;

const NET: &str = "#[version = \"0.0.5\"]\ndef @main(%x: float32) { sum(broadcast_to(%x, shape=[100, 1000, 1000])) }\n";

#[test]
fn a_tensor_larger_than_the_limit_on_addresses_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("net.relay"), NET).expect("written");
    let line = format!("ulimit -v 300000; '{}' run net.relay --engine interp --fill ones", env!("CARGO_BIN_EXE_relayc"));
    let out = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().expect("a shell");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.starts_with("error[E0803]: `broadcast_to`"), "{:?}: {said}", out.status);
}

/// The results of 300 additions of 240 and of 800 kB, more than the limit leaves: no block is large enough to be asked for.
#[test]
fn small_blocks_that_the_system_refuses_end_a_run_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = String::new();
    for n in 0..300 {
        let last = if n == 0 { "%x".to_owned() } else { format!("%a{}", n - 1) };
        text.push_str(&format!("let %a{n} = add({last}, {n}.5f); "));
    }
    let results: Vec<String> = (0..300).map(|n| format!("%a{n}")).collect();
    for (rows, limit) in [(60, 60_000), (200, 150_000)] {
        let net = format!(
            "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[({rows}, 1000), float32]) {{ {text} ({}) }}\n",
            results.join(", ")
        );
        std::fs::write(folder.path().join("net.relay"), net).expect("written");
        for engine in if cfg!(feature = "jit") { &["interp", "jit"][..] } else { &["interp"] } {
            let run = format!("'{}' run net.relay --engine {engine} --fill ones --max-memory 4G", env!("CARGO_BIN_EXE_relayc"));
            let line = format!("ulimit -v {limit}; {run} >/dev/null");
            let out = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().expect("a shell");
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(said.starts_with("error[E0803]: "), "{rows} rows, {engine}, {:?}: {said}", out.status);
        }
    }
}
