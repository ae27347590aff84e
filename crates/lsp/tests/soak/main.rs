//! The memory of a server that is typed to for long: it does not grow.
//!
//! Lines are typed into a network key by key, asked about after each, and taken out again, one place after another. `RELAYC_SOAK=3600`
//! sets how many seconds it goes on; `RELAYC_KEYS=20` how many keys a second, as many as the server takes if it is not set. The memory
//! of the process, client included, is measured after the first tenth, when all has been allocated that is allocated once.

#[path = "../support/mod.rs"]
mod support;

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::{Client, URI};

/// How much the process may have grown, in KiB: what an allocator of two threads leaves between blocks.
const MAX_GROWTH: u64 = 8 << 10;

/// What is typed, key by key.
const TYPED: &str = "  let %a = nn.relu(add(%0, %w.0)) /* why */;\n";

const ASKED: [&str; 8] = [
    "textDocument/completion",
    "textDocument/hover",
    "textDocument/inlayHint",
    "textDocument/signatureHelp",
    "textDocument/semanticTokens/full",
    "textDocument/codeAction",
    "textDocument/documentSymbol",
    "textDocument/diagnostic",
];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// The resident memory of the process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says what a process has");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn memory_stays_flat() {
    const N: usize = 120;
    let all = Duration::from_secs(number("RELAYC_SOAK").unwrap_or(4));
    let pause = number("RELAYC_KEYS").map(|keys| Duration::from_secs(1) / u32::try_from(keys.max(1)).expect("a number of keys"));
    let mut client = Client::start();
    let lines: String = (0..N)
        .map(|i| format!("  %{i} = nn.relu({});\n", if i == 0 { "%x".to_owned() } else { format!("%{}", i - 1) }))
        .collect();
    client.open(&format!("#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(1, 64), float32], %w) {{\n{lines}  %{}\n}}\n", N - 1));
    let start = Instant::now();
    let (mut version, mut asked, mut early) = (1, 0, None);
    let mut change = |client: &Client, from: [usize; 2], to: [usize; 2], text: &str| {
        version += 1;
        let place = |[line, character]: [usize; 2]| json!({ "line": line, "character": character });
        let changes = json!([{ "range": { "start": place(from), "end": place(to) }, "text": text }]);
        let document = json!({ "uri": URI, "version": version });
        client.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    };
    for line in (2..2 + N).cycle() {
        let mut column = 0;
        for key in TYPED.chars() {
            change(&client, [line, column], [line, column], &key.to_string());
            column += 1;
            let method = ASKED[asked % ASKED.len()];
            asked += 1;
            client.ask(method, question(line, column)).unwrap_or_else(|error| panic!("{method}: {error:?}"));
            pause.into_iter().for_each(std::thread::sleep);
        }
        change(&client, [line, 0], [line + 1, 0], "");
        if start.elapsed() > all / 10 {
            early.get_or_insert_with(resident);
        }
        if start.elapsed() > all {
            break;
        }
    }
    client.stop();
    let (early, late) = (early.expect("it went on for longer than a tenth"), resident());
    println!("{asked} keys in {:.0?}: {early} KiB after a tenth, {late} KiB at the end", start.elapsed());
    assert!(late <= early + MAX_GROWTH, "{asked} keys: {early} KiB grew to {late} KiB");
}

fn question(line: usize, column: usize) -> Value {
    json!({
        "textDocument": { "uri": URI }, "position": { "line": line, "character": column },
        "range": { "start": { "line": line, "character": 0 }, "end": { "line": line + 1, "character": 0 } },
        "context": { "diagnostics": [], "triggerKind": 1, "isRetrigger": false },
    })
}
