//! Reads the JSON of a metadata section as nodes (language 6), each when it is first needed.
//!
//! The text is hostile. A number that names a node or a tensor is checked here and only here, and every report points into the
//! section. Absent: the meaning of nodes, see `meta.rs`.

use super::errors;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::binary::{self, Source};
use serde_json::from_str;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A number in the list of nodes; 0 is null.
pub(super) type NodeNumber = usize;

type Members<'a> = BTreeMap<String, &'a RawValue>;

/// The section of a file.
pub(super) struct Section<'a> {
    text: &'a str,
    span: Span,
    nodes: Vec<&'a RawValue>,
    tensors: Vec<&'a RawValue>,
    /// The nodes that `meta[Key][i]` names, by type key.
    entries: BTreeMap<String, Vec<NodeNumber>>,
}

/// One object of the section.
pub(super) struct Node<'a> {
    pub(crate) number: NodeNumber,
    pub(crate) span: Span,
    pub(crate) type_key: String,
    attrs: Members<'a>,
    /// The elements of an array, the values of a map.
    pub(crate) data: Vec<NodeNumber>,
    /// The keys of a map.
    pub(crate) keys: Vec<String>,
    /// The text of an object that is one.
    pub(crate) repr: String,
}

/// The text of a field and where it stands.
pub(super) struct Field {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl<'a> Section<'a> {
    /// Reads the outermost object and the map of entries.
    pub(crate) fn read(text: &'a str, span: Span) -> Result<Section<'a>, Diagnostic> {
        let mut section = Section { text, span, nodes: vec![], tensors: vec![], entries: BTreeMap::new() };
        let top: Members = section.json(text, from_str(text))?;
        let member = |name: &str| {
            top.get(name).copied().ok_or_else(|| errors::metadata(format!("the member `{name}` is missing"), section.start()))
        };
        let (root, nodes) = (member("root")?, member("nodes")?);
        section.nodes = section.json(nodes.get(), from_str(nodes.get()))?;
        section.tensors = match top.get("b64ndarrays") {
            Some(tensors) => section.json(tensors.get(), from_str(tensors.get()))?,
            None => vec![],
        };
        let root = section.node(section.json(root.get(), from_str(root.get()))?, section.place(root))?;
        // TVM 0.6 has a type of its own for maps by strings.
        if !matches!(root.type_key.as_str(), "Map" | "StrMap") || root.keys.len() != root.data.len() {
            return Err(errors::metadata("the root is not a map by type keys", root.span));
        }
        let mut entries = BTreeMap::new();
        for (key, &array) in root.keys.iter().zip(&root.data) {
            entries.insert(key.clone(), section.array(array, root.span)?);
        }
        Ok(Section { entries, ..section })
    }

    /// The nodes of a type key, in order.
    pub(crate) fn entries(&self, key: &str) -> &[NodeNumber] {
        self.entries.get(key).map_or(&[], Vec::as_slice)
    }

    /// The nodes of all type keys that begin so.
    pub(crate) fn all_entries(&self, prefix: &str) -> impl Iterator<Item = NodeNumber> {
        self.entries.iter().filter(move |(key, _)| key.starts_with(prefix)).flat_map(|(_, nodes)| nodes.iter().copied())
    }

    /// How many entries there are of each key.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&str, usize)> {
        self.entries.iter().map(|(key, nodes)| (key.as_str(), nodes.len()))
    }

    /// The node with a number; `at` is the place of the number.
    pub(crate) fn node(&self, number: NodeNumber, at: Span) -> Result<Node<'a>, Diagnostic> {
        let Some(&raw) = self.nodes.get(number) else {
            let words = format!("node {number} is mentioned, the last one is {}", self.nodes.len().saturating_sub(1));
            return Err(errors::metadata(words, at));
        };
        let span = self.place(raw);
        let mut members: Members = self.json(raw.get(), from_str(raw.get()))?;
        let mut node = Node {
            number,
            span,
            type_key: String::new(),
            attrs: Members::new(),
            data: vec![],
            keys: vec![],
            repr: String::new(),
        };
        let mut take = |name: &str| members.remove(name).map(RawValue::get);
        node.type_key = match take("type_key") {
            Some(text) => self.json(text, from_str(text))?,
            None => return Err(errors::metadata(format!("node {number} has no `type_key`"), span)),
        };
        if let Some(text) = take("attrs") {
            node.attrs = self.json(text, from_str(text))?;
        }
        if let Some(text) = take("data") {
            node.data = self.json(text, from_str(text))?;
        }
        if let Some(text) = take("keys") {
            node.keys = self.json(text, from_str(text))?;
        }
        if let Some(text) = take("repr_str") {
            node.repr = self.json(text, from_str(text))?;
        }
        if let Some(text) = take("repr_b64") {
            let bytes = STANDARD.decode(self.json::<String>(text, from_str(text))?).ok();
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            node.repr = text.ok_or_else(|| errors::metadata(format!("`repr_b64` of node {number} is no UTF-8 text"), span))?;
        }
        match members.keys().next() {
            Some(unknown) => Err(errors::metadata(format!("node {number} has an unknown member `{unknown}`"), span)),
            None => Ok(node),
        }
    }

    /// The elements of a node that must be an array.
    pub(crate) fn array(&self, number: NodeNumber, at: Span) -> Result<Vec<NodeNumber>, Diagnostic> {
        let node = self.node(number, at)?;
        match node.type_key.as_str() {
            "Array" => Ok(node.data),
            other => Err(errors::metadata(format!("node {number} is expected to be an array, it is `{other}`"), at)),
        }
    }

    /// A field that may be missing.
    pub(crate) fn field(&self, node: &Node, name: &str) -> Result<Option<Field>, Diagnostic> {
        match node.attrs.get(name) {
            Some(&raw) => Ok(Some(Field { text: self.json(raw.get(), from_str(raw.get()))?, span: self.place(raw) })),
            None => Ok(None),
        }
    }

    /// A field that must be there.
    pub(crate) fn required(&self, node: &Node, name: &str) -> Result<Field, Diagnostic> {
        let field = self.field(node, name)?;
        field.ok_or_else(|| errors::metadata(format!("node {}, `{}`, has no `{name}`", node.number, node.type_key), node.span))
    }

    /// The node a field names, with its number's place; 0 where the field is missing.
    pub(crate) fn reference(&self, node: &Node, name: &str) -> Result<(NodeNumber, Span), Diagnostic> {
        match self.field(node, name)? {
            Some(field) => Ok((field.number("a node")?, field.span)),
            None => Ok((0, node.span)),
        }
    }

    /// The tensor a field names, with its number.
    pub(crate) fn tensor(&self, field: &Field) -> Result<(u32, Tensor), Diagnostic> {
        let number: usize = field.number("a tensor")?;
        let found = self.tensors.get(number).copied().zip(u32::try_from(number).ok());
        let Some((raw, index)) = found else {
            let words = format!("tensor {number} is mentioned, there are {}", self.tensors.len());
            return Err(errors::metadata(words, field.span));
        };
        let text: String = self.json(raw.get(), from_str(raw.get()))?;
        let bytes =
            STANDARD.decode(text.trim()).map_err(|_| errors::metadata(format!("tensor {number} is not base64"), field.span))?;
        let mut cursor = binary::Cursor::new(&bytes);
        let tensor = binary::read(&mut cursor).and_then(|tensor| match cursor.remaining() {
            0 => Ok(tensor),
            n => Err(cursor.error(format_args!("{n} bytes after the tensor"))),
        });
        let tensor = tensor.map_err(|error| {
            let report = errors::metadata(format!("tensor {number}, byte {}: {}", error.offset, error.words), field.span);
            Diagnostic { code: if error.over_limit { codes::E0803 } else { report.code }, ..report }
        })?;
        Ok((index, tensor))
    }

    pub(crate) fn start(&self) -> Span {
        self.span_of(self.text.trim_start())
    }

    /// The place of a part of the section, its first line only.
    fn place(&self, raw: &RawValue) -> Span {
        self.span_of(raw.get())
    }

    /// The place of a part of the text. Lines of a million characters, which tensors make, cannot be shown: on them it is the
    /// head of the section.
    fn span_of(&self, part: &str) -> Span {
        const MAX_LINE: usize = 1000;
        let at = self.offset(part);
        let len = part.find('\n').unwrap_or(part.len());
        let bytes = self.text.as_bytes();
        let before = bytes[..at].iter().rev().take(MAX_LINE).take_while(|byte| **byte != b'\n').count();
        let after = bytes[at + len..].iter().take(MAX_LINE).take_while(|byte| **byte != b'\n').count();
        let start = self.span.start as usize;
        if before + len + after >= MAX_LINE {
            // The bracket that closes `#[metadata]`.
            return Span::new(self.span.file, start.saturating_sub(1), start);
        }
        Span::new(self.span.file, start + at, start + at + len)
    }

    /// Where a part of the text begins in it.
    fn offset(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize).min(self.text.len())
    }

    /// The result of reading a part of the text; an error gets its place.
    fn json<T>(&self, part: &str, read: serde_json::Result<T>) -> Result<T, Diagnostic> {
        read.map_err(|error| {
            let line_start = part.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
            let mut at = (line_start + error.column().saturating_sub(1)).min(part.len());
            while !part.is_char_boundary(at) {
                at -= 1;
            }
            // The position is said by the place.
            let words = error.to_string();
            let words = words.split(" at line ").next().unwrap_or(&words).to_owned();
            let rest = &part[at..];
            let len = rest.chars().next().map_or(0, char::len_utf8);
            let missing = words.starts_with("expected `,`") && rest.starts_with(['"', '{', '[']);
            let report = errors::metadata(words, self.span_of(&rest[..len]));
            let behind = part[..at].trim_end().len();
            if missing { report.fix("write `,`", self.span_of(&part[behind..behind]), ",") } else { report }
        })
    }
}

impl Field {
    /// The number in the field, which is that of `what`.
    pub(crate) fn number<T: std::str::FromStr>(&self, what: &str) -> Result<T, Diagnostic> {
        let number = self.text.parse();
        number.map_err(|_| errors::metadata(format!("expected the number of {what}, found `{}`", self.text), self.span))
    }
}
