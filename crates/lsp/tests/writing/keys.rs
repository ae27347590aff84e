//! How many keys a network takes that is written by completion only, from an empty file.

use crate::editor::Editor;
use crate::support::{Client, URI};
use relayc_driver::{Phase, check_text};
use serde_json::json;

/// What it takes; it may only fall.
const KEPT: usize = 127;

/// What is written.
const NETWORK: &str = "#[version = \"0.0.5\"]
def @main(%x: Tensor[(1, 3, 32, 32), float32], %w, %b, %fc, %fb) {
  let %conv = nn.conv2d(%x, %w, channels=16, kernel_size=[3, 3]);
  let %bias_add = nn.bias_add(%conv, %b);
  let %relu = nn.relu(%bias_add);
  let %max_pool = nn.max_pool2d(%relu, pool_size=[2, 2], strides=[2, 2]);
  let %batch_flatten = nn.batch_flatten(%max_pool);
  let %dense = nn.dense(%batch_flatten, %fc, units=10);
  let %bias_add1 = nn.bias_add(%dense, %fb);
  nn.softmax(%bias_add1)
}";

#[test]
fn a_network_takes_few_keys() {
    let mut editor = Editor::new();
    editor.pick("def", "def");
    // `@main(%x: Tensor[(1), float32])`: the name, the parameter, the shape, the dtype, more parameters.
    editor.tab();
    editor.tab();
    editor.type_("1, 3, 32, 32");
    editor.tab();
    editor.tab();
    editor.type_(", %w, %b, %fc, %fb");
    editor.tab();
    editor.pick("let nn.conv2d", "conv2d");
    editor.tab();
    editor.tab();
    attribute(&mut editor, "channels", "16");
    attribute(&mut editor, "kernel_size", "3, 3");
    next_line(&mut editor);
    editor.pick("let nn.bias_add", "bias_add");
    next_line(&mut editor);
    editor.pick("let nn.relu", "relu");
    next_line(&mut editor);
    editor.pick("let nn.max_pool2d", "max_pool2d");
    // It has a place for `pool_size`, which is required, as `units` of `nn.dense` is.
    editor.tab();
    editor.type_("2, 2");
    editor.tab();
    attribute(&mut editor, "strides", "2, 2");
    next_line(&mut editor);
    editor.pick("let nn.batch_flatten", "flatten");
    next_line(&mut editor);
    editor.pick("let nn.dense", "dense");
    editor.tab();
    editor.tab();
    editor.type_("10");
    next_line(&mut editor);
    editor.pick("let nn.bias_add", "bias_add");
    next_line(&mut editor);
    let (last, _) = NETWORK.lines().rev().nth(1).and_then(|line| line.trim().split_once('(')).expect("a call");
    editor.pick(last, "softmax");
    assert_eq!(editor.text, NETWORK);
    let program = check_text("net.relay", &editor.text, Phase::Lint);
    assert!(!program.has_errors(), "{:?}", program.diagnostics);
    println!("{} keys for {} characters", editor.keys, NETWORK.len());
    assert!(editor.keys <= KEPT, "{} keys for {} characters, kept are {KEPT}", editor.keys, NETWORK.len());
}

/// Writes an attribute behind what is there.
fn attribute(editor: &mut Editor, name: &str, value: &str) {
    editor.type_(", ");
    editor.pick(name, name);
    editor.type_(value);
    // Out of brackets.
    if !value.chars().all(|c| c.is_ascii_digit()) {
        editor.tab();
    }
}

/// Goes on through the places of the statement until the cursor is in the line after it.
fn next_line(editor: &mut Editor) {
    while !editor.begins_line() {
        editor.tab();
    }
}

#[test]
fn a_client_without_snippets_gets_plain_text() {
    let mut client = Client::fresh();
    client.ask("initialize", json!({ "capabilities": {} })).expect("it starts");
    let text = "def @f(%x: Tensor[(2), float32]) {\n  re\n}\n";
    client.open(text);
    let params = json!({ "textDocument": { "uri": URI }, "position": { "line": 1, "character": 4 } });
    let answer = client.ask("textDocument/completion", params).expect("an answer");
    let new_text = |label: &str| {
        let items = answer["items"].as_array()?;
        let item = items.iter().find(|item| item["label"] == label)?;
        item["textEdit"]["newText"].as_str().map(str::to_owned)
    };
    let operator = ["nn", "relu"].join(".");
    assert_eq!(new_text(&operator).as_ref(), Some(&operator));
    assert_eq!(new_text(&format!("let {operator}")), Some(format!("let %relu = {operator}(")));
    assert!(!answer.to_string().contains("${") && !answer.to_string().contains("insertTextFormat"));
    client.stop();
}
