//! An editor as far as it counts here: a text, a selection, the places that snippets leave to fill in, and the keys pressed.

use crate::support::{Client, URI};
use serde_json::{Value, json};
use std::ops::Range;

pub(crate) struct Editor {
    client: Client,
    pub(crate) text: String,
    selection: Range<usize>,
    /// The places that Tab leads to, the next one first.
    stops: Vec<Range<usize>>,
    pub(crate) keys: usize,
}

impl Editor {
    /// An empty file.
    pub(crate) fn new() -> Editor {
        let client = Client::start();
        client.open("");
        Editor { client, text: String::new(), selection: 0..0, stops: vec![], keys: 0 }
    }

    /// Replaces a part of the text; the places move along, and the cursor is behind what is new.
    fn replace(&mut self, range: Range<usize>, new: &str) {
        self.text.replace_range(range.clone(), new);
        let moved = |at: usize| at + new.len() - range.len();
        for stop in &mut self.stops {
            if stop.start >= range.end {
                *stop = moved(stop.start)..moved(stop.end);
            } else if stop.end >= range.end {
                stop.end = moved(stop.end);
            }
        }
        self.selection = range.start + new.len()..range.start + new.len();
    }

    /// Types letters, each a key.
    pub(crate) fn type_(&mut self, text: &str) {
        self.keys += text.chars().count();
        self.replace(self.selection.clone(), text);
    }

    /// Goes to the next place to fill in.
    pub(crate) fn tab(&mut self) {
        self.keys += 1;
        // A place without text at the cursor is none to go to.
        while self.stops.first().is_some_and(|stop| stop.is_empty() && *stop == self.selection) {
            self.stops.remove(0);
        }
        assert!(!self.stops.is_empty(), "Tab leads nowhere:\n{}", self.text);
        self.selection = self.stops.remove(0);
    }

    /// Whether nothing stands before the cursor in its line.
    pub(crate) fn begins_line(&self) -> bool {
        self.text[..self.selection.start].trim_end_matches(' ').ends_with('\n')
    }

    /// Accepts an item of the completion after as few keys as it takes: first letters of the word, then arrows down.
    pub(crate) fn pick(&mut self, label: &str, word: &str) {
        let at = self.selection.start;
        // Without a letter the list must be asked for, unless what stands before asks.
        let asks = self.text[..at].ends_with(['%', '@', '.', '=', '"']);
        let mut best: Option<(usize, usize, Value)> = None;
        for n in 0..=word.len() {
            let mut text = self.text.clone();
            text.replace_range(self.selection.clone(), &word[..n]);
            let items = self.items(&text, at + n, &word[..n]);
            let Some(downs) = items.iter().position(|item| item["label"] == label) else { continue };
            let keys = n + downs + 1 + usize::from(n == 0 && !asks);
            if best.as_ref().is_none_or(|(least, ..)| keys < *least) {
                best = Some((keys, n, items[downs].clone()));
            }
        }
        let (keys, n, item) = best.unwrap_or_else(|| panic!("`{label}` is not proposed for `{word}` in\n{}", self.text));
        self.keys += keys;
        self.replace(self.selection.clone(), &word[..n]);
        self.accept(&item);
    }

    /// What is proposed, in the order of the server, as far as it has the letters of the word.
    fn items(&mut self, text: &str, at: usize, word: &str) -> Vec<Value> {
        let change = json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [{ "text": text }] });
        self.client.notify("textDocument/didChange", change);
        let params = json!({ "textDocument": { "uri": URI }, "position": position(text, at) });
        let answer = self.client.ask("textDocument/completion", params).expect("an answer");
        let mut items = answer["items"].as_array().cloned().unwrap_or_default();
        let text = |item: &Value, key: &str| item[key].as_str().unwrap_or("").to_owned();
        items.retain(|item| {
            let name = text(item, "filterText");
            let mut letters = name.chars();
            word.chars().all(|wanted| letters.any(|letter| letter.eq_ignore_ascii_case(&wanted)))
        });
        items.sort_by_key(|item| text(item, "sortText"));
        items
    }

    fn accept(&mut self, item: &Value) {
        let edit = &item["textEdit"];
        let range = offset(&self.text, &edit["range"]["start"])..offset(&self.text, &edit["range"]["end"]);
        let line = &self.text[self.text[..range.start].rfind('\n').map_or(0, |at| at + 1)..];
        let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
        let new = edit["newText"].as_str().expect("a text").replace('\n', &format!("\n{indent}"));
        let start = range.start;
        if item["insertTextFormat"] != json!(2) {
            return self.replace(range, &new);
        }
        let (plain, places) = snippet(&new);
        self.replace(range, &plain);
        let places = places.into_iter().map(|place| place.start + start..place.end + start);
        self.stops.splice(0..0, places);
        self.selection = self.stops.remove(0);
    }
}

/// The text of a snippet and its places in the order that Tab goes; the end comes last.
fn snippet(text: &str) -> (String, Vec<Range<usize>>) {
    let mut plain = String::new();
    let mut places: Vec<(u32, Range<usize>)> = vec![];
    let mut open: Vec<(u32, usize)> = vec![];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                let escaped = rest.chars().next().expect("something is escaped");
                plain.push(escaped);
                rest = &rest[escaped.len_utf8()..];
            }
            '$' => {
                let braced = rest.starts_with('{');
                rest = rest.trim_start_matches('{');
                let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                let number: u32 = rest[..digits].parse().expect("the number of a place");
                rest = &rest[digits..];
                match braced {
                    true => {
                        rest = rest.strip_prefix(':').unwrap_or(rest);
                        open.push((number, plain.len()));
                    }
                    false => places.push((number, plain.len()..plain.len())),
                }
            }
            '}' if !open.is_empty() => {
                let (number, start) = open.pop().expect("it is not empty");
                places.push((number, start..plain.len()));
            }
            c => plain.push(c),
        }
    }
    if places.iter().all(|(number, _)| *number != 0) {
        places.push((0, plain.len()..plain.len()));
    }
    places.sort_by_key(|(number, _)| if *number == 0 { u32::MAX } else { *number });
    (plain, places.into_iter().map(|(_, place)| place).collect())
}

/// The position of a byte; the texts here are ASCII.
pub(crate) fn position(text: &str, at: usize) -> Value {
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    json!({ "line": before.matches('\n').count(), "character": at - start })
}

/// The byte of a position.
pub(crate) fn offset(text: &str, position: &Value) -> usize {
    let number = |key: &str| position[key].as_u64().and_then(|number| usize::try_from(number).ok()).expect("a number");
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let start = starts.into_iter().nth(number("line")).unwrap_or(text.len());
    (start + number("character")).min(text.len())
}

/// A text after the edits of an answer.
pub(crate) fn edited(text: &str, edit: &Value) -> String {
    let edits = edit["changes"][URI].as_array().expect("edits of the text");
    let range = |edit: &Value| offset(text, &edit["range"]["start"])..offset(text, &edit["range"]["end"]);
    let mut edits: Vec<_> = edits.iter().map(|edit| (range(edit), edit["newText"].as_str().expect("a text"))).collect();
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = text.to_owned();
    for (range, new) in edits.into_iter().rev() {
        out.replace_range(range, new);
    }
    out
}
