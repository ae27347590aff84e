//! `relayc lsp` as a process: it answers over standard input and output, goes on after what is no message, and ends when it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

struct Server {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start() -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_relayc"));
        let mut process = command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("relayc starts");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        Server { process, output }
    }

    fn send(&mut self, text: &str) {
        let mut input = self.process.stdin.as_ref().expect("it is piped");
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("relayc reads");
        input.flush().expect("relayc reads");
    }

    fn answer(&mut self) -> String {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("relayc writes text");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().expect("a number"),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.output.read_exact(&mut text).expect("relayc writes what it says");
        String::from_utf8(text).expect("JSON is UTF-8")
    }

    /// The exit code, while standard input stays open.
    fn ended(mut self) -> Option<i32> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            if let Some(status) = self.process.try_wait().expect("it can be waited for") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.process.kill();
        panic!("relayc lsp does not end");
    }
}

#[test]
fn a_conversation() {
    let mut server = Server::start();
    server.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#);
    assert!(server.answer().contains("\"hoverProvider\":true"));
    server.send("{nope");
    assert!(server.answer().contains("no JSON"));
    server.send(r#"{"jsonrpc":"2.0","id":4294967296,"method":"shutdown"}"#);
    assert!(server.answer().contains("\"id\":4294967296,"));
    server.send(r#"{"jsonrpc":"2.0","method":"exit"}"#);
    assert_eq!(server.ended(), Some(0));
}

/// Work of a command ends when it is cancelled, whatever it is in the middle of, and says that it is under way.
#[test]
fn a_command_is_cancelled() {
    let mut server = Server::start();
    server.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#);
    server.answer();
    // Hours on the interpreter, in one operator.
    let text = "def @f(%x: Tensor[(9000, 9000), float32]) { nn.dense(%x, %x, units=9000) }\\n// run: @f(ones) == 1\\n";
    let document = format!(r#"{{"uri":"file:///a.relay","languageId":"relay","version":1,"text":"{text}"}}"#);
    server.send(&format!(r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{document}}}}}"#));
    server.send(
        r#"{"jsonrpc":"2.0","id":2,"method":"workspace/executeCommand","params":{"command":"relayc.run","workDoneToken":"t",
            "arguments":[{"textDocument":{"uri":"file:///a.relay"}}]}}"#,
    );
    while !server.answer().contains("\"kind\":\"begin\"") {}
    let begun = Instant::now();
    server.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}"#);
    while !server.answer().contains("\"kind\":\"end\"") {}
    assert!(server.answer().contains("\"code\":-32800"));
    assert!(begun.elapsed() < Duration::from_secs(20));
    // One that runs when the server ends ends with it.
    server.send(
        r#"{"jsonrpc":"2.0","id":3,"method":"workspace/executeCommand","params":{"command":"relayc.run",
            "arguments":[{"textDocument":{"uri":"file:///a.relay"}}]}}"#,
    );
    server.send(r#"{"jsonrpc":"2.0","id":4,"method":"shutdown"}"#);
    server.answer();
    server.send(r#"{"jsonrpc":"2.0","method":"exit"}"#);
    assert_eq!(server.ended(), Some(0));
}

/// However many commands are sent, and whatever happens to the text meanwhile, each has one answer.
#[test]
fn a_flood_of_commands_is_answered() {
    let mut server = Server::start();
    server.send(r#"{"jsonrpc":"2.0","id":1000,"method":"initialize","params":{"capabilities":{}}}"#);
    server.answer();
    let text = "def @f(%x: int32) { add(%x, %x) }\\n// run: @f(1) == 2\\n";
    let document = format!(r#"{{"uri":"file:///a.relay","languageId":"relay","version":1,"text":"{text}"}}"#);
    server.send(&format!(r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{document}}}}}"#));
    const COMMANDS: [&str; 4] = ["relayc.run", "relayc.pass", "relayc.picture", "relayc.passes"];
    const N: usize = 80;
    for id in 0..N {
        let command = COMMANDS[id % COMMANDS.len()];
        let arguments = r#"[{"textDocument":{"uri":"file:///a.relay"},"format":"html"}]"#;
        server.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"workspace/executeCommand",
                "params":{{"command":"{command}","arguments":{arguments}}}}}"#
        ));
        if id % 3 == 0 {
            server.send(&format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{}}}}}"#, id / 2));
        }
        if id == N / 2 {
            let change = r#"[{"text":"def @f( {"}]"#;
            let document = r#"{"uri":"file:///a.relay","version":2}"#;
            server.send(&format!(
                r#"{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{{"textDocument":{document},"contentChanges":{change}}}}}"#
            ));
        }
    }
    server.send(r#"{"jsonrpc":"2.0","method":"textDocument/didClose","params":{"textDocument":{"uri":"file:///a.relay"}}}"#);
    let mut asked: Vec<String> = (0..N).map(|id| format!("\"id\":{id},")).collect();
    while !asked.is_empty() {
        let answer = server.answer();
        let n = asked.len();
        asked.retain(|id| !answer.contains(id.as_str()));
        assert!(n - asked.len() == 1 || answer.contains("publishDiagnostics"), "{answer}");
    }
    server.send(r#"{"jsonrpc":"2.0","id":1001,"method":"shutdown"}"#);
    server.answer();
    server.send(r#"{"jsonrpc":"2.0","method":"exit"}"#);
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn an_end_without_goodbye() {
    let mut server = Server::start();
    server.send(r#"{"jsonrpc":"2.0","method":"exit"}"#);
    assert_eq!(server.ended(), Some(1));
    let mut server = Server::start();
    drop(server.process.stdin.take());
    assert_eq!(server.ended(), Some(1));
}
