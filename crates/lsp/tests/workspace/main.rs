//! The server in a workspace on the disk: its folders, `relayc.toml`, weights, and the symbols of programs that are not open.

#[allow(dead_code, reason = "the tests of single texts need more of it")]
#[path = "../support/mod.rs"]
mod support;

use lsp_server::Message;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use support::Client;
use tempfile::TempDir;

const NET: &str =
    "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { let %y = exp(%x); add(%x, %w) }\n";

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// A server in the folders `a` and `b`, with a client that tells of files.
struct Session {
    folder: TempDir,
    client: Client,
    version: i32,
}

impl Session {
    fn start(files: &[(&str, &str)], options: &Value) -> Session {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            write(folder.path(), name, text);
        }
        for name in ["a", "b"] {
            fs::create_dir_all(folder.path().join(name)).expect("a folder");
        }
        let mut client = Client::fresh();
        let roots = ["a", "b"].map(|name| json!({ "uri": uri(&folder.path().join(name)), "name": name }));
        let capabilities = json!({
            "textDocument": { "diagnostic": {} },
            "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true }, "diagnostic": { "refreshSupport": true } },
        });
        let params = json!({ "workspaceFolders": roots, "capabilities": capabilities, "initializationOptions": options });
        client.ask("initialize", params).expect("the server starts");
        client.notify("initialized", json!({}));
        Session { folder, client, version: 1 }
    }

    fn uri(&self, name: &str) -> String {
        uri(&self.folder.path().canonicalize().expect("it is there").join(name))
    }

    fn open(&self, name: &str, text: &str) {
        let document = json!({ "uri": self.uri(name), "languageId": "relay", "version": self.version, "text": text });
        self.client.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Writes a file and tells so.
    fn change(&self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => write(self.folder.path(), name, text),
            None => fs::remove_file(self.folder.path().join(name)).expect("it was there"),
        }
        self.client.notify("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": self.uri(name), "type": 2 }] }));
    }

    /// The codes of a text's diagnostics.
    fn codes(&mut self, name: &str) -> Vec<String> {
        let params = json!({ "textDocument": { "uri": self.uri(name) } });
        codes(&self.client.ask("textDocument/diagnostic", params).expect("it answers"), "/items")
    }

    /// The next codes that the server tells of a file by itself.
    fn told(&self, name: &str) -> Vec<String> {
        let uri = self.uri(name);
        loop {
            let message = self.client.connection.receiver.recv_timeout(Duration::from_secs(60)).expect("it tells");
            if let Message::Notification(told) = message
                && told.method == "textDocument/publishDiagnostics"
                && told.params["uri"] == uri
            {
                return codes(&told.params, "/diagnostics");
            }
        }
    }

    fn symbols(&mut self, query: &str) -> Vec<String> {
        let answer = self.client.ask("workspace/symbol", json!({ "query": query })).expect("it answers");
        let symbol = |symbol: &Value| {
            let uri = symbol["location"]["uri"].as_str().unwrap_or("").rsplit('/').next().unwrap_or("").to_owned();
            format!("{} {uri}:{}", symbol["name"].as_str().unwrap_or(""), symbol["location"]["range"]["start"]["line"])
        };
        answer.as_array().into_iter().flatten().map(symbol).collect()
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("it is written");
}

fn weights(session: &Session, name: &str, shape: &[usize]) {
    // A header of NumPy's format and zeros, which safetensors holds without an archive.
    let n: usize = shape.iter().product();
    let header = json!({ "w": { "dtype": "F32", "shape": shape, "data_offsets": [0, 4 * n] } }).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend(vec![0; 4 * n]);
    let path = session.folder.path().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, bytes).expect("it is written");
}

fn codes(report: &Value, at: &str) -> Vec<String> {
    let items = report.pointer(at).and_then(Value::as_array).cloned().unwrap_or_default();
    items.iter().filter_map(|item| item["code"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_text_is_as_its_configuration_says_and_the_client_above_it() {
    let mut session = Session::start(&[("a/relayc.toml", "[lints]\nunused-let = \"deny\"\n[format]\nwidth = 40\n")], &json!({}));
    session.open("a/net.relay", NET);
    assert_eq!(session.codes("a/net.relay"), ["W0005"]);
    let params =
        json!({ "textDocument": { "uri": session.uri("a/net.relay") }, "options": { "tabSize": 2, "insertSpaces": true } });
    let width = |session: &mut Session| {
        let edits = session.client.ask("textDocument/formatting", params.clone()).expect("it answers").to_string();
        edits.contains("def @main(\\n")
    };
    assert!(width(&mut session));
    session.change("a/relayc.toml", Some("[lints]\nunused-let = \"allow\"\n"));
    assert_eq!(session.codes("a/net.relay"), Vec::<String>::new());
    assert!(!width(&mut session));
    let settings = json!({ "settings": { "relayc": { "lints": { "W0005": "warn" }, "format": { "width": 30 } } } });
    session.client.notify("workspace/didChangeConfiguration", settings);
    assert_eq!(session.codes("a/net.relay"), ["W0005"]);
    assert!(width(&mut session));
}

#[test]
fn what_is_wrong_in_a_configuration_is_told_at_it() {
    let session = Session::start(&[("a/relayc.toml", "[lints]\nunused-lett = \"deny\"\n")], &json!({}));
    session.open("a/net.relay", NET);
    assert_eq!(session.told("a/relayc.toml"), ["E0745"]);
    session.change("a/relayc.toml", Some("[lints\n"));
    // Taken back and said anew, or said at once.
    while session.told("a/relayc.toml") != ["E0744"] {}
    session.change("a/relayc.toml", None);
    while !session.told("a/relayc.toml").is_empty() {}
}

#[test]
fn weights_are_compared_with_the_parameters() {
    let mut session = Session::start(&[], &json!({}));
    weights(&session, "a/weights/w.safetensors", &[3]);
    session.change("a/relayc.toml", Some("[lints]\nall = \"allow\"\n[weights]\n\"*.relay\" = \"weights/w.safetensors\"\n"));
    session.open("a/net.relay", NET);
    assert_eq!(session.codes("a/net.relay"), ["E0705"]);
    weights(&session, "a/weights/w.safetensors", &[2]);
    session.client.notify(
        "workspace/didChangeWatchedFiles",
        json!({ "changes": [{ "uri": session.uri("a/weights/w.safetensors"), "type": 2 }] }),
    );
    assert_eq!(session.codes("a/net.relay"), Vec::<String>::new());
    session.open("a/net.relay", &NET.replace(") {", ", %v: float32) {"));
    assert_eq!(session.codes("a/net.relay"), ["E0704"]);
    session.change("a/weights/w.safetensors", Some("none"));
    assert_eq!(session.codes("a/net.relay"), ["E0703"]);
}

#[test]
fn nothing_outside_is_read_unless_the_workspace_is_trusted() {
    let files =
        [("relayc.toml", "[lints]\nall = \"allow\"\n"), ("b/relayc.toml", "[weights]\n\"*.relay\" = \"../w.safetensors\"\n")];
    for (options, own, other) in
        [(json!({}), "W0005", "E0747"), (json!({ "trusted": false }), "W0005", "E0747"), (json!({ "trusted": true }), "", "")]
    {
        let mut session = Session::start(&files, &options);
        weights(&session, "w.safetensors", &[2]);
        session.open("a/net.relay", NET);
        assert_eq!(session.codes("a/net.relay").join(" "), own, "the configuration above the folders, {options}");
        session.open("b/net.relay", NET);
        if !other.is_empty() {
            assert_eq!(session.told("b/relayc.toml"), [other]);
        }
        // A link that leads out is none, either.
        let folder = session.folder.path();
        let made = Command::new("ln").arg("-s").arg(folder.join("relayc.toml")).arg(folder.join("a/relayc.toml")).status();
        assert!(made.is_ok_and(|made| made.success()));
        session.client.notify(
            "workspace/didChangeWatchedFiles",
            json!({ "changes": [{ "uri": session.uri("a/relayc.toml"), "type": 1 }] }),
        );
        assert_eq!(session.codes("a/net.relay").join(" "), own, "a link, {options}");
    }
}

#[test]
fn symbols_are_those_of_all_folders_and_of_open_texts() {
    let files = [
        ("a/first.relay", "def @first() { 1 }\ntype Pair { Both(int32) }\n"),
        ("a/deep/second.relay", "// ü\ndef @second( { broken\ndef @third() { 3 }\n"),
        ("b/other.relay", "def @first_other() { 1 }\n"),
        ("b/target/made.relay", "def @first_made() { 1 }\n"),
        ("c/later.relay", "def @first_later() { 1 }\n"),
    ];
    let mut session = Session::start(&files, &json!({}));
    assert_eq!(session.symbols("first"), ["@first first.relay:0", "@first_other other.relay:0"]);
    assert_eq!(session.symbols("@THIRD"), ["@third second.relay:2"]);
    assert_eq!(session.symbols("bo"), ["Both first.relay:1"]);
    // An open text counts in place of its file.
    session.open("a/first.relay", "\ndef @first_anew() { 1 }\n");
    assert_eq!(session.symbols("first"), ["@first_anew first.relay:1", "@first_other other.relay:0"]);
    session.client.notify("textDocument/didClose", json!({ "textDocument": { "uri": session.uri("a/first.relay") } }));
    session.change("b/other.relay", None);
    session.change("a/new.relay", Some("def @first_new() { 1 }\n"));
    assert_eq!(session.symbols("first"), ["@first first.relay:0", "@first_new new.relay:0"]);
    let folder = |name: &str| json!([{ "uri": session.uri(name), "name": name }]);
    let event = json!({ "event": { "added": folder("c"), "removed": folder("a") } });
    session.client.notify("workspace/didChangeWorkspaceFolders", event);
    assert_eq!(session.symbols("first"), ["@first_later later.relay:0"]);
}

#[test]
fn strange_files_are_survived() {
    let mut session = Session::start(&[("a/right.relay", "def @right() { 1 }\n"), ("b/empty.relay", "")], &json!({}));
    let folder = session.folder.path().to_owned();
    fs::write(folder.join("a/binary.relay"), [0xff, 0, 0xfe, 7]).expect("it is written");
    fs::File::create(folder.join("a/huge.relay")).and_then(|file| file.set_len(1 << 40)).expect("it is made");
    fs::create_dir(folder.join("a/folder.relay")).expect("a folder");
    let run = |words: &[&str]| {
        assert!(Command::new(words[0]).args(&words[1..]).current_dir(&folder).status().is_ok_and(|ended| ended.success()))
    };
    run(&["ln", "-s", "..", "a/loop"]);
    run(&["ln", "-s", "nowhere", "a/dangling.relay"]);
    run(&["ln", "-s", "/etc/passwd", "a/passwd.relay"]);
    run(&["mkfifo", "a/pipe.relay"]);
    run(&["mkfifo", "a/relayc.toml"]);
    session
        .client
        .notify("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": session.uri("a/pipe.relay"), "type": 1 }] }));
    assert_eq!(session.symbols(""), ["@right right.relay:0"]);
    session.open("a/right.relay", NET);
    assert_eq!(session.codes("a/right.relay"), ["W0005"]);
    // What is no address, or no address of a file, is nothing that changes.
    session.client.notify("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": "untitled:x", "type": 9 }] }));
    session.client.notify(
        "workspace/didChangeWorkspaceFolders",
        json!({ "event": { "added": [{ "uri": "file:///%ff", "name": "" }], "removed": [] } }),
    );
    assert!(session.client.ask("workspace/symbol", json!({})).is_err());
    assert_eq!(session.symbols("main"), ["@main right.relay:1"]);
}
