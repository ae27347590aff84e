//! The weights that `relayc.toml` gives a program, declared by a code action.

use crate::editor::position;
use crate::support::Client;
use serde_json::{Value, json};
use std::path::Path;

/// A file of float32 tensors of zeros.
fn write(path: &Path, tensors: &[(&str, &[usize])]) {
    let (mut header, mut end) = (serde_json::Map::new(), 0);
    for (name, shape) in tensors {
        let start = end;
        end += 4 * shape.iter().product::<usize>();
        header.insert((*name).to_owned(), json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, end] }));
    }
    let header = Value::from(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.resize(bytes.len() + end, 0);
    std::fs::write(path, bytes).expect("it is written");
}

#[test]
fn weights_become_parameters() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("it is there");
    write(&folder.join("net.safetensors"), &[("b", &[4]), ("no name", &[1]), ("scale", &[]), ("w", &[4, 3])]);
    std::fs::write(folder.join("relayc.toml"), "[weights]\n\"*.relay\" = \"net.safetensors\"\n").expect("it is written");
    let uri = format!("file://{}/net.relay", folder.display());
    let mut client = Client::fresh();
    let capabilities = json!({
        "textDocument": { "codeAction": { "codeActionLiteralSupport": { "codeActionKind": { "valueSet": [] } } } },
    });
    let folders = json!([{ "uri": format!("file://{}", folder.display()), "name": "net" }]);
    client.ask("initialize", json!({ "capabilities": capabilities, "workspaceFolders": folders })).expect("it starts");
    client.notify("initialized", json!({}));
    let mut declared = |text: &str, at: &str| {
        let document = json!({ "uri": uri, "languageId": "relay", "version": 1, "text": text });
        client.notify("textDocument/didOpen", json!({ "textDocument": document }));
        let at = position(text, text.find(at).expect("the place"));
        let params = json!({
            "textDocument": { "uri": uri }, "range": { "start": at, "end": at },
            "context": { "diagnostics": [], "only": ["refactor.rewrite"] },
        });
        let actions = client.ask("textDocument/codeAction", params).expect("an answer");
        let action = actions
            .as_array()?
            .iter()
            .find(|action| action["title"].as_str().is_some_and(|title| title.starts_with("Declare")))?;
        let edits = action["edit"]["changes"][&uri].as_array()?;
        let texts = edits.iter().filter_map(|edit| edit["newText"].as_str());
        Some(format!("{}: {}", action["title"].as_str()?, texts.collect::<Vec<_>>().join(" | ")))
    };
    let head = "#[version = \"0.0.5\"]\ndef @main";
    let all = "%b: Tensor[(4), float32], %scale: float32, %w: Tensor[(4, 3), float32]";
    let text =
        format!("{head}(%x: Tensor[(2, 3), float32]) {{ nn.dense(%x, ones(shape=[4, 3], dtype=\"float32\"), units=4) }}\n");
    assert_eq!(declared(&text, "@main"), Some(format!("Declare 3 weights: , {all}")));
    // In a call it is about something else.
    assert_eq!(declared(&text, "nn.dense("), None);
    let text = format!("{head}() {{ 1 }}\n");
    assert_eq!(declared(&text, "main("), Some(format!("Declare 3 weights: {all}")));
    let text = format!(
        "{head}(%x: Tensor[(2, 3), float32], %w, %b, %scale: float32) {{ nn.bias_add(nn.dense(%x, %w, units=4), %b) }}\n"
    );
    let types = ": Tensor[(4), float32] | : Tensor[(4, 3), float32]";
    assert_eq!(declared(&text, "%w"), Some(format!("Declare 2 weights: {types}")));
    // Also where the body is broken; not where all are there.
    let text = format!("{head}(%w, %b: Tensor[(4), float32], %scale: float32) {{ nn.dense(%w, }}\n");
    assert_eq!(declared(&text, "%w"), Some("Declare 1 weight: : Tensor[(4, 3), float32]".to_owned()));
    let text = format!("{head}({all}) {{ (%b, %scale, %w) }}\n");
    assert_eq!(declared(&text, "%w"), None);
    client.stop();
}
