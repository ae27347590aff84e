//! Reads `…-symbol.json`: a saved network of MXNet (`3rdparty/tvm/nnvm/src/pass/saveload_json.cc`; before version 1.0
//! `src/nnvm/legacy_json_util.cc` of MXNet).
//!
//! A node has an operator's name, or `null` for an input, string attributes, and operands: results of earlier nodes.

use crate::json::Json;
use crate::nodes::{self, Inputs};
use indexmap::IndexMap;
use relayc_base::diag::Diagnostic;
use relayc_base::usize_of;
use rustc_hash::FxBuildHasher;

/// Attributes by name.
pub(crate) type Attributes = IndexMap<String, String, FxBuildHasher>;

/// A network.
#[derive(Debug)]
pub(crate) struct Symbol {
    /// Nodes; operands precede their users.
    pub(crate) nodes: Vec<Node>,
    /// The results of the network.
    pub(crate) heads: Vec<Ref>,
}

#[derive(Debug)]
pub(crate) struct Node {
    /// `None` for an input.
    pub(crate) op: Option<String>,
    pub(crate) name: String,
    pub(crate) attrs: Attributes,
    pub(crate) inputs: Vec<Ref>,
}

/// An existing node, and one of its results.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Ref {
    pub(crate) node: usize,
    pub(crate) index: usize,
}

/// Reads a network. Errors: E0703 for another kind of file or an unsound one, with the byte; E0804 for limits.
pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<Symbol, Diagnostic> {
    let top = Json::new(name, bytes)?.object("network of MXNet")?;
    let mut symbol = Symbol { nodes: vec![], heads: vec![] };
    let mut inputs = Inputs::default();
    for item in nodes::nodes(&top)?.iter() {
        let number = symbol.nodes.len();
        let node = node(number, item)?;
        if node.op.is_none() {
            inputs.add(number, &node.name, item)?;
        }
        symbol.nodes.push(node);
    }
    if let Some(listed) = top.get("arg_nodes") {
        inputs.check(listed)?;
    }
    let heads = top.need("heads")?;
    let results = heads.list("list of results")?;
    let refs = results.iter().map(|head| reference(symbol.nodes.len(), head));
    symbol.heads = refs.collect::<Result<_, _>>()?;
    if symbol.heads.is_empty() {
        return Err(heads.error("a network without a result"));
    }
    Ok(symbol)
}

fn node(number: usize, json: Json) -> Result<Node, Diagnostic> {
    let fields = json.object("node")?;
    let op: String = fields.need("op")?.read("name of an operator")?;
    let name = nodes::name(&fields)?;
    let mut attrs = Attributes::default();
    // `attrs` today; `attr` before 1.0, and beside `param` before 0.9.
    for key in ["param", "attrs", "attr"] {
        let Some(object) = fields.get(key) else { continue };
        for (key, value) in object.object("object of attributes")?.iter() {
            let value: String = value.read("string")?;
            attrs.entry(key.to_owned()).or_insert(value);
        }
    }
    let inputs = fields.need("inputs")?;
    let refs = inputs.list("list of operands")?.iter().map(|input| reference(number, input)).collect::<Result<Vec<_>, _>>()?;
    let op = (op != "null").then_some(op);
    if op.is_none() && !refs.is_empty() {
        return Err(inputs.error("an input with operands"));
    }
    Ok(Node { op, name, attrs, inputs: refs })
}

/// Reads a reference to a result of the first `n_nodes` nodes.
fn reference(n_nodes: usize, json: Json) -> Result<Ref, Diagnostic> {
    let [node, index, _] = nodes::reference(n_nodes, json)?.map(|number| usize_of(number.into()));
    Ok(Ref { node, index })
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_base::diag::codes;

    const RIGHT: &str = r#"{"nodes": [
  {"op": "null", "name": "data", "inputs": []},
  {"op": "null", "name": "w", "attrs": {"__shape__": "(2, 3)"}, "inputs": []},
  {"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": "2", "no_bias": "True"}, "inputs": [[0, 0, 0], [1, 0, 0]]}
], "arg_nodes": [0, 1], "node_row_ptr": [0, 1, 2, 3], "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10700]}}"#;

    #[test]
    fn a_network_is_read() {
        let symbol = read("x", RIGHT.as_bytes()).expect("sound");
        assert_eq!(symbol.nodes[2].op.as_deref(), Some("FullyConnected"));
        assert_eq!(symbol.nodes[2].inputs, [Ref { node: 0, index: 0 }, Ref { node: 1, index: 0 }]);
        assert_eq!(symbol.nodes[2].attrs["num_hidden"], "2");
        assert_eq!(symbol.heads, [Ref { node: 2, index: 0 }]);
    }

    /// Tests the keys of versions before 1.0 and before 0.9.
    #[test]
    fn attributes_had_other_names() {
        let old = RIGHT.replace("\"attrs\": {\"num_hidden\"", "\"attr\": {\"num_hidden\"").replace(", 0]", "]");
        assert_eq!(read("x", old.as_bytes()).expect("sound").nodes[2].attrs["no_bias"], "True");
        let older = RIGHT
            .replace(
                "\"attrs\": {\"num_hidden\"",
                "\"attr\": {\"lr_mult\": \"1\"}, \"backward_source_id\": -1, \"param\": {\"num_hidden\"",
            )
            .replace(", \"attrs\": {\"mxnet_version\": [\"int\", 10700]}", "");
        assert_eq!(read("x", older.as_bytes()).expect("sound").nodes[2].attrs["num_hidden"], "2");
    }

    #[test]
    fn each_mistake_is_found() {
        for (from, to, words) in [
            ("[[0, 0, 0], [1, 0, 0]]", "[[0, 0, 0], [2, 0, 0]]", "does not come before"),
            ("[[0, 0, 0], [1, 0, 0]]", "[[0, 0, 0], [1]]", "reference"),
            ("[[0, 0, 0], [1, 0, 0]]", "[[0, 0, 0], [1, -1, 0]]", "list of numbers"),
            ("\"heads\": [[2, 0, 0]]", "\"heads\": [[3, 0, 0]]", "node 3"),
            ("\"heads\": [[2, 0, 0]]", "\"heads\": []", "without a result"),
            ("\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0]", "inputs, in order"),
            ("\"name\": \"w\"", "\"name\": \"data\"", "second input named `data`"),
            ("\"num_hidden\": \"2\"", "\"num_hidden\": 2", "no string"),
            ("\"num_hidden\": \"2\"", "\"no_bias\": \"2\"", "second key"),
            ("\"op\": \"null\", \"name\": \"data\", \"inputs\": []", "\"op\": \"null\", \"inputs\": []", "without `name`"),
            ("\"nodes\"", "\"node\"", "without `nodes`"),
        ] {
            assert!(RIGHT.contains(from), "{from}");
            let error = read("x", RIGHT.replacen(from, to, 1).as_bytes()).expect_err(to);
            assert_eq!(error.code, codes::E0703, "{to}");
            assert!(error.message.contains(words), "{to}: {}", error.message);
        }
        assert!(read("x", &RIGHT.as_bytes()[..100]).is_err());
    }

    #[test]
    fn limits_are_told_from_mistakes() {
        let long = RIGHT.replace("\"w\"", &format!("\"{}\"", "w".repeat(4097)));
        let many = format!("{{\"nodes\": [{}{{}}]}}", "{},".repeat(nodes::MAX_NODES));
        for (text, words) in [(long, "a name of 4097 bytes"), (many, "1048577 nodes")] {
            let error = read("x", text.as_bytes()).expect_err(words);
            assert_eq!(error.code, codes::E0804);
            assert!(error.message.contains(words), "{}", error.message);
        }
        let longest = RIGHT.replace("\"w\"", &format!("\"{}\"", "w".repeat(4096)));
        assert!(read("x", longest.as_bytes()).is_ok());
    }
}
