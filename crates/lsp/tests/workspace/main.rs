//! The server in a workspace on the disk: its folders, `relayc.toml`, weights, and the symbols of programs that are not open. Whatever
//! changes there leaves it with the answers of a fresh server; `RELAYC_SESSIONS` sets how many random sessions show that, `RELAYC_SEED`
//! the first seed.

#[allow(dead_code, reason = "the tests of single texts need more of it")]
#[path = "../support/mod.rs"]
mod support;

use fastrand::Rng;
use lsp_server::Message;
use serde_json::{Value, json};
use std::collections::BTreeMap;
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
        let client = client(folder.path(), &["a", "b"], options);
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

/// A client in folders of a folder, which tells of files.
fn client(folder: &Path, names: &[&str], options: &Value) -> Client {
    let mut client = Client::fresh();
    let folders: Vec<Value> = names.iter().map(|name| json!({ "uri": uri(&folder.join(name)), "name": name })).collect();
    let capabilities = json!({
        "textDocument": { "diagnostic": {} },
        "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true }, "diagnostic": { "refreshSupport": true } },
    });
    let params = json!({ "workspaceFolders": folders, "capabilities": capabilities, "initializationOptions": options });
    client.ask("initialize", params).expect("the server starts");
    client.notify("initialized", json!({}));
    client
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("it is written");
}

/// A file of safetensors with one tensor, `w`.
fn tensor(shape: &[usize]) -> Vec<u8> {
    let n: usize = shape.iter().product();
    let header = json!({ "w": { "dtype": "F32", "shape": shape, "data_offsets": [0, 4 * n] } }).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend(vec![0; 4 * n]);
    bytes
}

fn weights(session: &Session, name: &str, shape: &[usize]) {
    let path = session.folder.path().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, tensor(shape)).expect("it is written");
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

/// What can happen to a workspace.
struct World {
    folder: TempDir,
    folders: Vec<&'static str>,
    /// The open texts by their names.
    open: BTreeMap<&'static str, String>,
    settings: Value,
}

const NAMES: [&str; 4] = ["a/net.relay", "a/deep/net.relay", "b/net.relay", "c/net.relay"];
const CONFIGURATIONS: [&str; 5] = [
    "[lints]\nall = \"deny\"\n[format]\nwidth = 40\n",
    "[lints]\nunused-let = \"allow\"\n[weights]\n\"**/*.relay\" = \"w.safetensors\"\n",
    "[weights]\n\"net.relay\" = [\"../a/w.safetensors\", \"../w.safetensors\"]\n",
    "[format]\nwidht = 3\n",
    "[",
];
const TEXTS: [&str; 4] = [NET, "def @second() { 1 }\n", "def @third( {", ""];

impl World {
    /// Changes something, and tells the server. What it is told comes after what has happened.
    fn step(&mut self, random: &mut Rng, client: &Client) {
        let root = self.folder.path().to_owned();
        let name = NAMES[random.usize(..NAMES.len())];
        let document = json!({ "uri": uri(&root.join(name)), "languageId": "relay", "version": random.i32(..), "text": "" });
        let text = TEXTS[random.usize(..TEXTS.len())];
        let mut changed = vec![];
        match random.u64(..8) {
            0 => {
                let mut opened = document;
                opened["text"] = text.into();
                client.notify("textDocument/didOpen", json!({ "textDocument": opened }));
                self.open.insert(name, text.to_owned());
            }
            1 => {
                client.notify("textDocument/didClose", json!({ "textDocument": document }));
                self.open.remove(name);
            }
            2 => {
                let changes = json!([{ "text": text }]);
                client.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
                self.open.entry(name).and_modify(|open| *open = text.to_owned());
            }
            3 => {
                let width = 20 + 30 * random.u64(..4);
                self.settings =
                    if random.bool() { json!({}) } else { json!({ "format": { "width": width }, "lints": { "W0005": "warn" } }) };
                client.notify("workspace/didChangeConfiguration", json!({ "settings": { "relayc": self.settings } }));
            }
            4 => {
                let folder = ["a", "b", "c"][random.usize(..3)];
                let this = json!([{ "uri": uri(&root.join(folder)), "name": folder }]);
                let (added, removed) = if self.folders.contains(&folder) {
                    self.folders.retain(|known| *known != folder);
                    (json!([]), this)
                } else {
                    self.folders.push(folder);
                    (this, json!([]))
                };
                let event = json!({ "event": { "added": added, "removed": removed } });
                client.notify("workspace/didChangeWorkspaceFolders", event);
            }
            5 => changed.push((name.to_owned(), text.as_bytes().to_vec())),
            6 => {
                let shape = [1 + random.usize(..3)];
                let file = ["w.safetensors", "a/w.safetensors", "b/w.safetensors"][random.usize(..3)];
                changed.push((file.to_owned(), if random.u64(..4) == 0 { b"none".to_vec() } else { tensor(&shape) }));
            }
            _ => {
                let folder = ["", "a/", "a/deep/", "b/", "c/"][random.usize(..5)];
                let text = CONFIGURATIONS[random.usize(..CONFIGURATIONS.len())];
                changed.push((format!("{folder}relayc.toml"), text.as_bytes().to_vec()));
            }
        }
        for (name, bytes) in changed {
            let path = root.join(&name);
            let there = path.exists();
            let kind = if there && random.u64(..3) == 0 {
                fs::remove_file(&path).expect("it is removed");
                3
            } else {
                fs::write(&path, bytes).expect("it is written");
                if there { 2 } else { 1 }
            };
            client.notify("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": uri(&path), "type": kind }] }));
        }
    }

    /// What a server says of everything.
    fn answers(&self, client: &mut Client) -> Vec<String> {
        let mut answers = vec![];
        for name in self.open.keys() {
            let document = json!({ "uri": uri(&self.folder.path().join(name)) });
            for method in ["diagnostic", "formatting", "documentSymbol"] {
                let params = json!({ "textDocument": document, "options": { "tabSize": 2, "insertSpaces": true } });
                answers.push(format!("{name} {method} {:?}", client.ask(&format!("textDocument/{method}"), params)));
            }
        }
        answers.push(format!("{:?}", client.ask("workspace/symbol", json!({ "query": "" }))));
        answers
    }
}

#[test]
fn changes_leave_the_answers_of_a_fresh_server() {
    let number = |name: &str, default: u64| std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"));
    let first = number("RELAYC_SEED", 0);
    for seed in first..first + number("RELAYC_SESSIONS", 100) {
        let mut random = Rng::with_seed(seed);
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a/deep", "b", "c"] {
            fs::create_dir_all(folder.path().join(name)).expect("a folder");
        }
        let options = match random.u64(..3) {
            0 => json!({}),
            trusted => json!({ "trusted": trusted == 1 }),
        };
        let mut world = World { folder, folders: vec!["a", "b"], open: BTreeMap::new(), settings: json!({}) };
        let mut server = client(world.folder.path(), &world.folders, &options);
        for _ in 0..1 + random.u64(..40) {
            world.step(&mut random, &server);
            if random.u64(..4) == 0 {
                world.answers(&mut server);
            }
        }
        let mut fresh = client(world.folder.path(), &world.folders, &options);
        fresh.notify("workspace/didChangeConfiguration", json!({ "settings": { "relayc": world.settings } }));
        for (name, text) in &world.open {
            let document =
                json!({ "uri": uri(&world.folder.path().join(name)), "languageId": "relay", "version": 1, "text": text });
            fresh.notify("textDocument/didOpen", json!({ "textDocument": document }));
        }
        assert_eq!(world.answers(&mut server), world.answers(&mut fresh), "seed {seed}, {options}, folders {:?}", world.folders);
        server.stop();
        fresh.stop();
    }
}
