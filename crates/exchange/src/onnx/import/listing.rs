//! Lists the nodes of a model as a text with one node a line, so that messages can point at them.
//!
//! A line is `[conv1] y = Conv <kernel_shape = [3, 3]> (x, w)`, as in ONNX's own text form; long attributes are truncated.

use super::super::proto::{AttributeProto, NodeProto, attribute_type};
use super::errors::shown;
use relayc_base::text::shortened;
use relayc_base::{FileId, Span};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Maximum number of items; longer attributes and lists state their length.
const MAX_ITEMS: usize = 8;

/// Maximum length of a node's name in the program, where each of its calls carries it.
const MAX_NAME: usize = 200;

/// The text so far, and the owners of its lines.
pub(crate) struct Listing {
    file: FileId,
    pub(crate) text: String,
    /// Start of each line, and the name of its node.
    pub(crate) lines: Vec<(u32, Arc<str>)>,
    /// Places of nodes; the nodes live as long as the model.
    places: FxHashMap<*const NodeProto, Span>,
}

impl Listing {
    pub(crate) fn new(file: FileId) -> Listing {
        Listing { file, text: String::new(), lines: vec![], places: FxHashMap::default() }
    }

    /// The place of a node, and whether it is new: a node that is visited again keeps its line.
    pub(crate) fn add(&mut self, node: &NodeProto) -> (Span, bool) {
        let key = std::ptr::from_ref(node);
        if let Some(&span) = self.places.get(&key) {
            return (span, false);
        }
        let span = self.line(name_of(node), || line(node));
        self.places.insert(key, span);
        (span, true)
    }

    /// The place of a node, if it is listed.
    pub(crate) fn place(&self, node: &NodeProto) -> Option<Span> {
        self.places.get(&std::ptr::from_ref(node)).copied()
    }

    /// Whether a node is listed.
    pub(crate) fn has(&self, node: &NodeProto) -> bool {
        self.places.contains_key(&std::ptr::from_ref(node))
    }

    /// Adds an input or a tensor of the file; returns its place.
    pub(crate) fn add_value(&mut self, what: &str, name: &str) -> Span {
        self.line(name, || format!("{what} {}", shown(name)))
    }

    /// Adds a line; returns its place. A text has at most 4 GiB; anything after that has no place.
    fn line(&mut self, name: &str, line: impl FnOnce() -> String) -> Span {
        let start = self.text.len();
        let (Ok(at), true) = (u32::try_from(start), start < MAX_TEXT) else { return Span::NONE };
        self.text.push_str(&line());
        let span = Span::new(self.file, start, self.text.len());
        self.text.push('\n');
        self.lines.push((at, shortened(name, MAX_NAME).into()));
        span
    }
}

const MAX_TEXT: usize = 1 << 30;

/// The name of a node: its own, otherwise its first result's.
pub(crate) fn name_of(node: &NodeProto) -> &str {
    let name = node.name.as_deref().unwrap_or_default();
    let output = || node.output.iter().map(String::as_str).find(|output| !output.is_empty());
    if name.is_empty() { output().unwrap_or_default() } else { name }
}

/// The operator of a node: `Conv`, with the domain if it is not ONNX's own.
pub(crate) fn kind_of(node: &NodeProto) -> String {
    let kind = node.op_type.as_deref().unwrap_or_default();
    match node.domain.as_deref().unwrap_or_default() {
        "" | "ai.onnx" => kind.to_owned(),
        domain => format!("{domain}.{kind}"),
    }
}

fn line(node: &NodeProto) -> String {
    let names = |names: &[String]| list(names.iter().map(|name| shown(name)), names.len());
    let mut out = String::new();
    if let Some(name) = node.name.as_deref().filter(|name| !name.is_empty()) {
        out = format!("[{}] ", shown(name));
    }
    out.push_str(&format!("{} = {}", names(&node.output), shown(&kind_of(node))));
    if !node.attribute.is_empty() {
        out.push_str(&format!(" <{}>", list(node.attribute.iter().map(attribute), node.attribute.len())));
    }
    out + &format!(" ({})", names(&node.input))
}

fn list(items: impl Iterator<Item = String>, n: usize) -> String {
    let mut shown: Vec<String> = items.take(MAX_ITEMS).collect();
    if n > shown.len() {
        shown.push(format!("… {} more", n.saturating_sub(shown.len())));
    }
    shown.join(", ")
}

fn attribute(attribute: &AttributeProto) -> String {
    let name = shown(attribute.name.as_deref().unwrap_or_default());
    if let Some(from) = attribute.ref_attr_name.as_deref().filter(|name| !name.is_empty()) {
        return format!("{name} = @{}", shown(from));
    }
    let text = |bytes: &[u8]| format!("{:?}", shown(&String::from_utf8_lossy(bytes)));
    let value = match attribute.r#type.unwrap_or_default() {
        attribute_type::FLOAT => attribute.f.unwrap_or_default().to_string(),
        attribute_type::INT => attribute.i.unwrap_or_default().to_string(),
        attribute_type::STRING => text(attribute.s.as_deref().unwrap_or_default()),
        attribute_type::FLOATS => format!("[{}]", list(attribute.floats.iter().map(f32::to_string), attribute.floats.len())),
        attribute_type::INTS => format!("[{}]", list(attribute.ints.iter().map(i64::to_string), attribute.ints.len())),
        attribute_type::STRINGS => format!("[{}]", list(attribute.strings.iter().map(|s| text(s)), attribute.strings.len())),
        attribute_type::TENSOR => {
            let dims = attribute.t.as_ref().map_or(&[][..], |tensor| &tensor.dims);
            format!("{{a tensor of [{}]}}", list(dims.iter().map(i64::to_string), dims.len()))
        }
        attribute_type::GRAPH => "{…}".to_owned(),
        _ => "…".to_owned(),
    };
    format!("{name} = {value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> NodeProto {
        let ints = AttributeProto {
            name: Some("kernel_shape".into()),
            ints: vec![3; 10],
            r#type: Some(attribute_type::INTS),
            ..AttributeProto::default()
        };
        NodeProto {
            input: vec!["x".into(), "a\u{1b}b".into()],
            output: vec!["y".into()],
            name: Some("conv1".into()),
            op_type: Some("Conv".into()),
            attribute: vec![ints],
            ..NodeProto::default()
        }
    }

    #[test]
    fn a_node_is_a_line() {
        let mut listing = Listing::new(FileId(3));
        let (nameless, named) = (NodeProto { name: None, ..node() }, node());
        let (first, _) = listing.add(&nameless);
        let (second, is_new) = listing.add(&named);
        assert!(is_new && listing.add(&named) == (second, false) && listing.has(&nameless));
        let lines: Vec<&str> = listing.text.lines().collect();
        assert_eq!(lines[0], "y = Conv <kernel_shape = [3, 3, 3, 3, 3, 3, 3, 3, … 2 more]> (x, a\\u{1b}b)");
        assert!(lines[1].starts_with("[conv1] y = Conv"));
        assert_eq!(&listing.text[second.start as usize..second.end as usize], lines[1]);
        let names: Vec<&str> = listing.lines.iter().map(|(_, name)| &**name).collect();
        assert_eq!((first.start, names), (0, vec!["y", "conv1"]));
    }
}
