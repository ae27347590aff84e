//! Writes a graph as a file: TVM's keys in TVM's order, one node a line.

use super::{Graph, Info, Node, Ref, dtype_text};
use serde_json::Value;
use std::fmt::Write;

/// The file as text.
pub fn write(graph: &Graph) -> String {
    let mut out = String::from("{\n  \"nodes\": [\n");
    let lines: Vec<String> = graph.nodes.iter().enumerate().map(|(number, node)| line(graph, number, node)).collect();
    out.push_str(&lines.join(",\n"));
    let inputs = graph.inputs().map(|(number, _)| number);
    let _ = write!(out, "\n  ],\n  \"arg_nodes\": {},\n", list(inputs));
    let _ = write!(out, "  \"heads\": {},\n  \"attrs\": {{\n", list(graph.heads.iter().map(reference)));
    let tensors = &graph.tensors;
    let mut attr = |name: &str, kind: &str, items: String, last: &str| {
        let _ = writeln!(out, "    \"{name}\": [\"{kind}\", {items}]{last}");
    };
    attr("dltype", "list_str", list(tensors.iter().map(|info| string(&dtype_text(info.dtype)))), ",");
    // As TVM does it: for all results or for none.
    if let Some(devices) = tensors.iter().map(|info| info.device).collect::<Option<Vec<u32>>>().filter(|all| !all.is_empty()) {
        attr("device_index", "list_int", list(devices), ",");
    }
    attr("storage_id", "list_int", list(tensors.iter().map(|info| info.storage)), ",");
    attr("shape", "list_shape", list(tensors.iter().map(|Info { shape, .. }| list(shape))), "");
    let _ = write!(out, "  }},\n  \"node_row_ptr\": {}\n}}\n", list(&graph.rows));
    out
}

fn line(graph: &Graph, number: usize, node: &Node) -> String {
    let name = string(&node.name);
    let Some(call) = &node.call else { return format!("    {{\"op\": \"null\", \"name\": {name}, \"inputs\": []}}") };
    let flatten = if call.flatten { "1" } else { "0" };
    let counts = [graph.results(number).len(), call.inputs.len()].map(|n| n.to_string());
    let own =
        [("num_outputs", counts[0].as_str()), ("num_inputs", &counts[1]), ("flatten_data", flatten), ("func_name", &call.func)];
    let more = call.attrs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let attrs: Vec<String> =
        own.into_iter().chain(more).map(|(key, value)| format!("{}: {}", string(key), string(value))).collect();
    let inputs = list(call.inputs.iter().map(reference));
    format!("    {{\"op\": \"tvm_op\", \"name\": {name}, \"attrs\": {{{}}}, \"inputs\": {inputs}}}", attrs.join(", "))
}

fn reference(at: &Ref) -> String {
    list([at.node, at.index, at.version])
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", items.join(", "))
}

fn string(text: &str) -> String {
    Value::from(text).to_string()
}
