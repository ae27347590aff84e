//! A test, read: opens its text, asks, and writes the answers down.

use crate::answers;
use crate::support::{Client, URI};
use serde_json::{Map, Value, json};

/// A test, read.
pub(crate) struct Case {
    /// Everything above the first request, marks included, as it stands in the file.
    marked: String,
    /// The text without marks and without the remarks at its head.
    text: String,
    /// The bytes of the marks in the text, by their number.
    marks: [Option<usize>; 10],
    requests: Vec<String>,
    /// What the remarks say of the client: its experimental capabilities, its options.
    client: [Option<Value>; 2],
}

impl Case {
    pub(crate) fn parse(file: &str) -> Result<Case, String> {
        let start = if file.starts_with("> ") { Some(0) } else { file.find("\n> ").map(|at| at + 1) };
        let start = start.ok_or("no line `> request`")?;
        let marked = &file[..start];
        let remarks: usize = marked.split_inclusive('\n').take_while(|line| line.starts_with("//!")).map(str::len).sum();
        let (mut text, mut marks) = (String::new(), [None; 10]);
        let mut rest = &marked[remarks..];
        while let Some(at) = rest.find('$') {
            let digit = rest[at + 1..].chars().next().and_then(|c| c.to_digit(10));
            text.push_str(&rest[..at]);
            match digit {
                Some(digit) => {
                    marks[digit as usize] = Some(text.len());
                    rest = &rest[at + 2..];
                }
                None => {
                    text.push('$');
                    rest = &rest[at + 1..];
                }
            }
        }
        text.push_str(rest);
        let requests = file[start..].lines().filter(|line| line.starts_with("> ")).map(str::to_owned).collect();
        let said = |key: &str| {
            let lines = marked[..remarks].lines().filter_map(|line| line.strip_prefix("//! ")?.strip_prefix(key));
            lines.map(serde_json::from_str).next().transpose().map_err(|error| format!("{key} {error}"))
        };
        let client = [said("client: ")?, said("options: ")?];
        Ok(Case { marked: marked.to_owned(), text, marks, requests, client })
    }

    /// The file with the answers of the server.
    pub(crate) fn answered(&self) -> Result<String, String> {
        let mut client = match self.client.clone() {
            [None, None] => Client::start(),
            [experimental, options] => Client::start_as(experimental, options),
        };
        client.open(&self.text);
        let mut out = self.marked.clone();
        let mut result_id = Value::Null;
        for line in &self.requests {
            out.push_str(line);
            out.push('\n');
            out.push_str(&self.one(&mut client, line, &mut result_id)?);
        }
        client.stop();
        Ok(out)
    }

    /// One request and its answer; `result_id` is what the last answer is called that is called anything.
    fn one(&self, client: &mut Client, line: &str, result_id: &mut Value) -> Result<String, String> {
        let mut words = line[2..].splitn(2, ' ');
        let name = words.next().unwrap_or("");
        let (place, extra) = self.place(words.next().unwrap_or(""))?;
        if name == "change" {
            let change = json!({ "range": place.get("range"), "text": extra.unwrap_or_default() });
            client.notify(
                "textDocument/didChange",
                json!({
                    "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [change],
                }),
            );
            return Ok(String::new());
        }
        let is_whole = name.contains('/') && !name.starts_with("semanticTokens/");
        let method = match name {
            "executeCommand" => "workspace/executeCommand".to_owned(),
            _ if is_whole => name.to_owned(),
            _ => format!("textDocument/{name}"),
        };
        let mut params = Map::new();
        params.insert("textDocument".to_owned(), json!({ "uri": URI }));
        params.extend(place);
        match name {
            "semanticTokens/full/delta" => drop(params.insert("previousResultId".to_owned(), result_id.clone())),
            "references" => drop(params.insert("context".to_owned(), json!({ "includeDeclaration": true }))),
            "codeAction" => drop(params.insert("context".to_owned(), json!({ "diagnostics": [] }))),
            "formatting" | "rangeFormatting" | "onTypeFormatting" => {
                params.insert("options".to_owned(), json!({ "tabSize": 2, "insertSpaces": true }));
            }
            "selectionRange" => {
                let position = params.get("position").cloned().unwrap_or_default();
                params.insert("positions".to_owned(), json!([position]));
            }
            _ => {}
        }
        match extra {
            Some(Value::Object(mut extra)) if name == "executeCommand" => {
                params.insert("command".to_owned(), extra.remove("command").unwrap_or_default());
                extra.entry("textDocument").or_insert(json!({ "uri": URI }));
                params.insert("arguments".to_owned(), json!([extra]));
            }
            Some(Value::Object(extra)) => params.extend(extra),
            Some(other) if name == "rename" => drop(params.insert("newName".to_owned(), other)),
            Some(other) if name == "onTypeFormatting" => drop(params.insert("ch".to_owned(), other)),
            Some(other) => return Err(format!("`{line}`: what is {other}?")),
            None => {}
        }
        let position = params.get("position").cloned();
        let answer = asked(client, &method, params.into());
        if let Some(id) = answer.get("resultId") {
            result_id.clone_from(id);
        }
        // What follows from an answer is asked with it.
        let follow = match name {
            "prepareCallHierarchy" => vec!["callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"],
            _ => vec![],
        };
        let mut out = answers::text(name, &answer);
        // What a completion replaces is worth a line where it is not only what is written before the cursor.
        if let Some(range) = answer.pointer("/items/0/textEdit/range").filter(|range| range.get("end") != position.as_ref()) {
            out.insert_str(0, &format!("{}\n", answers::range_text(range)));
        }
        for method in follow {
            for item in answer.as_array().into_iter().flatten() {
                let calls = asked(client, method, json!({ "item": item }));
                out.push_str(&format!("{method}\n{}", answers::text(method, &calls)));
            }
        }
        if name == "codeAction" {
            for action in answer.as_array().into_iter().flatten().filter(|action| action.get("edit").is_none()) {
                let resolved = asked(client, "codeAction/resolve", action.clone());
                out.push_str(&format!("codeAction/resolve\n{}", answers::text("codeAction/resolve", &resolved)));
            }
        }
        if name == "inlayHint" && params_ask_for_places(line) {
            for hint in answer.as_array().into_iter().flatten() {
                let resolved = client.ask("inlayHint/resolve", hint.clone()).map_err(|(_, message)| message)?;
                out.push_str(&answers::places(&resolved));
            }
        }
        Ok(out)
    }

    /// The position or the range that the words name, and the JSON after them.
    fn place(&self, words: &str) -> Result<(Map<String, Value>, Option<Value>), String> {
        let mut place = Map::new();
        let mut rest = words.trim_start();
        if let Some(after) = rest.strip_prefix('$') {
            let (first, after) = self.mark(after)?;
            rest = after;
            place.insert("position".to_owned(), first.clone());
            let last = match after.strip_prefix("..$") {
                Some(after) => {
                    let (last, after) = self.mark(after)?;
                    rest = after;
                    last
                }
                None => first.clone(),
            };
            place.insert("range".to_owned(), json!({ "start": first, "end": last }));
        } else {
            place.insert("range".to_owned(), json!({ "start": self.position(0), "end": self.position(self.text.len()) }));
        }
        let rest = rest.trim();
        let extra = match rest {
            "" | "places" => None,
            json => Some(serde_json::from_str(json).map_err(|error| format!("`{words}`: {error}"))?),
        };
        Ok((place, extra))
    }

    fn mark<'a>(&self, words: &'a str) -> Result<(Value, &'a str), String> {
        let digit = words.chars().next().and_then(|c| c.to_digit(10)).ok_or("expected a mark")?;
        let at = self.marks[digit as usize].ok_or(format!("there is no mark ${digit}"))?;
        Ok((self.position(at), &words[1..]))
    }

    fn position(&self, offset: usize) -> Value {
        let before = &self.text[..offset];
        let line = before.matches('\n').count();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        json!({ "line": line, "character": before[start..].encode_utf16().count() })
    }
}

/// The result; an error as `{ "error": … }`.
fn asked(client: &mut Client, method: &str, params: Value) -> Value {
    client.ask(method, params).unwrap_or_else(|(_, message)| json!({ "error": message }))
}

fn params_ask_for_places(line: &str) -> bool {
    line.trim_end().ends_with("places")
}
