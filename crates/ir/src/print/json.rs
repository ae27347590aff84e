//! Writes the text of a metadata section, byte for byte as TVM's JSON writer lays it out (language 6; dmlc's `json.h`).
//!
//! Members, and elements of arrays of strings or objects, each take one line; a comma and a blank precede the line break. Up to
//! ten numbers share one line. A map of one entry takes one line.

use crate::tensor::{Tensor, binary};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use relayc_base::text::format_g_digits;

pub(super) struct Node {
    type_key: String,
    body: Body,
    /// The numbers of the nodes inside it.
    pub(crate) refs: Vec<usize>,
}

/// The content of a node, besides its type.
pub(super) enum Body {
    Nothing,
    /// The text of an object that is written as text.
    Repr(String),
    Fields(Vec<(&'static str, Field)>),
    /// An array, whose elements are the references.
    Array,
    /// A map; the keys of its references.
    Map(Vec<String>),
}

/// The text of a field, or the index of its reference.
pub(super) enum Field {
    Text(String),
    Ref(usize),
}

impl Node {
    pub(crate) fn new(type_key: &str, body: Body) -> Node {
        Node { type_key: type_key.to_owned(), body, refs: vec![] }
    }

    fn text(&self) -> String {
        let mut members = vec![("type_key", quoted(&self.type_key))];
        match &self.body {
            Body::Nothing => {}
            Body::Repr(text) if text.is_empty() => {}
            Body::Repr(text) if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) => members.push(("repr_str", quoted(text))),
            Body::Repr(text) => members.push(("repr_b64", quoted(&STANDARD.encode(text)))),
            Body::Fields(fields) => {
                let text = |field: &Field| match field {
                    Field::Text(text) => quoted(text),
                    Field::Ref(i) => format!("\"{}\"", self.refs[*i]),
                };
                let mut fields: Vec<(&str, String)> = fields.iter().map(|(name, field)| (*name, text(field))).collect();
                fields.sort_unstable();
                members.push(("attrs", map(&fields)));
            }
            Body::Array => {}
            Body::Map(keys) if keys.is_empty() => {}
            Body::Map(keys) => members.push(("keys", array(&keys.iter().map(|key| quoted(key)).collect::<Vec<_>>()))),
        }
        if matches!(self.body, Body::Array | Body::Map(_)) && !self.refs.is_empty() {
            members.push(("data", numbers(&self.refs)));
        }
        object(&members)
    }
}

/// The whole section; node 1 is its root.
pub(super) fn document(nodes: &[Node], tensors: &[&Tensor]) -> String {
    let nodes: Vec<String> = nodes.iter().map(Node::text).collect();
    let tensors: Vec<String> = tensors
        .iter()
        .map(|tensor| {
            let mut bytes = Vec::new();
            binary::write(tensor, &mut bytes);
            format!("\"{}\"", STANDARD.encode(bytes))
        })
        .collect();
    object(&[
        ("root", "1".to_owned()),
        ("nodes", array(&nodes)),
        ("b64ndarrays", array(&tensors)),
        ("attrs", map(&[("tvm_version", quoted("0.14.0"))])),
    ])
}

/// A double with all its digits.
pub(super) fn double(value: f64) -> String {
    format_g_digits(value, 17)
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\r' => out.push_str("\\r"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn lines(open: char, items: impl Iterator<Item = String>, close: char) -> String {
    let items: Vec<String> = items.map(|item| item.replace('\n', "\n  ")).collect();
    format!("{open}\n  {}\n{close}", items.join(", \n  "))
}

fn object(members: &[(&str, String)]) -> String {
    lines('{', members.iter().map(|(key, value)| format!("{}: {value}", quoted(key))), '}')
}

fn map(entries: &[(&str, String)]) -> String {
    match entries {
        [(key, value)] => format!("{{{}: {value}}}", quoted(key)),
        entries => object(entries),
    }
}

fn array(items: &[String]) -> String {
    if items.is_empty() { "[]".to_owned() } else { lines('[', items.iter().cloned(), ']') }
}

fn numbers(items: &[usize]) -> String {
    let items: Vec<String> = items.iter().map(usize::to_string).collect();
    if items.len() <= 10 { format!("[{}]", items.join(", ")) } else { array(&items) }
}
