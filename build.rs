//! Generates the parser from `grammar/relay.lalrpop` and, for a release, the examples of the operators' manual; compiles the
//! runtime that artifacts carry.
//!
//! Canonical LR(1) rather than lalrpop's default lane table: the lane table merges states, so wrong reductions happen
//! before an error is noticed, expected lists get shorter and recovery loses more text. The switch is an environment
//! variable that lalrpop reads at generation time.

use std::path::Path;
use std::process::Command;

#[path = "src/ops/example.rs"]
mod example;

fn main() {
    println!("cargo::rerun-if-changed=grammar/relay.lalrpop");
    println!("cargo::rerun-if-changed=build.rs");
    // While goldens are written, debug builds must not be made anew for each; they read the file itself.
    if std::env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
        println!("cargo::rerun-if-changed={GOLDENS}");
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo gives the folder");
    std::fs::write(Path::new(&out).join("examples.rs"), examples()).expect("the folder can be written to");
    runtime(&Path::new(&out).join("runtime.so"));
    // SAFETY: the build script has one thread at this point.
    unsafe { std::env::set_var("LALRPOP_LANE_TABLE", "disabled") };
    lalrpop::Configuration::new().set_in_dir("grammar").process().expect("grammar/relay.lalrpop is accepted");
}

const GOLDENS: &str = "tests/golden/ops";

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

const AHEAD: &str = "src/jit/ahead";

/// Compiles what artifacts are made from: a shared object without a library, the same for debug builds and releases. The
/// compiler is the one that compiles relayc, so nothing else is needed, and paths of this machine stay out of it.
fn runtime(to: &Path) {
    println!("cargo::rerun-if-changed={AHEAD}/freestanding.rs");
    println!("cargo::rerun-if-changed={AHEAD}/runtime");
    let variable = |name: &str| std::env::var(name).ok();
    let rustc = variable("RUSTC").expect("cargo names the compiler");
    let root = variable("CARGO_MANIFEST_DIR").expect("cargo names the package");
    let mut command = Command::new(rustc);
    command.args(["--edition", "2024", "--crate-name", "relayc_runtime", "--crate-type", "cdylib"]);
    command.args(["--target", &variable("TARGET").expect("cargo names the target")]);
    let options = ["opt-level=3", "panic=abort", "codegen-units=1", "lto=fat", "strip=symbols", "debuginfo=0"];
    // Nothing of any library, no identity of its own, and pages as small as they are.
    let linking = ["-nostdlib", "-nostartfiles", "-Wl,--build-id=none,-z,max-page-size=4096,-z,now,--hash-style=gnu"];
    command.args(options.iter().flat_map(|option| ["-C", option]));
    command.args(linking.iter().flat_map(|option| ["-C".to_owned(), format!("link-arg={option}")]));
    if let Some(linker) = variable("RUSTC_LINKER") {
        command.args(["-C".to_owned(), format!("linker={linker}")]);
    }
    command.arg(format!("--remap-path-prefix={root}=")).arg(format!("{root}/{AHEAD}/freestanding.rs")).arg("-o").arg(to);
    let made = command.output().expect("the compiler can be started");
    assert!(made.status.success(), "the runtime does not compile:\n{}", String::from_utf8_lossy(&made.stderr));
}
