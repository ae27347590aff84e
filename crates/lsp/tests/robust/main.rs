//! The server under any client: edits in any order leave it with the text and the answers of a fresh server, and whatever is sent,
//! each request has one answer and the server goes on.
//!
//! `RELAYC_SESSIONS=10000` sets how many sessions of edits run, `RELAYC_MESSAGES=1000000` how many hostile messages; the first seed
//! is `RELAYC_SEED`.

#[path = "../support/mod.rs"]
mod support;

use fastrand::Rng;
use lsp_server::{Message, RequestId};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use support::{Client, URI};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
}

/// Texts to begin with: programs, broken ones, and characters of every width.
const TEXTS: [&str; 6] = [
    "#[version = \"0.0.5\"]\ndef @main(%data: Tensor[(1, 3, 8, 8), float32], %w) {\n  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);\n  nn.relu(%0)\n}\n",
    "type L[A] { N, C(A, L[A]) }\ndef @len[A](%l: L[A]) -> int32 {\n  match (%l) { N => 0, C(_, %t) => add(1, @len(%t)) }\n}\n",
    "def @f(%x: int32) { let %y = if (less(%x, 1)) { %x } else { add(%x, 1) }; (%y, %x).0 }\n",
    "// 𐐀 ü\r\ndef @f(%x: Tensor[(batch, 2), float32]) { /* 語 */ nn.dense(%x, ones(shape=[2, 2], dtype=\"float32\")) }\r\n",
    "def @f( { nn.relu(%",
    "",
];

/// A text whose statements and functions are many enough to be kept from one form to the next.
fn long(random: &mut Rng) -> String {
    let mut text = String::from("#[version = \"0.0.5\"]\n");
    for def in 0..1 + random.usize(..4) {
        text.push_str(&format!("def @f{def}(%x: Tensor[(1, 8), float32]) {{\n"));
        for i in 0..random.usize(10..40) {
            let before = if i == 0 { "%x".to_owned() } else { format!("%{}", i - 1) };
            text.push_str(&match random.u64(..6) {
                0 if def > 0 => format!("  %{i} = @f{}({before});\n", def - 1),
                1 => format!("  let %v{i} = fn (%y) {{ add(%y, {before}) }};\n  %{i} = %v{i}(%x);\n"),
                2 => format!("  %{i} = if (True) {{ {before} }} else {{ nn.relu({before}) }};\n"),
                3 => format!("  let %v{i}: Tensor[(?, 8), float32] = {before};\n  %{i} = tanh({before});\n"),
                _ => format!("  %{i} = nn.softmax({before}, axis=1);\n"),
            });
        }
        text.push_str("  %0\n}\n");
    }
    text
}

/// Pieces that are typed.
const PIECES: [&str; 24] = [
    "%",
    "@",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    "let %a = ",
    "nn.relu(%x)",
    "add(",
    "\n",
    "//",
    "/*",
    "\"",
    "def @g() { 1 }\n",
    "%0 = ",
    "𐐀",
    "ü",
    ": Tensor[(2), float32]",
    "match (%x) { ",
    "if (True) { ",
];

/// The requests whose answers are compared.
const ASKED: [&str; 11] = [
    "textDocument/codeLens",
    "textDocument/diagnostic",
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/inlayHint",
    "textDocument/semanticTokens/full",
    "textDocument/documentSymbol",
    "textDocument/references",
    "textDocument/signatureHelp",
    "textDocument/foldingRange",
    "textDocument/codeAction",
];

fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    json!({ "line": before.matches('\n').count(), "character": before[start..].encode_utf16().count() })
}

fn params(text: &str, at: usize) -> Value {
    let (start, end) = (position(text, 0), position(text, text.len()));
    json!({
        "textDocument": { "uri": URI }, "position": position(text, at), "range": { "start": start, "end": end },
        "context": { "includeDeclaration": true, "diagnostics": [], "triggerKind": 1, "isRetrigger": false },
    })
}

/// A place in a text, between characters, and not inside of a line end, where no position is.
fn place(random: &mut Rng, text: &str) -> usize {
    let mut at = text.floor_char_boundary(random.usize(..=text.len()));
    if at > 0 && text[..at].ends_with('\r') {
        at -= 1;
    }
    at
}

#[test]
fn edits_leave_the_answers_of_a_fresh_server() {
    let first = number("RELAYC_SEED", 0);
    let n = number("RELAYC_SESSIONS", 200);
    for seed in first..first + n {
        let mut random = Rng::with_seed(seed);
        let mut text = if random.bool() { long(&mut random) } else { TEXTS[random.usize(..TEXTS.len())].to_owned() };
        let mut client = Client::start();
        client.open(&text);
        for version in 2..2 + random.u64(..12) {
            let mut changes = vec![];
            for _ in 0..1 + random.u64(..3) {
                let (a, b) = (place(&mut random, &text), place(&mut random, &text));
                let (start, end) = (a.min(b), if random.u64(..2) == 0 { a.min(b) } else { a.max(b) });
                // Of a long text most stays.
                let end = if text.len() > 500 { text.floor_char_boundary(end.min(start + 40)) } else { end };
                let new = PIECES[random.usize(..PIECES.len())];
                changes.push(json!({ "range": { "start": position(&text, start), "end": position(&text, end) }, "text": new }));
                text.replace_range(start..end, new);
            }
            let document = json!({ "uri": URI, "version": version });
            client.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
            if random.u64(..3) == 0 {
                let method = ASKED[random.usize(..ASKED.len())];
                let at = place(&mut random, &text);
                client.ask(method, params(&text, at)).unwrap_or_else(|error| panic!("seed {seed}: {method}: {error:?}"));
            }
        }
        let mut fresh = Client::start();
        fresh.open(&text);
        let at = place(&mut random, &text);
        for method in ASKED {
            let (found, wanted) = (client.ask(method, params(&text, at)), fresh.ask(method, params(&text, at)));
            assert_eq!(found, wanted, "seed {seed}: {method} at {at} of {text:?}");
            assert!(found.is_ok(), "seed {seed}: {method} at {at} of {text:?}");
        }
        client.stop();
        fresh.stop();
    }
}

/// Every request that the server says it takes, and some that it does not know.
const METHODS: [&str; 33] = [
    "textDocument/codeLens",
    "workspace/executeCommand",
    "textDocument/diagnostic",
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/inlayHint",
    "inlayHint/resolve",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/range",
    "textDocument/semanticTokens/full/delta",
    "textDocument/documentSymbol",
    "textDocument/references",
    "textDocument/signatureHelp",
    "textDocument/foldingRange",
    "textDocument/codeAction",
    "textDocument/definition",
    "textDocument/typeDefinition",
    "textDocument/documentHighlight",
    "textDocument/documentLink",
    "textDocument/formatting",
    "textDocument/rangeFormatting",
    "textDocument/onTypeFormatting",
    "textDocument/selectionRange",
    "textDocument/rename",
    "textDocument/prepareRename",
    "textDocument/linkedEditingRange",
    "textDocument/prepareCallHierarchy",
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
    "initialize",
    "workspace/nothing",
    "",
    "shutdow",
];

/// A value that no client should send, or part of one that it should.
fn junk(random: &mut Rng, depth: u32) -> Value {
    match random.u64(..if depth == 0 { 8 } else { 11 }) {
        0 => Value::Null,
        1 => json!(random.u64(..)),
        2 => json!(-1),
        3 => json!(1e300),
        4 => json!(PIECES[random.usize(..PIECES.len())]),
        5 => json!({ "line": random.u64(..8), "character": random.u32(..) }),
        6 => json!({ "uri": URI }),
        7 => json!(true),
        8 => Value::Array((0..random.u64(..4)).map(|_| junk(random, depth - 1)).collect()),
        _ => {
            const KEYS: [&str; 14] = [
                "textDocument",
                "position",
                "positions",
                "range",
                "context",
                "options",
                "newName",
                "ch",
                "item",
                "data",
                "uri",
                "start",
                "end",
                "label",
            ];
            let keys = (0..random.u64(..6)).map(|_| KEYS[random.usize(..KEYS.len())].to_owned());
            Value::Object(keys.collect::<Vec<_>>().into_iter().map(|key| (key, junk(random, depth - 1))).collect())
        }
    }
}

/// Parameters that are right but for one thing, or right.
fn damaged(random: &mut Rng, text: &str) -> Value {
    let at = place(random, text);
    let mut value = params(text, at);
    let fields = value.as_object_mut().expect("an object");
    fields.insert("positions".to_owned(), json!([position(text, at)]));
    fields.insert("options".to_owned(), json!({ "tabSize": 2, "insertSpaces": true }));
    fields.insert("newName".to_owned(), json!(PIECES[random.usize(..PIECES.len())]));
    fields.insert("ch".to_owned(), json!(PIECES[random.usize(..PIECES.len())]));
    let keys: Vec<String> = fields.keys().cloned().collect();
    if random.u64(..2) == 0 {
        let key = &keys[random.usize(..keys.len())];
        fields.insert(key.clone(), junk(random, 2));
    }
    value
}

#[test]
fn hostile_messages_are_answered_once_each() {
    let mut random = Rng::with_seed(number("RELAYC_SEED", 0));
    let n = number("RELAYC_MESSAGES", 20_000);
    let mut client = Client::start();
    let mut text = TEXTS[1].to_owned();
    client.open(&text);
    let mut asked: BTreeMap<RequestId, String> = BTreeMap::new();
    for _ in 0..n {
        match random.u64(..12) {
            0 => {
                text = TEXTS[random.usize(..TEXTS.len())].to_owned();
                client.open(&text);
            }
            1 => {
                let change = json!({ "range": junk(&mut random, 2), "text": "%" });
                let whole = json!({ "text": text });
                let change = if random.u64(..2) == 0 { change } else { whole };
                let document = json!({ "uri": URI, "version": random.u64(..3) });
                client.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [change] }));
            }
            2 => client.notify("$/cancelRequest", json!({ "id": random.u64(..n) })),
            3 => client.notify("textDocument/didClose", junk(&mut random, 3)),
            4 => client.notify(METHODS[random.usize(..METHODS.len())], junk(&mut random, 3)),
            _ => {
                let method = METHODS[random.usize(..METHODS.len())];
                let value = if random.u64(..3) == 0 { junk(&mut random, 4) } else { damaged(&mut random, &text) };
                let id = client.send(method, value);
                asked.insert(id, method.to_owned());
            }
        }
        while let Ok(message) = client.connection.receiver.try_recv() {
            take(&mut asked, message);
        }
    }
    while !asked.is_empty() {
        let message = client.connection.receiver.recv_timeout(Duration::from_secs(120)).expect("the server answers");
        take(&mut asked, message);
    }
    client.stop();
}

fn take(asked: &mut BTreeMap<RequestId, String>, message: Message) {
    match message {
        Message::Response(response) => {
            let method = asked.remove(&response.id).unwrap_or_else(|| panic!("a second answer to {}", response.id));
            if let Err(error) = response.response_result {
                assert!(!error.message.contains("panicked"), "`{method}`: {}", error.message);
            }
        }
        Message::Notification(told) => assert!(!told.params.to_string().contains("panicked"), "{}", told.params),
        Message::Request(_) => {}
    }
}

#[test]
fn a_long_check_and_what_is_done_are_told() {
    let mut client = Client::fresh();
    let capabilities = json!({
        "window": { "workDoneProgress": true }, "workspace": { "didChangeConfiguration": { "dynamicRegistration": true } },
    });
    client.ask("initialize", json!({ "capabilities": capabilities, "trace": "verbose" })).expect("the server starts");
    client.notify("initialized", json!({}));
    let lines: String = (0..400_000).map(|i| format!("  let %v{i} = add(%x, %x);\n")).collect();
    client.open(&format!("def @main(%x: Tensor[(1, 8), float32]) {{\n{lines}  %x\n}}\n"));
    client.send("textDocument/documentSymbol", params("", 0));
    let mut told: Vec<String> = vec![];
    loop {
        match client.connection.receiver.recv_timeout(Duration::from_secs(120)).expect("the server goes on") {
            Message::Response(_) => break,
            Message::Request(request) => told.push(request.method),
            Message::Notification(notification) => {
                let text = |path: &str| notification.params.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned();
                told.push(format!("{} {}{}", notification.method, text("/value/kind"), text("/verbose")).trim_end().to_owned());
            }
        }
    }
    let wanted = [
        "client/registerCapability",
        "window/workDoneProgress/create",
        "$/progress begin",
        "$/logTrace inferred 1 of 1 functions",
        "$/progress end",
        "textDocument/publishDiagnostics",
        "$/logTrace",
    ];
    assert_eq!(told, wanted);
    client.notify("$/setTrace", json!({ "value": "off" }));
    client.stop();
}

#[test]
fn the_order_of_a_conversation_is_kept() {
    let mut client = Client::fresh();
    let code = |answer: Result<Value, (i32, String)>| answer.err().map(|(code, _)| code);
    assert_eq!(code(client.ask("textDocument/hover", json!({}))), Some(-32002));
    client.notify("textDocument/didOpen", json!({}));
    assert_eq!(code(client.ask("initialize", json!({ "capabilities": {} }))), None);
    assert_eq!(code(client.ask("initialize", json!({ "capabilities": {} }))), Some(-32600));
    assert_eq!(code(client.ask("textDocument/hover", params("", 0))), Some(-32602));
    assert_eq!(code(client.ask("textDocument/nothing", params("", 0))), Some(-32601));
    assert_eq!(code(client.ask("shutdown", Value::Null)), None);
    assert_eq!(code(client.ask("textDocument/hover", params("", 0))), Some(-32600));
    client.notify("exit", Value::Null);
    assert_eq!(client.server.join().ok(), Some(true));

    let client = Client::start();
    client.notify("exit", Value::Null);
    assert_eq!(client.server.join().ok(), Some(false), "`exit` without `shutdown`");
}
