//! Compiles the runtime of artifacts (`crates/runtime`) without the standard library: as a shared object, and as an object to
//! be linked.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var_os("OUT_DIR").expect("cargo gives the folder");
    runtime(Path::new(&out));
}

const RUNTIME: &str = "../runtime/src";

/// Compiles the runtime as a shared object without a library and as an object to be linked; debug builds and releases get the
/// same.
///
/// The compiler is the one that compiles relayc, so nothing else is needed. Paths of this machine stay out of both files.
fn runtime(to: &Path) {
    println!("cargo::rerun-if-changed={RUNTIME}");
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

/// Compiles one form of the runtime.
fn compile(options: &[String], to: &Path) {
    let variable = |name: &str| std::env::var(name).ok();
    let rustc = variable("RUSTC").expect("cargo names the compiler");
    let root = std::fs::canonicalize(RUNTIME).expect("the runtime's crate is beside this one");
    let root = root.display();
    let mut command = Command::new(rustc);
    command.args([
        "--edition=2024",
        "--crate-name=relayc_runtime",
        "--cfg=relayc_freestanding",
        "--check-cfg=cfg(relayc_linked,relayc_freestanding)",
    ]);
    command.args(["--target", &variable("TARGET").expect("cargo names the target")]);
    command.args(["-Copt-level=3", "-Cpanic=abort", "-Ccodegen-units=1", "-Clto=fat", "-Cdebuginfo=0"]);
    command.args(variable("RUSTC_LINKER").map(|linker| format!("-Clinker={linker}")));
    command.args(options).arg(format!("--remap-path-prefix={root}="));
    command.arg(format!("{root}/lib.rs")).arg("-o").arg(to);
    let made = command.output().expect("the compiler can be started");
    assert!(made.status.success(), "the runtime does not compile:\n{}", String::from_utf8_lossy(&made.stderr));
}

/// The members of a library (`ar`): their names as its headers spell them, and their bytes.
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
