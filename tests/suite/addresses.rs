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
