//! The graph inside an artifact says of each constant which one it is.
//!
//! The constants are part of the code, so whoever gives the graph others gives them in vain. By their digests, a caller is told
//! (`relayc.tvm`'s graph executor), and may give the same ones as ever.

use crate::cache::digests;
use crate::compile::bytes;
use relayc_driver::export::GraphFile;
use rustc_hash::FxHashMap;
use serde_json::Value;

/// What the line of an input begins with (`relayc_exchange::graph_json::write`).
const INPUT: &str = "{\"op\": \"null\", \"name\": ";

/// The graph as JSON, where inputs that are constants have the attribute `digest`: SHA-256 of the elements, little-endian.
pub(super) fn marked(graph: &GraphFile) -> String {
    let digests = graph.constants.iter().map(|(name, tensor)| (Value::from(name.as_str()).to_string(), tensor));
    let digests: FxHashMap<String, String> = digests.map(|(name, tensor)| (name, digests::of_bytes(&bytes(tensor)))).collect();
    let mut out = String::with_capacity(graph.json.len() + 100 * digests.len());
    for line in graph.json.split_inclusive('\n') {
        let parts = line.split_once(INPUT).and_then(|(indent, rest)| Some((indent, rest.split_once(", \"inputs\"")?)));
        match parts.and_then(|(indent, (name, rest))| Some((indent, name, rest, digests.get(name)?))) {
            Some((indent, name, rest, digest)) => {
                out.push_str(&format!("{indent}{INPUT}{name}, \"attrs\": {{\"digest\": \"{digest}\"}}, \"inputs\"{rest}"));
            }
            None => out.push_str(line),
        }
    }
    out
}
