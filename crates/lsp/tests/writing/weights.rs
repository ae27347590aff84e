//! The weights that `relayc.toml` gives a program, or that lie beside it, declared by a code action.

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

/// An editor in a folder.
fn editor(folder: &Path, options: &Value) -> Client {
    let mut client = Client::fresh();
    let capabilities = json!({
        "textDocument": { "codeAction": { "codeActionLiteralSupport": { "codeActionKind": { "valueSet": [] } } } },
    });
    let folders = json!([{ "uri": format!("file://{}", folder.display()), "name": "net" }]);
    let params = json!({ "capabilities": capabilities, "workspaceFolders": folders, "initializationOptions": options });
    client.ask("initialize", params).expect("it starts");
    client.notify("initialized", json!({}));
    client
}

/// What the actions at a place declare.
fn all_declared(client: &mut Client, folder: &Path, text: &str, at: &str) -> Vec<String> {
    let uri = format!("file://{}/net.relay", folder.display());
    let document = json!({ "uri": uri, "languageId": "relay", "version": 1, "text": text });
    client.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let at = position(text, text.find(at).expect("the place"));
    let params = json!({
        "textDocument": { "uri": uri }, "range": { "start": at, "end": at },
        "context": { "diagnostics": [], "only": ["refactor.rewrite"] },
    });
    let actions = client.ask("textDocument/codeAction", params).expect("an answer");
    let declared = |action: &Value| {
        let title = action["title"].as_str().filter(|title| title.starts_with("Declare"))?;
        let texts = action["edit"]["changes"][&uri].as_array()?.iter().filter_map(|edit| edit["newText"].as_str());
        Some(format!("{title}: {}", texts.collect::<Vec<_>>().join(" | ")))
    };
    actions.as_array().into_iter().flatten().filter_map(declared).collect()
}

#[test]
fn weights_beside_a_program_become_parameters_in_a_trusted_workspace() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("it is there");
    write(&folder.join("a.safetensors"), &[("w", &[4, 3])]);
    write(&folder.join("b.safetensors"), &[("v", &[2])]);
    write(&folder.join("empty.safetensors"), &[]);
    std::fs::write(folder.join("broken.params"), "none").expect("it is written");
    std::fs::create_dir(folder.join("folder.npz")).expect("it is made");
    let text = "#[version = \"0.0.5\"]\ndef @main(%x: int32) { %x }\n";
    for (options, n) in [(json!({}), 0), (json!({ "trusted": false }), 0), (json!({ "trusted": true }), 2)] {
        let mut client = editor(&folder, &options);
        let all = [
            "Declare 1 weight of `a.safetensors`: , %w: Tensor[(4, 3), float32]",
            "Declare 1 weight of `b.safetensors`: , %v: Tensor[(2), float32]",
        ];
        assert_eq!(all_declared(&mut client, &folder, text, "@main"), all[..n]);
        assert_eq!(all_declared(&mut client, &folder, text, "%x }"), [""; 0]);
        client.stop();
    }
    // A configuration that gives the program weights holds alone.
    std::fs::write(folder.join("relayc.toml"), "[weights]\n\"*.relay\" = \"a.safetensors\"\n").expect("it is written");
    let mut client = editor(&folder, &json!({ "trusted": true }));
    let declared = all_declared(&mut client, &folder, text, "@main");
    assert_eq!(declared, ["Declare 1 weight: , %w: Tensor[(4, 3), float32]"]);
    client.stop();
}

#[test]
fn weights_become_parameters() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("it is there");
    write(&folder.join("net.safetensors"), &[("b", &[4]), ("no name", &[1]), ("scale", &[]), ("w", &[4, 3])]);
    std::fs::write(folder.join("relayc.toml"), "[weights]\n\"*.relay\" = \"net.safetensors\"\n").expect("it is written");
    let mut client = editor(&folder, &Value::Null);
    let mut declared = |text: &str, at: &str| all_declared(&mut client, &folder, text, at).into_iter().next();
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
