//! Text on standard input, from whatever it is: a file, a pipe, or a socket, which Node gives to the programs it starts.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Output, Stdio};

const TEXT: &str = "#[version = \"0.0.5\"]\ndef @main(%x: int32) {\n  add(%x, 1)\n}\n";

fn printed(stdin: impl Into<Stdio>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    command.args(["print", "-"]).stdin(stdin).output().expect("relayc runs")
}

#[test]
fn text_comes_from_a_socket() {
    let (mut writer, reader) = UnixStream::pair().expect("two sockets");
    writer.write_all(TEXT.as_bytes()).expect("it fits");
    drop(writer);
    let output = printed(OwnedFd::from(reader));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("add(%x, 1)"), "{output:?}");
}

#[test]
fn a_folder_is_no_text() {
    let output = printed(std::fs::File::open(std::env::temp_dir()).expect("there is one"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("cannot read `<stdin>`"), "{said}");
}

#[test]
fn a_named_pipe_without_a_writer_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    command.arg("print").arg(&pipe).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut relayc = command.spawn().expect("relayc runs");
    let mut said = String::new();
    BufReader::new(relayc.stderr.take().expect("a pipe")).read_line(&mut said).expect("a line");
    assert!(said.starts_with("waiting until somebody writes to `") && said.contains("pipe`"), "{said}");
    std::fs::write(&pipe, TEXT).expect("relayc reads");
    let output = relayc.wait_with_output().expect("it ends");
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("add(%x, 1)"), "{output:?}");
}

/// What a command reads of zeros without an end, and how it ends.
fn read_of_zeros(args: &[&str]) -> (usize, Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
    let mut relayc =
        command.args(args).stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("relayc runs");
    let mut pipe = relayc.stdin.take().expect("a pipe");
    // No more than a mistake would read in a moment.
    let n_read = (0..1024).take_while(|_| pipe.write_all(&[0; 1 << 16]).is_ok()).count() << 16;
    drop(pipe);
    let output = relayc.wait_with_output().expect("it ends");
    (n_read, output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_stream_without_an_end_is_judged_by_its_beginning() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.relay");
    std::fs::write(&path, TEXT).expect("written");
    let path = path.to_str().expect("a plain name");
    let commands: [&[&str]; 6] = [
        &["run", "-"],
        &["run", path, "--params", "-"],
        &["run", path, "-i", "x=@/dev/stdin"],
        &["params", "ls", "/dev/stdin"],
        &["import", "-", "-o", "/dev/null"],
        &["inspect", "-"],
    ];
    for args in commands {
        let (n_read, code, said) = read_of_zeros(args);
        // A pipe holds some by itself.
        assert!(
            n_read <= 1 << 18 && matches!(code, Some(1..=2)) && said.contains("error"),
            "{args:?}: {n_read}, {code:?}, {said}"
        );
    }
}
