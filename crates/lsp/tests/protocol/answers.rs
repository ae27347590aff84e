//! Answers as text that can be read and compared.

use serde_json::Value;

/// The lines of an answer.
pub(crate) fn text(request: &str, answer: &Value) -> String {
    let lines = match (request, answer) {
        ("hover", Value::Object(hover)) => {
            let range = hover.get("range").map_or(String::new(), range_text);
            let value = answer.pointer("/contents/value").and_then(Value::as_str).unwrap_or("");
            format!("{range}\n{value}")
        }
        ("completion", _) => completion(answer),
        ("signatureHelp", Value::Object(_)) => signature(answer),
        ("codeLens", Value::Array(lenses)) => lenses.iter().map(lens).collect(),
        ("executeCommand", Value::Object(_)) => command(answer),
        (name, Value::Object(fields)) if name.starts_with("semanticTokens/") && fields.contains_key("data") => tokens(answer),
        ("semanticTokens/full/delta", Value::Object(fields)) if fields.contains_key("edits") => edits(answer),
        _ => serde_json::to_string_pretty(&compact(answer)).unwrap_or_default(),
    };
    lines.trim_end().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A lens: its place, its title, and what it asks for.
fn lens(lens: &Value) -> String {
    let range = lens.get("range").map_or(String::new(), range_text);
    let text = |path: &str| lens.pointer(path).and_then(Value::as_str).unwrap_or("?");
    let arguments = lens.pointer("/command/arguments").map(|arguments| compact(arguments).to_string()).unwrap_or_default();
    format!("{range} {} | {} {arguments}\n", text("/command/title"), text("/command/command"))
}

/// The answer to a command: its texts as they are, of a drawing and a page only how they begin.
fn command(answer: &Value) -> String {
    let mut rest = answer.clone();
    let mut out = String::new();
    for key in ["text", "svg", "html", "page"] {
        let Some(Value::String(text)) = rest.as_object_mut().and_then(|fields| fields.remove(key)) else { continue };
        match key {
            "text" => out.push_str(&text),
            _ => out.push_str(&format!("{key}: {}…\n", text.lines().next().unwrap_or("").chars().take(60).collect::<String>())),
        }
    }
    format!("{}\n{out}", serde_json::to_string_pretty(&compact(&rest)).unwrap_or_default())
}

/// The parts of a hint that lead somewhere.
pub(crate) fn places(hint: &Value) -> String {
    let parts = hint.get("label").and_then(Value::as_array).into_iter().flatten();
    let mut out = String::new();
    for part in parts {
        let Some(location) = part.get("location") else { continue };
        let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or("");
        let range = location.get("range").map_or(String::new(), range_text);
        out.push_str(&format!("{}: {} {range}\n", text("value"), text("tooltip")));
    }
    out
}

pub(crate) fn range_text(range: &Value) -> String {
    let number = |path: &str| range.pointer(path).and_then(Value::as_u64).map_or(0, |n| n + 1);
    format!("{}:{}-{}:{}", number("/start/line"), number("/start/character"), number("/end/line"), number("/end/character"))
}

/// Ranges and positions on one line, the address of the text left out.
fn compact(value: &Value) -> Value {
    match value {
        Value::Object(fields) if fields.len() == 2 && fields.contains_key("start") && fields.contains_key("end") => {
            Value::String(range_text(value))
        }
        Value::Object(fields) if fields.len() == 2 && fields.contains_key("line") && fields.contains_key("character") => {
            let number = |key: &str| fields[key].as_u64().map_or(0, |n| n + 1);
            Value::String(format!("{}:{}", number("line"), number("character")))
        }
        Value::Object(fields) => {
            // A label in parts reads as one.
            let parts = fields.get("label").and_then(Value::as_array);
            let label = parts.map(|parts| parts.iter().filter_map(|part| part.get("value")?.as_str()).collect::<String>());
            let kept = fields.iter().filter(|(key, _)| !matches!(key.as_str(), "uri" | "data")).map(|(key, value)| {
                let value = match (key.as_str(), &label) {
                    ("label", Some(label)) => Value::String(label.clone()),
                    _ => compact(value),
                };
                (key.clone(), value)
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(compact).collect()),
        other => other.clone(),
    }
}

/// The best items, one a line: label, new text, detail.
fn completion(answer: &Value) -> String {
    let items = answer.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |item: &Value, path: &str| item.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned();
    let mut sorted = items.clone();
    sorted.sort_by_key(|item| text(item, "/sortText"));
    const SHOWN: usize = 12;
    let mut out = String::new();
    for item in sorted.iter().take(SHOWN) {
        let rank = text(item, "/sortText").chars().next().unwrap_or('?');
        let new_text = text(item, "/textEdit/newText").replace('\n', "\\n");
        out.push_str(&format!("{rank} {} | {new_text} | {}\n", text(item, "/label"), text(item, "/detail")));
    }
    if items.len() > SHOWN {
        out.push_str(&format!("… and {} more\n", items.len() - SHOWN));
    }
    if items.is_empty() { "nothing\n".to_owned() } else { out }
}

fn signature(answer: &Value) -> String {
    let signature = answer.pointer("/signatures/0").cloned().unwrap_or_default();
    let label = signature.get("label").and_then(Value::as_str).unwrap_or("");
    let active = answer.get("activeParameter").and_then(Value::as_u64);
    let units: Vec<u16> = label.encode_utf16().collect();
    let place = active.and_then(|active| {
        let place = signature.pointer(&format!("/parameters/{active}/label"))?;
        let end = |index: usize| place.get(index)?.as_u64().and_then(|at| usize::try_from(at).ok());
        Some(end(0)?..end(1)?)
    });
    let marked = match place {
        Some(place) => {
            let part = |range: std::ops::Range<usize>| String::from_utf16_lossy(&units[range]);
            format!("{}«{}»{}", part(0..place.start), part(place.clone()), part(place.end..units.len()))
        }
        None => label.to_owned(),
    };
    let about = signature.pointer("/documentation").and_then(Value::as_str).unwrap_or("");
    format!("{marked}\n{about}")
}

/// Each edit of a list of tokens, on a line: where it starts, how many numbers it takes out, those it puts in.
fn edits(answer: &Value) -> String {
    let edits = answer.get("edits").and_then(Value::as_array).into_iter().flatten();
    let part = |edit: &Value, key: &str| edit.get(key).map_or(String::new(), Value::to_string);
    let lines: Vec<String> = edits
        .map(|edit| format!("at {} without {}: {}", part(edit, "start"), part(edit, "deleteCount"), part(edit, "data")))
        .collect();
    if lines.is_empty() { "no edits".to_owned() } else { lines.join("\n") }
}

/// Each token: place, length, type, modifiers.
fn tokens(answer: &Value) -> String {
    const TYPES: [&str; 13] = [
        "keyword",
        "variable",
        "parameter",
        "function",
        "type",
        "enumMember",
        "typeParameter",
        "property",
        "number",
        "string",
        "comment",
        "operator",
        "macro",
    ];
    let data: Vec<u64> = answer.get("data").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64).collect();
    let (mut line, mut column) = (0, 0);
    let mut out = String::new();
    for token in data.chunks_exact(5) {
        if token[0] > 0 {
            (line, column) = (line + token[0], 0);
        }
        column += token[1];
        let kind = usize::try_from(token[3]).ok().and_then(|kind| TYPES.get(kind)).unwrap_or(&"?");
        let modifiers = [(1, " declaration"), (2, " defaultLibrary")];
        let modifiers: String = modifiers.iter().filter(|(bit, _)| token[4] & bit != 0).map(|(_, name)| *name).collect();
        out.push_str(&format!("{}:{} {} {kind}{modifiers}\n", line + 1, column + 1, token[2]));
    }
    out
}
