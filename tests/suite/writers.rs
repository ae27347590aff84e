//! Every command that writes files, for tests that kill it and tests whose disk is full.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command that writes files.
pub(crate) struct Writer {
    pub(crate) args: Vec<String>,
    /// The files, and what each holds before.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
}

impl Writer {
    /// Puts every file back.
    pub(crate) fn reset(&self) {
        for (file, old) in &self.files {
            std::fs::write(file, old).expect("the folder can be written");
        }
    }

    /// What each file holds now.
    pub(crate) fn found(&self) -> Vec<Vec<u8>> {
        self.files.iter().map(|(file, _)| std::fs::read(file).expect("a file is there at every moment")).collect()
    }
}

/// A killed process leaves its temporary folders, too: where `TMPDIR` says.
pub(crate) fn relayc(folder: &Path, args: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    command.env("TMPDIR", folder).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

pub(crate) fn run(folder: &Path, args: &[String]) {
    let output = relayc(folder, args).stderr(Stdio::piped()).output().expect("relayc runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

pub(crate) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

const OLD: &[u8] = b"what was there before";
/// A program that `fmt` rewrites, and one that `check --fix` does.
const CROOKED: &[u8] = b"def @main(%x: Tensor[(2), float32]) {\n add( %x, 0.5f )\n}\n";
const WRONG: &[u8] = b"def @main(%x: Tensor[(2), float32]) {\n  add(%x, 0.5)\n}\n";
const GOLDEN: &[u8] = b"// test: print\ndef @main(%x: int32) { add(%x, 1) }\n";
/// Its expectation in the file itself.
const GOLDEN_BLOCK: &[u8] = b"// test: print\ndef @main(%x: int32) { add(%x, 1) }\n//| def\n";

/// The commands. What they read is made in the folder `inputs`; they write to `outputs`.
pub(crate) fn writers(inputs: &Path, outputs: &Path) -> Vec<Writer> {
    let at = |name: &str| inputs.join(name);
    let (net, weights) = (at("given.relay"), at("given.params"));
    let shown = |path: &Path| path.display().to_string();
    run(inputs, &words(&format!("model mlp -o {} --params {}", shown(&net), shown(&weights))));
    let given = format!("{} --params {}", shown(&net), shown(&weights));
    let model = at("model.onnx");
    run(inputs, &words(&format!("export {given} --to onnx -o {}", shown(&model))));
    // `{0}` and `{1}` are the files that it writes.
    let writer = |command: &str, files: &[(&str, &[u8])]| {
        let files: Vec<(PathBuf, Vec<u8>)> = files.iter().map(|(name, old)| (outputs.join(name), old.to_vec())).collect();
        let filled = files
            .iter()
            .enumerate()
            .fold(command.to_owned(), |command, (i, (file, _))| command.replace(&format!("{{{i}}}"), &shown(file)));
        Writer { args: words(&filled), files }
    };
    let new = |command: &str, names: &[&str]| {
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, OLD)).collect();
        writer(command, &files)
    };
    let bound = at("bound.relay");
    run(inputs, &words(&format!("params bind {given} -o {}", shown(&bound))));
    vec![
        new("model mlp -o {0} --params {1}", &["again.relay", "again.params"]),
        new(&format!("export {given} --to onnx -o {{0}}"), &["net.onnx"]),
        new(&format!("run {given} --fill ones --outputs {{0}} --save-steps {{1}}"), &["out.npz", "steps.npz"]),
        new(
            &format!("build {given} -o {{0}} --target x86-64-v3 --emit so,header,obj,asm,graph-json,params"),
            &["net.so", "net.h", "net.o", "net.x86-64-v3.s", "net.json", "net.params"],
        ),
        new(&format!("import {} -o {{0}} --params {{1}}", shown(&model)), &["imported.relay", "imported.params"]),
        new(&format!("params convert {} -o {{0}}", shown(&weights)), &["weights.safetensors"]),
        new(&format!("params get {} fc1_weight -o {{0}}", shown(&weights)), &["weight.npy"]),
        new(&format!("params bind {given} -o {{0}}"), &["bound.relay"]),
        new(&format!("params unbind {} -o {{0}} --params {{1}}", shown(&bound)), &["unbound.relay", "unbound.npz"]),
        new(&format!("quantize {given} --fill rand -o {{0}} --params-out {{1}}"), &["integers.relay", "integers.params"]),
        new(&format!("viz {} -f html -o {{0}}", shown(&net)), &["net.html"]),
        new(&format!("reduce {given} --fill ones -o {{0}} --max-runs 1 -- true {{inputs}}"), &["small.relay", "small.npz"]),
        writer("fmt {0}", &[("crooked.relay", CROOKED)]),
        writer("check --fix {0}", &[("wrong.relay", WRONG)]),
        writer("test --bless {0}", &[("golden.relay", GOLDEN), ("golden.out", OLD)]),
        writer("test --bless {0}", &[("block.relay", GOLDEN_BLOCK)]),
    ]
}
