//! `relayc watch` as a process: it checks again whatever way files change, runs its command, and ends when it is told.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

const RIGHT: &str = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { add(%x, %w) }\n";
const WRONG: &str = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) { nn.rulu(%x) }\n";

struct Watch {
    process: Child,
    lines: Receiver<String>,
    folder: TempDir,
}

impl Watch {
    /// Starts in a folder with `net.relay`, which is right.
    fn start(args: &[&str]) -> Watch {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("net.relay"), RIGHT).expect("it is written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
        command.arg("watch").args(args).current_dir(folder.path());
        let mut process =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("relayc starts");
        let (send, lines) = channel();
        let output = BufReader::new(process.stderr.take().expect("it is piped"));
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Watch { process, lines, folder }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Writes as most editors do: a file beside it, renamed.
    fn save(&self, name: &str, text: &str) {
        fs::write(self.path("beside~"), text).expect("it is written");
        fs::rename(self.path("beside~"), self.path(name)).expect("it is renamed");
    }

    /// The lines up to one that holds all these words. How long it takes is no matter.
    fn until(&self, words: &[&str]) -> Vec<String> {
        let mut seen = vec![];
        loop {
            let Ok(line) = self.lines.recv_timeout(Duration::from_secs(60)) else { panic!("no {words:?} after {seen:#?}") };
            let found = words.iter().all(|word| line.contains(word));
            seen.push(line);
            if found {
                return seen;
            }
        }
    }

    fn checked(&self, n_errors: &str) -> Vec<String> {
        self.until(&["program", n_errors, " ms)"])
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn every_way_to_save_is_seen() {
    let watch = Watch::start(&["net.relay"]);
    watch.checked(": 0 errors");
    fs::write(watch.path("net.relay"), WRONG).expect("it is written");
    assert!(watch.checked(": 1 error,").iter().any(|line| line.contains("E0204")));
    watch.save("net.relay", RIGHT);
    watch.checked(": 0 errors");
    fs::remove_file(watch.path("net.relay")).expect("it is removed");
    assert!(watch.checked(": 1 error,").iter().any(|line| line.contains("E0701")));
    // A pipe is not waited for: it may be a file again.
    assert!(Command::new("mkfifo").arg(watch.path("net.relay")).status().is_ok_and(|status| status.success()));
    watch.until(&["E0701", "it is a pipe"]);
    fs::remove_file(watch.path("net.relay")).expect("it is removed");
    fs::write(watch.path("net.relay"), RIGHT).expect("it is written");
    watch.checked(": 0 errors");
    // A burst ends with what was written last.
    for n in 0..50 {
        watch.save("net.relay", if n % 2 == 0 { RIGHT } else { WRONG });
    }
    watch.checked(": 1 error,");
}

#[test]
fn folders_are_watched_at_any_depth() {
    let watch = Watch::start(&["."]);
    watch.checked("1 program: 0 errors");
    fs::create_dir_all(watch.path("a/b")).expect("a folder");
    fs::write(watch.path("a/b/second.relay"), WRONG).expect("it is written");
    watch.checked("2 programs: 1 error,");
    fs::rename(watch.path("a"), watch.path("c")).expect("it is renamed");
    watch.until(&["c/b/second.relay"]);
    fs::remove_dir_all(watch.path("c")).expect("it is removed");
    watch.checked("1 program: 0 errors");
}

#[test]
fn a_folder_that_is_made_anew_is_watched_anew() {
    let watch = Watch::start(&["sub/net.relay"]);
    watch.checked(": 1 error,");
    for _ in 0..2 {
        fs::create_dir(watch.path("sub")).expect("a folder");
        fs::write(watch.path("sub/net.relay"), RIGHT).expect("it is written");
        watch.checked(": 0 errors");
        watch.save("sub/net.relay", WRONG);
        watch.checked(": 1 error,");
        fs::remove_dir_all(watch.path("sub")).expect("it is removed");
        watch.until(&["E0701"]);
        watch.checked(": 1 error,");
    }
}

#[test]
fn the_configuration_and_its_weights_are_watched() {
    let watch = Watch::start(&["net.relay"]);
    watch.checked(": 0 errors");
    let weights = |shape: &[usize], path: &Path| {
        let tensor = relayc::Tensor::from_vec(shape, vec![1f32; shape.iter().product()]);
        let beside = path.with_extension("new.npz");
        relayc_driver::params::save(&beside, "w", tensor).expect("it is written");
        fs::rename(beside, path).expect("it is renamed");
    };
    fs::create_dir(watch.path("weights")).expect("a folder");
    weights(&[2], &watch.path("weights/w.npz"));
    fs::write(watch.path("relayc.toml"), "[weights]\n\"*.relay\" = \"weights/w.npz\"\n").expect("it is written");
    watch.checked(": 0 errors");
    weights(&[3], &watch.path("weights/w.npz"));
    watch.until(&["E0705"]);
    watch.checked(": 1 error,");
    weights(&[2], &watch.path("weights/w.npz"));
    watch.checked(": 0 errors");
    fs::remove_file(watch.path("weights/w.npz")).expect("it is removed");
    watch.until(&["E0747"]);
    watch.checked(": 1 error,");
    fs::write(watch.path("relayc.toml"), "[lints]\nall = \"deny\"\n").expect("it is written");
    watch.checked(": 0 errors");
}

#[test]
fn a_configuration_that_is_new_far_above_is_seen() {
    let watch = Watch::start(&["a/b/net.relay"]);
    watch.checked(": 1 error,");
    fs::create_dir_all(watch.path("a/b")).expect("a folder");
    fs::write(watch.path("a/b/net.relay"), RIGHT).expect("it is written");
    watch.checked(": 0 errors");
    fs::write(watch.path("relayc.toml"), "[").expect("it is written");
    watch.until(&["E0744"]);
    watch.checked(": 1 error,");
    fs::remove_file(watch.path("relayc.toml")).expect("it is removed");
    watch.checked(": 0 errors");
}

#[test]
fn a_command_runs_after_a_check_without_errors() {
    let watch = Watch::start(&["net.relay", "--", "sh", "-c", "echo ran >&2; exit 3"]);
    watch.checked(": 0 errors");
    assert_eq!(watch.until(&["exit 3", "echo ran"]), ["ran", "`sh -c echo ran >&2; exit 3`: exit 3"]);
    watch.save("net.relay", WRONG);
    watch.checked(": 1 error,");
    watch.save("net.relay", RIGHT);
    assert!(!watch.checked(": 0 errors").iter().any(|line| line == "ran"), "it did not run after an error");
    watch.until(&["ran"]);
}

/// Ctrl-C, while it waits and while its command runs, which is ended with it.
#[cfg(all(feature = "jit", unix))]
#[test]
fn an_interrupt_ends_it() {
    for (args, words) in
        [(&["net.relay"][..], "ms)"), (&["net.relay", "--", "sh", "-c", "echo begun >&2; exec sleep 600"], "begun")]
    {
        let mut watch = Watch::start(args);
        watch.until(&[words]);
        let killed = Command::new("kill").args(["-INT", &watch.process.id().to_string()]).status();
        assert!(killed.is_ok_and(|killed| killed.success()));
        assert_eq!(watch.process.wait().expect("it ends").code(), Some(130));
        // Nothing holds its standard error any more.
        while watch.lines.recv_timeout(Duration::from_secs(60)).is_ok() {}
    }
}

#[test]
fn standard_input_cannot_be_watched() {
    let ended = Command::new(env!("CARGO_BIN_EXE_relayc")).args(["watch", "-"]).output().expect("relayc runs");
    assert_eq!((ended.status.code(), ended.stdout.len()), (Some(2), 0));
}
