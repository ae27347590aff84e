//! How long an editor waits: typed sessions on texts of 5,000 operators, in one function and in 100, and on one of the size of
//! resnet-50, replayed.
//!
//! Each session types into the middle of the text. After each key the time until its diagnostics is taken, then that of a completion,
//! a hover and the inlay hints of a screen, both right after the key, where the check is waited for, and once more when it has ended.
//! Printed are the median and the 95th percentile in milliseconds, and the memory of the process.

#[path = "../tests/support/mod.rs"]
mod support;

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::{Client, URI};

/// Lines of a screen.
const SCREEN: usize = 60;

/// What is typed, key by key.
const TYPED: &str = "  let %a = nn.relu(%0);\n";

fn main() {
    // `cargo test` runs benches to see that they work.
    let n_sessions = if std::env::args().any(|arg| arg == "--bench") { 10 } else { 1 };
    let texts = [
        ("5,000 operators", network(1, 5000)),
        ("5,000 operators in 100 functions", network(100, 50)),
        ("180 operators", network(1, 180)),
    ];
    for (name, text) in texts {
        let lines: Vec<&str> = text.lines().collect();
        let mut times = Times::default();
        for session in 0..n_sessions {
            let from = lines.len() * (session + 1) / (n_sessions + 1);
            let line = (from..lines.len()).find(|&line| lines[line].starts_with("  %")).expect("a function has bindings");
            replay(&text, line, &mut times);
        }
        println!("{name}, {} KB", text.len() / 1000);
        times.print();
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    println!("memory at most, client and texts included: {}", peak.trim_start_matches("VmHWM:").trim());
}

/// Functions that are chains of convolutions, activations and sums; each calls the one before it.
fn network(n_functions: usize, n_operators: usize) -> String {
    let mut text = String::from("#[version = \"0.0.5\"]\n");
    for function in 0..n_functions {
        let name = if function + 1 == n_functions { "main".to_owned() } else { format!("f{function}") };
        text.push_str(&format!("def @{name}(%x: Tensor[(1, 64, 56, 56), float32], %w: Tensor[(64, 64, 3, 3), float32]) {{\n"));
        let mut last = if function == 0 { "%x".to_owned() } else { format!("@f{}(%x, %w)", function - 1) };
        for i in 0..n_operators {
            let value = match i % 3 {
                0 => format!("nn.conv2d({last}, %w, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3])"),
                1 => format!("nn.relu({last})"),
                _ => format!("add({last}, %{})", i - 2),
            };
            text.push_str(&format!("  %{i} = {value};\n"));
            last = format!("%{i}");
        }
        text.push_str(&format!("  nn.softmax({last})\n}}\n"));
    }
    text
}

#[derive(Default)]
struct Times {
    of: Vec<(&'static str, Vec<Duration>)>,
}

impl Times {
    fn add(&mut self, what: &'static str, time: Duration) {
        match self.of.iter_mut().find(|(known, _)| *known == what) {
            Some((_, times)) => times.push(time),
            None => self.of.push((what, vec![time])),
        }
    }

    fn print(&mut self) {
        for (what, times) in &mut self.of {
            times.sort();
            let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
            println!("  {what:<32} median {:7.2}  95 % {:7.2}  of {}", at(0.5), at(0.95), times.len());
        }
    }
}

fn replay(text: &str, line: usize, times: &mut Times) {
    let mut client = Client::start();
    client.open(text);
    timed(&mut client, "textDocument/diagnostic", about(0, 0));
    let (mut row, mut column) = (line, 0);
    for (index, key) in TYPED.chars().enumerate() {
        let at = json!({ "line": row, "character": column });
        let begun = Instant::now();
        client.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": URI, "version": index + 2 },
                "contentChanges": [{ "range": { "start": at, "end": at }, "text": key.to_string() }],
            }),
        );
        (row, column) = if key == '\n' { (row + 1, 0) } else { (row, column + 1) };
        let requests = [
            ("completion", "textDocument/completion"),
            ("hover", "textDocument/hover"),
            ("inlay hints of a screen", "textDocument/inlayHint"),
        ];
        // One kind of request is the first after each key.
        let (first, method) = requests[index % requests.len()];
        let name: &'static str = match first {
            "completion" => "completion, right after a key",
            "hover" => "hover, right after a key",
            _ => "inlay hints, right after a key",
        };
        times.add(name, timed(&mut client, method, about(row, column)));
        timed(&mut client, "textDocument/diagnostic", about(row, column));
        times.add("diagnostics after a key", begun.elapsed());
        for (name, method) in requests {
            times.add(name, timed(&mut client, method, about(row, column)));
        }
    }
    client.stop();
}

/// The time until the answer.
fn timed(client: &mut Client, method: &str, params: Value) -> Duration {
    let begun = Instant::now();
    client.ask(method, params).expect("the server answers");
    begun.elapsed()
}

fn about(row: usize, column: usize) -> Value {
    let first = row.saturating_sub(SCREEN / 2);
    json!({
        "textDocument": { "uri": URI }, "position": { "line": row, "character": column },
        "range": { "start": { "line": first, "character": 0 }, "end": { "line": first + SCREEN, "character": 0 } },
    })
}
