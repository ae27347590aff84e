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
    runtime(Path::new(&out));
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

/// Compiles what artifacts are made from: a shared object without a library, and an object to be linked; the same for debug
/// builds and releases. The compiler is the one that compiles relayc, so nothing else is needed, and paths of this machine stay
/// out of them.
fn runtime(to: &Path) {
    println!("cargo::rerun-if-changed={AHEAD}/freestanding.rs");
    println!("cargo::rerun-if-changed={AHEAD}/runtime");
    // Nothing of any library, no identity of its own, and pages as small as they are.
    let linking = ["-nostdlib", "-nostartfiles", "-Wl,--build-id=none,-z,max-page-size=4096,-z,now,--hash-style=gnu"];
    let linking = linking.map(|option| format!("-Clink-arg={option}"));
    compile(&[&["--crate-type=cdylib".to_owned(), "-Cstrip=symbols".to_owned()][..], &linking].concat(), &to.join("runtime.so"));
    // Optimised as a whole, the first object of a library is all that is ours and of the core.
    let library = to.join("runtime.a");
    compile(&["--crate-type=staticlib".to_owned(), "--cfg=relayc_linked".to_owned()], &library);
    let library = std::fs::read(library).expect("it was just written");
    let object = members(&library).find(|(name, _)| !name.starts_with("/ ") && !name.starts_with("//"));
    let (_, object) = object.expect("the library has an object");
    assert!(object.windows(13).any(|bytes| bytes == b"relayc_create"), "the first object of the library is the runtime");
    std::fs::write(to.join("runtime.o"), object).expect("the folder can be written to");
}

/// Compiles the runtime in one of its ways.
fn compile(options: &[String], to: &Path) {
    let variable = |name: &str| std::env::var(name).ok();
    let rustc = variable("RUSTC").expect("cargo names the compiler");
    let root = variable("CARGO_MANIFEST_DIR").expect("cargo names the package");
    let mut command = Command::new(rustc);
    command.args(["--edition=2024", "--crate-name=relayc_runtime", "--check-cfg=cfg(relayc_linked)"]);
    command.args(["--target", &variable("TARGET").expect("cargo names the target")]);
    command.args(["-Copt-level=3", "-Cpanic=abort", "-Ccodegen-units=1", "-Clto=fat", "-Cdebuginfo=0"]);
    command.args(variable("RUSTC_LINKER").map(|linker| format!("-Clinker={linker}")));
    command.args(options).arg(format!("--remap-path-prefix={root}="));
    command.arg(format!("{root}/{AHEAD}/freestanding.rs")).arg("-o").arg(to);
    let made = command.output().expect("the compiler can be started");
    assert!(made.status.success(), "the runtime does not compile:\n{}", String::from_utf8_lossy(&made.stderr));
}

/// The members of a library (`ar`): their names as they stand in its headers, and their bytes.
fn members(library: &[u8]) -> impl Iterator<Item = (String, &[u8])> {
    const HEADER: usize = 60;
    let mut at = b"!<arch>\n".len();
    std::iter::from_fn(move || {
        let header = library.get(at..at + HEADER)?;
        let text = |range: std::ops::Range<usize>| String::from_utf8_lossy(&header[range]).into_owned();
        let size: usize = text(48..58).trim().parse().ok()?;
        let bytes = library.get(at + HEADER..at + HEADER + size)?;
        at += HEADER + size.next_multiple_of(2);
        Some((text(0..16), bytes))
    })
}
