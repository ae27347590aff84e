//! Nothing is left running of a reduction that is ended, which the Linux form of `relayc_sys` promises.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `relayc reduce` in the middle of its second run, which would take a minute; the number of that run's process.
fn in_the_middle(folder: &Path) -> (Child, String) {
    let at = |name: &str| folder.join(name);
    std::fs::write(at("net.relay"), "def @main(%x: Tensor[(4), float32]) { tanh(exp(%x)) }").expect("the folder can be written");
    std::fs::create_dir(at("temporary")).expect("the folder can be written");
    let second = "if [ -e again ]; then echo $$ > starting && mv starting started; exec sleep 60; fi; touch again";
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    command.args(["reduce", "-q", "net.relay", "-o", "small.relay", "--", "sh", "-c", second]).current_dir(folder);
    let child = command.env("TMPDIR", at("temporary")).stdin(Stdio::null()).spawn().expect("relayc runs");
    let start = Instant::now();
    loop {
        match std::fs::read_to_string(at("started")) {
            Ok(pid) => return (child, pid.trim().to_owned()),
            Err(_) => assert!(start.elapsed() < Duration::from_secs(60), "no second run"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a process is gone, but for what nobody has waited for yet.
fn gone(pid: &str) {
    let start = Instant::now();
    let is_there = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while is_there() {
        assert!(start.elapsed() < Duration::from_secs(20), "{pid} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn nothing_stays_of_a_reduction_that_is_ended() {
    for (signal, number) in [("-TERM", 15), ("-QUIT", 3)] {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut child, command) = in_the_middle(folder.path());
        let ended = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("there is a kill");
        assert!(ended.success());
        assert_eq!(child.wait().expect("it ends").code(), Some(128 + number), "as of a process that {signal} ended");
        gone(&command);
        let temporary = std::fs::read_dir(folder.path().join("temporary")).expect("ours").count();
        assert_eq!(temporary, 0, "temporary files stay");
        let small = std::fs::read_to_string(folder.path().join("small.relay")).expect("the smallest so far is written");
        assert!(small.contains("tanh"), "{small}");
    }
}

#[test]
fn a_command_ends_with_the_reduction_that_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut child, command) = in_the_middle(folder.path());
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    gone(&command);
}
