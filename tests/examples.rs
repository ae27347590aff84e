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
