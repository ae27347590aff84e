//! Every command that writes to standard output ends without a message if the pipe is closed, with exit code 141 in place of 0. A
//! full disk is E0702, exit code 2.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A line of arguments for each way to standard output. Each runs in a folder with the files of [`files`].
const LINES: &[&str] = &[
    "--help",
    "--version",
    "ops --help",
    "ops",
    "ops nn.relu",
    "ops --message-format json",
    "explain",
    "explain E0301",
    "explain --schema",
    "passes",
    "passes --json",
    "completions bash",
    "man run",
    "help run",
    "doctor --no-probe",
    "model --list",
    "model --list --json",
    "model mlp",
    "check --fix -",
    "print net.relay --types",
    "fmt -",
    "fmt --diff other.relay",
    "run net.relay --params net.params --fill zeros",
    "run net.relay --engine interp --params net.params --fill zeros --top 3",
    "run net.relay --params net.params --fill zeros --outputs /dev/stdout",
    "run net.relay --emit types",
    "opt net.relay",
    "params ls net.params",
    "params get net.params fc1_weight",
    "params diff net.params net.params",
    "params bind net.relay --params net.params",
    "params unbind other.relay --params out.params",
    "diff net.relay other.relay",
    "quantize net.relay --params net.params --fill rand",
    "bench net.relay --params net.params --fill zeros --json",
    "bench net.so --fill zeros",
    "profile net.relay --params net.params --fill zeros",
    "profile net.so --fill zeros",
    "tune other.relay --fill zeros --seconds 0 -o net.tuning",
    "cache ls",
    "reduce other.relay -- grep -q add",
    "test golden.relay",
    "test --list golden.relay",
    "viz net.relay -f dot",
    "import net.onnx",
    "inspect net.so",
    "export net.relay --to onnx --weights-as-inputs -o /dev/stdout",
    "build other.relay --emit so -o /dev/stdout",
    "lsp",
    // What it says while it watches goes to standard error.
    "watch --help",
];

const OTHER: &str = "def @main(%x: Tensor[(2), float32]) {\n add(%x, 1f)\n}\n";

fn relayc(folder: &Path, line: &str, stdout: impl Into<Stdio>) -> Output {
    let stdin = File::open(folder.join("other.relay")).map_or_else(|_| Stdio::null(), Stdio::from);
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    command.current_dir(folder).args(line.split_whitespace()).stdin(stdin).stdout(stdout).stderr(Stdio::piped());
    command.spawn().and_then(|child| child.wait_with_output()).expect("relayc runs")
}

fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it is written");
    write("other.relay", OTHER);
    write("golden.relay", "// test: interp\ndef @f(%x: int32) { add(%x, 1) }\n// run: @f(1) == 2\n");
    for line in
        ["model mlp -o net.relay --params net.params", "export other.relay --to onnx -o net.onnx", "build other.relay -o net.so"]
    {
        let made = relayc(folder.path(), line, Stdio::null());
        assert!(made.status.success(), "{line}: {}", String::from_utf8_lossy(&made.stderr));
    }
    folder
}

#[test]
fn nobody_reads_on() {
    let folder = files();
    for line in LINES {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let told = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
        let (read, unread) = (relayc(folder.path(), line, Stdio::piped()), relayc(folder.path(), line, writer));
        assert_eq!(told(&read), told(&unread), "relayc {line}");
        // What fails anyway, and what says nothing, does not change.
        let expected = match (read.status.code(), read.stdout.is_empty()) {
            (Some(0), false) => 141,
            (Some(code @ (0 | 1)), _) => code,
            _ => panic!("relayc {line}: {}", told(&read)),
        };
        assert_eq!(unread.status.code(), Some(expected), "relayc {line}");
    }
}

#[test]
fn the_disk_is_full() {
    let folder = files();
    for line in LINES {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("it can be opened");
        let output = relayc(folder.path(), line, full);
        let told = String::from_utf8_lossy(&output.stderr);
        let place = if line.ends_with("/dev/stdout") { "/dev/stdout" } else { "standard output" };
        let expected = format!("cannot write `{place}`: no space left on the disk");
        let is_told = told.contains(&expected) && told.contains("E0702");
        assert!(is_told && output.status.code() == Some(2), "relayc {line}: {} {told}", output.status);
    }
}

#[test]
#[cfg(feature = "jit")]
fn it_is_closed() {
    let folder = files();
    for line in ["--help", "ops nn.relu", "opt net.relay", "run other.relay --fill zeros", "import net.onnx"] {
        let command = format!("exec \"$0\" {line} >&-");
        let mut shell = Command::new("sh");
        shell.current_dir(folder.path()).args(["-c", &command, env!("CARGO_BIN_EXE_relayc")]).stdin(Stdio::null());
        let output = shell.output().expect("sh runs");
        let told = String::from_utf8_lossy(&output.stderr);
        let expected = "E0702]: cannot write `standard output`: it is closed";
        assert!(told.contains(expected) && output.status.code() == Some(2), "relayc {line}: {} {told}", output.status);
    }
}

#[test]
fn no_command_is_left_out() {
    let help = relayc(&std::env::temp_dir(), "--help", Stdio::piped());
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let names = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // The titles of groups are indented less.
    let names: BTreeSet<&str> =
        names.filter_map(|line| line.strip_prefix("    ")?.split(' ').next()).filter(|name| !name.is_empty()).collect();
    let tried: BTreeSet<&str> = LINES.iter().filter_map(|line| line.split(' ').next()).collect();
    let left_out: Vec<&&str> = names.difference(&tried).collect();
    assert!(!names.is_empty() && left_out.is_empty(), "{left_out:?}");
}
