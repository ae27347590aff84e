//! Text on standard input, from whatever it is: a file, a pipe, or a socket, which Node gives to the programs it starts.

use std::io::Write;
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
