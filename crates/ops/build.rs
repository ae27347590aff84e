//! Collects, for a release, the examples of the operators' manual from their goldens.

use std::path::Path;

#[path = "src/example.rs"]
mod example;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // While goldens are written, debug builds must not be made anew for each; they read the file itself.
    if std::env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
        println!("cargo::rerun-if-changed={GOLDENS}");
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo gives the folder");
    std::fs::write(Path::new(&out).join("examples.rs"), examples()).expect("the folder can be written to");
}

const GOLDENS: &str = "../../tests/golden/ops";

/// A table of the operators that have a golden with its first function.
fn examples() -> String {
    let goldens = std::fs::read_dir(GOLDENS).expect("the goldens are there").flatten().map(|entry| entry.path());
    let mut table: Vec<(String, String)> = goldens
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".relay")?.to_owned();
            let text = std::fs::read_to_string(&path).ok()?;
            (!name.ends_with(".rules")).then(|| (name, example::first(&text).to_owned()))
        })
        .collect();
    table.sort();
    let lines: Vec<String> = table.iter().map(|(name, text)| format!("    ({name:?}, {text:?}),\n")).collect();
    format!("&[\n{}]\n", lines.concat())
}
