//! Values as text, typed by the parameter that takes them: `[-2, 3]`, `true`, `(1, [2, 3])`.
//!
//! Examples write arguments and results so (`example.rs`), and the command line inputs (`bind.rs`). Absent: what a word other than a
//! number stands for.

use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::text::Literal;
use relayc_ir::types::{DType, Dim};

/// A value as written.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Node {
    Word(String),
    List(Vec<Node>),
    Tuple(Vec<Node>),
    /// `Cons(1, Nil)`; a constructor without fields is a word.
    Ctor(String, Vec<Node>),
}

impl Node {
    /// The constructor that is written, and its fields.
    pub(super) fn constructor(&self) -> Option<(&str, &[Node])> {
        match self {
            Node::Word(name) => Some((name, &[])),
            Node::Ctor(name, fields) => Some((name, fields)),
            Node::List(_) | Node::Tuple(_) => None,
        }
    }
}

/// The deepest nesting of a value: no tensor has this rank.
const MAX_DEPTH: usize = 40;

/// A value as an example writes it, whose type its parameter gives.
pub(super) struct Written(Node);

impl Written {
    /// Reads nested lists, tuples, numbers, and the words `true`, `false`, `inf` and `nan`. `None` for anything else.
    pub(super) fn parse(text: &str) -> Option<Written> {
        let text = text.trim();
        let is_word = matches!(text, "true" | "false" | "True" | "False") || text.parse::<f64>().is_ok();
        if !is_word && !text.starts_with(['[', '(']) {
            return None;
        }
        let mut reader = Reader { rest: text };
        let node = reader.value(0).ok()?;
        reader.rest.is_empty().then_some(Written(node))
    }

    /// The value as a tensor of this type. Errors are words.
    pub(super) fn tensor(&self, shape: &[Dim], dtype: DType) -> Result<Tensor, String> {
        tensor(shape, dtype, &self.0)
    }

    /// The fields of a tuple, each with its name.
    pub(super) fn fields(self, name: &str) -> Result<Vec<(String, Written)>, Written> {
        match self.0 {
            Node::Tuple(items) => {
                Ok(items.into_iter().enumerate().map(|(i, item)| (format!("{name}.{i}"), Written(item))).collect())
            }
            node => Err(Written(node)),
        }
    }
}

/// Reads values from a text.
pub(super) struct Reader<'a> {
    pub(super) rest: &'a str,
}

impl Reader<'_> {
    fn skip(&mut self, n: usize) {
        self.rest = self.rest.get(n..).unwrap_or("").trim_start();
    }

    pub(super) fn eat(&mut self, what: &str) -> bool {
        let found = self.rest.starts_with(what);
        if found {
            self.skip(what.len());
        }
        found
    }

    pub(super) fn expect(&mut self, what: char) -> Result<(), String> {
        if self.rest.starts_with(what) {
            self.skip(what.len_utf8());
            return Ok(());
        }
        let found = self.rest.chars().next().map_or("the end".to_owned(), |c| format!("`{c}`"));
        Err(format!("expected `{what}`, found {found}"))
    }

    /// The rest of the text, as messages say it.
    pub(super) fn found(&self) -> String {
        if self.rest.is_empty() { "the end".to_owned() } else { format!("`{}`", self.rest) }
    }

    /// Everything up to a blank or a delimiter; may be empty.
    pub(super) fn word(&mut self) -> String {
        self.until(|c| c.is_whitespace() || "()[],=~".contains(c))
    }

    fn until(&mut self, is_end: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (word, _) = self.rest.split_at(end);
        let word = word.to_owned();
        self.skip(end);
        word
    }

    pub(super) fn value(&mut self, depth: usize) -> Result<Node, String> {
        if depth > MAX_DEPTH {
            return Err("the value nests too deeply".to_owned());
        }
        if self.eat("[") {
            return Ok(Node::List(self.items(']', depth + 1)?.0));
        }
        if self.eat("(") {
            let (mut items, comma) = self.items(')', depth + 1)?;
            // Parentheses around one value group; a comma makes it a tuple.
            return Ok(if items.len() == 1 && !comma { items.remove(0) } else { Node::Tuple(items) });
        }
        // A file's name and a seed hold signs that end other words.
        let word = match self.rest.starts_with('@') || self.rest.starts_with("rand") {
            true => self.until(|c| c.is_whitespace() || "()[],".contains(c)),
            false => self.word(),
        };
        match word {
            word if word.is_empty() => Err(format!("expected a value, found {}", self.found())),
            word if word.starts_with(|c: char| c.is_ascii_uppercase()) && self.eat("(") => {
                Ok(Node::Ctor(word, self.items(')', depth + 1)?.0))
            }
            word => Ok(Node::Word(word)),
        }
    }

    /// Values up to a closing bracket, and whether a comma was among them.
    pub(super) fn items(&mut self, close: char, depth: usize) -> Result<(Vec<Node>, bool), String> {
        let (mut items, mut comma) = (Vec::new(), false);
        while !self.rest.starts_with(close) {
            items.push(self.value(depth)?);
            match self.eat(",") {
                true => comma = true,
                false => break,
            }
        }
        self.expect(close)?;
        Ok((items, comma))
    }
}

/// A written value as a tensor; its lists give the dynamic dimensions.
pub(super) fn tensor(shape: &[Dim], dtype: DType, node: &Node) -> Result<Tensor, String> {
    let known: Option<Vec<i64>> = shape.iter().map(|dim| dim.value()).collect();
    let mut words = Vec::new();
    let written = nesting(node, &mut words)?;
    let dims = match (known, node) {
        // One number fills a known shape; a flat list or none at all may write it.
        (Some(known), Node::Word(_)) => known,
        (Some(known), _) if written.len() == 1 && written[0] == known.iter().product::<i64>() => known,
        (Some(known), _) if written != known => return Err(format!("shape {written:?} is written, it has shape {known:?}")),
        (None, _) if written.len() != shape.len() => {
            return Err(format!("rank {} is written, it has rank {}", written.len(), shape.len()));
        }
        _ => written,
    };
    let dims: String = dims.iter().map(|dim| format!("{dim}x")).collect();
    let value = if matches!(node, Node::Word(_)) { words.concat() } else { format!("[{}]", words.join(",")) };
    let text = format!("{dims}{dtype}={value}");
    Literal::parse(&text).ok_or_else(|| format!("no tensor holds `{dtype}`"))?.tensor().map_err(|error| error.to_string())
}

/// The lengths of nested lists, and their words in order.
fn nesting<'a>(node: &'a Node, words: &mut Vec<&'a str>) -> Result<Vec<i64>, String> {
    match node {
        Node::Tuple(_) => Err("a tuple where a tensor belongs".to_owned()),
        Node::Ctor(name, _) => Err(format!("`{name}(…)` where a tensor belongs")),
        Node::Word(word) => {
            words.push(match word.as_str() {
                "True" => "true",
                "False" => "false",
                other => other,
            });
            Ok(vec![])
        }
        Node::List(items) => {
            let mut inner: Option<Vec<i64>> = None;
            for item in items {
                let dims = nesting(item, words)?;
                if inner.get_or_insert_with(|| dims.clone()) != &dims {
                    return Err("lists of different lengths side by side".to_owned());
                }
            }
            let mut dims = vec![items.len() as i64];
            dims.extend(inner.unwrap_or_default());
            Ok(dims)
        }
    }
}
