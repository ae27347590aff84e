//! Each file operation of each command that writes fails once: the command ends with exit code 2 and a code, or it goes on where the
//! call is to be made again; every file holds its old or its new content, and nothing else is left (reliability 9).
//!
//! A C library makes operations fail, `tests/support/faults.c`. The gate takes a few operations of each kind, each with one of the
//! errors; `RELAYC_FAULTS=all` takes all, each with every error, as `.ci/long` does.

use crate::writers::{Writer, relayc, run, writers};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Compiles a library of `tests/support` to be preloaded.
pub(crate) fn preloaded(folder: &Path, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support").join(name);
    let library = folder.join(name).with_extension("so");
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source);
    let out = cc.output().expect("a C compiler: Rust links with it too");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    library
}

/// Half of what was asked for is read or written.
const SHORT: i32 = 0;

/// What can become of each kind of call, in the words of the library, and whether all later calls fail, too.
const FAULTS: [(&str, &[(i32, bool)]); 6] = [
    ("open", &[(libc::EIO, false), (libc::EACCES, false), (libc::EINTR, false), (libc::EMFILE, false)]),
    ("create", &[(libc::ENOSPC, true), (libc::EROFS, true), (libc::EDQUOT, false), (libc::EINTR, false), (libc::EACCES, true)]),
    ("read", &[(libc::EIO, false), (libc::EINTR, false), (SHORT, false), (libc::EIO, true), (SHORT, true)]),
    (
        "write",
        &[
            (libc::ENOSPC, false),
            (SHORT, false),
            (libc::EIO, false),
            (libc::EINTR, false),
            (libc::EDQUOT, true),
            (libc::ENOSPC, true),
            (SHORT, true),
        ],
    ),
    ("fsync", &[(libc::EIO, false), (libc::ENOSPC, true), (libc::EINTR, false), (libc::EDQUOT, false)]),
    ("rename", &[(libc::EIO, false), (libc::ENOSPC, false), (libc::EACCES, true), (libc::EROFS, true)]),
];

/// A command with the folders that it works in.
struct Tried<'a> {
    writer: &'a Writer,
    library: &'a Path,
    /// Where it writes.
    folder: &'a Path,
    /// `TMPDIR` and the home.
    temporary: PathBuf,
    new: Vec<Vec<u8>>,
}

impl Tried<'_> {
    /// Runs the command with a fault; the number of calls of each kind.
    fn run(&self, fault: Option<&str>) -> (Output, BTreeMap<String, u64>) {
        let counts = self.temporary.with_extension("counts");
        let mut command = relayc(&self.temporary, &self.writer.args);
        command.env("LD_PRELOAD", self.library).env("FAULT_COUNTS", &counts).current_dir(self.folder).stderr(Stdio::piped());
        // Tests say on standard output why they failed.
        if self.is_bless() {
            command.stdout(Stdio::piped());
        }
        command.envs(fault.map(|fault| ("FAULT", fault)));
        let output = command.output().expect("relayc runs");
        let text = std::fs::read_to_string(&counts).unwrap_or_default();
        let counts = text.lines().filter_map(|line| line.split_once(' '));
        (output, counts.map(|(name, n)| (name.to_owned(), n.parse().expect("a number"))).collect())
    }

    fn is_bless(&self) -> bool {
        self.writer.args[0] == "test"
    }

    /// What is wrong with a run whose `at`th call fails; the error is returned or not.
    fn wrong(&self, call: &str, at: u64, (error, stays): (i32, bool)) -> Option<String> {
        self.writer.reset();
        let before = names(self.folder);
        let (output, _) = self.run(Some(&format!("{call} {at} {error} {}", u8::from(stays))));
        let said = [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
        let found = self.writer.found();
        let is_old: Vec<bool> = found.iter().zip(&self.writer.files).map(|(found, (_, old))| found == old).collect();
        let is_new = found == self.new;
        let code = output.status.code();
        let again = error == SHORT || error == libc::EINTR;
        let mut wrong = vec![];
        match code {
            Some(0) if is_new => {}
            Some(0) => wrong.push("it ends well, and the files are not new".to_owned()),
            // What cannot be blessed is a test that fails.
            Some(2) | Some(1) if code == Some(2) || self.is_bless() => {
                if !said.contains("E07") {
                    wrong.push("no code is said".to_owned());
                }
                if again {
                    wrong.push("it does not go on".to_owned());
                }
                // Files are complete before standard output says so.
                let printed = said.contains("`standard output`");
                if call != "rename" && !printed && !is_old.iter().all(|&is_old| is_old) {
                    wrong.push("an old file is gone".to_owned());
                }
            }
            _ => wrong.push(format!("it ends with {}", output.status)),
        }
        if found.iter().zip(&self.new).zip(&is_old).any(|((found, new), is_old)| !is_old && found != new) {
            wrong.push("a file is neither old nor new".to_owned());
        }
        let mut stray: Vec<PathBuf> = names(self.folder).into_iter().filter(|path| !before.contains(path)).collect();
        // A folder that cannot be opened cannot be emptied either.
        if call != "open" {
            stray.extend(names(&self.temporary));
        }
        for path in &stray {
            wrong.push(format!("`{}` is left", path.display()));
            let _ = std::fs::remove_file(path);
        }
        for path in names(&self.temporary) {
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
        let what = || format!("{} {call} {at} error {error}{}", self.writer.args.join(" "), if stays { ", stays" } else { "" });
        (!wrong.is_empty()).then(|| format!("{}: {}\n{said}", what(), wrong.join("; ")))
    }

    /// Tries the calls, and says what is wrong and how many runs there were.
    fn all(&self, every: bool, number: usize) -> (Vec<String>, usize) {
        let (output, counts) = self.run(None);
        assert!(output.status.success(), "{:?}: {}", self.writer.args, String::from_utf8_lossy(&output.stderr));
        let cases = cases(&counts, every, number);
        let wrong = cases.iter().filter_map(|&(call, at, fault)| self.wrong(call, at, fault)).collect();
        (wrong, cases.len())
    }
}

/// So many calls of each kind fail in the gate.
const FEW: u64 = 4;

/// The calls that fail, of a command that makes so many: kind, number, and what becomes of the call.
fn cases(counts: &BTreeMap<String, u64>, every: bool, number: usize) -> Vec<(&'static str, u64, (i32, bool))> {
    let mut cases = vec![];
    for (call, faults) in FAULTS {
        let n = counts[call];
        let step = if every { 1 } else { n.div_ceil(FEW).max(1) };
        for at in (1..=n).step_by(step as usize) {
            let rotated = number + at as usize;
            let chosen = if every { faults } else { &faults[rotated % faults.len()..][..1] };
            cases.extend(chosen.iter().map(|&fault| (call, at, fault)));
        }
    }
    cases
}

/// Everything below a folder.
fn names(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut left) = (vec![], vec![folder.to_owned()]);
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            left.extend(entry.path().is_dir().then(|| entry.path()));
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

fn is_every() -> bool {
    std::env::var("RELAYC_FAULTS").is_ok_and(|text| text == "all")
}

#[test]
fn every_file_operation_of_every_writer_fails() {
    let every = is_every();
    let folder = tempfile::tempdir().expect("a folder");
    let library = preloaded(folder.path(), "faults.c");
    let at = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).expect("a new folder");
        path
    };
    let (inputs, outputs) = (at("inputs"), at("outputs"));
    let found: Vec<(Vec<String>, usize)> = writers(&inputs, &outputs)
        .into_par_iter()
        .enumerate()
        .map(|(number, mut writer)| {
            // Each in a folder of its own, since they run at the same time.
            let own = at(&format!("outputs/{number}"));
            let moved = |text: &str| text.replace(&outputs.display().to_string(), &own.display().to_string());
            writer.args = writer.args.iter().map(|arg| moved(arg)).collect();
            writer.files =
                writer.files.into_iter().map(|(path, old)| (own.join(path.file_name().expect("a file")), old)).collect();
            writer.reset();
            let temporary = at(&format!("temporary-{number}"));
            run(&temporary, &writer.args);
            let new = writer.found();
            Tried { writer: &writer, library: &library, folder: &own, temporary, new }.all(every, number)
        })
        .collect();
    println!("{} runs", found.iter().map(|(_, n)| n).sum::<usize>());
    let wrong: Vec<&String> = found.iter().flat_map(|(wrong, _)| wrong).collect();
    assert!(
        wrong.is_empty(),
        "{} runs are wrong:\n{}",
        wrong.len(),
        wrong.iter().map(|text| text.as_str()).collect::<Vec<_>>().join("\n")
    );
}

/// A cache that cannot be written or read costs time, and changes no answer.
#[test]
fn a_cache_that_fails_changes_no_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = preloaded(folder.path(), "faults.c");
    let [net, cache, counts] = ["net.relay", "cache", "counts"].map(|name| folder.path().join(name));
    let text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) { nn.dense(%x, %w, units=8) }\n";
    std::fs::write(&net, text).expect("written");
    let cached = |fault: Option<String>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
        command.args(["run", "--fill", "ones", "--cache"]).arg(&net).stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", &cache).env("LD_PRELOAD", &library).env("FAULT_COUNTS", &counts);
        command.envs(fault.map(|fault| ("FAULT", fault))).output().expect("relayc runs")
    };
    let counted = || -> BTreeMap<String, u64> {
        let text = std::fs::read_to_string(&counts).expect("counts");
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, n)| (name.to_owned(), n.parse().expect("a number")))
            .collect()
    };
    let expected = cached(None);
    assert!(expected.status.success(), "{}", String::from_utf8_lossy(&expected.stderr));
    let mut n = 0;
    // The cache is filled, then read.
    for filled in [false, true] {
        if !filled {
            std::fs::remove_dir_all(&cache).expect("it was made");
        }
        cached(None);
        for (call, at, (error, stays)) in cases(&counted(), is_every(), usize::from(filled)) {
            if !filled {
                std::fs::remove_dir_all(&cache).expect("it was made");
            }
            let fault = format!("{call} {at} {error} {}", u8::from(stays));
            let output = cached(Some(fault.clone()));
            let said = String::from_utf8_lossy(&output.stderr);
            let same = output.status.success() && output.stdout == expected.stdout;
            // The program itself cannot be read, or the answer not be written.
            let told = output.status.code() == Some(2) && said.contains("E07") && error != SHORT && error != libc::EINTR;
            assert!(same || told, "{fault}, filled {filled}: {} {said}", output.status);
            let stray: Vec<PathBuf> =
                names(&cache).into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "tmp")).collect();
            assert!(stray.is_empty(), "{fault}, filled {filled}: {stray:?}");
            assert_eq!(cached(None).stdout, expected.stdout, "{fault}, filled {filled}: the next run");
            n += 1;
        }
    }
    println!("{n} runs");
}
